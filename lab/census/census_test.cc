// SPDX-License-Identifier: Apache-2.0
#include "lab/census/census.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::census {
namespace {

using schedule::OpIndex;
using schedule::Problem;

Problem RandomProblem(Random* random, std::int64_t max_ops) {
  Problem problem;
  problem.num_ops = static_cast<OpIndex>(random->Between(1, max_ops));
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    schedule::Buffer out{random->Between(0, 9), {op}, false, random->Chance(1, 6)};
    for (OpIndex reader = op + 1; reader < problem.num_ops; ++reader) {
      if (!random->Chance(1, 3)) continue;
      out.users.push_back(reader);
      problem.precedences.emplace_back(op, reader);
    }
    problem.buffers.push_back(out);
  }
  if (random->Chance(1, 2)) {
    problem.buffers.push_back({random->Between(0, 9), {0}, true, random->Chance(1, 2)});
  }
  if (random->Chance(1, 3)) {
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      problem.scratch_bytes.push_back(random->Between(0, 5));
    }
  }
  for (const auto& [before, after] : problem.precedences) {
    auto& input = problem.buffers[static_cast<std::size_t>(before)];
    auto& output = problem.buffers[static_cast<std::size_t>(after)];
    const bool used = std::any_of(problem.in_place.begin(), problem.in_place.end(),
                                  [&](const auto& rule) { return rule.op == after; });
    if (used || input.live_at_end || !random->Chance(1, 6)) continue;
    output.bytes = input.bytes;
    problem.in_place.push_back({after, before, after});
  }
  // Sizes that a later rule changed would break an earlier one.
  std::erase_if(problem.in_place, [&](const auto& rule) {
    return problem.buffers[static_cast<std::size_t>(rule.input)].bytes !=
           problem.buffers[static_cast<std::size_t>(rule.output)].bytes;
  });
  return problem;
}

std::map<std::int64_t, std::uint64_t> Enumerate(const Problem& problem) {
  std::vector<OpIndex> order(static_cast<std::size_t>(problem.num_ops));
  std::iota(order.begin(), order.end(), 0);
  std::map<std::int64_t, std::uint64_t> counts;
  do {
    const auto replay = schedule::ReplayOrder(problem, order);
    if (replay) ++counts[replay->peak_bytes];
  } while (std::next_permutation(order.begin(), order.end()));
  return counts;
}

TEST(Census, CountsEqualEnumeration) {
  Random random(2);
  for (int round = 0; round < 1500; ++round) {
    const Problem problem = RandomProblem(&random, 6);
    ASSERT_EQ(schedule::Validate(problem), std::nullopt);
    const auto expected = Enumerate(problem);
    const auto census = CountOrders(problem, {});
    ASSERT_TRUE(census);
    ASSERT_EQ(census->by_peak.size(), expected.size()) << round;
    Natural all;
    auto at = expected.begin();
    for (const PeakCount& entry : census->by_peak) {
      EXPECT_EQ(entry.peak_bytes, at->first);
      EXPECT_EQ(entry.orders, Natural(at->second));
      all += entry.orders;
      ++at;
    }
    EXPECT_EQ(all, census->orders);
    const schedule::Outcome best = schedule::Solve(problem, {});
    EXPECT_EQ(census->by_peak.front().peak_bytes, best.peak_bytes);
    EXPECT_TRUE(census->AtMost(best.peak_bytes - 1).IsZero());
  }
}

TEST(Census, ManyOrdersDoNotOverflow) {
  // 12 operators on their own: 12! orders.
  Problem problem;
  problem.num_ops = 12;
  for (OpIndex op = 0; op < problem.num_ops; ++op)
    problem.buffers.push_back({1, {op}, false, true});
  const auto census = CountOrders(problem, {});
  ASSERT_TRUE(census);
  EXPECT_EQ(census->orders.ToString(), "479001600");
  EXPECT_EQ(census->states, 4096);
  EXPECT_EQ(CountOrders(problem, {.max_states = 1000}), std::nullopt);
  Natural large(1);
  for (int i = 0; i < 200; ++i) large += Natural(large);
  EXPECT_EQ(large.ToString(), "1606938044258990275541962092341162602522202993782792835301376");
  large -= Natural(1);
  EXPECT_EQ(large.ToString(), "1606938044258990275541962092341162602522202993782792835301375");
  EXPECT_LT(Natural(5), large);
}

// Frequencies of every order against 1 / number of orders, for both samplers.
TEST(Census, SamplesAreUniform) {
  Problem problem;
  problem.num_ops = 5;
  problem.precedences = {{0, 2}, {1, 2}, {1, 3}};
  // Sizes for which most orders have different peaks.
  for (OpIndex op = 0; op < 5; ++op) problem.buffers.push_back({1 << op, {op}, false, false});
  problem.buffers[0].users = {0, 2};
  problem.buffers[1].users = {1, 2, 3};
  const auto census = CountOrders(problem, {});
  ASSERT_TRUE(census);
  constexpr std::int64_t kDraws = 20000;
  for (const std::int64_t states : {1'000'000, 1}) {
    const Sample sample = SampleOrders(problem, {0, 1, 2, 3, 4}, kDraws, 7, {.max_states = states});
    EXPECT_EQ(sample.sampler, states > 1 ? Sampler::kExact : Sampler::kWalk);
    for (const PeakCount& entry : census->by_peak) {
      const double expected = kDraws * Share(entry.orders, census->orders);
      const auto seen = static_cast<double>(
          std::count(sample.peaks.begin(), sample.peaks.end(), entry.peak_bytes));
      // Six standard deviations.
      EXPECT_LT((seen - expected) * (seen - expected), 36 * expected) << entry.peak_bytes;
    }
    EXPECT_EQ(SampleOrders(problem, {0, 1, 2, 3, 4}, 50, 7, {.max_states = states}).peaks,
              SampleOrders(problem, {0, 1, 2, 3, 4}, 50, 7, {.max_states = states}).peaks);
  }
}

TEST(Census, MedianIsTheMiddleOrder) {
  Random random(9);
  for (int round = 0; round < 300; ++round) {
    const Problem problem = RandomProblem(&random, 6);
    std::vector<std::int64_t> peaks;
    for (const auto& [peak, count] : Enumerate(problem)) {
      peaks.insert(peaks.end(), count, peak);
    }
    const auto census = CountOrders(problem, {});
    ASSERT_TRUE(census);
    EXPECT_EQ(census->MedianPeak(), peaks[(peaks.size() - 1) / 2]);
  }
}

}  // namespace
}  // namespace neap::census
