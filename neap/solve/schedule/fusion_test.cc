// SPDX-License-Identifier: Apache-2.0
//
// Fusion against brute force: the fused problem has the same minimum peak, and its operators cost
// as much as the operators inside them. With weakened conditions the same check fails.
#include "neap/solve/schedule/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/check.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

// Minimum peak over all orders of an instance of few operators, from its own effects.
std::int64_t LeastPeak(const Instance& instance, std::vector<OpIndex>* order) {
  const auto ops = static_cast<unsigned>(instance.num_ops());
  constexpr std::int64_t kNever = std::int64_t{1} << 60;
  struct Entry {
    std::int64_t peak = kNever;
    std::int64_t live = 0;
    OpIndex last = -1;
  };
  std::vector<Entry> table(std::size_t{1} << ops);
  table[0] = {0, instance.start_live(), -1};
  for (Word set = 0; set < table.size(); ++set) {
    if (table[set].peak == kNever) continue;
    for (OpIndex op = 0; op < instance.num_ops(); ++op) {
      if (TestBit(&set, op) || !instance.IsReady(&set, op)) continue;
      const Effect effect = instance.EffectOf(&set, table[set].live, op);
      Entry& to = table[set | (Word{1} << static_cast<unsigned>(op))];
      const std::int64_t peak = std::max(table[set].peak, effect.hill);
      if (peak >= to.peak) continue;
      to = {peak, effect.live, op};
    }
  }
  order->clear();
  for (Word set = table.size() - 1; set != 0;) {
    order->push_back(table[set].last);
    ClearBit(&set, table[set].last);
  }
  std::reverse(order->begin(), order->end());
  return table.back().peak;
}

// How often the fused problem, or the order that it gives, has another peak than the best one.
struct Losses {
  int wrong = 0;
  int fused_ops = 0;
  int in_stages = 0;
};
Losses CountLosses(int cases, const FusionSlack& slack) {
  Random random(41);
  Losses losses;
  for (int i = 0; i < Cases(cases); ++i) {
    const Problem problem =
        random.Chance(1, 2) ? ChainedProblem(random, Shape{}) : RandomProblem(random, Shape{});
    const Instance forward(problem, 1, false);
    const Fusion fusion = Fuse(problem, forward, 1, slack);
    EXPECT_EQ(Validate(fusion.problem), std::nullopt);
    losses.fused_ops += problem.num_ops - fusion.problem.num_ops;
    for (const auto& stages : fusion.stages) losses.in_stages += stages.size() > 1 ? 1 : 0;
    const std::int64_t best = BruteForcePeak(problem);
    for (const bool reversed : {false, true}) {
      const Instance instance(fusion.problem, fusion.stages, 1, reversed);
      std::vector<OpIndex> order;
      const std::int64_t least = LeastPeak(instance, &order);
      if (reversed) std::reverse(order.begin(), order.end());
      std::vector<OpIndex> all;
      for (const OpIndex op : order) {
        const auto& ops = fusion.ops[static_cast<std::size_t>(op)];
        all.insert(all.end(), ops.begin(), ops.end());
      }
      const auto replay = ReplayOrder(problem, all);
      EXPECT_TRUE(replay.has_value()) << Dump(problem);
      if (!replay) return losses;
      // Buffers live at the ends are live while the operators beside them run.
      const std::int64_t peak = std::max({least, instance.start_live(), instance.end_live()});
      EXPECT_EQ(peak, replay->peak_bytes) << reversed << " " << Dump(problem);
      if (peak != best) ++losses.wrong;
    }
  }
  return losses;
}

TEST(Fusion, KeepsTheLeastPeak) {
  const Losses losses = CountLosses(20'000, {});
  EXPECT_EQ(losses.wrong, 0);
  EXPECT_GT(losses.fused_ops, Cases(20'000));
  EXPECT_GT(losses.in_stages, Cases(1000));
}

TEST(Fusion, TheSecondMustNotRaiseLiveBytes) { EXPECT_GT(CountLosses(5000, {2, 0}).wrong, 0); }
TEST(Fusion, TheSecondMustNotBeHigher) { EXPECT_GT(CountLosses(5000, {0, 2}).wrong, 0); }

// Fusing what has been fused, as after an inference, is as safe.
TEST(Fusion, MayBeRepeated) {
  Random random(42);
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = ChainedProblem(random, Shape{});
    const Fusion once = Fuse(problem, Instance(problem, 1, false), 1);
    const Instance forward(once.problem, once.stages, 1, false);
    const Fusion twice = Fuse(once.problem, forward, 1);
    const Instance instance(twice.problem, twice.stages, 1, false);
    std::vector<OpIndex> order;
    ASSERT_EQ(std::max({LeastPeak(instance, &order), instance.start_live(), instance.end_live()}),
              BruteForcePeak(problem))
        << Dump(problem);
  }
}

}  // namespace
}  // namespace neap::schedule
