// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/explain_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace neap::report {
namespace {

using deliver::Feature;
using deliver::FeatureState;
using ::testing::HasSubstr;
using ::testing::Not;

// In file order both wide tensors are live: 320 bytes, and 180 in the best order.
constexpr std::string_view kBranches = R"({
  "tensors": [{"name": "in", "bytes": 20}, {"name": "wide1", "bytes": 150},
              {"name": "model/block/wide2/Relu;model/other", "bytes": 150},
              {"name": "thin1", "bytes": 10}, {"name": "thin2", "bytes": 10},
              {"name": "out", "bytes": 5}],
  "inputs": ["in"], "outputs": ["out"],
  "ops": [{"name": "widen1", "inputs": [0], "outputs": [1]},
          {"name": "widen2", "inputs": [0], "outputs": [2]},
          {"name": "narrow1", "inputs": [1], "outputs": [3]},
          {"name": "narrow2", "inputs": [2], "outputs": [4]},
          {"name": "join", "inputs": [3, 4], "outputs": [5]}]})";

class ExplainReportTest : public ::testing::Test {
 protected:
  ExplainReportTest() {
    const auto* data = reinterpret_cast<const std::byte*>(kBranches.data());
    auto bytes = std::make_shared<const std::vector<std::byte>>(data, data + kBranches.size());
    source_ = *formats::LoadBytes(bytes, "folder/graph.json", {});
    explanation_ = *deliver::Explain(source_, {});
    report_.source = &source_;
    report_.explanation = &explanation_;
  }

  std::string Text() const { return ExplainText(report_, {}); }

  // A feature of the file's own runtime, planned.
  Feature& Add(std::string_view label, std::int64_t bytes) {
    Feature feature;
    feature.label = label;
    feature.runtime = explanation_.runtime;
    feature.state = FeatureState::kPlanned;
    feature.arena_bytes = bytes;
    explanation_.features.push_back(std::move(feature));
    return explanation_.features.back();
  }

  formats::SourceModel source_;
  deliver::Explanation explanation_;
  ExplainReport report_;
};

TEST_F(ExplainReportTest, Text) {
  EXPECT_EQ(
      Text(),
      "graph.json needs an arena of 320 B in file order on an ideal runtime.\n"
      "Default options need 180 B (43.8 % less); no other feature for an ideal runtime needs "
      "less.\n"
      "File order: 320 B are live at operator #1 'widen2' (live 'wide1' 150 + output 'Relu' 150 + "
      "input\n"
      "  'in' 20).\n"
      "Default: 180 B are live at operator #2 'narrow1' (input 'wide1' 150 + live 'in' 20 + output "
      "'thin1'\n"
      "  10). No order and no placement needs less: a complete search found none.\n"
      "\n"
      "  feature              arena B    saved    MACs\n"
      "  order and addresses      180*  43.8 %  1.000x\n"
      "  rewriting (default)      180*  43.8 %  1.000x\n"
      "  * optimal over all orders and placements\n"
      "No gain: moves, tiles.\n"
      "\n"
      "next, any kernels, same outputs and MACs: 180 B\n"
      "  neap plan folder/graph.json --plan graph-planned.json\n");
}

TEST_F(ExplainReportTest, NextStepsNeedLessAndLess) {
  Feature& tiles = Add("some tiles", 100);
  tiles.options = {{"cascade", "auto"}};
  tiles.macs = 10'001;
  tiles.model_macs = 10'000;
  tiles.requires_text = "much";
  tiles.growth_bytes = 64;
  Feature& other = Add("elsewhere", 90);
  other.runtime = plan::Runtime::kNeap;
  other.state = FeatureState::kUnfinished;
  other.options = {{"runtime", "neap"}};
  Add("worse", 400);
  const auto steps = NextStepsOf(report_);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].feature->arena_bytes, 180);
  EXPECT_EQ(steps[1].feature->label, "some tiles");
  EXPECT_EQ(steps[1].command,
            "neap plan folder/graph.json --cascade auto -o graph-smallest.tflite");
  EXPECT_EQ(steps[2].command, "neap plan folder/graph.json --runtime neap --plan graph-neap.json");
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("some tiles               100   68.8 %  1.001x     +64  much\n"))
      << "a cost is not hidden";
  EXPECT_THAT(text,
              HasSubstr("next, fewest bytes on an ideal runtime: 100 B, 1.001x MACs, much\n"));
  EXPECT_THAT(text, HasSubstr("next, fewest bytes on any runtime: 90 B (unfinished)\n"));
  EXPECT_THAT(text, HasSubstr("+ unfinished: a limit ended it"));
  EXPECT_THAT(text, HasSubstr("No gain: moves, tiles, worse.\n"));
  Feature& exact = explanation_.features[explanation_.features.size() - 3];
  exact.macs = 10'204;  // as `neap plan` prints it
  EXPECT_THAT(Text(), HasSubstr("some tiles               100   68.8 %  1.020x"));
  exact.macs = 9'999;
  EXPECT_THAT(Text(), HasSubstr("some tiles               100   68.8 %  0.999x"));
}

TEST_F(ExplainReportTest, CodeTakesThePlaceOfThePlanForTheExecutor) {
  Feature& other = Add("streams", 90);
  other.runtime = plan::Runtime::kNeap;
  report_.code = CodeNeed{100, 20, 5};
  const auto steps = NextStepsOf(report_);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].why, NextStep::Why::kCode);
  EXPECT_EQ(steps[1].arena_bytes, 100);
  EXPECT_THAT(Text(),
              HasSubstr("next, C code in place of a runtime: 100 B in all, stack 20 B, same "
                        "MACs\n  neap emit folder/graph.json -o graph-code\n"));
  report_.code = CodeNeed{200, 20, 5};
  ASSERT_EQ(NextStepsOf(report_).size(), 2U);
  EXPECT_EQ(NextStepsOf(report_)[1].why, NextStep::Why::kAny);
}

// Where the total arena is known, it decides, not the activations.
TEST_F(ExplainReportTest, TotalsDecide) {
  for (Feature& feature : explanation_.features) feature.total_arena_bytes = 500;
  Feature& order = Add("order alone", 320);
  order.total_arena_bytes = 420;
  order.options = {{"rewrite", "none"}, {"no-memory-plan", ""}};
  EXPECT_EQ(explanation_.FileOrderNeed().total_arena_bytes, 420);
  // The activations of every plan are fewer than in file order, and the totals are not.
  EXPECT_TRUE(NextStepsOf(report_).empty());
  EXPECT_THAT(Text(), HasSubstr("; order alone needs the smallest total arena, 420 B.\n"));
  Add("less in all", 310).total_arena_bytes = 410;
  ASSERT_EQ(NextStepsOf(report_).size(), 1U);
  EXPECT_EQ(NextStepsOf(report_)[0].feature->label, "less in all");
  explanation_.features.pop_back();
  // C code has no persistent data beside its arena.
  report_.code = CodeNeed{330, 20, 5};
  ASSERT_EQ(NextStepsOf(report_).size(), 1U);
  EXPECT_EQ(NextStepsOf(report_)[0].why, NextStep::Why::kCode);
  report_.code = CodeNeed{420, 20, 5};
  EXPECT_TRUE(NextStepsOf(report_).empty());
}

TEST_F(ExplainReportTest, WhatWasNotPlannedIsNamed) {
  Add("late", 0).state = FeatureState::kNotStarted;
  Feature& lacking = Add("lacking", 0);
  lacking.state = FeatureState::kNotApplicable;
  lacking.reason = "has no\nsuch thing";
  Add("slow", 500).state = FeatureState::kUnfinished;
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("No gain yet, unfinished: slow.\n"));
  EXPECT_THAT(text, HasSubstr("Not planned, the limit was reached: late; --time-limit sets another "
                              "limit.\n"));
  EXPECT_THAT(text, HasSubstr("Not applicable: lacking (has no\\x0asuch thing).\n"));
}

TEST_F(ExplainReportTest, WhereNothingHelpsItSaysWhy) {
  explanation_.file_order.arena_bytes = 180;
  EXPECT_TRUE(NextStepsOf(report_).empty());
  EXPECT_THAT(Text(), HasSubstr("next: none; this graph needs its proven lower bound\n"));
  explanation_.features[explanation_.default_feature].lower_bound_bytes = 170;
  EXPECT_THAT(Text(), HasSubstr("next: none; no planned feature needs less\n"));
}

TEST_F(ExplainReportTest, CommandsAreQuoted) {
  source_.path = "-my nets/it's.json";
  report_.dims = {"batch=1", "odd name=2"};
  EXPECT_EQ(NextStepsOf(report_)[0].command,
            "neap plan './-my nets/it'\\''s.json' --dim batch=1 --dim 'odd name=2' --plan "
            "'it'\\''s-planned.json'");
}

TEST_F(ExplainReportTest, LinesAndColumnsAreLimited) {
  const std::vector<std::string> labels = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
  for (std::size_t at = 0; at < labels.size(); ++at) {
    Feature& feature = Add(labels[at], 170 - static_cast<std::int64_t>(at));
    feature.requires_text = labels[at];
    feature.growth_bytes = 1;
    if (at == 10) feature.state = FeatureState::kUnfinished;
  }
  for (const graph::TensorId id : source_.graph.subgraphs[graph::SubgraphId(0)].tensors.Ids()) {
    source_.graph.subgraphs[graph::SubgraphId(0)].tensors[id].name = std::string(300, 'n');
  }
  source_.path = "folder/" + std::string(60, 'p') + ".json";
  const std::string text = Text();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kExplainLines) << text;
  EXPECT_THAT(text, HasSubstr("--json has "));
  EXPECT_THAT(text, HasSubstr("\n  rewriting (default) ")) << "stays";
  EXPECT_THAT(text, HasSubstr("\n  k "));
  EXPECT_THAT(text, Not(HasSubstr("\n  order and addresses "))) << "the worst goes";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), kExplainColumns) << line;
}

TEST_F(ExplainReportTest, Json) {
  report_.dims = {"batch=1"};
  Add("late", 0).state = FeatureState::kNotStarted;
  const auto json = nlohmann::json::parse(ExplainJson(report_));
  EXPECT_EQ(json["file_order"]["arena_bytes"], 320);
  EXPECT_EQ(json["plan"]["arena_bytes"], 180);
  EXPECT_EQ(json["plan"]["certificate"], "search");
  EXPECT_EQ(json["features"][0]["options"], nlohmann::json({"--rewrite", "none"}));
  EXPECT_EQ(json["features"][0]["status"], "optimal");
  EXPECT_EQ(json["features"].back()["state"], "not started");
  EXPECT_TRUE(json["features"].back()["arena_bytes"].is_null());
  EXPECT_EQ(json["next"][0]["why"], "free");
  EXPECT_THAT(json["next"][0]["command"], HasSubstr("--dim batch=1"));
}

}  // namespace
}  // namespace neap::report
