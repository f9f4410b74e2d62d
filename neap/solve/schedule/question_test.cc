// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/question.h"

#include <gtest/gtest.h>

#include "neap/base/random.h"
#include "neap/solve/schedule/check.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

// Against brute force, with the question around the optimum; cut short, the answer may be missing
// but is never wrong.
TEST(SolveBelow, AnswersAsBruteForce) {
  Random random(21);
  const Shape any{11, true, true, true};
  int missing = 0;
  for (int i = 0; i < Cases(2000); ++i) {
    const Problem problem =
        random.Chance(1, 3) ? ChainedProblem(random, any) : RandomProblem(random, any);
    const std::int64_t best = BruteForcePeak(problem);
    for (const std::int64_t below : {best / 2, best - 1, best, best + 1, best + 7, 2 * best}) {
      if (below < 1) continue;
      for (const std::int64_t states : {0, 1, 5}) {
        Limits limits;
        limits.max_states = states;
        const Outcome outcome = SolveBelow(problem, limits, below);
        const auto replay = ReplayOrder(problem, outcome.order);
        ASSERT_TRUE(replay.has_value()) << Dump(problem);
        ASSERT_EQ(replay->peak_bytes, outcome.peak_bytes) << Dump(problem);
        ASSERT_GE(outcome.peak_bytes, best) << Dump(problem);
        ASSERT_LE(outcome.lower_bound_bytes, best) << Dump(problem);
        const bool answered = outcome.peak_bytes < below || outcome.lower_bound_bytes >= below;
        ASSERT_TRUE(answered || states > 0) << below << Dump(problem);
        missing += answered ? 0 : 1;
      }
    }
  }
  EXPECT_GT(missing, 0) << "limits end some of them";
}

// It is cheaper than the optimum where the answer is far from it.
TEST(SolveBelow, EndsSooner) {
  Random random(22);
  const Shape any{14, true, true, true};
  std::int64_t whole = 0;
  std::int64_t question = 0;
  for (int i = 0; i < 300; ++i) {
    const Problem problem = RandomProblem(random, any);
    const Outcome best = Solve(problem, {});
    whole += best.states;
    question += SolveBelow(problem, {}, best.peak_bytes + best.peak_bytes / 4 + 1).states;
  }
  EXPECT_LT(question * 2, whole);
}

}  // namespace
}  // namespace neap::schedule
