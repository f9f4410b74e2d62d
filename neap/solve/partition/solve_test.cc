// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/partition.h"
#include "testing/cases.h"
#include "testing/partition.h"

namespace neap::partition {
namespace {

constexpr std::int64_t kNoLimit = 0;

void ExpectExact(const Problem& problem, int i) {
  ASSERT_EQ(Validate(problem), std::nullopt) << i;
  const auto outcome = Solve(problem, {});
  const auto best = BruteForce(problem);
  ASSERT_EQ(outcome.has_value(), best.has_value()) << i;
  if (!outcome) return;
  ASSERT_EQ(FindViolation(problem, outcome->best), std::nullopt) << i;
  ASSERT_EQ(outcome->best.bottleneck, best->bottleneck) << i;
  ASSERT_TRUE(outcome->optimal()) << i;
  ASSERT_EQ(outcome->certificate.bound, best->bottleneck) << i;
  ASSERT_EQ(FindFlaw(problem, outcome->certificate, kNoLimit), std::nullopt) << i;
}

TEST(Solve, IsExact) {
  Random random(1);
  for (int i = 0; i < Cases(6000); ++i) {
    ExpectExact(RandomProblem(&random, static_cast<OpIndex>(random.Between(0, 6)), false), i);
    if (HasFatalFailure()) return;
  }
}

TEST(Solve, IsExactWithGroups) {
  Random random(2);
  for (int i = 0; i < Cases(3000); ++i) {
    ExpectExact(RandomProblem(&random, static_cast<OpIndex>(random.Between(2, 6)), true), i);
    if (HasFatalFailure()) return;
  }
}

// Chains and branches of operators that cost nothing: where merging has most to do.
TEST(Solve, IsExactWhereOperatorsAreFree) {
  Random random(3);
  std::size_t merges = 0;
  const int cases = Cases(3000);
  for (int i = 0; i < cases; ++i) {
    Problem problem = RandomProblem(&random, 7, false);
    problem.tensors.clear();
    problem.num_stages = static_cast<Stage>(random.Between(2, 3));
    problem.machine.link_cost_per_byte = random.Between(0, 2);
    for (OpIndex op = 0; op + 1 < problem.num_ops; ++op) {
      if (random.Chance(2, 3)) {
        problem.compute_cost[static_cast<std::size_t>(op)] = 0;
        problem.parameter_bytes[static_cast<std::size_t>(op)] =
            random.Chance(1, 2) ? 0 : random.Between(0, 5);
      }
      const auto reader = random.Chance(2, 3)
                              ? op + 1
                              : static_cast<OpIndex>(random.Between(op + 1, problem.num_ops - 1));
      problem.tensors.push_back({random.Between(0, 9), op, {reader}, random.Chance(1, 9)});
    }
    ExpectExact(problem, i);
    if (HasFatalFailure()) return;
    const auto outcome = Solve(problem, {});
    if (outcome) merges += outcome->certificate.merges.size();
  }
  EXPECT_GT(merges, static_cast<std::size_t>(cases / 3));
}

Problem WithSharedLink(Problem problem) {
  problem.machine.shared_link = true;
  return problem;
}

// The larger of the costliest stage and of the link that all stages share.
TEST(Solve, IsExactWithASharedLink) {
  Random random(21);
  int by_link = 0;
  for (int i = 0; i < Cases(6000); ++i) {
    const Problem problem = WithSharedLink(
        RandomProblem(&random, static_cast<OpIndex>(random.Between(0, 6)), random.Chance(1, 4)));
    ExpectExact(problem, i);
    if (HasFatalFailure()) return;
    const auto outcome = Solve(problem, {});
    if (!outcome) continue;
    const Evaluation evaluation = Evaluate(problem, outcome->best.stage_of);
    if (evaluation.link_cost > evaluation.slowest) ++by_link;
    // Separate links are no slower.
    Problem separate = problem;
    separate.machine.shared_link = false;
    ASSERT_LE(Solve(separate, {})->best.bottleneck, outcome->best.bottleneck) << i;
  }
  EXPECT_GT(by_link, Cases(6000) / 20);
}

TEST(Solve, EndsWithABoundOfASharedLinkWhereStatesRunOut) {
  Random random(22);
  int bounded = 0;
  for (int i = 0; i < 1500; ++i) {
    const Problem problem = WithSharedLink(RandomProblem(&random, 8, random.Chance(1, 2)));
    Limits limits;
    limits.max_states = random.Between(1, 300);
    const auto outcome = Solve(problem, limits);
    if (!outcome) continue;
    const auto exact = Solve(problem, {});
    ASSERT_TRUE(exact);
    ASSERT_EQ(FindViolation(problem, outcome->best), std::nullopt) << i;
    ASSERT_LE(outcome->lower_bound, exact->best.bottleneck) << i;
    ASSERT_GE(outcome->best.bottleneck, exact->best.bottleneck) << i;
    ASSERT_EQ(FindFlaw(problem, outcome->certificate, kNoLimit), std::nullopt) << i;
    if (!outcome->optimal()) ++bounded;
  }
  EXPECT_GT(bounded, 50);
}

// If no assignment is allowed, a certificate proves it; never where one is allowed.
TEST(Solve, ProvesThatLimitsCannotBeKept) {
  Random random(23);
  int infeasible = 0;
  for (int i = 0; i < Cases(3000); ++i) {
    Problem problem =
        RandomProblem(&random, static_cast<OpIndex>(random.Between(1, 6)), i % 2 == 0);
    problem.machine.parameter_limit_bytes = random.Between(0, 40);
    problem.machine.shared_link = random.Chance(1, 3);
    std::optional<Certificate> none;
    const auto outcome = Solve(problem, {}, &none);
    ASSERT_EQ(outcome.has_value(), BruteForce(problem).has_value()) << i;
    ASSERT_EQ(none.has_value(), !outcome) << i;
    if (!none) continue;
    ++infeasible;
    ASSERT_EQ(none->bound, kInfeasible);
    ASSERT_EQ(FindFlaw(problem, *none, kNoLimit), std::nullopt) << i;
    // Of a problem without the limit it proves nothing.
    problem.machine.parameter_limit_bytes = -1;
    problem.forbidden.clear();
    ASSERT_NE(FindFlaw(problem, *none, kNoLimit), std::nullopt) << i;
  }
  EXPECT_GT(infeasible, Cases(3000) / 6);
}

// With few states: the result is an assignment, its bound is valid, and both are checked.
TEST(Solve, EndsWithABoundWhereStatesRunOut) {
  Random random(4);
  int bounded = 0;
  for (int i = 0; i < 1500; ++i) {
    const Problem problem = RandomProblem(&random, 8, random.Chance(1, 2));
    Limits limits;
    limits.max_states = random.Between(1, 300);
    const auto outcome = Solve(problem, limits);
    if (!outcome) continue;
    const auto exact = Solve(problem, {});
    ASSERT_TRUE(exact);
    ASSERT_EQ(FindViolation(problem, outcome->best), std::nullopt) << i;
    ASSERT_LE(outcome->lower_bound, exact->best.bottleneck) << i;
    ASSERT_GE(outcome->best.bottleneck, exact->best.bottleneck) << i;
    ASSERT_EQ(outcome->certificate.bound, outcome->lower_bound) << i;
    ASSERT_EQ(FindFlaw(problem, outcome->certificate, kNoLimit), std::nullopt) << i;
    if (!outcome->optimal()) ++bounded;
  }
  EXPECT_GT(bounded, 50);
}

TEST(Solve, StopsWhenRequested) {
  Random random(5);
  const Problem problem = RandomProblem(&random, 40, false);
  const std::atomic<bool> stop{true};
  Limits limits;
  limits.stop = &stop;
  const auto outcome = Solve(problem, limits);
  EXPECT_TRUE(!outcome || outcome->optimal() || outcome->interrupted);
}

TEST(Improve, NeverMakesItWorse) {
  Random random(6);
  int better = 0;
  for (int i = 0; i < 500; ++i) {
    const Problem problem = RandomProblem(&random, 9, random.Chance(1, 2));
    const auto cut = CutOrder(problem, RandomOrder(problem, random.Next()));
    if (!cut) continue;
    const Assignment improved = Improve(problem, *cut, 1000);
    ASSERT_EQ(FindViolation(problem, improved), std::nullopt) << i;
    ASSERT_LE(improved.bottleneck, cut->bottleneck) << i;
    if (improved.bottleneck < cut->bottleneck) ++better;
  }
  EXPECT_GT(better, 5);
}

// A changed certificate is rejected, or its claim is still true.
TEST(Certificate, ProvesNothingFalse) {
  Random random(7);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    Problem problem = RandomProblem(&random, 6, random.Chance(1, 3));
    problem.machine.shared_link = i % 2 == 0;
    const auto outcome = Solve(problem, {});
    if (!outcome) continue;
    Certificate certificate = outcome->certificate;
    const std::uint64_t kind = random.Below(7);
    if (kind == 6) {
      for (auto& layer : certificate.layers) {
        for (Listed& item : layer) item.link_cost += random.Between(0, 3);
      }
      certificate.bound += random.Between(0, 2);
    }
    if (kind == 0) ++certificate.bound;
    if (kind == 1 && !certificate.merges.empty()) {
      certificate.merges[0].into = static_cast<OpIndex>(random.Between(0, 5));
    }
    if (kind == 2) {
      auto& layer = certificate.layers[random.Below(certificate.layers.size())];
      if (!layer.empty()) layer.pop_back();
      certificate.bound += random.Between(0, 1);
    }
    if (kind == 3) {
      certificate.group_of[random.Below(6)] =
          static_cast<OpIndex>(random.Between(-1, certificate.num_groups));
      certificate.bound += random.Between(0, 1);
    }
    if (kind == 4 && !certificate.class_of.empty()) {
      certificate.class_of[0] = static_cast<OpIndex>(random.Between(-1, certificate.num_classes));
      certificate.bound += random.Between(0, 1);
    }
    if (kind == 5) certificate.bound += random.Between(-3, 3);
    if (FindFlaw(problem, certificate, kNoLimit)) {
      ++refused;
    } else {
      ASSERT_LE(certificate.bound, outcome->best.bottleneck) << i << " kind " << kind;
    }
  }
  EXPECT_GT(refused, 1000);
}

// An operator that costs something must not be merged.
TEST(Certificate, NeedsAReasonForAMerge) {
  Problem problem;
  problem.num_ops = 2;
  problem.num_stages = 2;
  problem.compute_cost = {5, 5};
  problem.parameter_bytes = {0, 0};
  problem.tensors.push_back({1, 0, {1}, false});
  Certificate certificate;
  certificate.bound = 10;
  certificate.group_of = {0, 1};
  certificate.num_groups = 2;
  certificate.merges = {{1, 0}};
  certificate.class_of = {0, 0};
  certificate.num_classes = 1;
  certificate.layers = {{{{0}, 0}}, {}};
  EXPECT_NE(FindFlaw(problem, certificate, kNoLimit), std::nullopt);
  problem.compute_cost = {10, 0};
  EXPECT_EQ(FindFlaw(problem, certificate, kNoLimit), std::nullopt);
}

}  // namespace
}  // namespace neap::partition
