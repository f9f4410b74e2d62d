// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/closure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/frontier.h"
#include "neap/solve/schedule/schedule.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

Problem AnyProblem(Random& random) {
  Shape shape{9, true, true, true};
  shape.take_over = random.Chance(1, 2);
  if (random.Chance(1, 3)) return ChainedProblem(random, shape);
  return RandomProblem(random, shape);
}

std::int64_t PeakOf(const Problem& problem, const std::vector<OpIndex>& order) {
  const auto replay = ReplayOrder(problem, order);
  EXPECT_TRUE(replay.has_value()) << Dump(problem);
  return replay ? replay->peak_bytes : -1;
}

// A frontier has the hill of the replay at every step, from either end.
TEST(Frontier, AgreesWithTheReplay) {
  Random random(21);
  for (int i = 0; i < Cases(4000); ++i) {
    const Problem problem = AnyProblem(random);
    const FlatProblem flat(problem);
    std::vector<OpIndex> order = RandomOrder(problem, FileOrder(problem, {}), random.Next());
    const auto replay = ReplayOrder(problem, order);
    ASSERT_TRUE(replay);
    for (const bool reversed : {false, true}) {
      std::vector<std::int64_t> live = replay->live_bytes;
      if (reversed) std::reverse(order.begin(), order.end());
      if (reversed) std::reverse(live.begin(), live.end());
      Frontier frontier(flat, reversed);
      std::vector<OpIndex> changed;
      for (std::size_t step = 0; step < order.size(); ++step) {
        ASSERT_TRUE(frontier.IsReady(order[step]));
        ASSERT_EQ(frontier.live() + frontier.Need(order[step]), live[step])
            << reversed << " " << step << " " << Dump(problem);
        frontier.Run(order[step], &changed);
      }
    }
  }
}

TEST(Closure, NeverRaisesAPeak) {
  Random random(22);
  int lower = 0;
  for (int i = 0; i < Cases(5000); ++i) {
    const Problem problem = AnyProblem(random);
    const FlatProblem flat(problem);
    const std::vector<OpIndex> order = RandomOrder(problem, FileOrder(problem, {}), random.Next());
    const std::int64_t peak = PeakOf(problem, order);
    for (const bool reversed : {false, true}) {
      ASSERT_LE(PeakOf(problem, ClosePass(flat, order, peak, reversed)), peak) << Dump(problem);
    }
    const RankedOrder closed = Close(flat, {order, peak}, Limits{});
    ASSERT_LE(closed.peak_bytes, peak);
    ASSERT_EQ(PeakOf(problem, closed.order), closed.peak_bytes);
    ASSERT_GE(closed.peak_bytes, BruteForcePeak(problem));
    if (closed.peak_bytes < peak) ++lower;
  }
  EXPECT_GT(lower, Cases(5000) / 10);
}

// The minimum peak of an order that begins with `prefix` and stays as it is from there on:
// operators outside of it are in no precedence with it but through it.
std::int64_t LeastPeakAfter(const Problem& problem, const std::vector<OpIndex>& prefix) {
  Problem fixed = problem;
  for (std::size_t at = 0; at + 1 < prefix.size(); ++at) {
    fixed.precedences.emplace_back(prefix[at], prefix[at + 1]);
  }
  std::vector<char> inside(static_cast<std::size_t>(problem.num_ops), 0);
  for (const OpIndex op : prefix) inside[static_cast<std::size_t>(op)] = 1;
  for (OpIndex op = 0; op < problem.num_ops && !prefix.empty(); ++op) {
    if (inside[static_cast<std::size_t>(op)] == 0)
      fixed.precedences.emplace_back(prefix.back(), op);
  }
  return BruteForcePeak(fixed);
}

// Forced operators lose nothing: where a random beginning can be completed within a budget, so it
// can with every operator that is forced after it run first.
TEST(Closure, KeepsTheLeastPeakOfEveryBeginning) {
  Random random(23);
  int forced_cases = 0;
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = AnyProblem(random);
    const FlatProblem flat(problem);
    const std::vector<OpIndex> order = RandomOrder(problem, FileOrder(problem, {}), random.Next());
    const auto length = static_cast<std::ptrdiff_t>(random.Below(order.size()));
    std::vector<OpIndex> prefix(order.begin(), order.begin() + length);
    const std::int64_t least = LeastPeakAfter(problem, prefix);
    Frontier frontier(flat, false);
    std::vector<OpIndex> changed;
    for (const OpIndex op : prefix) frontier.Run(op, &changed);
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      if (frontier.HasRun(op) || !frontier.IsReady(op) || frontier.Change(op) > 0) continue;
      if (frontier.live() + frontier.Need(op) > least) continue;
      frontier.Run(op, &changed);
      prefix.push_back(op);
      ++forced_cases;
      ASSERT_EQ(LeastPeakAfter(problem, prefix), least) << op << " " << Dump(problem);
    }
  }
  EXPECT_GT(forced_cases, Cases(3000) / 2);
}

// Without "fits under the budget", or without "leaves no more than it finds", the same test fails:
// an operator that needs much now may need less later, and one that leaves more is no gift.
TEST(Closure, BothConditionsAreNeeded) {
  Random random(24);
  int worse_above_budget = 0;
  int worse_leaving_more = 0;
  for (int i = 0; i < 3000; ++i) {
    const Problem problem = AnyProblem(random);
    const FlatProblem flat(problem);
    const std::int64_t least = BruteForcePeak(problem);
    const Frontier frontier(flat, false);
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      if (!frontier.IsReady(op)) continue;
      const bool fits = frontier.live() + frontier.Need(op) <= least;
      const bool shrinks = frontier.Change(op) <= 0;
      if (fits == shrinks) continue;
      if (LeastPeakAfter(problem, {op}) == least) continue;
      ++(fits ? worse_leaving_more : worse_above_budget);
    }
  }
  EXPECT_GT(worse_above_budget, 0);
  EXPECT_GT(worse_leaving_more, 0);
}

TEST(Closure, OfAnOptimalOrderIsOptimal) {
  Random random(25);
  for (int i = 0; i < Cases(2000); ++i) {
    const Problem problem = AnyProblem(random);
    const FlatProblem flat(problem);
    const std::int64_t least = BruteForcePeak(problem);
    const Outcome best = Solve(problem, Limits{});
    for (const bool reversed : {false, true}) {
      ASSERT_EQ(PeakOf(problem, ClosePass(flat, best.order, least, reversed)), least);
    }
  }
}

TEST(Closure, ListsAndDepthFirstAreOrders) {
  Random random(26);
  for (int i = 0; i < Cases(2000); ++i) {
    const Problem problem = AnyProblem(random);
    const FlatProblem flat(problem);
    const std::vector<OpIndex> order = RandomOrder(problem, FileOrder(problem, {}), random.Next());
    const std::int64_t least = BruteForcePeak(problem);
    ASSERT_GE(PeakOf(problem, ListOrder(flat, order, false)), least);
    ASSERT_GE(PeakOf(problem, ListOrder(flat, order, true)), least);
    ASSERT_GE(PeakOf(problem, LabelledDepthFirstOrder(flat, order)), least);
    const std::int64_t peak = PeakOf(problem, order);
    const RankedOrder best = ClosedOrders(flat, {order, peak}, Limits{}).front();
    ASSERT_LE(best.peak_bytes, peak);
    ASSERT_EQ(PeakOf(problem, best.order), best.peak_bytes);
  }
}

}  // namespace
}  // namespace neap::schedule
