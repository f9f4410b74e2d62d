// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/learn/sampler.h"

namespace neap::learn {
namespace {

using testing::HasSubstr;

std::vector<LabelledDag> Some(int count) {
  Random random(5);
  std::vector<LabelledDag> graphs;
  for (int i = 0; i < count; ++i) {
    LabelledDag& graph = graphs.emplace_back();
    graph.dag = Sample({.nodes = 1 + i % 12, .max_weight = kMaxWeight}, &random);
    graph.labels = AsapLabels(graph.dag, kStepCap);
    graph.optimum = i * 1'000'000'007LL;
    graph.cache_bytes = i % 3;
  }
  return graphs;
}

std::string ErrorOf(std::string_view text) {
  const auto parsed = ParseDataset(text);
  return parsed ? "" : parsed.error().ToString();
}

TEST(Dataset, IsReadBackAsItWasWritten) {
  for (const int count : {0, 1, 200}) {
    const auto graphs = Some(count);
    const std::string text = SerializeDataset(graphs);
    const auto parsed = ParseDataset(text);
    ASSERT_TRUE(parsed) << parsed.error().ToString();
    EXPECT_EQ(*parsed, graphs);
    EXPECT_EQ(SerializeDataset(*parsed), text);
  }
}

TEST(Dataset, TheFormatByHand) {
  const auto parsed = ParseDataset("neap-dataset 1 1\ngraph 2 7 0\n1 4 5 6\n2 1 2 3 0\n");
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  ASSERT_EQ(parsed->size(), 1);
  const LabelledDag& graph = parsed->front();
  EXPECT_EQ(graph.optimum, 7);
  EXPECT_EQ(graph.labels, (Labels{1, 2}));
  EXPECT_EQ(graph.dag.parents, (std::vector<std::vector<Node>>{{}, {0}}));
  EXPECT_EQ(graph.dag.weights[2], (std::vector<std::int64_t>{6, 3}));
}

TEST(Dataset, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOf("neap-dataset 2 0\n"), HasSubstr("expected 'neap-dataset 1 GRAPHS'"));
  EXPECT_THAT(ErrorOf("neap-dataset 1 1\ngraph 2 0 0\n1 4 5 6\n"), HasSubstr("line 4"));
  EXPECT_THAT(ErrorOf("neap-dataset 1 1\ngraph 1 0 0\n0 4 5 6\n"), HasSubstr("label"));
  EXPECT_THAT(ErrorOf("neap-dataset 1 1\ngraph 1 0 0\n1 4 5 99999999999\n"),
              HasSubstr("weights of at most"));
  EXPECT_THAT(ErrorOf("neap-dataset 1 1\ngraph 1 0 0\n1  4 5 6\n"), HasSubstr("single spaces"));
  EXPECT_THAT(ErrorOf("neap-dataset 1 1\ngraph 1 0 0\n1 4 5 6 1\n"), HasSubstr("parents"));
  EXPECT_THAT(ErrorOf("neap-dataset 1 1\ngraph 2 0 0\n1 4 5 6 1\n1 4 5 6 0\n"), HasSubstr("cycle"));
  EXPECT_THAT(ErrorOf("neap-dataset 1 0\nmore\n"), HasSubstr("more lines"));
}

// A text that was changed at random is refused, or is a dataset of its own.
TEST(Dataset, DamagedTextsAreRefusedOrRead) {
  const std::string text = SerializeDataset(Some(20));
  Random random(6);
  for (int i = 0; i < 2'000; ++i) {
    std::string damaged = text;
    damaged[static_cast<std::size_t>(random.Below(text.size()))] =
        static_cast<char>(random.Below(128));
    const auto parsed = ParseDataset(damaged);
    if (!parsed) continue;
    const auto again = ParseDataset(SerializeDataset(*parsed));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *parsed);
  }
}

}  // namespace
}  // namespace neap::learn
