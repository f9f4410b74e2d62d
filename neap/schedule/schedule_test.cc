// SPDX-License-Identifier: Apache-2.0
#include "neap/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/schedule/check.h"
#include "neap/schedule/cut.h"
#include "neap/schedule/decider.h"

namespace neap::schedule {
namespace {

struct Shape {
  int max_ops = 9;
  bool aliases = true;
  bool scratch = true;
  bool in_place = true;
};

void AddUser(Buffer* buffer, OpIndex op) {
  const auto at = std::lower_bound(buffer->users.begin(), buffer->users.end(), op);
  if (at == buffer->users.end() || *at != op) buffer->users.insert(at, op);
}

// A random problem with everything that the definition allows: several outputs, duplicate edges,
// pinned and zero-byte buffers, aliases (several writers), scratch, in-place pairs.
Problem RandomProblem(Random& random, const Shape& shape) {
  Problem problem;
  problem.num_ops = static_cast<OpIndex>(random.Between(1, shape.max_ops));
  const std::int64_t most = random.Chance(1, 3) ? 3 : 40;
  const std::uint64_t density = 1 + random.Below(4);
  for (int i = static_cast<int>(random.Below(3)); i > 0; --i) {
    problem.buffers.push_back({random.Between(0, most), {}, true, random.Chance(1, 8)});
  }
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    BufferIndex first_input = -1;
    const auto existing = static_cast<BufferIndex>(problem.buffers.size());
    for (BufferIndex b = 0; b < existing; ++b) {
      Buffer& buffer = problem.buffers[static_cast<std::size_t>(b)];
      if (!random.Chance(density, 5 + static_cast<std::uint64_t>(op))) continue;
      if (!buffer.live_at_start && !buffer.users.empty()) {
        problem.precedences.emplace_back(buffer.users.front(), op);
      }
      AddUser(&buffer, op);
      if (first_input < 0) first_input = b;
    }
    for (int i = 1 + static_cast<int>(random.Below(4) == 0 ? 1 : 0); i > 0; --i) {
      problem.buffers.push_back({random.Between(0, most), {op}, false, random.Chance(1, 8)});
    }
    const auto output = static_cast<BufferIndex>(problem.buffers.size() - 1);
    if (shape.in_place && first_input >= 0 && random.Chance(1, 3)) {
      const Buffer& input = problem.buffers[static_cast<std::size_t>(first_input)];
      if (!input.live_at_end) {
        problem.buffers.back().bytes = input.bytes;
        problem.in_place.push_back({op, first_input, output});
      }
    }
    if (op > 0 && random.Chance(1, 10)) {
      problem.precedences.emplace_back(
          static_cast<OpIndex>(random.Below(static_cast<std::uint64_t>(op))), op);
    }
  }
  if (shape.aliases && random.Chance(1, 2)) {
    // A buffer with several unordered writers.
    Buffer shared{random.Between(0, most), {}, false, random.Chance(1, 4)};
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      if (random.Chance(1, 3)) shared.users.push_back(op);
    }
    problem.buffers.push_back(shared);
  }
  if (shape.scratch && random.Chance(1, 2)) {
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      problem.scratch_bytes.push_back(random.Chance(1, 3) ? random.Between(0, most) : 0);
    }
  }
  return problem;
}

// Least peak over all orders: dynamic programming over executed sets, straight from the definition.
std::int64_t BruteForcePeak(const Problem& problem) {
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  const std::size_t sets = std::size_t{1} << ops;
  constexpr std::int64_t kNever = std::int64_t{1} << 60;
  std::vector<std::uint32_t> before(ops, 0);
  for (const auto& [a, b] : problem.precedences) {
    before[static_cast<std::size_t>(b)] |= 1U << static_cast<unsigned>(a);
  }
  std::vector<std::uint32_t> users;
  for (const Buffer& buffer : problem.buffers) {
    std::uint32_t mask = 0;
    for (const OpIndex op : buffer.users) mask |= 1U << static_cast<unsigned>(op);
    users.push_back(mask);
  }
  std::vector<std::int64_t> best(sets, kNever);
  best[0] = 0;
  for (std::uint32_t set = 0; set < sets; ++set) {
    if (best[set] == kNever) continue;
    for (std::size_t op = 0; op < ops; ++op) {
      const std::uint32_t bit = 1U << op;
      if ((set & bit) != 0 || (before[op] & ~set) != 0) continue;
      std::int64_t hill = problem.scratch_bytes.empty() ? 0 : problem.scratch_bytes[op];
      for (std::size_t b = 0; b < users.size(); ++b) {
        const Buffer& buffer = problem.buffers[b];
        const bool begun = (users[b] & (set | bit)) != 0 || buffer.live_at_start;
        const bool ended = (users[b] & ~set) == 0 && !buffer.live_at_end;
        if (begun && !ended) hill += buffer.bytes;
      }
      for (const InPlace& pair : problem.in_place) {
        if (static_cast<std::size_t>(pair.op) != op) continue;
        const bool dies = (users[static_cast<std::size_t>(pair.input)] & ~set) == bit;
        const bool starts = (users[static_cast<std::size_t>(pair.output)] & set) == 0;
        if (dies && starts) hill -= problem.buffers[static_cast<std::size_t>(pair.output)].bytes;
      }
      best[set | bit] = std::min(best[set | bit], std::max(best[set], hill));
    }
  }
  return best[sets - 1];
}

int Cases(int ordinary) {
  const char* factor = std::getenv("NEAP_PROPERTY_FACTOR");
  return factor == nullptr ? ordinary : ordinary * std::atoi(factor);
}

std::string Dump(const Problem& problem) {
  std::string out = std::to_string(problem.num_ops) + " ops;";
  for (const auto& [a, b] : problem.precedences) {
    out += " " + std::to_string(a) + "<" + std::to_string(b);
  }
  for (const Buffer& buffer : problem.buffers) {
    out += "\n  " + std::to_string(buffer.bytes) + (buffer.live_at_start ? " start" : "") +
           (buffer.live_at_end ? " end" : "") + ":";
    for (const OpIndex op : buffer.users) out += " " + std::to_string(op);
  }
  for (const std::int64_t bytes : problem.scratch_bytes)
    out += "\n  scratch " + std::to_string(bytes);
  for (const InPlace& pair : problem.in_place) {
    out += "\n  in place " + std::to_string(pair.op) + ": " + std::to_string(pair.input) + " -> " +
           std::to_string(pair.output);
  }
  return out;
}

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
  for (int i = 0; i < Cases(6000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectOptimal(RandomProblem(random, Shape{}), Limits{}));
  }
}

TEST(Solve, AgreesWithBruteForceOnPureProblems) {
  Random random(8);
  const Shape pure{12, false, false, false};
  for (int i = 0; i < Cases(3000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectOptimal(RandomProblem(random, pure), Limits{}));
  }
}

// The decision search alone, without the bounds and beams that spare Solve() most of it: feasible
// at the optimum, refuted one below, in both directions, with and without what earlier budgets left
// in the table.
void ExpectDecides(const Problem& problem) {
  const std::int64_t best = BruteForcePeak(problem);
  for (const bool reversed : {false, true}) {
    const Instance instance(problem, 1, reversed);
    Decider decider(instance, std::int64_t{1} << 20);
    const Limits limits;
    Stopper stopper(limits);
    constexpr std::int64_t kMany = 1'000'000;
    for (const std::int64_t budget : {best - 3, best + 2, best - 1, best}) {
      std::vector<OpIndex> order;
      const Verdict verdict = decider.Decide(budget, kMany, &stopper, &order);
      if (budget < best) {
        ASSERT_EQ(verdict, Verdict::kInfeasible) << reversed << " " << Dump(problem);
        continue;
      }
      ASSERT_EQ(verdict, Verdict::kFeasible) << reversed << " " << budget << " " << Dump(problem);
      if (reversed) std::reverse(order.begin(), order.end());
      const auto replay = ReplayOrder(problem, order);
      ASSERT_TRUE(replay.has_value()) << Dump(problem);
      ASSERT_LE(replay->peak_bytes, budget) << Dump(problem);
    }
  }
}

TEST(Decider, AgreesWithBruteForceOnAnyProblem) {
  Random random(11);
  for (int i = 0; i < Cases(4000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectDecides(RandomProblem(random, Shape{})));
  }
}

TEST(Decider, AgreesWithBruteForceOnPureProblems) {
  Random random(12);
  const Shape pure{12, false, false, false};
  for (int i = 0; i < Cases(2000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectDecides(RandomProblem(random, pure)));
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
      const auto outcome = schedule::Run(strategy.name, problem, Limits{}, StrategyOptions{});
      ASSERT_TRUE(outcome.has_value());
      const auto replay = ReplayOrder(problem, outcome->order);
      ASSERT_TRUE(replay.has_value()) << strategy.name << "\n" << Dump(problem);
      EXPECT_EQ(replay->peak_bytes, outcome->peak_bytes) << strategy.name;
      EXPECT_GE(outcome->peak_bytes, best) << strategy.name;
      EXPECT_LE(outcome->lower_bound_bytes, best) << strategy.name << "\n" << Dump(problem);
    }
  }
  EXPECT_FALSE(schedule::Run("no-such", Problem{}, Limits{}, StrategyOptions{}).has_value());
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
