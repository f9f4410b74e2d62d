// SPDX-License-Identifier: Apache-2.0
//
// The C interface through its C++ face.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "neap/api/neap.h"
#include "neap/base/random.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "testing/streams.h"

namespace neap::api {
namespace {

using ::testing::HasSubstr;

// Two branches that a third operator joins: the order matters.
constexpr const char* kGraph = R"({
  "tensors": [{"name": "in", "bytes": 10}, {"name": "a", "bytes": 100}, {"name": "b", "bytes": 10},
              {"name": "c", "bytes": 200}, {"name": "d", "bytes": 10}, {"name": "out", "bytes": 5}],
  "inputs": ["in"], "outputs": ["out"],
  "ops": [{"name": "A", "inputs": ["in"], "outputs": ["a"]},
          {"name": "C", "inputs": ["in"], "outputs": ["c"]},
          {"name": "B", "inputs": ["a"], "outputs": ["b"]},
          {"name": "D", "inputs": ["c"], "outputs": ["d"]},
          {"name": "E", "inputs": ["b", "d"], "outputs": ["out"]}]})";

Model GraphModel() {
  auto model = Model::Parse(kGraph, "graph.json");
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

TEST(ApiTest, PlansAndChecks) {
  const Model model = GraphModel();
  EXPECT_EQ(model.num_operators(), 5U);
  const auto plan = Plan::Make(model);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->peak_bytes(), 220);  // a is over before c begins: in, c, b; then c, d, b
  EXPECT_EQ(plan->arena_bytes(), 220);
  EXPECT_EQ(plan->lower_bound_bytes(), 220);
  EXPECT_TRUE(plan->is_optimal());
  EXPECT_EQ(plan->file_order_arena_bytes(), 310);
  EXPECT_EQ(plan->total_arena_bytes(), -1);
  EXPECT_EQ(plan->fits(), std::optional(true));
  EXPECT_EQ(plan->kind(), "as given");
  EXPECT_TRUE(plan->Check(model));
  const auto json = plan->Json();
  ASSERT_TRUE(json);
  const auto parsed = Plan::Parse(*json);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->arena_bytes(), 220);
  EXPECT_TRUE(parsed->Check(model));
  EXPECT_EQ(*parsed->Json(), *json);
}

TEST(ApiTest, EmitsC) {
  Random random(1);
  const auto bytes = formats::ExportTflite(stream::test::Depthwise(&random, 5, 5, 4), "small");
  ASSERT_TRUE(bytes);
  const auto model =
      Model::Parse(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()),
                   "some/Small-1.tflite");
  ASSERT_TRUE(model) << model.error().message;
  const auto plan = Plan::Make(*model, Options().Set("runtime", "neap").Set("overlap", "neap-rt"));
  ASSERT_TRUE(plan) << plan.error().message;
  const auto sources = plan->EmitC(*model);
  ASSERT_TRUE(sources) << sources.error().message;
  ASSERT_GT(sources->files.size(), 2U);
  EXPECT_EQ(sources->files[0].name, "small_1.h");
  EXPECT_THAT(sources->files[0].text, HasSubstr("int small_1_run(void *arena);"));
  EXPECT_EQ(sources->files[1].name, "small_1.c");
  EXPECT_EQ(sources->files[2].name.rfind("neap_rt/", 0), 0U);
  EXPECT_EQ(sources->arena_bytes, (plan->arena_bytes() + 3) / 4 * 4 + 12);
  EXPECT_GT(sources->stack_bytes, 0);
  const auto single = plan->EmitC(*model, "net", true);
  ASSERT_TRUE(single) << single.error().message;
  ASSERT_EQ(single->files.size(), 2U);
  EXPECT_EQ(single->files[1].name, "net.c");
  EXPECT_EQ(plan->EmitC(*model, "Net").error().code, NEAP_USAGE);
  // Operators without a kernel.
  const Model other = GraphModel();
  const auto refused = Plan::Make(other)->EmitC(other);
  EXPECT_EQ(refused.error().code, NEAP_BAD_INPUT);
  EXPECT_THAT(refused.error().message, HasSubstr("5 of 5 operators cannot be emitted as C"));
  // The plan is for another model.
  EXPECT_FALSE(plan->EmitC(other));
}

TEST(ApiTest, FindsWhatIsWrongWithAPlan) {
  const Model model = GraphModel();
  const auto plan = Plan::Make(model);
  std::string json = *plan->Json();
  const std::size_t at = json.find("\"peak_bytes\": 220");
  ASSERT_NE(at, std::string::npos);
  json.replace(at, std::strlen("\"peak_bytes\": 220"), "\"peak_bytes\": 219");
  const auto wrong = Plan::Parse(json);
  ASSERT_TRUE(wrong);
  const Status status = wrong->Check(model);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, NEAP_WRONG_PLAN);
  EXPECT_NE(status.error().message.find("219"), std::string::npos) << status.error().message;
  const auto other = Model::Parse(R"({"tensors": [{"bytes": 1}], "inputs": [0], "outputs": [0],
                                      "ops": []})",
                                  "other.json");
  ASSERT_TRUE(other);
  EXPECT_EQ(plan->Check(*other).error().code, NEAP_WRONG_PLAN);
}

TEST(ApiTest, Budgets) {
  const Model model = GraphModel();
  EXPECT_EQ(Plan::Make(model, Options().Set("budget", "220"))->fits(), std::optional(true));
  EXPECT_EQ(Plan::Make(model, Options().Set("budget", "219"))->fits(), std::optional(false));
  EXPECT_EQ(*Fits(model, 220), std::optional(true));
  EXPECT_EQ(*Fits(model, 219), std::optional(false));
  EXPECT_EQ(*Fits(model, -1), std::optional(false));
  EXPECT_EQ(*Fits(model, std::numeric_limits<std::int64_t>::max()), std::optional(true));
}

TEST(ApiTest, Options) {
  const Model model = GraphModel();
  const auto file = Plan::Make(model, neap::api::Options().Set("order", "file"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->peak_bytes(), 310);
  const auto order = Plan::Make(model, neap::api::Options().Set("order-only"));
  EXPECT_EQ(order->arena_bytes(), 220);
  EXPECT_EQ(order->lower_bound_bytes(), 220);
  const auto unknown = Plan::Make(model, neap::api::Options().Set("speed", "high"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, NEAP_USAGE);
  EXPECT_EQ(unknown.error().message, "there is no option 'speed'");
  const auto no_value = Plan::Make(model, neap::api::Options().Set("order", "best"));
  EXPECT_NE(no_value.error().message.find("order 'best' is not one of exact|"), std::string::npos);
  const auto conflict =
      Plan::Make(model, neap::api::Options().Set("slack", "5").Set("order", "exact"));
  EXPECT_EQ(conflict.error().message, "slack requires forced relaxed");
  // No message names a flag of the command line.
  std::size_t count = 0;
  for (; neap_option_name(count) != nullptr; ++count) {
    EXPECT_EQ(std::string(neap_option_help(count)).find("--"), std::string::npos)
        << neap_option_name(count);
    EXPECT_NE(neap_option_value(count), nullptr);
  }
  EXPECT_EQ(count, deliver::Options().size());
  EXPECT_EQ(neap_option_help(count), nullptr);
}

TEST(ApiTest, Errors) {
  const auto missing = Model::Read("/nowhere/model.tflite");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, NEAP_IO);
  EXPECT_NE(missing.error().message.find("/nowhere/model.tflite"), std::string::npos);
  const auto garbage = Model::Parse("garbage", "model.tflite");
  ASSERT_FALSE(garbage);
  EXPECT_EQ(garbage.error().code, NEAP_BAD_INPUT);
  EXPECT_EQ(Model::Parse(kGraph, "graph.json", {"batch"}).error().code, NEAP_USAGE);
  EXPECT_FALSE(Plan::Parse("{}"));
  // A caller may give no place for the error.
  EXPECT_EQ(neap_model_read("/nowhere", nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(neap_fits(GraphModel().handle(), 1, nullptr, nullptr), 0);
  const Model model = GraphModel();
  EXPECT_EQ(Plan::Make(model)->WriteModel(model).error().code, NEAP_USAGE);
  neap_model_free(nullptr);
  neap_plan_free(nullptr);
  neap_options_free(nullptr);
  neap_error_free(nullptr);
  neap_bytes_free(nullptr);
}

// A model that several threads plan.
TEST(ApiTest, Threads) {
  const Model model = GraphModel();
  std::vector<std::int64_t> peaks(4, 0);
  std::vector<std::thread> threads;
  for (std::int64_t& peak : peaks) {
    threads.emplace_back([&model, &peak] { peak = Plan::Make(model)->peak_bytes(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(peaks, std::vector<std::int64_t>(4, 220));
}

TEST(ApiTest, SolvesOrders) {
  // in -> A -> B, in -> C -> D, (B, D) -> E, as above.
  const std::vector<std::size_t> begin = {0, 2, 4, 6, 8, 11};
  const std::vector<std::int32_t> uses = {0, 1, 0, 3, 1, 2, 3, 4, 2, 4, 5};
  const std::vector<std::int64_t> bytes = {10, 100, 10, 200, 10, 5};
  const std::vector<std::uint8_t> at_start = {1, 0, 0, 0, 0, 0};
  const std::vector<std::uint8_t> at_end = {0, 0, 0, 0, 0, 1};
  const std::vector<std::int32_t> before = {0, 1, 2, 3};
  const std::vector<std::int32_t> after = {2, 3, 4, 4};
  neap_order_problem problem = {5,
                                begin.data(),
                                uses.data(),
                                nullptr,
                                bytes.size(),
                                bytes.data(),
                                at_start.data(),
                                at_end.data(),
                                before.size(),
                                before.data(),
                                after.data()};
  std::vector<std::int32_t> order(5, -1);
  neap_bounds bounds = {};
  neap_error* error = nullptr;
  ASSERT_EQ(neap_order(&problem, 0, order.data(), &bounds, &error), NEAP_OK);
  EXPECT_EQ(order, (std::vector<std::int32_t>{0, 2, 1, 3, 4}));
  EXPECT_EQ(bounds.bytes, 220);
  EXPECT_EQ(bounds.lower_bound_bytes, 220);
  const std::vector<std::int32_t> bad = {0, 1, 0, 3, 1, 2, 3, 4, 2, 4, 6};
  problem.uses = bad.data();
  ASSERT_EQ(neap_order(&problem, 0, order.data(), &bounds, &error), NEAP_USAGE);
  EXPECT_STREQ(neap_error_message(error), "the problem is malformed: operator 4 uses buffer 6");
  neap_error_free(error);
}

TEST(ApiTest, SolvesPlacementsInMemories) {
  // The fast memory has space for one of the two that are live together; the third may not be in
  // the slow one.
  const std::vector<neap_buffer> buffers = {
      {64, 0, 2, 1, -1}, {64, 1, 3, 1, -1}, {32, 3, 4, 1, -1}};
  const std::vector<std::int64_t> capacities = {64, 1024};
  const std::vector<std::int64_t> costs = {1, 10, 1, 30, 1, -1};
  std::vector<std::int32_t> memories(buffers.size(), -1);
  std::vector<std::int64_t> offsets(buffers.size(), -1);
  neap_cost_bounds bounds = {};
  neap_error* error = nullptr;
  ASSERT_EQ(neap_place_in_memories(buffers.data(), buffers.size(), nullptr, 0, capacities.data(),
                                   capacities.size(), costs.data(), 0, memories.data(),
                                   offsets.data(), &bounds, &error),
            NEAP_OK);
  EXPECT_EQ(memories, (std::vector<std::int32_t>{1, 0, 0}));
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(bounds.cost, 10 + 1 + 1);
  EXPECT_EQ(bounds.lower_bound_cost, bounds.cost);
  const std::vector<std::int64_t> small = {16, 1024};
  ASSERT_EQ(
      neap_place_in_memories(buffers.data(), buffers.size(), nullptr, 0, small.data(), small.size(),
                             costs.data(), 0, memories.data(), offsets.data(), &bounds, &error),
      NEAP_OVER_BUDGET);
  EXPECT_STREQ(neap_error_message(error), "no placement fits into the memories");
  neap_error_free(error);
  const std::vector<std::int64_t> wrong = {1, 10, 1, 30, 1, -2};
  EXPECT_EQ(neap_place_in_memories(buffers.data(), buffers.size(), nullptr, 0, capacities.data(),
                                   capacities.size(), wrong.data(), 0, memories.data(),
                                   offsets.data(), &bounds, nullptr),
            NEAP_USAGE);
}

TEST(ApiTest, SolvesPlacements) {
  const std::vector<neap_buffer> buffers = {
      {10, 0, 2, 1, -1}, {20, 1, 3, 16, -1}, {30, 2, 4, 0, -1}, {4, 0, 4, 4, 0}};
  std::vector<std::int64_t> offsets(buffers.size(), -1);
  neap_bounds bounds = {};
  neap_error* error = nullptr;
  ASSERT_EQ(
      neap_place(buffers.data(), buffers.size(), nullptr, 0, 0, offsets.data(), &bounds, &error),
      NEAP_OK);
  EXPECT_EQ(offsets[3], 0);
  EXPECT_EQ(offsets[1] % 16, 0);
  EXPECT_LE(bounds.lower_bound_bytes, bounds.bytes);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_LE(offsets[i] + buffers[i].bytes, bounds.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together =
          buffers[i].first < buffers[j].last && buffers[j].first < buffers[i].last;
      EXPECT_TRUE(!together || offsets[i] + buffers[i].bytes <= offsets[j] ||
                  offsets[j] + buffers[j].bytes <= offsets[i]);
    }
  }
  // The two may share any byte.
  const neap_pair_rule rule = {0, 1, 0, 0};
  const std::vector<neap_buffer> two = {{10, 0, 2, 1, -1}, {20, 1, 3, 1, -1}};
  ASSERT_EQ(neap_place(two.data(), 2, &rule, 1, 0, offsets.data(), &bounds, &error), NEAP_OK);
  EXPECT_EQ(bounds.bytes, 20);
  const neap_buffer negative = {-1, 0, 1, 1, -1};
  ASSERT_EQ(neap_place(&negative, 1, nullptr, 0, 0, offsets.data(), &bounds, nullptr), NEAP_USAGE);
}

}  // namespace
}  // namespace neap::api
