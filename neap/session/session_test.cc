// SPDX-License-Identifier: Apache-2.0
#include "neap/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/plan/plan_json.h"

namespace neap::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two branches that a third operator joins: the order matters.
constexpr std::string_view kGraph = R"({
  "tensors": [{"name": "in", "bytes": 10}, {"name": "a", "bytes": 100}, {"name": "b", "bytes": 10},
              {"name": "c", "bytes": 200}, {"name": "d", "bytes": 10}, {"name": "out", "bytes": 5}],
  "inputs": ["in"], "outputs": ["out"],
  "ops": [{"name": "A", "inputs": ["in"], "outputs": ["a"]},
          {"name": "C", "inputs": ["in"], "outputs": ["c"]},
          {"name": "B", "inputs": ["a"], "outputs": ["b"]},
          {"name": "D", "inputs": ["c"], "outputs": ["d"]},
          {"name": "E", "inputs": ["b", "d"], "outputs": ["out"]}]})";

Result<Model> Parsed(std::string_view text) {
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  return ParseModel(std::make_shared<const std::vector<std::byte>>(data, data + text.size()),
                    "graph.json", {});
}

TEST(SessionTest, PlansChecksAndReadsAgain) {
  const auto model = Parsed(kGraph);
  ASSERT_TRUE(model);
  const auto planned = MakePlan(*model, {});
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->ArenaBytes(), 220);
  EXPECT_EQ(planned->PeakBytes(), 220);
  EXPECT_EQ(planned->LowerBoundBytes(), 220);
  EXPECT_TRUE(planned->IsOptimal());
  EXPECT_EQ(planned->FileOrderArenaBytes(), 310);
  EXPECT_EQ(planned->TotalArenaBytes(), std::nullopt);
  EXPECT_EQ(planned->Kind(), "as given");
  EXPECT_FALSE(planned->IsInterrupted());
  EXPECT_THAT(*Violations(*model, planned->plan), IsEmpty());
  const auto read = ParsePlan(plan::ToJson(planned->plan));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ArenaBytes(), 220);
  EXPECT_EQ(read->FileOrderArenaBytes(), std::nullopt);
  EXPECT_THAT(*Violations(*model, read->plan), IsEmpty());
}

TEST(SessionTest, AWrongPlanAndAnotherModelAreViolations) {
  const auto model = Parsed(kGraph);
  auto planned = MakePlan(*model, {});
  ASSERT_TRUE(planned);
  planned->plan.entries[0].peak_bytes -= 1;
  EXPECT_THAT(*Violations(*model, planned->plan), testing::Not(IsEmpty()));
  const auto other = Parsed(R"({"tensors": [{"bytes": 1}], "inputs": [0], "outputs": [0],
                                "ops": []})");
  ASSERT_TRUE(other);
  EXPECT_THAT(*Violations(*other, planned->plan), ElementsAre(HasSubstr("SHA-256")));
  EXPECT_FALSE(PlannedModel(*other, planned->plan, false));
  EXPECT_FALSE(RunPlan(*other, planned->plan, {}));
}

TEST(SessionTest, APeakWithinABudget) {
  const auto model = Parsed(kGraph);
  const auto fits = FindPeakWithin(*model, 220, {});
  ASSERT_TRUE(fits);
  EXPECT_LE(fits->peak_bytes, 220);
  EXPECT_EQ(fits->order.size(), 5U);
  for (const std::int64_t budget : {219, 0, -1}) {
    const auto exceeds = FindPeakWithin(*model, budget, {});
    ASSERT_TRUE(exceeds);
    EXPECT_GT(exceeds->lower_bound_bytes, budget);
  }
}

TEST(SessionTest, AStoppedSearchReturnsAValidPlan) {
  const auto model = Parsed(kGraph);
  const std::atomic<bool> stop = true;
  const auto planned = MakePlan(*model, {}, {.stop = &stop, .observer = {}, .tiles_observer = {}});
  ASSERT_TRUE(planned);
  EXPECT_TRUE(planned->IsInterrupted());
  EXPECT_THAT(*Violations(*model, planned->plan), IsEmpty());
}

TEST(SessionTest, ErrorsNameTheFile) {
  const auto model = Parsed("{}");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().file, "graph.json");
  EXPECT_FALSE(ParseModel(std::make_shared<const std::vector<std::byte>>(), "m.onnx", {"batch"}));
}

}  // namespace
}  // namespace neap::session
