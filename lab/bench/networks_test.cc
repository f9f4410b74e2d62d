// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lab/bench/facts.h"

namespace neap::bench {
namespace {

using testing::ElementsAre;

TEST(Networks, InEightBitsActivationsTakeAQuarter) {
  const auto floats = NetworkNamed("resnet8");
  const auto bytes = NetworkNamed("resnet8.int8");
  ASSERT_TRUE(floats && bytes);
  const auto peak = [](const graph::Graph& graph) {
    const auto found = SearchOrder(graph, compile::kExactOrder, {}, 0);
    return found ? found->peak_bytes : -1;
  };
  EXPECT_EQ(peak(*floats), 4 * peak(*bytes));
  int biases = 0;
  for (const graph::Tensor& tensor : bytes->subgraphs[graph::SubgraphId(0)].tensors) {
    EXPECT_NE(tensor.type, graph::ElementType::kFloat32);
    if (tensor.constant && tensor.type == graph::ElementType::kInt32 && tensor.quantization) {
      ++biases;
    } else if (!tensor.constant) {
      EXPECT_EQ(tensor.type, graph::ElementType::kInt8);
      EXPECT_TRUE(tensor.quantization);
    }
  }
  EXPECT_GT(biases, 5);
  EXPECT_FALSE(NetworkNamed("nosuch.int8"));
}

TEST(Networks, TheShortFormHasFewer) {
  constexpr const char* kQuick[] = {"resnet8"};
  constexpr const char* kMore[] = {"ds-cnn.int8"};
  for (const bool quick : {true, false}) {
    std::vector<std::string> names;
    std::vector<std::string> reported;
    RunOptions options;
    options.quick = quick;
    options.progress = [&](std::string_view what) { reported.emplace_back(what); };
    const auto add = [&](const std::string& name, const graph::Graph&) -> Status {
      names.push_back(name);
      return {};
    };
    ASSERT_TRUE(ForEachNetwork({kQuick, kMore}, options, add));
    EXPECT_EQ(names, reported);
    EXPECT_EQ(names.size(), quick ? 1U : 2U);
  }
  const auto fail = [](const std::string&, const graph::Graph&) -> Status {
    return Fail(BadInput("no"));
  };
  EXPECT_FALSE(ForEachNetwork({kQuick, kMore}, {}, fail));
}

TEST(Networks, ChartsAreOfTheTable) {
  Table table;
  table.id = "t";
  table.columns = {{"name", "name"}, {"kind", "kind"}, {"a", "A"}, {"b", "B"}, {"base", "base"}};
  table.rows = {{Text("x"), Text("yes"), Count(6), Real(3.0), Count(2)},
                {Text("y"), Text("no"), Count(1), Count(1), Count(1)},
                {Text("z"), Text("yes"), None(), Count(1), Count(0)}};
  const Report report = ReportOf(
      {"suite", "Title", {"Intro."}, "Plot", {"Label", {"a", "b"}, "base", "kind", "yes"}}, table);
  EXPECT_EQ(report.suite, "suite");
  const Section& section = report.sections.front();
  EXPECT_EQ(section.tables.front().rows.size(), 3U);
  EXPECT_EQ(section.plots.front().id, "t-plot");
  const auto& bars = std::get<picture::Bars>(section.plots.front().drawing);
  EXPECT_THAT(bars.series, ElementsAre("A", "B"));
  EXPECT_THAT(bars.groups, ElementsAre("x", "z"));
  EXPECT_THAT(bars.values.front(), ElementsAre(3.0, 1.5));
  EXPECT_TRUE(std::isnan(bars.values.back()[0]) && std::isnan(bars.values.back()[1]));
  const Report all = ReportOf({"s", "T", {}, "P", {"L", {"a"}, "base"}}, table);
  EXPECT_EQ(std::get<picture::Bars>(all.sections.front().plots.front().drawing).groups.size(), 3U);
}

}  // namespace
}  // namespace neap::bench
