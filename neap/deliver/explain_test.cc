// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/work.h"
#include "neap/compile/headline.h"
#include "testing/graph_json.h"

namespace neap::deliver {
namespace {

const Feature* FeatureNamed(const Explanation& explanation, std::string_view label) {
  const auto found = std::find_if(explanation.features.begin(), explanation.features.end(),
                                  [&](const Feature& feature) { return feature.label == label; });
  return found == explanation.features.end() ? nullptr : &*found;
}

TEST(ExplainTest, AChainNeedsItsLowerBound) {
  const auto explanation = Explain(ModelOf(kChain), {});
  ASSERT_TRUE(explanation) << explanation.error().ToString();
  EXPECT_EQ(explanation->runtime, plan::Runtime::kIdeal);
  EXPECT_EQ(explanation->file_order.arena_bytes, 170);
  EXPECT_EQ(explanation->file_peak.op, graph::OpId(0));
  for (const Feature& feature : explanation->features) {
    EXPECT_EQ(feature.state, FeatureState::kPlanned) << feature.label;
    EXPECT_EQ(feature.arena_bytes, 170) << feature.label;
    EXPECT_FALSE(feature.growth_bytes) << "graph JSON is not written";
  }
  EXPECT_TRUE(explanation->features[explanation->default_feature].IsOptimal());
}

TEST(ExplainTest, EachFeatureIsPlanned) {
  const auto explanation = Explain(ModelOf(kBranches), {});
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->file_order.arena_bytes, 320);
  const Feature* const order = FeatureNamed(*explanation, "order and addresses");
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->arena_bytes, 180);
  EXPECT_TRUE(order->IsOptimal());
  EXPECT_TRUE(order->is_free);
  EXPECT_EQ(explanation->Best([](const Feature&) { return true; })->arena_bytes, 180);
  EXPECT_EQ(explanation->Best([](const Feature&) { return false; }), nullptr);
  const Feature& base = explanation->features[explanation->default_feature];
  EXPECT_TRUE(base.options.empty());
  EXPECT_EQ(base.arena_bytes, compile::HeadlineBytes(explanation->plan.compiled, true));
}

TEST(ExplainTest, RowsAreThoseOfTheRuntimeAndTheFormat) {
  const auto ideal = Explain(ModelOf(kChain), {});
  ASSERT_TRUE(ideal);
  EXPECT_EQ(FeatureNamed(*ideal, "order alone"), nullptr) << "TFLM's planner";
  EXPECT_EQ(FeatureNamed(*ideal, "streams"), nullptr) << "graph JSON has no kernels";
  ExplainRequest request;
  request.runtime = "tflm";
  const auto tflm = Explain(ModelOf(kChain), request);
  ASSERT_TRUE(tflm);
  const Feature* const order = FeatureNamed(*tflm, "order alone");
  ASSERT_NE(order, nullptr);
  ASSERT_EQ(order->options.size(), 3U);
  EXPECT_EQ(order->options[0].name, "runtime") << "not the default of this format";
  EXPECT_EQ(order->options[0].value, "tflm");
}

TEST(ExplainTest, WithoutWorkOnlyTheDefaultIsPlanned) {
  ExplainRequest request;
  request.work = 0;
  const auto explanation = Explain(ModelOf(kBranches), request);
  ASSERT_TRUE(explanation) << explanation.error().ToString();
  for (std::size_t at = 0; at < explanation->features.size(); ++at) {
    const Feature& feature = explanation->features[at];
    EXPECT_EQ(feature.HasPlan(), at == explanation->default_feature) << feature.label;
  }
  EXPECT_EQ(WorkLeft(), work_internal::kNoEnd) << "the limit ends with the call";
}

TEST(ExplainTest, AProvenResultIsFinishedWithoutWork) {
  ExplainRequest request;
  request.work = 0;
  const auto explanation = Explain(ModelOf(kChain), request);
  ASSERT_TRUE(explanation) << explanation.error().ToString();
  const Feature& base = explanation->features[explanation->default_feature];
  EXPECT_TRUE(base.IsOptimal());
  EXPECT_EQ(base.state, FeatureState::kPlanned);
}

TEST(ExplainTest, AnInterruptLeavesTheRestOut) {
  std::atomic<bool> stop = false;
  int begun = 0;
  ExplainRequest request;
  request.stop = &stop;
  request.feature_observer = [&](std::string_view label, int number, int of) {
    EXPECT_EQ(number, ++begun) << label;
    EXPECT_LE(number, of);
    if (number == 2) stop = true;
  };
  const auto explanation = Explain(ModelOf(kBranches), request);
  ASSERT_TRUE(explanation);
  EXPECT_EQ(begun, 2);
  EXPECT_TRUE(explanation->interrupted);
  EXPECT_EQ(std::count_if(
                explanation->features.begin(), explanation->features.end(),
                [](const Feature& feature) { return feature.state == FeatureState::kNotStarted; }),
            static_cast<std::ptrdiff_t>(explanation->features.size()) - 2);
}

TEST(ExplainTest, FailsAsThePlanWithDefaultOptions) {
  formats::SourceModel model = ModelOf(kChain);
  model.graph.subgraphs[graph::SubgraphId(0)].tensors[graph::TensorId(1)].shape.reset();
  const auto unknown = Explain(model, {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kMissingSize);
  ExplainRequest request;
  request.runtime = "nosuch";
  const auto usage = Explain(ModelOf(kChain), request);
  ASSERT_FALSE(usage);
  EXPECT_EQ(usage.error().code, ErrorCode::kUsage);
}

TEST(ExplainTest, TheWholeArenaDecidesWhereBothAreKnown) {
  Feature a;
  a.arena_bytes = 100;
  Feature b;
  b.arena_bytes = 90;
  EXPECT_TRUE(NeedsLess(b, a));
  a.total_arena_bytes = 200;
  EXPECT_TRUE(NeedsLess(b, a)) << "of b it is not known";
  b.total_arena_bytes = 300;
  EXPECT_TRUE(NeedsLess(a, b));
  EXPECT_FALSE(NeedsLess(a, a));
}

}  // namespace
}  // namespace neap::deliver
