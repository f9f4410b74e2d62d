// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "neap/show/report/report.h"
#include "testing/report_models.h"

namespace neap::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InspectReportTest : public ::testing::Test {
 protected:
  InspectReportTest() {
    compile::Inspection inspection;
    inspection.subgraph = graph::SubgraphId(0);
    inspection.steps = {{graph::SubgraphId(0), graph::OpId(0), 301056},
                        {graph::SubgraphId(0), graph::OpId(1), 151528}};
    inspection.peak_bytes = 301056;
    inspection.peak_at = testing::PeakOfTwoOperators();
    inspection.constant_bytes = 64;
    inspections_.push_back(std::move(inspection));
    report_.model = "model.tflite";
    report_.format = "tflite";
    report_.graph = &graph_;
    report_.inspections = &inspections_;
  }
  // A chain of `count` operators; operator i has i * 10 live bytes but the peak is `peak`.
  void MakeChain(std::int32_t count, std::int32_t peak) {
    graph::Subgraph& main = graph_.subgraphs[graph::SubgraphId(0)];
    main.ops = {};
    inspections_[0].steps.clear();
    for (std::int32_t at = 0; at < count; ++at) {
      main.ops.push_back(testing::MakeOp("ADD", {}, {}));
      inspections_[0].steps.push_back(
          {graph::SubgraphId(0), graph::OpId(at), at == peak ? 1'000'000 : at * 10});
    }
  }
  static std::ptrdiff_t Lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }

  graph::Graph graph_ = testing::TwoOperators();
  std::vector<compile::Inspection> inspections_;
  InspectReport report_;
};

TEST_F(InspectReportTest, Text) {
  Style style;
  style.columns = 46;
  EXPECT_EQ(InspectText(report_, style),
            "Peak 301,056 B (294.0 KiB) in file order.\n"
            "Peak at operator #0 'CONV_2D': input 'x'\n"
            "  150,528 + output 'y' 150,528 = 301,056 B.\n"
            "  tflite, runtime ideal: 2 operators, 3 tensors\n"
            "\n"
            "Live bytes while each operator runs\n"
            "> #0 CONV_2D  301,056  #######################\n"
            "  #1 RELU     151,528  ###########\n"
            "\n"
            "Largest tensors\n"
            "    bytes  type           tensor\n"
            "  150,528  uint8[150528]  #0 'x', input\n"
            "  150,528  uint8[150528]  #1 'y' of #0 'CONV_2D'\n"
            "    1,000  uint8[1000]    #2 'z' of #1 'RELU'\n"
            "\n"
            "Constants 64 B; variables 0 B.\n");
}

TEST_F(InspectReportTest, BlocksWhereTheTerminalHasThem) {
  Style style;
  style.ascii = false;
  style.columns = 31;  // at least ten columns for bars
  EXPECT_THAT(InspectText(report_, style), HasSubstr("151,528  █████\n"));
}

TEST_F(InspectReportTest, WrapsLongNotes) {
  report_.notes = {std::string(90, 'n') + " longer"};
  EXPECT_THAT(InspectText(report_, Style()), HasSubstr(std::string(90, 'n') + "\n  longer\n"));
}

TEST_F(InspectReportTest, ShortensALongChart) {
  MakeChain(1000, 500);
  const std::string text = InspectText(report_, Style());
  EXPECT_LT(Lines(text), 65);
  EXPECT_THAT(text, HasSubstr("> #500 ADD  1,000,000  ####"));
  EXPECT_THAT(text, HasSubstr("  #492 ADD"));
  EXPECT_THAT(text, HasSubstr("  #999 ADD"));  // one of the largest
  EXPECT_THAT(text, HasSubstr("  ... 491 more, at most 4,910\n"));
  EXPECT_THAT(text, Not(HasSubstr("#400 ADD")));
  report_.all = true;
  EXPECT_GT(Lines(InspectText(report_, Style())), 1000);
}

TEST_F(InspectReportTest, SixtyOperatorsAreShownWhole) {
  MakeChain(60, 3);
  EXPECT_THAT(InspectText(report_, Style()), Not(HasSubstr("...")));
}

TEST_F(InspectReportTest, TopLimitsTheTable) {
  report_.top = 1;
  EXPECT_THAT(InspectText(report_, Style()), Not(HasSubstr("#1 'y'")));
  report_.top = 0;
  EXPECT_THAT(InspectText(report_, Style()), Not(HasSubstr("Largest tensors")));
}

TEST_F(InspectReportTest, AGraphWithoutOperators) {
  inspections_[0].steps.clear();
  inspections_[0].peak_bytes = 0;
  inspections_[0].peak_at = {};
  EXPECT_THAT(InspectText(report_, Style()), HasSubstr("Peak 0 B in file order.\n"));
  EXPECT_TRUE(nlohmann::json::parse(InspectJson(report_))["peak_at"]["operator"].is_null());
}

TEST_F(InspectReportTest, Json) {
  MakeChain(100, 7);
  const auto json = nlohmann::json::parse(InspectJson(report_));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["peak_bytes"], 301056);
  EXPECT_EQ(json["entries"][0]["steps"].size(), 100U);
  EXPECT_EQ(json["entries"][0]["steps"][7]["live_bytes"], 1'000'000);
  EXPECT_EQ(json["largest_tensors"][0]["shape"][0], 150528);
}

TEST(CheckReportTest, TextAndJson) {
  compile::Compiled compiled = testing::PlanOfTwoOperators();
  compiled.plan.entries[0].tensors.emplace_back();
  CheckReport report{"model.tflite", "abcd", "plan.json", &compiled.plan, {}, {}};
  EXPECT_EQ(CheckText(report, Style()),
            "ok: the plan is valid for runtime ideal: peak 301,056 B, arena 301,056 B\n"
            "  verified: hash of the model, order of 2 steps, 1 placement (no two live\n"
            "    tensors share a byte), peak, arena\n"
            "  lower bound of the peak: verified\n");
  // Overlapping tensors have a separate sentence.
  compiled.plan.entries[0].overlaps.emplace_back();
  EXPECT_THAT(CheckText(report, Style()),
              HasSubstr("1 placement (live tensors share\n    bytes only as 1 overlap allows), "
                        "peak, arena\n"));
  compiled.plan.runtime = plan::Runtime::kLitert;
  EXPECT_THAT(CheckText(report, Style()), HasSubstr("LiteRT's operators work in place"));
  compiled.plan.runtime = plan::Runtime::kIdeal;
  compiled.plan.entries[0].stream.emplace().segments.emplace_back();
  EXPECT_THAT(CheckText(report, Style()), HasSubstr("addresses of 1 segment, peak,\n    arena\n"));
  compiled.plan.entries[0].stream.reset();
  compiled.plan.entries[0].arena_certificate.kind = plan::CertificateKind::kSingleOperator;
  EXPECT_THAT(CheckText(report, Style()),
              HasSubstr("  lower bound of the peak: verified; of the arena: verified\n"));
  compiled.plan.entries[0].arena_certificate.kind = plan::CertificateKind::kNone;
  compiled.plan.entries[0].certificate.kind = plan::CertificateKind::kSearch;
  compiled.plan.entries[0].arena_bytes = 0;
  EXPECT_EQ(CheckText(report, Style()),
            "ok: the plan is valid for runtime ideal: peak 301,056 B\n"
            "  verified: hash of the model, order of 2 steps, peak (the plan has no\n"
            "    addresses)\n"
            "  lower bound of the peak: not verified (result of a search; --replay searches\n"
            "    again)\n");
  EXPECT_EQ(nlohmann::json::parse(CheckJson(report))["ok"], true);
  report.violations = {"tensor #1 overlaps tensor #2"};
  const auto json = nlohmann::json::parse(CheckJson(report));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["violations"][0], "tensor #1 overlaps tensor #2");
}

TEST_F(InspectReportTest, MemoryPlanOfTheFile) {
  EXPECT_THAT(InspectText(report_, Style()), Not(HasSubstr("memory plan")));
  EXPECT_TRUE(nlohmann::json::parse(InspectJson(report_))["memory_plan"].is_null());
  report_.memory_plan = MemoryPlanReport{"", "", {301056, 3, 0, {}, {}}};
  EXPECT_THAT(
      InspectText(report_, Style()),
      HasSubstr("Contains an offline memory plan for TFLM: 301,056 B (294.0 KiB), 3 tensors "
                "placed; valid.\n"));
  report_.memory_plan->verdict.online = 1;
  report_.memory_plan->verdict.inside_operators = {"operator a"};
  EXPECT_THAT(
      InspectText(report_, Style()),
      HasSubstr("placed, 1 left to TFLM; valid only with kernels that read each byte before they "
                "overwrite it: operator a.\n"));
  report_.memory_plan->verdict.problems = {"tensors a and b", "c"};
  EXPECT_THAT(InspectText(report_, Style()),
              HasSubstr("; invalid because tensors a and b (and 1 more).\n"));
  const auto json = nlohmann::json::parse(InspectJson(report_))["memory_plan"];
  EXPECT_EQ(json["status"], "invalid");
  EXPECT_EQ(json["problems"].size(), 2U);
  report_.memory_plan->kernels = "some-kernels";
  EXPECT_THAT(InspectText(report_, Style()),
              HasSubstr("; tensors share bytes: valid only with some-kernels kernels.\n"));
  report_.memory_plan->problem = "it is cut off";
  EXPECT_THAT(InspectText(report_, Style()), HasSubstr("for TFLM: unreadable: it is cut off.\n"));
}

}  // namespace
}  // namespace neap::report
