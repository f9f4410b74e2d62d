// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "neap/show/report/report.h"

namespace neap::report {
namespace {

using testing::HasSubstr;
using testing::Not;

RunReport Example() {
  RunReport report;
  report.model = "m.tflite";
  report.kernels = "tflm";
  report.outputs.push_back({"out\n", graph::ElementType::kInt8, {1, 2}, "ab"});
  report.seconds = 0.5;
  return report;
}

TEST(RunReport, WithoutAPlanThereIsNoArena) {
  const auto json = nlohmann::json::parse(RunJson(Example()));
  EXPECT_TRUE(json["plan"].is_null());
  EXPECT_TRUE(json["arena_bytes"].is_null());
  EXPECT_TRUE(json["equal"].is_null());
  EXPECT_TRUE(json["comparison"].is_null());
  EXPECT_EQ(json["outputs"][0]["shape"], nlohmann::json({1, 2}));
  EXPECT_THAT(RunText(Example(), {}), Not(HasSubstr("arena")));
}

TEST(RunReport, LongOutputsTakeTwoLines) {
  RunReport report = Example();
  report.outputs[0].sha256 = std::string(64, 'a');
  EXPECT_THAT(RunText(report, {}), HasSubstr("int8 [1,2], sha256 aaaa"));
  report.outputs[0].name = "Identity_int8";
  EXPECT_THAT(RunText(report, {}), HasSubstr("output Identity_int8: int8 [1,2],\n  sha256 aaaa"));
}

TEST(RunReport, ArenaViolationsAndComparison) {
  RunReport report = Example();
  report.plan_file = "p.json";
  report.arena_bytes = 96;
  report.high_water_bytes = 80;
  report.comparison = RunReport::Comparison();
  report.comparison->outputs.push_back({"out", graph::ElementType::kInt8, 4, 2, 3.0, 100, 0.03});
  report.violations = {"slot 1: bad"};
  const auto json = nlohmann::json::parse(RunJson(report));
  EXPECT_EQ(json["arena_bytes"], 96);
  EXPECT_EQ(json["high_water_bytes"], 80);
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["violations"][0], "slot 1: bad");
  const std::string text = RunText(report, {});
  EXPECT_THAT(text, HasSubstr("; 1 violation\n"));
  EXPECT_THAT(text, HasSubstr("output out: 2 of 4 elements differ from the given model; largest "
                              "difference 3 (0.03 of the largest magnitude, 100)\n"));
  EXPECT_THAT(text,
              HasSubstr("\nerror: the outputs differ from those of the given model, but the plan's "
                        "rewrites are exact\n"));
  EXPECT_THAT(text, HasSubstr("out\\x0a: int8 [1,2]"));
}

RunReport::Comparison Differing(std::optional<double> relative) {
  RunReport::Comparison comparison;
  comparison.rewrites_exact = false;
  comparison.outputs.push_back({"same", graph::ElementType::kFloat32, 8, 0, 0.0, 1, 0.0});
  comparison.outputs.push_back({"other", graph::ElementType::kFloat32, 8, 1, 0.5, 10, relative});
  return comparison;
}

TEST(RunReport, OnlyInexactRewritesPassWithinATolerance) {
  RunReport::Comparison comparison = Differing(0.05);
  EXPECT_FALSE(comparison.Passes());  // no tolerance was given
  comparison.tolerance = 0.05;
  EXPECT_TRUE(comparison.Passes());
  EXPECT_FALSE(comparison.Identical());
  comparison.tolerance = 0.049;
  EXPECT_FALSE(comparison.Passes());
  comparison.tolerance = 1e9;
  comparison.rewrites_exact = true;
  EXPECT_FALSE(comparison.Passes());
  comparison = Differing(std::nullopt);
  comparison.tolerance = 1e9;
  EXPECT_FALSE(comparison.Passes());
}

TEST(RunReport, SaysIdenticalOrWithinATolerance) {
  RunReport report = Example();
  report.comparison = Differing(0.05);
  EXPECT_THAT(RunText(report, {}), HasSubstr("rewrites are not exact"));
  EXPECT_THAT(RunText(report, {}), Not(HasSubstr("output same")));
  report.comparison->tolerance = 0.1;
  EXPECT_THAT(RunText(report, {}), HasSubstr("are within 0.1 of those of the given model"));
  const auto json = nlohmann::json::parse(RunJson(report));
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["comparison"]["passes"], true);
  EXPECT_EQ(json["comparison"]["outputs"][1]["differing_elements"], 1);
  EXPECT_EQ(json["comparison"]["outputs"][1]["relative_difference"], 0.05);
  report.comparison->outputs.pop_back();
  EXPECT_THAT(RunText(report, {}), HasSubstr("identical: every output byte"));
  EXPECT_EQ(nlohmann::json::parse(RunJson(report))["equal"], true);
}

}  // namespace
}  // namespace neap::report
