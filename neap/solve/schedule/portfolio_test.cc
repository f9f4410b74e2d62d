// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/portfolio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "neap/base/index.h"
#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/annealing.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/flat_cut.h"
#include "neap/solve/schedule/order_state.h"
#include "neap/solve/schedule/passage.h"
#include "neap/solve/schedule/uncrossing.h"
#include "neap/solve/schedule/windows.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

Problem AnyKind(Random& random, int max_ops) {
  Shape shape{max_ops, true, true, true};
  shape.take_over = random.Chance(1, 2);
  return random.Chance(1, 3) ? ChainedProblem(random, shape) : RandomProblem(random, shape);
}

std::vector<OpIndex> AnyOrder(Random& random, const Problem& problem) {
  return RandomOrder(problem, FileOrder(problem, {}), random.Next());
}

void ExpectMeasured(const Problem& problem, const OrderState& state) {
  const auto replay = ReplayOrder(problem, state.order());
  ASSERT_TRUE(replay) << Dump(problem);
  for (std::int32_t step = 0; step < state.size(); ++step) {
    ASSERT_EQ(state.Hill(step), replay->live_bytes[static_cast<std::size_t>(step)])
        << step << " " << Dump(problem);
  }
  ASSERT_EQ(state.Peak(), replay->peak_bytes);
  ASSERT_EQ(state.PeakStep(), replay->peak_step);
}

TEST(OrderState, MeasuresWhatTheReplayFinds) {
  Random random(31);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = AnyKind(random, 12);
    const FlatProblem flat(problem);
    OrderState state(flat, AnyOrder(random, problem));
    ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
    state.Replace(0, AnyOrder(random, problem));
    ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
    if (state.Peak() == 0) continue;
    const std::int64_t below = random.Between(0, state.Peak() - 1);
    ASSERT_GT(state.Hill(state.RandomStepAbove(below, &random)), below);
  }
}

// Every place of an operator has the hills that moving it there has.
TEST(Passage, HasTheHillsOfTheMove) {
  Random random(38);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = RandomProblem(random, Shape{14, true, true, false});
    const FlatProblem flat(problem);
    OrderState state(flat, AnyOrder(random, problem));
    Passage passage(&state);
    for (int moves = 0; moves < 6; ++moves) {
      const auto from = static_cast<std::int32_t>(random.Between(0, state.size() - 1));
      const OpIndex op = state.OpAt(from);
      const bool later = random.Chance(1, 2);
      std::int32_t most = later ? state.size() - 1 - from : from;
      for (const OpIndex other : later ? flat.Successors(op) : flat.Predecessors(op)) {
        most = std::min(most, std::abs(state.Place(other) - from) - 1);
      }
      if (most == 0) continue;
      most = static_cast<std::int32_t>(random.Between(1, most));
      passage.Begin(from, later, most);
      std::vector<Passage::Place> places;
      const auto wanted = static_cast<std::size_t>(random.Between(1, most));
      passage.ForEach([&](std::int32_t distance, const Passage::Place& place) {
        EXPECT_EQ(distance, static_cast<std::int32_t>(places.size()) + 1);
        EXPECT_EQ(place.hill, state.Hill(later ? from + distance : from - distance));
        places.push_back(place);
        return places.size() < wanted;
      });
      ASSERT_EQ(places.size(), wanted);
      const auto distance = static_cast<std::int32_t>(random.Between(1, std::int64_t(wanted)));
      passage.Move(distance);
      const std::int32_t to = later ? from + distance : from - distance;
      ASSERT_EQ(state.OpAt(to), op);
      ASSERT_EQ(state.Hill(to), places[At(distance - 1)].own) << Dump(problem);
      for (std::int32_t at = 1; at <= distance; ++at) {
        const Passage::Place& place = places[At(at - 1)];
        const std::int32_t step = later ? from + at - 1 : from - at + 1;
        ASSERT_EQ(state.Hill(step), place.hill + place.change) << Dump(problem);
      }
      ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
    }
  }
}

// Any order of a window has the same hills there as in its place in the whole order.
TEST(Windows, HaveTheHillsOfTheWholeOrder) {
  Random random(32);
  for (int i = 0; i < Cases(4000); ++i) {
    const Problem problem = AnyKind(random, 14);
    const FlatProblem flat(problem);
    OrderState state(flat, AnyOrder(random, problem));
    WindowMaker maker(flat);
    for (int again = 0; again < 2; ++again) {
      const auto begin = static_cast<std::int32_t>(random.Between(0, state.size() - 1));
      const auto end = static_cast<std::int32_t>(random.Between(begin + 1, state.size()));
      const Window window = maker.Make(state, begin, end);
      ASSERT_EQ(Validate(window.problem), std::nullopt) << Dump(problem);
      const std::vector<OpIndex> inner = AnyOrder(random, window.problem);
      std::vector<OpIndex> ops;
      for (const OpIndex at : inner) ops.push_back(window.ops[static_cast<std::size_t>(at)]);
      state.Replace(begin, ops);
      ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
      const auto replay = ReplayOrder(window.problem, inner);
      ASSERT_TRUE(replay);
      for (std::int32_t step = begin; step < end; ++step) {
        ASSERT_EQ(replay->live_bytes[static_cast<std::size_t>(step - begin)], state.Hill(step))
            << begin << " " << end << " " << Dump(problem);
      }
    }
  }
}

TEST(Windows, LowerAnOrderAndNeverBelowTheOptimum) {
  Random random(33);
  for (int i = 0; i < Cases(1000); ++i) {
    const Problem problem = AnyKind(random, 12);
    const FlatProblem flat(problem);
    OrderState state(flat, AnyOrder(random, problem));
    WindowMaker maker(flat);
    const std::int64_t before = state.Peak();
    const std::int64_t least = BruteForcePeak(problem);
    const bool fell = LowerByWindows(&state, &maker, 0, Limits{});
    EXPECT_EQ(fell, state.Peak() < before);
    ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
    // One window has all of so few operators.
    ASSERT_EQ(state.Peak(), least) << Dump(problem);
  }
}

TEST(Uncrossing, KeepsOrdersValidAndNeverRaisesThePeak) {
  Random random(37);
  int lower = 0;
  for (int i = 0; i < Cases(2000); ++i) {
    const Problem problem = AnyKind(random, 12);
    const FlatProblem flat(problem);
    OrderState state(flat, AnyOrder(random, problem));
    WindowMaker maker(flat);
    FlatCut cut(flat, state.order());
    const std::int64_t before = state.Peak();
    Uncross(&state, &maker, &cut, 0, Limits{});
    ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
    ASSERT_LE(state.Peak(), before);
    ASSERT_GE(state.Peak(), BruteForcePeak(problem));
    if (state.Peak() < before) ++lower;
  }
  EXPECT_GT(lower, Cases(2000) / 10);
}

TEST(Annealing, KeepsOrdersValidAndNeverRaisesThePeak) {
  Random random(34);
  int best = 0;
  for (int i = 0; i < Cases(1000); ++i) {
    const Problem problem = AnyKind(random, 12);
    const FlatProblem flat(problem);
    OrderState state(flat, AnyOrder(random, problem));
    const std::int64_t before = state.Peak();
    const std::int64_t least = BruteForcePeak(problem);
    const bool fell = Anneal(&state, least, 1'000'000, &random, Limits{});
    ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
    ASSERT_EQ(fell, state.Peak() < before);
    ASSERT_LE(state.Peak(), before);
    ASSERT_GE(state.Peak(), least);
    if (state.Peak() == least) ++best;
  }
  EXPECT_GT(best, Cases(1000) * 3 / 4);
}

// The sum of the squares by which hills exceed three fifths of the peak falls, and never rises.
TEST(Annealing, LowersTheOtherHills) {
  Random random(37);
  int fell = 0;
  const auto excess = [](const OrderState& state) {
    double sum = 0;
    for (std::int32_t step = 0; step < state.size(); ++step) {
      const double high =
          std::max(0.0, static_cast<double>(state.Hill(step) - state.Peak() / 100 * 60));
      sum += high * high;
    }
    return sum;
  };
  for (int i = 0; i < Cases(1000); ++i) {
    const Problem problem = AnyKind(random, 12);
    const FlatProblem flat(problem);
    OrderState state(flat, AnyOrder(random, problem));
    const std::int64_t peak = state.Peak();
    const double before = excess(state);
    if (LowerOtherHills(&state, 300'000, &random, Limits{})) ++fell;
    ASSERT_NO_FATAL_FAILURE(ExpectMeasured(problem, state));
    ASSERT_LE(state.Peak(), peak);
    if (state.Peak() == peak) {
      ASSERT_LE(excess(state), before);
    }
  }
  EXPECT_GT(fell, Cases(1000) / 5);
}

TEST(Portfolio, IsNeverBelowTheOptimumNorAboveItsStart) {
  Random random(35);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = AnyKind(random, 12);
    const std::vector<OpIndex> order = AnyOrder(random, problem);
    const std::int64_t least = BruteForcePeak(problem);
    const std::int64_t peak = PeakOfOrder(problem, order);
    const WorkScope work(3'000'000);
    const Improved improved = ImproveOrder(problem, {order, peak}, 0, random.Next(), Limits{});
    const RankedOrder& better = improved.best;
    ASSERT_EQ(PeakOfOrder(problem, better.order), better.peak_bytes) << Dump(problem);
    ASSERT_GE(better.peak_bytes, least) << Dump(problem);
    ASSERT_LE(better.peak_bytes, peak) << Dump(problem);
    ASSERT_LE(improved.bound.bytes, least) << Dump(problem);
  }
}

TEST(Portfolio, IsTheSameEveryTime) {
  Random random(36);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = AnyKind(random, 60);
    const std::vector<OpIndex> order = AnyOrder(random, problem);
    const std::int64_t peak = PeakOfOrder(problem, order);
    std::vector<OpIndex> first;
    for (const int threads : {1, 3}) {
      const WorkScope work(20'000'000);
      Limits limits;
      limits.threads = threads;
      const RankedOrder better = ImproveOrder(problem, {order, peak}, 0, 1, limits).best;
      if (threads == 1) first = better.order;
      ASSERT_EQ(better.order, first);
    }
  }
}

// As large as cuts and windows on two threads begin to pay: every operator reads two earlier ones.
Problem LargeProblem(Random* random) {
  Problem problem;
  problem.num_ops = 1'100;
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    problem.buffers.push_back({random->Between(1, 1'000), {op}, false, false});
    for (int input = 0; input < 2 && op > 0; ++input) {
      const auto from = static_cast<OpIndex>(random->Between(std::max(op - 60, 0), op - 1));
      problem.precedences.emplace_back(from, op);
      std::vector<OpIndex>& users = problem.buffers[At(from)].users;
      if (users.back() != op) users.push_back(op);
    }
  }
  return problem;
}

TEST(Portfolio, ThreadsChangeNothing) {
  Random random(39);
  for (const std::int64_t most : {90'000'000, 130'000'000, 250'000'000}) {
    const Problem problem = LargeProblem(&random);
    const std::vector<OpIndex> order = AnyOrder(random, problem);
    const RankedOrder start = {order, PeakOfOrder(problem, order)};
    Improved first;
    std::int64_t first_work = 0;
    for (const int threads : {1, 2, 3}) {
      const WorkScope work(most);
      Limits limits;
      limits.threads = threads;
      const std::int64_t before = WorkDone();
      const Improved improved = ImproveOrder(problem, start, 0, 1, limits);
      const std::int64_t done = WorkDone() - before;
      if (threads == 1) {
        first = improved;
        first_work = done;
      }
      EXPECT_EQ(improved.best.order, first.best.order) << most;
      EXPECT_EQ(improved.bound.bytes, first.bound.bytes) << most;
      EXPECT_EQ(improved.bound.op, first.bound.op) << most;
      EXPECT_EQ(improved.bound.states, first.bound.states) << most;
      EXPECT_EQ(improved.bound.witness.size(), first.bound.witness.size()) << most;
      EXPECT_EQ(done, first_work) << most;
    }
    if (most > 200'000'000) {
      EXPECT_GT(first.bound.bytes, 0);
    }
  }
}

TEST(Solve, ThreadsChangeNothingOnLargeProblems) {
  Random random(40);
  const Problem problem = LargeProblem(&random);
  Limits limits;
  limits.max_states = 60;
  const Outcome one = Solve(problem, limits);
  for (const int threads : {2, 3}) {
    limits.threads = threads;
    const Outcome outcome = Solve(problem, limits);
    EXPECT_EQ(outcome.order, one.order);
    EXPECT_EQ(outcome.lower_bound_bytes, one.lower_bound_bytes);
    EXPECT_EQ(outcome.bound_op, one.bound_op);
    EXPECT_EQ(outcome.states, one.states);
  }
}

}  // namespace
}  // namespace neap::schedule
