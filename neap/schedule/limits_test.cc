// SPDX-License-Identifier: Apache-2.0
//
// Every strategy ends soon after a deadline, whenever that is, with an order and a bound that hold.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "neap/base/limits_testing.h"
#include "neap/base/random.h"
#include "neap/schedule/check.h"
#include "neap/schedule/schedule.h"

namespace neap::schedule {
namespace {

// Layers of operators that read two of the layer before: no search proves its least peak soon.
Problem Layered(OpIndex layers, OpIndex width) {
  Random random(5);
  Problem problem;
  problem.num_ops = layers * width;
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    problem.buffers.push_back({random.Between(1, 1000), {op}, false, op >= (layers - 1) * width});
  }
  for (OpIndex op = width; op < problem.num_ops; ++op) {
    const OpIndex first = op / width * width - width;
    const auto a = static_cast<OpIndex>(first + random.Between(0, width - 1));
    const auto b = static_cast<OpIndex>(first + random.Between(0, width - 1));
    for (const OpIndex input : {a, b}) {
      auto& users = problem.buffers[static_cast<std::size_t>(input)].users;
      if (users.back() == op) continue;
      users.push_back(op);
      problem.precedences.emplace_back(input, op);
    }
  }
  return problem;
}

void ExpectSound(const Problem& problem, const Outcome& outcome) {
  const auto replay = ReplayOrder(problem, outcome.order);
  ASSERT_TRUE(replay.has_value());
  EXPECT_EQ(replay->peak_bytes, outcome.peak_bytes);
  EXPECT_LE(outcome.lower_bound_bytes, outcome.peak_bytes);
}

TEST(ScheduleLimits, EveryStrategyStopsAtTheDeadline) {
  const Problem problem = Layered(8, 12);
  ASSERT_FALSE(Validate(problem));
  constexpr std::int64_t kLooksBehind = 8;
  for (const Strategy& strategy : Strategies()) {
    for (const std::int64_t looks : {1, 2, 3, 10, 100, 1000}) {
      SCOPED_TRACE(std::string(strategy.name) + ", " + std::to_string(looks));
      const CountedClock clock;
      const Limits limits = CountedClock::DeadlineAfter(looks);
      const auto outcome = schedule::Run(strategy.name, problem, limits, StrategyOptions{});
      ASSERT_TRUE(outcome);
      ExpectSound(problem, *outcome);
      EXPECT_LE(CountedClock::looks(), looks + kLooksBehind);
    }
  }
}

// With the work that was done.
std::pair<std::optional<Outcome>, std::int64_t> RunWithin(std::int64_t work,
                                                          const Strategy& strategy,
                                                          const Problem& problem,
                                                          const Limits& limits) {
  const WorkScope scope(work);
  const std::int64_t before = WorkDone();
  auto outcome = schedule::Run(strategy.name, problem, limits, StrategyOptions{});
  return {std::move(outcome), WorkDone() - before};
}

TEST(ScheduleLimits, EveryStrategyStopsAtTheEndOfTheWork) {
  const Problem problem = Layered(8, 12);
  constexpr std::int64_t kWorkBehind = 2'000'000;
  for (const Strategy& strategy : Strategies()) {
    for (const std::int64_t work : {1, 100'000, 10'000'000, 100'000'000}) {
      SCOPED_TRACE(std::string(strategy.name) + ", " + std::to_string(work));
      Limits limits;
      limits.max_states = kStatesForAFewSeconds;
      const auto [outcome, done] = RunWithin(work, strategy, problem, limits);
      ASSERT_TRUE(outcome);
      ExpectSound(problem, *outcome);
      EXPECT_FALSE(outcome->interrupted);
      EXPECT_LE(done, work + kWorkBehind);
      // The same order on any number of threads.
      limits.threads = 3;
      const auto [again, done_again] = RunWithin(work, strategy, problem, limits);
      EXPECT_EQ(again->order, outcome->order);
      EXPECT_EQ(done_again, done);
    }
  }
}

}  // namespace
}  // namespace neap::schedule
