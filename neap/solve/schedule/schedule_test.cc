// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/decider.h"
#include "neap/solve/schedule/fusion.h"
#include "neap/solve/schedule/rivals.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

void ExpectOptimal(const Problem& problem, const Limits& limits) {
  ASSERT_EQ(Validate(problem), std::nullopt);
  const std::int64_t best = BruteForcePeak(problem);
  const Outcome outcome = Solve(problem, limits);
  const auto replay = ReplayOrder(problem, outcome.order);
  ASSERT_TRUE(replay.has_value()) << Dump(problem);
  ASSERT_EQ(replay->peak_bytes, outcome.peak_bytes) << Dump(problem);
  ASSERT_LE(outcome.lower_bound_bytes, best) << Dump(problem);
  ASSERT_GE(outcome.peak_bytes, best) << Dump(problem);
  if (limits.max_states == 0) {
    ASSERT_EQ(outcome.peak_bytes, best) << Dump(problem);
    ASSERT_TRUE(outcome.optimal()) << Dump(problem);
  }
}

TEST(Solve, AgreesWithBruteForceOnAnyProblem) {
  Random random(7);
  const Shape any{12, true, true, true};
  for (int i = 0; i < Cases(4000); ++i) {
    const Problem problem =
        random.Chance(1, 3) ? ChainedProblem(random, any) : RandomProblem(random, any);
    ASSERT_NO_FATAL_FAILURE(ExpectOptimal(problem, Limits{}));
  }
}

TEST(Solve, AgreesWithBruteForceWhereOutputsTakeOver) {
  Random random(9);
  Shape any{12, true, true, true};
  any.take_over = true;
  Shape pure{12, false, false, false};
  pure.take_over = true;
  int lower = 0;
  for (int i = 0; i < Cases(4000); ++i) {
    const Shape& shape = random.Chance(1, 2) ? any : pure;
    Problem problem =
        random.Chance(1, 3) ? ChainedProblem(random, shape) : RandomProblem(random, shape);
    ASSERT_NO_FATAL_FAILURE(ExpectOptimal(problem, Limits{}));
    const std::int64_t with = BruteForcePeak(problem);
    problem.take_over.clear();
    if (with < BruteForcePeak(problem)) ++lower;
  }
  EXPECT_GT(lower, Cases(4000) / 10);
}

TEST(Solve, AgreesWithBruteForceOnPureProblems) {
  Random random(8);
  const Shape pure{12, false, false, false};
  for (int i = 0; i < Cases(3000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectOptimal(RandomProblem(random, pure), Limits{}));
  }
}

// The decision search alone, without the bounds and beams that spare Solve() most of it: feasible
// at the optimum, refuted one below, in both directions, with all kinds of moves, fused or not,
// committing to waypoints from the start, with and without what earlier budgets left in the table.
void ExpectDecides(const Problem& problem) {
  const std::int64_t best = BruteForcePeak(problem);
  const Instance plain(problem, 1, false);
  const Fusion fusion = Fuse(problem, plain, 1);
  for (int kind = 0; kind < 8; ++kind) {
    const bool reversed = (kind & 1) != 0;
    const bool fused = (kind & 2) != 0;
    const Instance instance = fused ? Instance(fusion.problem, fusion.stages, 1, reversed)
                                    : Instance(problem, 1, reversed);
    Expander expander(instance, (kind & 4) != 0);
    Decider decider(instance, &expander, std::int64_t{1} << 20, 0);
    const Limits limits;
    Stopper stopper(limits);
    constexpr std::int64_t kMany = 1'000'000;
    // The decider does not count buffers live at the ends.
    const std::int64_t ends = std::max(instance.start_live(), instance.end_live());
    for (const std::int64_t budget : {best - 3, best + 2, best - 1, best}) {
      if (budget < ends) continue;
      std::vector<OpIndex> order;
      const Verdict verdict = decider.Decide(budget, kMany, &stopper, &order);
      if (budget < best) {
        ASSERT_EQ(verdict, Verdict::kInfeasible) << kind << " " << Dump(problem);
        continue;
      }
      ASSERT_EQ(verdict, Verdict::kFeasible) << kind << " " << budget << " " << Dump(problem);
      if (reversed) std::reverse(order.begin(), order.end());
      std::vector<OpIndex> all;
      for (const OpIndex op : order) {
        if (!fused) {
          all.push_back(op);
          continue;
        }
        const auto& ops = fusion.ops[static_cast<std::size_t>(op)];
        all.insert(all.end(), ops.begin(), ops.end());
      }
      const auto replay = ReplayOrder(problem, all);
      ASSERT_TRUE(replay.has_value()) << Dump(problem);
      ASSERT_LE(replay->peak_bytes, budget) << Dump(problem);
    }
  }
}

TEST(Decider, AgreesWithBruteForceOnAnyProblem) {
  Random random(11);
  for (int i = 0; i < Cases(2000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectDecides(RandomProblem(random, Shape{})));
    ASSERT_NO_FATAL_FAILURE(ExpectDecides(ChainedProblem(random, Shape{})));
  }
}

TEST(Decider, AgreesWithBruteForceWhereOutputsTakeOver) {
  Random random(21);
  Shape shape;
  shape.take_over = true;
  for (int i = 0; i < Cases(2000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectDecides(RandomProblem(random, shape)));
    ASSERT_NO_FATAL_FAILURE(ExpectDecides(ChainedProblem(random, shape)));
  }
}

TEST(Decider, AgreesWithBruteForceOnPureProblems) {
  Random random(12);
  const Shape pure{12, false, false, false};
  for (int i = 0; i < Cases(1000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectDecides(RandomProblem(random, pure)));
  }
}

// All searches side by side, a state at a time.
TEST(Rivals, AgreeWithBruteForce) {
  Random random(14);
  for (int i = 0; i < Cases(1000); ++i) {
    const Problem problem = ChainedProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    const Instance forward(problem, 1, false);
    Rivals rivals(problem, forward, 1, std::int64_t{1} << 20);
    const Limits limits;
    Stopper stopper(limits);
    const std::int64_t ends = std::max(forward.start_live(), forward.end_live());
    for (const std::int64_t budget : {best - 1, best}) {
      if (budget < ends) continue;
      Answer answer;
      for (int round = 0; round < 10'000 && answer.verdict == Verdict::kUnknown; ++round) {
        answer = rivals.Decide(Aim::kTop, budget, 1, &stopper);
      }
      ASSERT_EQ(answer.verdict, budget < best ? Verdict::kInfeasible : Verdict::kFeasible)
          << Dump(problem);
      if (budget < best) continue;
      const auto replay = ReplayOrder(problem, answer.order);
      ASSERT_TRUE(replay.has_value()) << Dump(problem);
      ASSERT_LE(replay->peak_bytes, budget) << Dump(problem);
    }
  }
}

// Layers of random operators: wide enough for all stages of the search.
Problem Layered(std::uint64_t seed, OpIndex ops, OpIndex width) {
  Random random(seed);
  Problem problem;
  problem.num_ops = ops;
  for (OpIndex op = 0; op < ops; ++op) {
    problem.buffers.push_back({random.Between(1, 100), {op}, false, false});
    if (op < width) continue;
    const OpIndex before = op / width * width - width;
    for (int reads = 0; reads < 3; ++reads) {
      const auto read = before + static_cast<OpIndex>(random.Between(0, width - 1));
      Buffer& buffer = problem.buffers[static_cast<std::size_t>(read)];
      if (buffer.users.back() == op) continue;
      buffer.users.push_back(op);
      problem.precedences.emplace_back(read, op);
    }
  }
  return problem;
}

TEST(Solve, ThreadsChangeNothing) {
  for (const OpIndex width : {8, 14, 24}) {
    const Problem problem = Layered(5, 5 * width, width);
    Limits limits;
    limits.max_states = 60'000;
    const Outcome one = Solve(problem, limits);
    for (const int threads : {2, 3, 8}) {
      limits.threads = threads;
      const Outcome outcome = Solve(problem, limits);
      EXPECT_EQ(outcome.order, one.order);
      EXPECT_EQ(outcome.states, one.states);
      EXPECT_EQ(outcome.lower_bound_bytes, one.lower_bound_bytes);
      EXPECT_EQ(outcome.reversed, one.reversed);
    }
    EXPECT_LE(one.states, limits.max_states);
  }
}

// The min-cut bound of every operator is at most its least hill over all orders, and on problems
// without in-place pairs it is reached by some order's hill or by the optimum being higher.
TEST(CutFinder, NeverExceedsTheOptimum) {
  Random random(13);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    for (const bool reversed : {false, true}) {
      const Instance instance(problem, 1, reversed);
      CutFinder cuts(instance);
      for (OpIndex op = 0; op < problem.num_ops; ++op) {
        ASSERT_LE(cuts.LeastHill(op, MaxFlow::kInfinite), best)
            << "op " << op << (reversed ? " reversed " : " ") << Dump(problem);
      }
    }
  }
}

TEST(Solve, IsHonestWhenALimitEndsIt) {
  Random random(9);
  for (int i = 0; i < Cases(2000); ++i) {
    Limits limits;
    limits.max_states = random.Between(1, 12);
    ASSERT_NO_FATAL_FAILURE(ExpectOptimal(RandomProblem(random, Shape{}), limits));
  }
}

TEST(Strategies, GiveValidOrders) {
  Random random(10);
  for (int i = 0; i < Cases(300); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    for (const Strategy& strategy : Strategies()) {
      // The number of moves of annealing does not depend on the problem.
      const WorkScope work(10'000'000);
      const auto outcome = schedule::Run(strategy.method, problem, Limits{}, StrategyOptions{});
      const auto replay = ReplayOrder(problem, outcome.order);
      ASSERT_TRUE(replay.has_value()) << strategy.name << "\n" << Dump(problem);
      EXPECT_EQ(replay->peak_bytes, outcome.peak_bytes) << strategy.name;
      EXPECT_GE(outcome.peak_bytes, best) << strategy.name;
      EXPECT_LE(outcome.lower_bound_bytes, best) << strategy.name << "\n" << Dump(problem);
    }
  }
  EXPECT_EQ(StrategyNamed("no-such"), nullptr);
}

TEST(Solve, SplitsLongChains) {
  Problem chain;
  chain.num_ops = 20000;
  for (OpIndex op = 0; op < chain.num_ops; ++op) {
    if (op > 0) chain.precedences.emplace_back(op - 1, op);
    Buffer buffer{op % 7 + 1, {op}, false, op + 1 == chain.num_ops};
    if (op + 1 < chain.num_ops) buffer.users.push_back(op + 1);
    chain.buffers.push_back(buffer);
  }
  const Outcome outcome = Solve(chain, Limits{});
  EXPECT_TRUE(outcome.optimal());
  EXPECT_EQ(outcome.peak_bytes, 13);
}

TEST(Solve, HandlesTheEmptyProblem) {
  const Outcome outcome = Solve(Problem{}, Limits{});
  EXPECT_EQ(outcome.peak_bytes, 0);
  EXPECT_TRUE(outcome.optimal());
}

TEST(ReplayOrder, RefusesWrongOrders) {
  Problem problem;
  problem.num_ops = 2;
  problem.precedences = {{0, 1}};
  problem.buffers = {{5, {0, 1}, false, false}};
  std::string why;
  EXPECT_TRUE(ReplayOrder(problem, std::vector<OpIndex>{0, 1}, &why).has_value());
  EXPECT_FALSE(ReplayOrder(problem, std::vector<OpIndex>{1, 0}, &why).has_value());
  EXPECT_NE(why.find("needs"), std::string::npos);
  EXPECT_FALSE(ReplayOrder(problem, std::vector<OpIndex>{0}, &why).has_value());
  EXPECT_FALSE(ReplayOrder(problem, std::vector<OpIndex>{0, 0}, &why).has_value());
  EXPECT_FALSE(ReplayOrder(problem, std::vector<OpIndex>{0, 2}, &why).has_value());
}

TEST(Validate, NamesWhatIsWrong) {
  Problem good;
  good.num_ops = 2;
  good.precedences = {{0, 1}};
  good.buffers = {{5, {0, 1}, false, false}};
  EXPECT_EQ(Validate(good), std::nullopt);
  Problem bad = good;
  bad.precedences.emplace_back(1, 0);
  EXPECT_NE(Validate(bad), std::nullopt);
  bad = good;
  bad.buffers[0].bytes = -1;
  EXPECT_NE(Validate(bad), std::nullopt);
  bad = good;
  bad.buffers[0].users = {1, 0};
  EXPECT_NE(Validate(bad), std::nullopt);
  bad = good;
  bad.scratch_bytes = {1};
  EXPECT_NE(Validate(bad), std::nullopt);
  bad = good;
  bad.in_place = {{0, 0, 3}};
  EXPECT_NE(Validate(bad), std::nullopt);
}

}  // namespace
}  // namespace neap::schedule
