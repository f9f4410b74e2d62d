// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/rematerialise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "neap/base/index.h"
#include "neap/base/random.h"
#include "neap/solve/rematerialise/bound.h"
#include "neap/solve/rematerialise/chain.h"
#include "neap/solve/rematerialise/check.h"
#include "neap/solve/rematerialise/eviction.h"
#include "neap/solve/rematerialise/trace.h"
#include "testing/cases.h"

namespace neap::rematerialise {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Operators in an order that can be run.
Problem RandomProblem(Random* random, std::int32_t max_ops) {
  Problem problem;
  const auto ops = static_cast<OpIndex>(random->Between(2, max_ops));
  const auto add_value = [&](OpIndex writer) {
    Value value;
    value.bytes = random->Between(0, 9);
    value.writer = writer;
    value.live_at_end = random->Chance(1, 8);
    problem.values.push_back(value);
  };
  const std::int64_t inputs = random->Between(0, 2);
  for (std::int64_t i = 0; i < inputs; ++i) add_value(kNoWriter);
  for (OpIndex op = 0; op < ops; ++op) {
    Op is;
    is.cost = random->Between(0, 5);
    is.scratch_bytes = random->Chance(1, 4) ? random->Between(0, 4) : 0;
    is.repeatable = random->Chance(5, 6);
    problem.ops.push_back(is);
    for (std::size_t at = 0; at < problem.values.size(); ++at) {
      const bool recent = at + 3 > problem.values.size();
      if (random->Chance(1, recent ? 2 : 4)) {
        problem.values[at].readers.push_back(op);
      }
    }
    add_value(op);
    if (random->Chance(1, 6)) add_value(op);
    if (op > 0 && random->Chance(1, 8)) {
      problem.precedences.emplace_back(
          static_cast<OpIndex>(random->Below(static_cast<std::uint64_t>(op))), op);
    }
  }
  return problem;
}

std::vector<OpIndex> FileOrder(const Problem& problem) {
  std::vector<OpIndex> order(problem.ops.size());
  for (std::size_t op = 0; op < order.size(); ++op) order[op] = static_cast<OpIndex>(op);
  return order;
}

// The minimum cost within a peak, from the definition alone: states are the operators that have run
// and the values in memory; a step runs any operator or drops any one value.
std::int64_t LeastCost(const Problem& problem, std::int64_t peak_bytes) {
  const std::size_t num_ops = problem.ops.size();
  const std::size_t num_values = problem.values.size();
  std::vector<std::uint32_t> reads(num_ops, 0);
  std::vector<std::uint32_t> writes(num_ops, 0);
  std::vector<std::uint32_t> before(num_ops, 0);
  std::uint32_t ends = 0;
  std::uint32_t inputs = 0;
  for (std::size_t value = 0; value < num_values; ++value) {
    const std::uint32_t bit = 1U << value;
    const Value& is = problem.values[value];
    for (const OpIndex reader : is.readers) reads[static_cast<std::size_t>(reader)] |= bit;
    if (is.writer == kNoWriter) {
      // An input without consumers takes no memory.
      if (!is.readers.empty() || is.live_at_end) inputs |= bit;
    } else {
      writes[static_cast<std::size_t>(is.writer)] |= bit;
    }
    if (is.live_at_end) ends |= bit;
  }
  for (const auto& [first, second] : problem.precedences) {
    before[static_cast<std::size_t>(second)] |= 1U << static_cast<std::uint32_t>(first);
  }
  const auto bytes_of = [&](std::uint32_t values) {
    std::int64_t bytes = 0;
    for (std::size_t value = 0; value < num_values; ++value) {
      if ((values >> value & 1U) != 0) bytes += problem.values[value].bytes;
    }
    return bytes;
  };
  const std::uint32_t all = (1U << num_ops) - 1;
  std::vector<std::int64_t> best((std::size_t{1} << num_ops) << num_values, kNever);
  using Entry = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto add = [&](std::int64_t cost, std::uint32_t done, std::uint32_t live) {
    std::int64_t& known = best[(std::size_t{done} << num_values) | live];
    if (cost >= known) return;
    known = cost;
    open.emplace(cost, done, live);
  };
  add(0, 0, inputs);
  while (!open.empty()) {
    const auto [cost, done, live] = open.top();
    open.pop();
    if (cost > best[(std::size_t{done} << num_values) | live]) continue;
    if (done == all && (ends & ~live) == 0) return cost;
    for (std::size_t value = 0; value < num_values; ++value) {
      if ((live >> value & 1U) != 0) add(cost, done, live & ~(1U << value));
    }
    for (std::size_t op = 0; op < num_ops; ++op) {
      if ((reads[op] & ~live) != 0) continue;
      const bool again = (done >> op & 1U) != 0;
      if (again ? !problem.ops[op].repeatable : (before[op] & ~done) != 0) continue;
      const std::uint32_t after = live | writes[op];
      if (bytes_of(after) + problem.ops[op].scratch_bytes > peak_bytes) continue;
      add(cost + problem.ops[op].cost, done | 1U << op, after);
    }
  }
  return kNever;
}

// Points and bound of an outcome against LeastCost().
void ExpectExact(const Problem& problem, std::int64_t max_cost, const Outcome& outcome) {
  std::int64_t last = kNever;
  for (const Point& point : outcome.points) {
    const auto replay = ReplaySequence(problem, point.sequence);
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->peak_bytes, point.peak_bytes);
    EXPECT_EQ(replay->cost, point.cost);
    EXPECT_LE(point.cost, max_cost);
    EXPECT_LT(point.peak_bytes, last);
    last = point.peak_bytes;
    EXPECT_EQ(LeastCost(problem, point.peak_bytes), point.cost);
    EXPECT_TRUE(point.least_cost || point.cost == BaseCost(problem));
  }
  EXPECT_TRUE(outcome.optimal());
  EXPECT_EQ(outcome.lower_bound_bytes, outcome.points.back().peak_bytes);
  EXPECT_GT(LeastCost(problem, outcome.points.back().peak_bytes - 1), max_cost);
}

TEST(Rematerialise, IsExactOnSmallProblems) {
  Random random(1);
  const int cases = Cases(2'000);
  int lower = 0;
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Problem problem = RandomProblem(&random, 6);
    ASSERT_EQ(Validate(problem), std::nullopt);
    const std::int64_t base = BaseCost(problem);
    const std::int64_t max_cost = base + random.Between(0, base + 1);
    Effort effort;
    effort.max_moves = random.Chance(1, 2) ? 200 : 0;
    const Outcome outcome = Solve(problem, FileOrder(problem), max_cost, effort);
    ExpectExact(problem, max_cost, outcome);
    if (HasFatalFailure()) return;
    if (outcome.points.size() > 1 && outcome.points.back().cost > base) ++lower;
  }
  EXPECT_GT(lower, cases / 50);
}

// The search by moves and the bounds alone: valid, never worse than the start, never below what is
// possible.
TEST(Rematerialise, MovesAreSoundWithoutTheExactSearch) {
  Random random(2);
  const int cases = Cases(2'000);
  int lower = 0;
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Problem problem = RandomProblem(&random, 6);
    const std::vector<OpIndex> start = FileOrder(problem);
    Effort effort;
    effort.max_states = i % 2 == 0 ? 0 : 20;
    effort.max_moves = 300;
    const std::int64_t max_cost = BaseCost(problem) + random.Between(0, 10);
    const Outcome outcome = Solve(problem, start, max_cost, effort);
    EXPECT_LE(outcome.points.front().peak_bytes, ReplaySequence(problem, start)->peak_bytes);
    const std::int64_t least = LeastCost(problem, outcome.points.back().peak_bytes);
    EXPECT_LE(least, outcome.points.back().cost);
    EXPECT_LE(outcome.points.back().cost, max_cost);
    const std::int64_t below = LeastCost(problem, outcome.lower_bound_bytes - 1);
    EXPECT_TRUE(below == kNever || below > max_cost);
    if (outcome.points.back().cost > BaseCost(problem)) ++lower;
  }
  EXPECT_GT(lower, cases / 100);
}

// By every rule: a valid sequence within the limit, the given order where that fits.
TEST(Rematerialise, ExecutionsWithinALimitAreValid) {
  Random random(5);
  const int cases = Cases(2'000);
  int repeated = 0;
  int above = 0;
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Problem problem = RandomProblem(&random, 12);
    const std::vector<OpIndex> start = FileOrder(problem);
    const std::int64_t peak = ReplaySequence(problem, start)->peak_bytes;
    const std::int64_t limit = random.Between(peak / 2, peak);
    EvictionRule rule;
    rule.distance = random.Chance(1, 2);
    rule.readers = random.Chance(1, 2);
    rule.keeps_sources = random.Chance(1, 4);
    rule.seed = random.Below(3);
    std::int64_t work = 0;
    const auto sequence = ExecuteWithin(Access(problem), start, limit, rule, 100'000, &work);
    if (limit == peak && !rule.keeps_sources) {
      EXPECT_EQ(sequence, start);
    }
    if (!sequence) continue;
    std::string why;
    const auto replay = ReplaySequence(problem, *sequence, &why);
    ASSERT_TRUE(replay) << why;
    repeated += replay->repetitions > 0 ? 1 : 0;
    above += replay->peak_bytes > limit ? 1 : 0;
  }
  EXPECT_GT(repeated, cases / 50);
  EXPECT_EQ(above, 0);
}

// Forward and backward of a chain: step i of the backward pass reads value i of the forward pass.
Problem TrainingChain(OpIndex layers) {
  Problem problem;
  for (OpIndex op = 0; op < 2 * layers; ++op) problem.ops.push_back({1, 0, true});
  problem.values.push_back({1, kNoWriter, {0}, false});
  for (OpIndex layer = 0; layer < layers; ++layer) {
    const OpIndex next = layer + 1;
    const OpIndex backward = 2 * layers - 1 - layer;
    Value value{1, layer, {next, backward}, false};
    if (next == backward) value.readers.pop_back();
    problem.values.push_back(value);
  }
  for (OpIndex op = layers; op < 2 * layers; ++op) {
    Value gradient{1, op, {}, op == 2 * layers - 1};
    if (op + 1 < 2 * layers) gradient.readers.push_back(op + 1);
    problem.values.push_back(gradient);
  }
  return problem;
}

TEST(Rematerialise, ALargerCostNeverHasALargerPeak) {
  std::vector<Problem> problems{TrainingChain(12), TrainingChain(40)};
  Random random(3);
  const int cases = Cases(12);
  for (int i = 0; i < cases; ++i) problems.push_back(RandomProblem(&random, 16));
  for (const Problem& problem : problems) {
    std::int64_t last = kNever;
    std::vector<std::int64_t> peaks;
    Effort effort;
    effort.max_states = 5'000;
    effort.max_moves = 1'500;
    for (std::int64_t percent = 100; percent <= 300; percent += 10) {
      const std::int64_t max_cost = BaseCost(problem) * percent / 100;
      const Outcome outcome = Solve(problem, FileOrder(problem), max_cost, effort);
      EXPECT_LE(outcome.points.back().peak_bytes, last);
      EXPECT_LE(outcome.lower_bound_bytes, outcome.points.back().peak_bytes);
      last = outcome.points.back().peak_bytes;
      // All points of the smaller cost are still there, or lower ones of the same cost.
      EXPECT_GE(outcome.points.size(), peaks.size());
      for (std::size_t at = 0; at < std::min(peaks.size(), outcome.points.size()); ++at) {
        EXPECT_EQ(outcome.points[at].peak_bytes, peaks[at]);
      }
      peaks.clear();
      for (const Point& point : outcome.points) peaks.push_back(point.peak_bytes);
    }
  }
}

TEST(Rematerialise, ChainsNeedTheSquareRootAndLess) {
  const Problem problem = TrainingChain(64);
  const std::int64_t base = BaseCost(problem);
  const Outcome outcome = Solve(problem, FileOrder(problem), base + 64, {});
  EXPECT_EQ(outcome.points.front().peak_bytes, 65);
  // One more forward pass: sqrt(n) checkpoints need 2 * 8 and what a step touches.
  EXPECT_LE(outcome.points.back().peak_bytes, 19);
}

// Checkpoints of a uniform chain with the fewest forward steps (Revolve): with n slots in memory,
// reversing `length` steps repeats this many of them.
std::int64_t RepeatedByRevolve(std::int64_t length, std::int64_t slots) {
  std::vector<std::vector<std::int64_t>> least;
  for (std::int64_t free = 0; free <= slots; ++free) {
    least.push_back({0, 0});
    for (std::int64_t part = 2; part <= length; ++part) {
      std::int64_t best = part * (part - 1) / 2;
      for (std::int64_t first = 1; free > 0 && first < part; ++first) {
        const auto at = [&](std::int64_t row, std::int64_t steps) {
          return least[static_cast<std::size_t>(row)][static_cast<std::size_t>(steps)];
        };
        best = std::min(best, first + at(free - 1, part - first) + at(free, first));
      }
      least.back().push_back(best);
    }
  }
  return least.back().back() - (length - 1);
}

// Backward step i reads the input of layer i and the gradient; the first one reads the result.
Problem CheckpointChain(OpIndex layers) {
  Problem problem = TrainingChain(layers);
  for (Value& value : problem.values) value.readers.clear();
  for (OpIndex layer = 0; layer < layers; ++layer) {
    problem.values[At(layer)].readers = {layer, 2 * layers - 1 - layer};
    problem.values[At(layers + layer)].readers = {layers + layer};
  }
  return problem;
}

TEST(Rematerialise, ChainsAreNoHigherThanOptimalCheckpoints) {
  const Problem problem = CheckpointChain(64);
  ASSERT_EQ(Validate(problem), std::nullopt);
  const std::int64_t base = BaseCost(problem);
  Effort effort;
  effort.max_moves = 500;
  for (const std::int64_t slots : {3, 5, 6, 10, 30}) {
    const std::int64_t extra = RepeatedByRevolve(65, slots);
    const Outcome outcome = Solve(problem, FileOrder(problem), base + extra, effort);
    // The input, the slots, and the three values of a backward step.
    EXPECT_LE(outcome.points.back().peak_bytes, slots + 4) << slots << ' ' << extra;
  }
}

// The chain's values in `kept` stay in memory, all others of a part are computed once more before
// the backward steps of this part.
std::vector<OpIndex> WithKept(OpIndex layers, std::uint32_t kept) {
  std::vector<OpIndex> sequence(At(layers));
  std::iota(sequence.begin(), sequence.end(), 0);
  OpIndex end = layers;  // its backward step ran last
  for (OpIndex begin = layers - 1; begin >= 0; --begin) {
    if (begin > 0 && (kept >> begin & 1U) == 0) continue;
    if (end < layers) {
      for (OpIndex layer = begin; layer + 1 < end; ++layer) sequence.push_back(layer);
    }
    for (OpIndex layer = end - 1; layer >= begin; --layer) {
      sequence.push_back(2 * layers - 1 - layer);
    }
    end = begin;
  }
  return sequence;
}

TEST(ChainSequences, AreNoWorseThanAnyKeptValues) {
  Random random(7);
  std::size_t sequences = 0;
  for (int i = 0; i < Cases(60); ++i) {
    constexpr OpIndex kLayers = 9;
    Problem problem = CheckpointChain(kLayers);
    for (Value& value : problem.values) value.bytes = random.Between(1, 9);
    for (Op& op : problem.ops) op.cost = random.Between(1, 9);
    const Access access(problem);
    const std::vector<OpIndex> start = FileOrder(problem);
    std::vector<std::pair<std::int64_t, std::int64_t>> found;  // peak, cost
    for (const auto& sequence : ChainSequences(access, start)) {
      const auto replay = ReplaySequence(problem, sequence);
      ASSERT_TRUE(replay);
      found.emplace_back(replay->peak_bytes, replay->cost);
    }
    sequences += found.size();
    for (std::uint32_t kept = 0; kept < 1U << kLayers; kept += 2) {
      const auto replay = ReplaySequence(problem, WithKept(kLayers, kept));
      ASSERT_TRUE(replay);
      // Without repetitions the start is as good.
      if (replay->repetitions == 0) continue;
      EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                              [&](const auto& point) {
                                return point.first <= replay->peak_bytes &&
                                       point.second <= replay->cost;
                              }))
          << i << ' ' << kept << ' ' << replay->peak_bytes << ' ' << replay->cost;
    }
  }
  EXPECT_GT(sequences, 0U);
}

TEST(ChainSequences, NeedAChain) {
  Problem problem = CheckpointChain(9);
  EXPECT_FALSE(ChainSequences(Access(problem), FileOrder(problem)).empty());
  problem.ops[4].repeatable =
      false;  // the chain ends before it, and its values are read out of order
  problem.values[3].live_at_end = true;
  EXPECT_TRUE(ChainSequences(Access(problem), FileOrder(problem)).empty());
}

TEST(Rematerialise, TheSameInputGivesTheSameOutcome) {
  const Problem problem = TrainingChain(20);
  Effort effort;
  effort.max_states = 5'000;
  const Outcome a = Solve(problem, FileOrder(problem), 80, effort);
  const Outcome b = Solve(problem, FileOrder(problem), 80, effort);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t at = 0; at < a.points.size(); ++at) {
    EXPECT_EQ(a.points[at].sequence, b.points[at].sequence);
  }
}

TEST(ReplaySequence, RefusesWhatIsNoSequence) {
  Problem problem = TrainingChain(3);
  problem.ops[1].repeatable = false;
  problem.precedences.emplace_back(0, 5);
  std::string why;
  const std::vector<OpIndex> start = FileOrder(problem);
  ASSERT_TRUE(ReplaySequence(problem, start, &why)) << why;
  const auto refused = [&](const std::vector<OpIndex>& sequence) {
    EXPECT_FALSE(ReplaySequence(problem, sequence, &why));
    return why;
  };
  EXPECT_EQ(refused({0, 1, 2, 3, 4}), "operator 5 does not run");
  EXPECT_EQ(refused({0, 1, 1, 2, 3, 4, 5}), "step 2: operator 1 runs again, but is not repeatable");
  EXPECT_EQ(refused({1, 0, 2, 3, 4, 5}), "step 0: operator 1 reads value 1 before it is written");
  EXPECT_EQ(refused({0, 1, 2, 3, 4, 6}), "step 5: operator 6 is unknown");
  problem.precedences.emplace_back(4, 2);
  EXPECT_EQ(refused(start), "operator 2 runs before operator 4, which has to come first");
}

TEST(ReplaySequence, CountsCopiesAndCosts) {
  const Problem problem = TrainingChain(3);
  const auto once = ReplaySequence(problem, FileOrder(problem));
  ASSERT_TRUE(once);
  EXPECT_EQ(once->live_bytes, (std::vector<std::int64_t>{2, 2, 3, 4, 4, 3}));
  EXPECT_EQ(once->cost, 6);
  const std::vector<OpIndex> again{0, 1, 2, 3, 0, 4, 5};
  const auto replay = ReplaySequence(problem, again);
  ASSERT_TRUE(replay);
  EXPECT_EQ(replay->repetitions, 1);
  EXPECT_EQ(replay->cost, 7);
}

}  // namespace
}  // namespace neap::rematerialise
