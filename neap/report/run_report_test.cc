// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "neap/report/report.h"

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
  EXPECT_EQ(json["outputs"][0]["shape"], nlohmann::json({1, 2}));
  EXPECT_THAT(RunText(Example(), {}), Not(HasSubstr("arena")));
}

TEST(RunReport, TellsArenaViolationsAndComparison) {
  RunReport report = Example();
  report.plan_file = "p.json";
  report.arena_bytes = 96;
  report.high_water_bytes = 80;
  report.equal = false;
  report.violations = {"slot 1: bad"};
  const auto json = nlohmann::json::parse(RunJson(report));
  EXPECT_EQ(json["arena_bytes"], 96);
  EXPECT_EQ(json["high_water_bytes"], 80);
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["violations"][0], "slot 1: bad");
  const std::string text = RunText(report, {});
  EXPECT_THAT(text, HasSubstr("1 violations"));
  EXPECT_THAT(text, HasSubstr("outputs differ"));
  EXPECT_THAT(text, HasSubstr("out\\x0a: int8 [1,2]"));
}

}  // namespace
}  // namespace neap::report
