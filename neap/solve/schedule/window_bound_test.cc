// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/window_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/question.h"
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

// The minimum peak of the operators of any window, by themselves, is at most that of the problem.
TEST(FreeWindows, BoundEveryOrder) {
  Random random(41);
  int tight = 0;
  for (int i = 0; i < Cases(5000); ++i) {
    const Problem problem = AnyKind(random, 11);
    const FlatProblem flat(problem);
    const std::vector<OpIndex> order = AnyOrder(random, problem);
    const std::int64_t least = BruteForcePeak(problem);
    const auto size = static_cast<std::int64_t>(order.size());
    const auto begin = static_cast<std::int32_t>(random.Between(0, size - 1));
    const auto end = static_cast<std::int32_t>(random.Between(begin + 1, size));
    const FreeWindow window = MakeFreeWindow(flat, order, begin, end);
    ASSERT_EQ(Validate(window.problem), std::nullopt) << Dump(problem);
    ASSERT_EQ(window.buffers.size(), window.problem.buffers.size());
    const std::int64_t alone = BruteForcePeak(window.problem);
    ASSERT_LE(alone, least) << begin << " " << end << " " << Dump(problem);
    if (alone == least && end - begin < size) ++tight;
  }
  EXPECT_GT(tight, Cases(5000) / 10);
}

// Buffers that are live for certain across a part of the window: without them the bound is lower.
TEST(FreeWindows, KnowWhatIsLiveForCertain) {
  // 0 writes a, which 4 reads; 1, 2 and 3 run between, and touch b and c.
  Problem problem;
  problem.num_ops = 5;
  problem.buffers = {
      {100, {0, 4}, false, false}, {10, {1, 2}, false, false}, {10, {2, 3}, false, false}};
  for (OpIndex op = 1; op < 5; ++op) problem.precedences.emplace_back(op - 1, op);
  const FlatProblem flat(problem);
  const FreeWindow window = MakeFreeWindow(flat, {0, 1, 2, 3, 4}, 1, 4);
  EXPECT_EQ(BruteForcePeak(window.problem), 120);
}

TEST(FlatCuts, AreThoseOfTheBitRows) {
  Random random(42);
  for (int i = 0; i < Cases(3000); ++i) {
    Shape shape{11, true, true, false};
    const Problem problem = RandomProblem(random, shape);
    const FlatProblem flat(problem);
    const Instance instance(problem, 1, false);
    CutFinder cuts(instance);
    FlatCut flat_cuts(flat, AnyOrder(random, problem));
    constexpr std::int64_t kAll = std::int64_t{1} << 60;
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      ASSERT_EQ(flat_cuts.LeastHill(op, kAll), cuts.LeastHill(op, kAll)) << op << Dump(problem);
      std::int64_t hill = 0;
      std::int64_t flow = 0;
      for (const CutPath& path : flat_cuts.Witness(op, &hill)) flow += path.bytes;
      ASSERT_LE(flow, hill);
    }
  }
}

TEST(FlatCuts, BoundEveryOrder) {
  Random random(43);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = AnyKind(random, 11);
    const FlatProblem flat(problem);
    FlatCut cuts(flat, AnyOrder(random, problem));
    const std::int64_t least = BruteForcePeak(problem);
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      ASSERT_LE(cuts.LeastHill(op, std::int64_t{1} << 60), least) << op << Dump(problem);
    }
  }
}

TEST(Bounds, MeetTheOptimumOfSmallProblemsAndNeverExceedIt) {
  Random random(44);
  int met = 0;
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = AnyKind(random, 12);
    const FlatProblem flat(problem);
    const Outcome best = Solve(problem, Limits{});
    const OrderState state(flat, best.order);
    FlatCut cut(flat, best.order);
    Bound bound;
    RaiseBounds(state, &cut, Limits{}, &bound);
    ASSERT_LE(bound.bytes, best.peak_bytes) << Dump(problem);
    if (bound.bytes == best.peak_bytes) ++met;
  }
  EXPECT_GT(met, Cases(3000) * 9 / 10);
}

}  // namespace
}  // namespace neap::schedule
