// SPDX-License-Identifier: Apache-2.0
//
// Fusion against brute force: the fused problem has the same least peak, and its operators cost
// what the operators inside them do. And with its conditions weakened, where the same check fails.
#include "neap/schedule/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/schedule/check.h"
#include "neap/schedule/schedule_testing.h"

namespace neap::schedule {
namespace {

// Least peak over all orders of an instance of few operators, from its own effects.
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

// Random problems with chains: most operators read what the one before wrote.
Problem Chains(Random& random) {
  Problem problem = RandomProblem(random, Shape{});
  for (OpIndex op = 1; op < problem.num_ops; ++op) {
    if (!random.Chance(1, 2)) continue;
    for (Buffer& buffer : problem.buffers) {
      if (buffer.users.empty() || buffer.users.front() != op - 1 || buffer.live_at_start) continue;
      AddUser(&buffer, op);
      problem.precedences.emplace_back(op - 1, op);
      break;
    }
  }
  return problem;
}

TEST(Fusion, KeepsTheLeastPeak) {
  Random random(41);
  int fused_ops = 0;
  int in_stages = 0;
  for (int i = 0; i < Cases(20'000); ++i) {
    const Problem problem = random.Chance(1, 2) ? Chains(random) : RandomProblem(random, Shape{});
    ASSERT_EQ(Validate(problem), std::nullopt);
    const Instance forward(problem, 1, false);
    const Fusion fusion = Fuse(problem, forward, 1);
    ASSERT_EQ(Validate(fusion.problem), std::nullopt);
    fused_ops += problem.num_ops - fusion.problem.num_ops;
    for (const auto& stages : fusion.stages) in_stages += stages.size() > 1 ? 1 : 0;
    const std::int64_t best = BruteForcePeak(problem);
    for (const bool reversed : {false, true}) {
      const Instance instance(fusion.problem, fusion.stages, 1, reversed);
      std::vector<OpIndex> order;
      const std::int64_t least = LeastPeak(instance, &order);
      // What is live at the ends is live while the operators beside them run.
      ASSERT_EQ(std::max({least, instance.start_live(), instance.end_live()}), best)
          << reversed << " " << Dump(problem);
      if (reversed) std::reverse(order.begin(), order.end());
      std::vector<OpIndex> all;
      for (const OpIndex op : order) {
        const auto& ops = fusion.ops[static_cast<std::size_t>(op)];
        all.insert(all.end(), ops.begin(), ops.end());
      }
      const auto replay = ReplayOrder(problem, all);
      ASSERT_TRUE(replay.has_value()) << Dump(problem);
      ASSERT_EQ(replay->peak_bytes, best) << Dump(problem);
    }
  }
  EXPECT_GT(fused_ops, Cases(20'000));
  EXPECT_GT(in_stages, 1000);
}

}  // namespace
}  // namespace neap::schedule
