// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "neap/show/report/report.h"
#include "testing/report_models.h"

namespace neap::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PlanReportTest : public ::testing::Test {
 protected:
  PlanReportTest() {
    report_.model = "model.tflite";
    report_.graph = &graph_;
    report_.compiled = &compiled_;
    report_.read_seconds = 0.0625;
    report_.total_seconds = 0.5;
    report_.steps = {{"as given", 0.25}};
  }
  // The sentences above the table, without line breaks inside a sentence.
  std::string Headline() const {
    Style wide;
    wide.columns = 100;
    std::string text = PlanText(report_, wide);
    text.erase(text.find("\n\n"));
    for (std::size_t at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ")) {
      text.replace(at, 3, " ");
    }
    return text;
  }
  plan::EntryPlan& Entry() { return compiled_.plan.entries[0]; }

  graph::Graph graph_ = testing::TwoOperators();
  compile::Compiled compiled_ = testing::PlanOfTwoOperators();
  PlanReport report_;
};

TEST_F(PlanReportTest, Text) {
  report_.written = {"plan.json"};
  report_.notes = {"a line\nthat a file chose"};
  report_.next = {"-o OUT.tflite writes the model"};
  EXPECT_EQ(PlanText(report_, Style()),
            "Arena 301,056 B (294.0 KiB), 14.3 % below the file order's 351,232 B.\n"
            "Optimal arena (every order and placement).\n"
            "Peak at operator #0 'CONV_2D': input 'x' 150,528 + output 'y' 150,528 =\n"
            "  301,056 B.\n"
            "Next: -o OUT.tflite writes the model.\n"
            "\n"
            "  bytes                      plan  lower bound  file order\n"
            "  live bytes at the peak  301,056      301,056     340,000\n"
            "  arena                   301,056      301,056     351,232\n"
            "  runtime ideal, order exact: 2 operators, 3 tensors, 1,234 states\n"
            "  0.500 s: read 0.062, order 0.250, place 0.125, checks 0.062\n"
            "  wrote plan.json\n"
            "  note: a line\\x0athat a file chose\n");
}

TEST_F(PlanReportTest, StockRuntimeHasTheHeadline) {
  compiled_.plan.runtime = plan::Runtime::kTflm;
  compiled_.delivered_arena_bytes = 310000;
  Entry().arena_given_order_lower_bound_bytes = 301100;
  EXPECT_THAT(
      Headline(),
      StartsWith("Arena 310,000 B (302.7 KiB) in TFLM, 11.7 % below the file order's 351,232 B.\n"
                 "Gap 2.9 % caused by TFLM's own planner (no order and no placement is below "
                 "301,056 B).\n"));
  Entry().arena_bytes = 301056 + 16;
  EXPECT_THAT(Headline(), HasSubstr("\nGap 2.9 % (lower bound 301,056 B).\n"));
  Entry().arena_bytes = 301056;
  compiled_.totals = {{&target::DefaultTarget(), 2000, 312000, ""}};
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("  bytes                      plan  lower bound  file order\n"
                        "  live bytes at the peak  301,056      301,056     340,000\n"
                        "  arena of the plan       301,056      301,056\n"
                        "  arena, this order                    301,100\n"
                        "  arena in TFLM           310,000                  351,232\n"
                        "  total arena, Cortex-M   312,000\n"));
  compiled_.totals[0].missing = "a reason";
  EXPECT_THAT(PlanText(report_, Style()), Not(HasSubstr("total arena")));
  // Equal numbers have one row.
  compiled_.delivered_arena_bytes = 301056;
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("  live bytes at the peak  301,056      301,056     340,000\n"
                        "  arena in TFLM           301,056      301,056     351,232\n"
                        "  arena, this order                    301,100\n"));
}

TEST_F(PlanReportTest, NamesTheWrittenModel) {
  compiled_.plan.runtime = plan::Runtime::kTflm;
  compiled_.delivered_arena_bytes = 301056;
  report_.carries_plan = true;
  EXPECT_THAT(Headline(), Not(HasSubstr("allocates")));
  report_.model_file = "out.tflite";
  EXPECT_THAT(Headline(), HasSubstr("\nTFLM allocates this arena for out.tflite, which contains "
                                    "this memory plan."));
  report_.carries_plan = false;
  EXPECT_THAT(Headline(), HasSubstr("which contains the order alone."));
}

TEST_F(PlanReportTest, LinesFit) {
  auto& tensors = graph_.subgraphs[graph::SubgraphId(0)].tensors;
  tensors[graph::TensorId(0)].name = std::string(300, 'x');
  tensors[graph::TensorId(1)].name = std::string(300, 'y');
  compiled_.plan.runtime = plan::Runtime::kTflm;
  compiled_.plan.kernels = ops::KernelLibrary::kTflmReference;
  compiled_.delivered_arena_bytes = 310000;
  report_.budgets.arena_bytes = 100;
  report_.tried = {{"as given", 400000, false, false}, {"tiles", 310000, false, true, true, 3, 2}};
  report_.cascade = CascadeReport();
  report_.cascade->tiles = 4;
  report_.cascade->device = "a device with a long name of several words";
  report_.notes = {std::string(60, 'a') + " " + std::string(60, 'b')};
  report_.next = {std::string(60, 'a') + " " + std::string(60, 'b')};
  for (const int columns : {60, 80, 100, 160}) {
    Style style;
    style.columns = columns;
    style.color = true;
    std::istringstream lines(PlanText(report_, style));
    for (std::string line; std::getline(lines, line);) {
      line = std::regex_replace(line, std::regex("\x1b\\[[0-9]*m"), "");
      EXPECT_LE(ColumnsOf(line), static_cast<std::size_t>(std::min(std::max(columns, 80), 100)))
          << line;
    }
  }
}

TEST_F(PlanReportTest, BudgetOfTheTotalArena) {
  compiled_.totals = {{&target::DefaultTarget(), 2000, 312000, ""}};
  report_.budgets.total_bytes = 312000;
  EXPECT_TRUE(Fits(report_));
  report_.budgets.total_bytes = 311999;
  EXPECT_FALSE(Fits(report_));
  EXPECT_EQ(OverBudgetText(report_),
            "over budget: total arena on Cortex-M required 312,000 B (304.7 KiB), available "
            "311,999 B (304.7 "
            "KiB), excess 1 B");
  EXPECT_THAT(Headline(),
              StartsWith("Over budget by 1 B: total arena on Cortex-M required 312,000 B, "
                         "available 311,999 B.\nArena "));
}

TEST_F(PlanReportTest, ComparesWithoutNegativeNumbers) {
  compiled_.file_order.arena_bytes = 301056;
  EXPECT_THAT(Headline(), StartsWith("Arena 301,056 B (294.0 KiB), equal to the file order's.\n"
                                     "Optimal arena (every order and placement).\n"));
  compiled_.file_order.arena_bytes = 301057;
  EXPECT_THAT(Headline(), HasSubstr(", under 0.1 % below the file order's 301,057 B.\n"));
  compiled_.file_order.arena_bytes = 200704;
  EXPECT_THAT(Headline(), HasSubstr(", 50.0 % above the file order's 200,704 B.\n"));
  compiled_.file_order.arena_bytes = 0;
  EXPECT_THAT(Headline(), HasSubstr(", the file order's is 0 B.\n"));
}

// The word always names what it ranges over.
TEST_F(PlanReportTest, OptimalNamesItsRange) {
  report_.placed = false;
  compiled_.file_order.peak_bytes = 340000;
  EXPECT_THAT(Headline(), HasSubstr("\nOptimal order (every order).\n"));
  report_.placed = true;
  RewriteReport rewriting;
  rewriting.source = &graph_;
  rewriting.peak_lower_bound_bytes = 301055;
  report_.rewriting = rewriting;
  EXPECT_THAT(Headline(),
              HasSubstr("\nOptimal arena (every order and placement of the rewritten graph)."));
  report_.rewriting->peak_lower_bound_bytes = 301056;
  EXPECT_THAT(Headline(),
              HasSubstr("\nOptimal arena over these rules (every rewrite, order and placement)."));
  // With overlaps inside operators the bound of the peak is no bound of the arena.
  compiled_.plan.kernels = ops::KernelLibrary::kTflmReference;
  EXPECT_THAT(Headline(),
              HasSubstr("\nOptimal arena (every order and placement of the rewritten graph)."));
  compiled_.plan.kernels = ops::KernelLibrary::kNone;
  report_.rewriting.reset();
  report_.cascade = CascadeReport();
  report_.cascade->tiles = 4;
  EXPECT_THAT(Headline(), HasSubstr("\nOptimal arena of these tiles (every order and placement)."));
  EXPECT_EQ(Headline().find("proven optimal"), std::string::npos);
}

TEST_F(PlanReportTest, NamesTheKindOfPlanThatWasTaken) {
  EXPECT_EQ(PlanText(report_, Style()).find("taken"), std::string::npos);
  report_.tried = {{"as given", 400000, true, false}, {"tiles", 301056, true, true}};
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("\n  taken: tiles, 301,056 B (fewest bytes); as given 400,000 B\n"));
  EXPECT_TRUE(nlohmann::json::parse(PlanJson(report_))["tried"][1]["fits"].is_null());
  report_.tried[0].kind = "as given with overlap copies";
  EXPECT_THAT(PlanText(report_, Style()), HasSubstr("; as given with copies in"));
  EXPECT_EQ(nlohmann::json::parse(PlanJson(report_))["tried"][0]["kind"], report_.tried[0].kind);
  report_.tried[0].kind = "as given";
  report_.budgets.arena_bytes = 350000;
  report_.tried[0].fits = false;
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr(" B (the only one within the budget); as given"));
  report_.budgets.arena_bytes = 1000;
  report_.tried[1].fits = false;
  report_.tried[1].macs = 1003;
  report_.tried[1].whole_macs = 1000;
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("\n  taken: tiles at 1.003x MACs, 301,056 B (fewest bytes, none is within "
                        "the\n    budget); as given 400,000 B\n"));
  const auto json = nlohmann::json::parse(PlanJson(report_))["tried"];
  EXPECT_EQ(json[0]["kind"], "as given");
  EXPECT_EQ(json[1]["fits"], false);
  EXPECT_EQ(json[1]["taken"], true);
  report_.tried[0].known = false;
  EXPECT_THAT(PlanText(report_, Style()), HasSubstr("; as given 400,000 B without scratch\n"));
  const auto unknown = nlohmann::json::parse(PlanJson(report_))["tried"];
  EXPECT_TRUE(unknown[0]["fits"].is_null());
  EXPECT_EQ(unknown[1]["fits"], false);
}

TEST_F(PlanReportTest, UnknownIsAValue) {
  compiled_.plan.runtime = plan::Runtime::kTflm;
  compiled_.unknown_kernels = {{"#1 'MY_OP'", "it is large"}, {"#2 'MY_OP'", ""}};
  const std::string missing = "the scratch of operator #1 'MY_OP' is not modelled";
  compiled_.totals = {{&target::DefaultTarget(), -1, -1, missing}};
  EXPECT_THAT(Headline(),
              HasSubstr("Arena of the plan 301,056 B (294.0 KiB), 14.3 % below the file order's "
                        "351,232 B."));
  const std::string text = PlanText(report_, Style());
  EXPECT_THAT(Headline(),
              HasSubstr("\nTFLM's own allocation is unknown: the scratch of operator #1 'MY_OP' "
                        "and of 1 more is not modelled: it is large.\n"));
  EXPECT_THAT(text, Not(HasSubstr("ptimal")));
  EXPECT_THAT(text, Not(HasSubstr("allocates")));
  EXPECT_TRUE(Fits(report_));
  report_.budgets.arena_bytes = 1'000'000;
  EXPECT_FALSE(Fits(report_));
  EXPECT_FALSE(IsBudgetKnown(report_));
  EXPECT_EQ(
      OverBudgetText(report_),
      "it is unknown whether the arena fits: the scratch of operator #1 'MY_OP' and of 1 more "
      "is not modelled: it is large");
  const auto json = nlohmann::json::parse(PlanJson(report_));
  EXPECT_TRUE(json["fits"].is_null());
  EXPECT_TRUE(json["delivered"]["arena_bytes"].is_null());
  EXPECT_TRUE(json["delivered"]["total_arena_bytes"].is_null());
  EXPECT_EQ(json["delivered"]["targets"][0]["missing"], missing);
  report_.budgets.arena_bytes.reset();
  report_.placed = false;
  EXPECT_THAT(Headline(), HasSubstr("\nScratch is not counted: the scratch of operator"));
}

TEST_F(PlanReportTest, AnUnknownTotalIsNoFit) {
  compiled_.plan.runtime = plan::Runtime::kTflm;
  compiled_.delivered_arena_bytes = 301056;
  compiled_.totals = {{&target::DefaultTarget(), -1, -1, "a reason"}};
  report_.budgets.total_bytes = 1'000'000;
  EXPECT_EQ(OverBudgetText(report_), "it is unknown whether the total arena fits: a reason");
  EXPECT_TRUE(nlohmann::json::parse(PlanJson(report_))["fits"].is_null());
  // A plan that is known not to fit does not fit.
  report_.budgets.arena_bytes = 100;
  EXPECT_EQ(nlohmann::json::parse(PlanJson(report_))["fits"], false);
}

TEST_F(PlanReportTest, SaysWhenItIsUnproven) {
  Entry().arena_lower_bound_bytes = 295000;
  Entry().arena_status = plan::BoundStatus::kBounded;
  EXPECT_THAT(Headline(), HasSubstr("\nGap 2.0 % (lower bound 295,000 B).\n"));
  compiled_.interrupted = true;
  EXPECT_THAT(Headline(),
              HasSubstr("\nInterrupted before a proof: gap 2.0 % (lower bound 295,000 B).\n"));
}

TEST_F(PlanReportTest, OrderOnlySpeaksOfThePeak) {
  report_.placed = false;
  Entry().arena_bytes = 0;
  EXPECT_THAT(Headline(),
              StartsWith("Peak 301,056 B (294.0 KiB), 11.5 % below the file order's 340,000 B.\n"));
  EXPECT_THAT(PlanText(report_, Style()), Not(HasSubstr("  arena")));
  const auto json = nlohmann::json::parse(PlanJson(report_));
  EXPECT_TRUE(json["plan"]["arena_bytes"].is_null());
  EXPECT_TRUE(json["plan"]["arena_status"].is_null());
  EXPECT_TRUE(json["file_order"]["arena_bytes"].is_null());
}

TEST_F(PlanReportTest, OverBudget) {
  report_.budgets.arena_bytes = 301056;
  EXPECT_TRUE(Fits(report_));
  report_.budgets.arena_bytes = 301055;
  EXPECT_FALSE(Fits(report_));
  report_.budgets.arena_bytes = 256000;
  EXPECT_EQ(
      OverBudgetText(report_),
      "over budget: required 301,056 B (294.0 KiB), available 256,000 B (250.0 KiB), excess "
      "45,056 B (44.0 KiB); no order and no placement of this graph needs less than 301,056 B");
  EXPECT_THAT(Headline(), StartsWith("Over budget by 45,056 B (44.0 KiB): required 301,056 B, "
                                     "available 256,000 B.\nArena 301,056 B"));
  report_.rewriting = RewriteReport();
  report_.rewriting->source = &graph_;
  EXPECT_THAT(OverBudgetText(report_), HasSubstr("no placement of the rewritten graph needs"));
  report_.rewriting.reset();
  Entry().arena_lower_bound_bytes = 200000;
  EXPECT_THAT(OverBudgetText(report_), Not(HasSubstr("no order")));
  // Intermediate results.
  report_.tried = {{"as given", 400000, false, false},
                   {"tiles", 301056, false, true, true, 1003, 1000}};
  EXPECT_EQ(OverBudgetText(report_),
            "over budget: required 301,056 B (294.0 KiB) (tiles at 1.003x MACs), available 256,000 "
            "B (250.0 KiB), excess 45,056 B (44.0 KiB)");
  // The runtime's allocation counts, where it is known.
  report_.budgets.arena_bytes = 305000;
  EXPECT_TRUE(Fits(report_));
  compiled_.delivered_arena_bytes = 310000;
  EXPECT_FALSE(Fits(report_));
}

TEST_F(PlanReportTest, NamesOverwrittenInputs) {
  Entry().overlaps = {
      {0, graph::SubgraphId(0), graph::TensorId(0), graph::TensorId(1)},
      {1, graph::SubgraphId(0), graph::TensorId(1), graph::TensorId(2)},
  };
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("  2 outputs overwrite an input of their operator\n"
                        "  model input 'x' is overwritten\n"));
  const auto json = nlohmann::json::parse(PlanJson(report_));
  EXPECT_EQ(json["overlaps"].size(), 2U);
  ASSERT_EQ(json["clobbered_inputs"].size(), 1U);
  EXPECT_EQ(json["clobbered_inputs"][0]["name"], "x");
}

TEST_F(PlanReportTest, ListsAllEntries) {
  compiled_.plan.entries.push_back(Entry());
  compiled_.plan.entries[1].signature = "encode";
  compiled_.plan.entries[1].arena_bytes = 100;
  compiled_.plan.entries[1].arena_lower_bound_bytes = 50;
  compiled_.plan.entries[1].arena_status = plan::BoundStatus::kBounded;
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("    #0: peak 301,056 B (optimal order), arena 301,056 B (optimal arena)\n"
                        "    #0 'encode': peak 301,056 B (optimal order), arena 100 B (gap 50.0 "
                        "%)\n"));
  EXPECT_EQ(nlohmann::json::parse(PlanJson(report_))["entries"].size(), 2U);
}

TEST_F(PlanReportTest, Json) {
  report_.written = {"plan.json", "out.tflite"};
  report_.model_file = "out.tflite";
  report_.budgets.arena_bytes = 400000;
  compiled_.plan.written_sha256 = "ef01";
  compiled_.delivered_arena_bytes = 310000;
  const std::string text = PlanJson(report_);
  EXPECT_EQ(text.back(), '\n');
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema_version"], 2);
  EXPECT_EQ(json["model"], "model.tflite");
  EXPECT_EQ(json["runtime"], "ideal");
  EXPECT_EQ(json["operators"], 2);
  EXPECT_EQ(json["tensors"], 3);
  EXPECT_EQ(json["file_order"]["peak_bytes"], 340000);
  EXPECT_EQ(json["plan"]["order_status"], "optimal");
  EXPECT_EQ(json["plan"]["states"], 1234);
  EXPECT_EQ(json["delivered"]["file"], "out.tflite");
  EXPECT_EQ(json["delivered"]["sha256"], "ef01");
  EXPECT_EQ(json["delivered"]["arena_bytes"], 310000);
  EXPECT_TRUE(json["delivered"]["total_arena_bytes"].is_null());
  compiled_.totals = {{&target::DefaultTarget(), 2000, 312000, ""},
                      {&target::WheelTarget(), -1, -1, "a reason"}};
  const auto delivered = nlohmann::json::parse(PlanJson(report_))["delivered"];
  EXPECT_EQ(delivered["persistent_bytes"], 2000);
  EXPECT_EQ(delivered["total_arena_bytes"], 312000);
  EXPECT_EQ(delivered["memory_plan"], false);
  EXPECT_EQ(delivered["targets"][1]["target"], "x86-64");
  EXPECT_TRUE(delivered["targets"][1]["total_arena_bytes"].is_null());
  EXPECT_EQ(delivered["targets"][1]["missing"], "a reason");
  EXPECT_EQ(json["peak_at"]["operator"]["type"], "CONV_2D");
  EXPECT_EQ(json["peak_at"]["tensors"][1]["bytes"], 150528);
  EXPECT_TRUE(json["cascade"].is_null());
  EXPECT_TRUE(json["moves"].empty());
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["seconds"]["order"], 0.25);
  EXPECT_EQ(json["steps"], nlohmann::json::parse(R"([{"name": "as given", "seconds": 0.25}])"));
  EXPECT_EQ(json["written"].size(), 2U);
}

TEST_F(PlanReportTest, JsonOfAFileThatChoseItsNamesBadly) {
  graph_.subgraphs[graph::SubgraphId(0)].tensors[graph::TensorId(0)].name = "\xff\x80";
  EXPECT_TRUE(nlohmann::json::accept(PlanJson(report_)));
  EXPECT_TRUE(nlohmann::json::parse(PlanJson(report_))["delivered"].is_null());
}

}  // namespace
}  // namespace neap::report
