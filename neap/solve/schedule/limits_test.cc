// SPDX-License-Identifier: Apache-2.0
//
// Every strategy ends soon after a deadline, whenever that is, with an order and a bound that hold.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "neap/base/random.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/schedule.h"
#include "testing/limits.h"

namespace neap::schedule {
namespace {

// Layers of operators that read two of the layer before: no search proves its minimum peak soon.
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
      const auto outcome = schedule::Run(strategy.method, problem, limits, StrategyOptions{});
      ExpectSound(problem, outcome);
      EXPECT_LE(CountedClock::looks(), looks + kLooksBehind);
    }
  }
}

// With the work that was done.
std::pair<Outcome, std::int64_t> RunWithin(std::int64_t work, const Strategy& strategy,
                                           const Problem& problem, const Limits& limits) {
  const WorkScope scope(work);
  const std::int64_t before = WorkDone();
  auto outcome = schedule::Run(strategy.method, problem, limits, StrategyOptions{});
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
      ExpectSound(problem, outcome);
      EXPECT_FALSE(outcome.interrupted);
      EXPECT_LE(done, work + kWorkBehind);
      // The same order on any number of threads.
      limits.threads = 3;
      const auto [again, done_again] = RunWithin(work, strategy, problem, limits);
      EXPECT_EQ(again.order, outcome.order);
      EXPECT_EQ(done_again, done);
    }
  }
}

// A chain of operators, each with a buffer that the next one reads.
Problem Chain(OpIndex ops) {
  Problem problem;
  problem.num_ops = ops;
  for (OpIndex op = 0; op < ops; ++op) {
    problem.buffers.push_back({op + 1, {op}, false, op + 1 == ops});
    if (op == 0) continue;
    problem.buffers[static_cast<std::size_t>(op) - 1].users.push_back(op);
    problem.precedences.emplace_back(op - 1, op);
  }
  return problem;
}

// The rows of bits of a large problem cost more than many searches: they are begun only where they
// fit into the remaining limit.
TEST(ScheduleLimits, ProblemsThatAreTooLargeForWhatIsLeftAreNotPrepared) {
  const Problem problem = Layered(200, 20);
  constexpr std::int64_t kWork = 1'000'000;  // a tenth of the cost of the rows
  for (const Strategy& strategy : Strategies()) {
    SCOPED_TRACE(strategy.name);
    Limits limits;
    limits.max_states = kStatesForAFewSeconds;
    const auto [outcome, done] = RunWithin(kWork, strategy, problem, limits);
    ExpectSound(problem, outcome);
    EXPECT_LE(done, 2 * kWork);
    const CountedClock clock;
    const auto by_time =
        schedule::Run(strategy.method, problem, CountedClock::DeadlineAfter(4), StrategyOptions{});
    ExpectSound(problem, by_time);
    // Only the search of all orders needs no rows.
    if (strategy.method != Method::kExhaustive) {
      EXPECT_EQ(by_time.states, 0);
    }
  }
}

TEST(ScheduleLimits, WhatIsTooLargeHasTheBestOfTheSimpleOrders) {
  const Problem problem = Layered(200, 20);
  const WorkScope scope(1'000'000);
  const Outcome outcome = Solve(problem, Limits{});
  const Outcome file = schedule::Run(Method::kFile, problem, Limits{}, StrategyOptions{});
  EXPECT_LE(outcome.peak_bytes, file.peak_bytes);
  EXPECT_EQ(outcome.proof, Proof::kSingleOp);
  EXPECT_EQ(outcome.lower_bound_bytes, file.lower_bound_bytes);
  EXPECT_EQ(outcome.states, 0);
}

// The bound of one operator does not count buffers twice that it takes over.
TEST(ScheduleLimits, TheSimpleBoundKnowsWhatIsTakenOver) {
  Problem problem = Chain(3);
  problem.take_over.push_back({1, {0}, {1}});
  const WorkScope scope(0);
  const Outcome outcome = Solve(problem, Limits{});
  ExpectSound(problem, outcome);
  EXPECT_EQ(outcome.peak_bytes, 5);
}

}  // namespace
}  // namespace neap::schedule
