// SPDX-License-Identifier: Apache-2.0
//
// Plans in which operators run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/options.h"
#include "neap/plan/plan_json.h"
#include "testing/graph_json.h"

namespace neap::deliver {
namespace {

using ::testing::HasSubstr;

// Forward and backward of a chain; a forward operator costs a third of all.
std::string TrainingChain(int layers) {
  std::string tensors = R"({"name": "x0", "bytes": 100})";
  std::string ops;
  const auto add = [&](const std::string& name, const std::string& inputs,
                       const std::string& output, int cost) {
    tensors += R"(, {"name": ")" + output + R"(", "bytes": 100})";
    if (!ops.empty()) ops += ", ";
    ops += R"({"name": ")" + name + R"(", "inputs": [)" + inputs + R"(], "outputs": [")" + output +
           R"("], "cost": )" + std::to_string(cost) + "}";
  };
  const auto quoted = [](char letter, int number) {
    return std::string("\"") + letter + std::to_string(number) + "\"";
  };
  for (int i = 1; i <= layers; ++i) add("forward", quoted('x', i - 1), "x" + std::to_string(i), 10);
  std::string gradient = quoted('x', layers);
  for (int i = layers; i-- > 0;) {
    add("backward", gradient + ", " + quoted('x', i), "g" + std::to_string(i), 20);
    gradient = quoted('g', i);
  }
  return R"({"tensors": [)" + tensors + R"(], "inputs": ["x0"], "outputs": ["g0"], "ops": [)" +
         ops + "]}";
}

std::int64_t PeakOf(const Delivery& delivery) {
  return plan::LargestEntry(delivery.compiled.plan).peak_bytes;
}

TEST(Repeated, ALargerCostNeverHasALargerPeak) {
  const formats::SourceModel model = ModelOf(TrainingChain(16));
  Request request;
  const auto whole = Deliver(model, request);
  ASSERT_TRUE(whole);
  std::int64_t last = PeakOf(*whole);
  for (const std::int64_t permille : {1050, 1100, 1200, 1330, 1500, 2000}) {
    request.max_cost_permille = permille;
    const auto delivery = Deliver(model, request);
    ASSERT_TRUE(delivery);
    EXPECT_LE(PeakOf(*delivery), last);
    last = PeakOf(*delivery);
    EXPECT_EQ(delivery->kind, Kind::kRepeated);
    ASSERT_TRUE(delivery->repetitions);
    EXPECT_EQ(delivery->repetitions->base_cost, 480);
  }
  EXPECT_LE(last, 600);
}

TEST(Repeated, ThePlanIsCheckedAndReadBack) {
  const formats::SourceModel model = ModelOf(TrainingChain(8));
  Request request;
  request.max_cost_permille = 1300;
  const auto delivery = Deliver(model, request);
  ASSERT_TRUE(delivery);
  ASSERT_EQ(delivery->kind, Kind::kRepeated);
  const auto plan = plan::FromJson(plan::ToJson(delivery->compiled.plan));
  ASSERT_TRUE(plan) << plan.error().ToString();
  EXPECT_EQ(plan->repeated_order, delivery->compiled.plan.repeated_order);
  const auto replayed = ReplayEdits(model, *plan, {});
  ASSERT_TRUE(replayed) << replayed.error().ToString();
  EXPECT_TRUE(check::CheckPlan(replayed->Planned().graph, *plan).empty());
  // Another sequence is another model.
  plan::Plan other = *plan;
  other.repeated_order.erase(other.repeated_order.begin());
  const auto refused = ReplayEdits(model, other, {});
  if (refused) {
    EXPECT_FALSE(check::CheckPlan(refused->Planned().graph, other).empty());
  } else {
    EXPECT_EQ(refused.error().file, "folder/graph.json");
  }
}

TEST(Repeated, ABudgetTakesTheLeastCost) {
  const formats::SourceModel model = ModelOf(TrainingChain(16));
  std::int64_t last = 0;
  for (const std::int64_t budget : {1800, 1500, 1200, 900}) {
    Request request;
    request.max_cost_permille = 2000;
    request.budgets.arena_bytes = budget;
    const auto delivery = Deliver(model, request);
    ASSERT_TRUE(delivery);
    EXPECT_LE(plan::LargestEntry(delivery->compiled.plan).arena_bytes, budget);
    const auto runs = static_cast<std::int64_t>(delivery->compiled.plan.repeated_order.size());
    EXPECT_GE(runs, last);
    if (budget == 1800) {
      EXPECT_EQ(delivery->kind, Kind::kAsGiven);
    }
    last = runs;
  }
}

TEST(Repeated, WithoutGainTheModelStaysAsGiven) {
  Request request;
  request.max_cost_permille = 1500;
  const auto delivery = Deliver(ModelOf(kChain), request);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->kind, Kind::kAsGiven);
  EXPECT_TRUE(delivery->compiled.plan.repeated_order.empty());
}

TEST(Repeated, OtherKindsOfPlansAreRefusedByName) {
  const auto refused = [](const char* name, const char* value) {
    Words words;
    words.prefix = "--";
    EXPECT_TRUE(Set("recompute", "1.2", &words));
    EXPECT_TRUE(Set(name, value, &words));
    const Status status = CheckWords(words);
    EXPECT_FALSE(status);
    return status ? "" : status.error().message;
  };
  EXPECT_THAT(refused("cascade", "auto"), HasSubstr("--recompute cannot be combined"));
  EXPECT_THAT(refused("stream", "auto"), HasSubstr("--recompute cannot be combined"));
  EXPECT_THAT(refused("order", "file"), HasSubstr("--recompute cannot be combined"));
  EXPECT_THAT(refused("order-only", ""), HasSubstr("--recompute cannot be combined"));
  Words words;
  for (const char* text : {"1", "0.9", "x", "1.2345", "1000", ""}) {
    EXPECT_FALSE(Set("recompute", text, &words)) << text;
  }
}

}  // namespace
}  // namespace neap::deliver
