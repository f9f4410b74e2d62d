// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/traffic/blocks.h"
#include "neap/solve/traffic/check.h"

namespace neap::traffic {
namespace {

// One block a tensor and one access a step: a trace of pages. Initial writes cost nothing.
Problem TraceOf(const std::vector<int>& pages, Begin begin) {
  Problem problem;
  problem.num_steps = static_cast<Step>(pages.size());
  const int most = *std::max_element(pages.begin(), pages.end());
  problem.tensors.resize(static_cast<std::size_t>(most) + 1);
  for (std::size_t step = 0; step < pages.size(); ++step) {
    problem.tensors[static_cast<std::size_t>(pages[step])].accesses.push_back(
        static_cast<Step>(step));
  }
  std::erase_if(problem.tensors, [](const Tensor& tensor) { return tensor.accesses.empty(); });
  for (Tensor& tensor : problem.tensors) {
    tensor.bytes = 1;
    tensor.begin = begin;
  }
  return problem;
}

// The fewest misses over every choice of evictions, by exhausting sets of resident pages.
std::int64_t FewestMisses(const Problem& problem, std::size_t places) {
  std::vector<std::size_t> trace(static_cast<std::size_t>(problem.num_steps));
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    for (const Step step : problem.tensors[i].accesses) trace[static_cast<std::size_t>(step)] = i;
  }
  std::map<std::set<std::size_t>, std::int64_t> states = {{{}, 0}};
  std::set<std::size_t> seen;
  for (const std::size_t page : trace) {
    std::map<std::set<std::size_t>, std::int64_t> next;
    const auto add = [&](std::set<std::size_t> held, std::int64_t misses) {
      held.insert(page);
      const auto [at, fresh] = next.emplace(std::move(held), misses);
      if (!fresh) at->second = std::min(at->second, misses);
    };
    const bool written = !seen.contains(page) && problem.tensors[page].begin == Begin::kWritten;
    for (const auto& [held, misses] : states) {
      if (held.contains(page)) {
        add(held, misses);
        continue;
      }
      const std::int64_t now = misses + (written ? 0 : 1);
      if (held.size() < places) add(held, now);
      for (const std::size_t victim : held) {
        std::set<std::size_t> without = held;
        without.erase(victim);
        add(std::move(without), now);
      }
    }
    seen.insert(page);
    states = std::move(next);
  }
  std::int64_t fewest = -1;
  for (const auto& [held, misses] : states) {
    if (fewest < 0 || misses < fewest) fewest = misses;
  }
  return fewest;
}

TEST(Blocks, BeladyMissesEqualBruteForce) {
  Random random(3);
  int differs_from_lru = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<int> pages;
    const std::int64_t length = random.Between(2, 14);
    for (std::int64_t i = 0; i < length; ++i) pages.push_back(static_cast<int>(random.Below(6)));
    const Problem problem = TraceOf(pages, random.Chance(1, 2) ? Begin::kWritten : Begin::kOffChip);
    const BlockMemory memory{1, random.Between(1, 4)};
    const BlockCounts belady = ApplyToBlocks(BlockPolicy::kBelady, problem, memory, false);
    ASSERT_EQ(belady.counts.misses, FewestMisses(problem, static_cast<std::size_t>(memory.blocks)))
        << round;
    const BlockCounts lru = ApplyToBlocks(BlockPolicy::kLeastRecentlyUsed, problem, memory, false);
    EXPECT_LE(belady.counts.misses, lru.counts.misses);
    if (belady.counts.misses < lru.counts.misses) ++differs_from_lru;
  }
  EXPECT_GT(differs_from_lru, 200);
}

TEST(Blocks, ReplayCountsTheSame) {
  Random random(4);
  for (int round = 0; round < 1500; ++round) {
    Problem problem;
    problem.num_steps = static_cast<Step>(random.Between(1, 8));
    const std::int64_t tensors = random.Between(1, 6);
    for (std::int64_t i = 0; i < tensors; ++i) {
      Tensor tensor;
      tensor.bytes = random.Between(0, 20);
      for (Step step = 0; step < problem.num_steps; ++step) {
        if (random.Chance(1, 2)) tensor.accesses.push_back(step);
      }
      tensor.begin = tensor.accesses.empty() ? Begin::kOnChip : static_cast<Begin>(random.Below(3));
      tensor.end = static_cast<End>(random.Below(3));
      problem.tensors.push_back(std::move(tensor));
    }
    const BlockMemory memory{random.Between(1, 6), random.Between(0, 8)};
    for (const BlockPolicy policy : {BlockPolicy::kBelady, BlockPolicy::kLeastRecentlyUsed}) {
      const BlockCounts applied = ApplyToBlocks(policy, problem, memory, true);
      std::string why;
      const auto counts = ReplayBlocks(problem, memory, applied.evictions, &why);
      ASSERT_TRUE(counts) << round << ": " << why;
      EXPECT_EQ(*counts, applied.counts) << round << " " << NameOf(policy);
    }
  }
}

TEST(Blocks, ReplayRefusesEvictionsThatAreNone) {
  const Problem problem = TraceOf({0, 1, 0, 2, 1}, Begin::kOffChip);
  const BlockMemory memory{1, 2};
  const BlockCounts applied = ApplyToBlocks(BlockPolicy::kBelady, problem, memory, true);
  ASSERT_TRUE(ReplayBlocks(problem, memory, applied.evictions));
  EXPECT_FALSE(ReplayBlocks(problem, {1, 1}, applied.evictions));
  EXPECT_FALSE(ReplayBlocks(problem, memory, std::vector<Eviction>{{4, 2, 0}, {1, 2, 0}}));
}

}  // namespace
}  // namespace neap::traffic
