// SPDX-License-Identifier: Apache-2.0
//
// StrategyOptions::soft_budget_bytes: one run of SERENITY's dynamic program with a given budget.
#include <gtest/gtest.h>

#include "neap/base/random.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/schedule.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

// A budget of the optimum or more finds it; one below proves that no order keeps to it. States
// never become fewer when the budget grows.
TEST(SoftBudget, FindsTheOptimumOrRefutesTheBudget) {
  Random random(31);
  const Shape any{10, true, true, true};
  for (int i = 0; i < Cases(1000); ++i) {
    const Problem problem =
        random.Chance(1, 3) ? ChainedProblem(random, any) : RandomProblem(random, any);
    const std::int64_t best = BruteForcePeak(problem);
    std::int64_t states = 0;
    for (const std::int64_t budget : {best / 2, best - 1, best, best + 1, 2 * best}) {
      if (budget < 1) continue;
      StrategyOptions options;
      options.soft_budget_bytes = budget;
      const auto outcome = schedule::Run(Method::kSerenity, problem, {}, options);
      const auto replay = ReplayOrder(problem, outcome.order);
      ASSERT_TRUE(replay.has_value()) << Dump(problem);
      ASSERT_EQ(replay->peak_bytes, outcome.peak_bytes) << Dump(problem);
      ASSERT_LE(outcome.lower_bound_bytes, best) << Dump(problem);
      if (budget >= best) {
        ASSERT_EQ(outcome.peak_bytes, best) << budget << Dump(problem);
        ASSERT_TRUE(outcome.optimal()) << budget << Dump(problem);
      } else {
        ASSERT_GT(outcome.lower_bound_bytes, budget) << Dump(problem);
      }
      ASSERT_GE(outcome.states, states) << budget << Dump(problem);
      states = outcome.states;
    }
  }
}

}  // namespace
}  // namespace neap::schedule
