// SPDX-License-Identifier: Apache-2.0
//
// Strategies of other compilers, and single stages of the portfolio: what each selects, compared
// with the definition of its rule, and that no order is wrong.
#include "neap/solve/schedule/baselines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "neap/base/index.h"
#include "neap/base/random.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/schedule/walk.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

Problem AnyProblem(Random& random, int max_ops) {
  Shape shape{max_ops, true, true, true};
  shape.take_over = random.Chance(1, 2);
  return random.Chance(1, 3) ? ChainedProblem(random, shape) : RandomProblem(random, shape);
}

StrategyOptions AnyFileOrder(Random& random, const Problem& problem) {
  StrategyOptions options;
  options.seed = random.Next();
  options.file_order = RandomOrder(problem, FileOrder(problem, {}), random.Next());
  return options;
}

std::vector<std::int64_t> ConsumersOf(const Problem& problem) {
  auto arcs = problem.precedences;
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
  std::vector<std::int64_t> consumers(At(problem.num_ops), 0);
  for (const auto& [before, after] : arcs) ++consumers[At(before)];
  return consumers;
}

void Take(OpIndex op, Walk* walk, std::vector<OpIndex>* ready) {
  ready->erase(std::find(ready->begin(), ready->end(), op));
  walk->Run(op, ready);
}

TEST(XlaList, SelectsTheOperatorThatFreesMost) {
  Random random(61);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = AnyProblem(random, 12);
    const auto options = AnyFileOrder(random, problem);
    const Outcome outcome = schedule::Run(Method::kXlaList, problem, Limits{}, options);
    ASSERT_EQ(outcome.order.size(), At(problem.num_ops)) << Dump(problem);
    const std::vector<std::int64_t> consumers = ConsumersOf(problem);
    Walk walk(problem);
    std::vector<OpIndex> ready = walk.sources();
    for (const OpIndex op : outcome.order) {
      const auto key = [&](OpIndex other) {
        return std::pair(walk.EffectOf(other).live, -consumers[At(other)]);
      };
      for (const OpIndex other : ready) ASSERT_GE(key(other), key(op)) << Dump(problem);
      Take(op, &walk, &ready);
    }
  }
}

TEST(Lpmf, IsTheOrderOfItsRule) {
  Random random(62);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = AnyProblem(random, 12);
    const auto options = AnyFileOrder(random, problem);
    const Outcome outcome = schedule::Run(Method::kLpmf, problem, Limits{}, options);
    const std::vector<OpIndex> places = PositionsIn(options.file_order);
    Walk walk(problem);
    std::vector<OpIndex> ready = walk.sources();
    std::vector<OpIndex> order;
    std::int64_t peak = walk.live();
    while (!ready.empty()) {
      const auto key = [&](OpIndex op) {
        const Effect effect = walk.EffectOf(op);
        const std::int64_t above = effect.hill > peak ? effect.hill : 0;
        return std::tuple(above, effect.live, places[At(op)]);
      };
      const OpIndex op = *std::min_element(ready.begin(), ready.end(),
                                           [&](OpIndex a, OpIndex b) { return key(a) < key(b); });
      peak = std::max(peak, walk.EffectOf(op).hill);
      order.push_back(op);
      Take(op, &walk, &ready);
    }
    ASSERT_EQ(outcome.order, order) << Dump(problem);
  }
}

// Returns how many of `count` orders have the minimum peak.
int OptimaOf(Method method, int max_ops, int count, bool above_file) {
  Random random(63);
  int optima = 0;
  for (int i = 0; i < count; ++i) {
    const Problem problem = AnyProblem(random, max_ops);
    const auto options = AnyFileOrder(random, problem);
    const std::int64_t least = BruteForcePeak(problem);
    const Outcome outcome = schedule::Run(method, problem, Limits{}, options);
    const auto replay = ReplayOrder(problem, outcome.order);
    EXPECT_TRUE(replay) << Dump(problem);
    if (!replay) return optima;
    EXPECT_EQ(replay->peak_bytes, outcome.peak_bytes) << Dump(problem);
    EXPECT_GE(outcome.peak_bytes, least) << Dump(problem);
    EXPECT_LE(outcome.lower_bound_bytes, least) << Dump(problem);
    if (!above_file) {
      EXPECT_LE(outcome.peak_bytes, PeakOfOrder(problem, options.file_order)) << Dump(problem);
    }
    if (outcome.peak_bytes == least) ++optima;
  }
  return optima;
}

TEST(Baselines, AreHonestAndOftenGood) {
  const int count = Cases(1000);
  EXPECT_GT(OptimaOf(Method::kXlaList, 12, count, true), count / 4);
  EXPECT_GT(OptimaOf(Method::kLpmf, 12, count, true), count / 4);
  EXPECT_GT(OptimaOf(Method::kHmcos, 12, count, false), count / 2);
  EXPECT_GT(OptimaOf(Method::kClosure, 12, count, false), count / 2);
}

// The default work would be seconds a problem.
TEST(Baselines, AnnealingReachesMostOptima) {
  Random random(64);
  int optima = 0;
  const int count = Cases(300);
  for (int i = 0; i < count; ++i) {
    const Problem problem = AnyProblem(random, 12);
    const auto options = AnyFileOrder(random, problem);
    Limits limits;
    limits.max_states = 2'000;
    const Outcome outcome = schedule::Run(Method::kAnnealing, problem, limits, options);
    const Outcome again = schedule::Run(Method::kAnnealing, problem, limits, options);
    EXPECT_EQ(outcome.order, again.order);
    const std::int64_t least = BruteForcePeak(problem);
    EXPECT_GE(outcome.peak_bytes, least) << Dump(problem);
    EXPECT_LE(outcome.peak_bytes, PeakOfOrder(problem, options.file_order)) << Dump(problem);
    if (outcome.peak_bytes == least) ++optima;
  }
  EXPECT_GT(optima, count * 3 / 4);
}

// A cell: `width` branches of two operators each, the first larger than the second, and their join.
// Everything else about its order is decided inside.
void AppendCell(Problem* problem, BufferIndex* input, OpIndex width) {
  const auto add = [&](std::int64_t bytes, std::initializer_list<BufferIndex> inputs) {
    const OpIndex op = problem->num_ops++;
    for (const BufferIndex buffer : inputs) {
      Buffer& read = problem->buffers[At(buffer)];
      if (!read.users.empty()) problem->precedences.emplace_back(read.users.front(), op);
      read.users.push_back(op);
    }
    problem->buffers.push_back({bytes, {op}, false, false});
    return static_cast<BufferIndex>(problem->buffers.size()) - 1;
  };
  std::vector<BufferIndex> ends;
  for (OpIndex branch = 0; branch < width; ++branch) {
    const BufferIndex large = add(20, {*input});
    ends.push_back(add(1, {large}));
  }
  const OpIndex join = problem->num_ops;
  *input = add(5, {});
  for (const BufferIndex end : ends) {
    Buffer& read = problem->buffers[At(end)];
    problem->precedences.emplace_back(read.users.front(), join);
    read.users.push_back(join);
  }
}

// Two cells in parallel, each of which frees its input, in file order operator by operator.
TEST(Hmcos, SchedulesCellsOneAfterAnother) {
  Problem problem;
  problem.buffers.push_back({3, {}, true, false});
  BufferIndex left = 0;
  BufferIndex right = 0;
  AppendCell(&problem, &left, 4);
  AppendCell(&problem, &right, 4);
  problem.buffers[At(left)].live_at_end = true;
  problem.buffers[At(right)].live_at_end = true;
  for (Buffer& buffer : problem.buffers) std::sort(buffer.users.begin(), buffer.users.end());
  ASSERT_FALSE(Validate(problem));
  StrategyOptions options;
  options.file_order = KahnOrder(problem, FileOrder(problem, {}));
  const Outcome outcome = schedule::Run(Method::kHmcos, problem, Limits{}, options);
  // The optimum joins the first cell after the second one: a byte less than cells as operators.
  EXPECT_EQ(outcome.peak_bytes, BruteForcePeak(problem) + 1);
  EXPECT_LT(outcome.peak_bytes, PeakOfOrder(problem, options.file_order));
  // Six operators of a cell and its sequences: fewer states than a search over operators needs.
  EXPECT_LT(outcome.states, schedule::Run(Method::kSerenityDp, problem, Limits{}, options).states);
}

}  // namespace
}  // namespace neap::schedule
