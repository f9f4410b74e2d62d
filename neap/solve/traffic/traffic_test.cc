// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/traffic/check.h"
#include "neap/solve/traffic/optimum.h"
#include "neap/solve/traffic/policy.h"
#include "testing/cases.h"

namespace neap::traffic {
namespace {

Problem RandomProblem(Random* random, int max_tensors, Step max_steps) {
  Problem problem;
  problem.num_steps = static_cast<Step>(random->Between(1, max_steps));
  const std::int64_t tensors = random->Between(1, max_tensors);
  for (std::int64_t i = 0; i < tensors; ++i) {
    Tensor tensor;
    tensor.bytes = random->Between(random->Chance(1, 20) ? 0 : 1, 9);
    tensor.begin = random->Chance(3, 5)   ? Begin::kWritten
                   : random->Chance(1, 2) ? Begin::kOnChip
                                          : Begin::kOffChip;
    tensor.end = random->Chance(3, 5)   ? End::kDead
                 : random->Chance(1, 2) ? End::kAnywhere
                                        : End::kOffChip;
    for (Step step = 0; step < problem.num_steps; ++step) {
      if (random->Chance(2, 5)) tensor.accesses.push_back(step);
    }
    if (tensor.begin == Begin::kWritten && tensor.accesses.empty()) {
      tensor.accesses.push_back(static_cast<Step>(random->Between(0, problem.num_steps - 1)));
    }
    problem.tensors.push_back(std::move(tensor));
  }
  if (random->Chance(1, 4)) {
    for (Step step = 0; step < problem.num_steps; ++step) {
      problem.scratch_bytes.push_back(random->Between(0, 5));
    }
  }
  return problem;
}

// Every set of held tensors in every step, by the rules alone.
class BruteForce {
 public:
  BruteForce(const Problem& problem, std::int64_t capacity)
      : problem_(problem), capacity_(capacity) {}

  std::int64_t Least() {
    // The state of a tensor after a step: resident? a copy outside?
    using Key = std::vector<int>;
    std::map<Key, std::int64_t> states;
    Key begin;
    for (const Tensor& tensor : problem_.tensors) {
      begin.push_back(tensor.begin == Begin::kOnChip ? 1 : tensor.begin == Begin::kOffChip ? 2 : 0);
    }
    states[begin] = 0;
    const std::size_t n = problem_.tensors.size();
    for (Step step = 0; step < problem_.num_steps; ++step) {
      std::map<Key, std::int64_t> next;
      for (const auto& [key, cost] : states) {
        for (unsigned held = 0; held < (1U << n); ++held) {
          Key after = key;
          std::int64_t used = 0;
          std::int64_t moved = 0;
          bool allowed = true;
          for (std::size_t i = 0; i < n && allowed; ++i) {
            const bool hold = ((held >> i) & 1U) != 0;
            if (hold) used += problem_.tensors[i].bytes;
            allowed = Move(i, step, hold, &after[i], &moved);
          }
          const std::int64_t scratch =
              problem_.scratch_bytes.empty()
                  ? 0
                  : std::min(capacity_, problem_.scratch_bytes[static_cast<std::size_t>(step)]);
          if (!allowed || used + scratch > capacity_) continue;
          const auto [at, fresh] = next.emplace(after, cost + moved);
          if (!fresh) at->second = std::min(at->second, cost + moved);
        }
      }
      states = std::move(next);
    }
    std::int64_t least = -1;
    for (const auto& [key, cost] : states) {
      std::int64_t moved = cost;
      for (std::size_t i = 0; i < n; ++i) {
        const Tensor& tensor = problem_.tensors[i];
        const bool copied = (key[i] & 2) != 0;
        if (copied || tensor.end == End::kDead) continue;
        if (tensor.end == End::kOffChip || (key[i] & 1) == 0) moved += tensor.bytes;
      }
      if (least < 0 || moved < least) least = moved;
    }
    return least;
  }

 private:
  // Bit 0: held; bit 1: a copy outside.
  bool Move(std::size_t i, Step step, bool hold, int* state, std::int64_t* moved) const {
    const Tensor& tensor = problem_.tensors[i];
    const bool accessed = std::count(tensor.accesses.begin(), tensor.accesses.end(), step) != 0;
    const bool later = std::any_of(tensor.accesses.begin(), tensor.accesses.end(),
                                   [&](Step access) { return access >= step; });
    const bool write = accessed && tensor.begin == Begin::kWritten && tensor.accesses[0] == step;
    const bool was_held = (*state & 1) != 0;
    if (hold && !was_held && !accessed) return false;
    if (!hold && was_held && (later || tensor.end != End::kDead) && (*state & 2) == 0) {
      *moved += tensor.bytes;
      *state |= 2;
    }
    if (accessed && !write && !(was_held && hold)) *moved += tensor.bytes;
    if (write && !hold) {
      *moved += tensor.bytes;
      *state |= 2;
    }
    *state = (*state & 2) | (hold ? 1 : 0);
    return true;
  }
  const Problem& problem_;
  const std::int64_t capacity_;
};

void ExpectReplayed(const Problem& problem, std::int64_t capacity, const Decisions& decisions) {
  std::string why;
  const auto counts = Replay(problem, capacity, decisions.residencies, &why);
  ASSERT_TRUE(counts) << why;
  EXPECT_EQ(*counts, decisions.counts);
}

TEST(Traffic, OptimumEqualsBruteForce) {
  Random random(11);
  int with_traffic = 0;
  int better_than_rules = 0;
  const int cases = Cases(4000);
  for (int round = 0; round < cases; ++round) {
    const Problem problem = RandomProblem(&random, 5, 6);
    ASSERT_EQ(Validate(problem), std::nullopt);
    const std::int64_t capacity = random.Between(0, 24);
    const Optimum best = LeastTraffic(problem, capacity, {});
    ASSERT_EQ(best.decisions.counts.total(), BruteForce(problem, capacity).Least()) << round;
    ASSERT_TRUE(best.optimal()) << round;
    ExpectReplayed(problem, capacity, best.decisions);
    std::int64_t min_of_rules = -1;
    for (const Policy policy : {Policy::kFurthestNextUse, Policy::kLeastRecentlyUsed}) {
      const Decisions decisions = Apply(policy, problem, capacity);
      ExpectReplayed(problem, capacity, decisions);
      EXPECT_GE(decisions.counts.total(), best.decisions.counts.total());
      if (min_of_rules < 0 || decisions.counts.total() < min_of_rules) {
        min_of_rules = decisions.counts.total();
      }
    }
    if (best.decisions.counts.total() > 0) ++with_traffic;
    if (best.decisions.counts.total() < min_of_rules) ++better_than_rules;
  }
  EXPECT_GT(with_traffic, cases / 4);
  EXPECT_GT(better_than_rules, cases / 14);
}

TEST(Traffic, NothingMovesFromTheLeastSizeOn) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const Problem problem = RandomProblem(&random, 8, 10);
    const std::int64_t size = LeastBytesWithoutTraffic(problem);
    const std::int64_t compulsory = CompulsoryBytes(problem);
    EXPECT_EQ(LeastTraffic(problem, size, {}).decisions.counts.total(), compulsory);
    if (size == 0) continue;
    EXPECT_GT(LeastTraffic(problem, size - 1, {}).decisions.counts.total(), compulsory) << round;
  }
}

TEST(Traffic, BoundsHoldAndLargerMemoriesMoveNoMore) {
  Random random(8);
  for (int round = 0; round < 25; ++round) {
    const Problem problem = RandomProblem(&random, 30, 40);
    std::int64_t before = -1;
    for (const std::int64_t capacity : {0, 10, 20, 40, 80, 160}) {
      const Optimum best = LeastTraffic(problem, capacity, {.max_states = 5000});
      ExpectReplayed(problem, capacity, best.decisions);
      EXPECT_LE(best.lower_bound_bytes, best.decisions.counts.total());
      if (before >= 0) {
        EXPECT_LE(best.lower_bound_bytes, before);
      }
      before = best.decisions.counts.total();
      // A search that ends at once still has a bound that holds.
      const Optimum early = LeastTraffic(problem, capacity, {.max_states = 0});
      EXPECT_LE(early.lower_bound_bytes, best.decisions.counts.total());
      EXPECT_GE(early.decisions.counts.total(), best.lower_bound_bytes);
    }
  }
}

// a is written, spilled for lack of space beside b and c, and read again.
TEST(Traffic, KnownByHand) {
  Problem problem;
  problem.num_steps = 4;
  problem.tensors = {{10, {0, 3}, Begin::kWritten, End::kDead},
                     {10, {1, 2}, Begin::kWritten, End::kDead},
                     {10, {2, 3}, Begin::kWritten, End::kDead},
                     {1, {3}, Begin::kWritten, End::kAnywhere}};
  EXPECT_EQ(LeastBytesWithoutTraffic(problem), 30);
  EXPECT_EQ(LeastTraffic(problem, 30, {}).decisions.counts.total(), 0);
  const Optimum best = LeastTraffic(problem, 21, {});
  EXPECT_EQ(best.decisions.counts, (Counts{1, 10, 10}));
  EXPECT_TRUE(best.optimal());
}

TEST(Traffic, DeadDataIsNeverWrittenBackAndACopyServesAgain) {
  Problem problem;
  problem.num_steps = 5;
  // Read three times without space between: written out once.
  problem.tensors = {{4, {0, 2, 4}, Begin::kWritten, End::kDead},
                     {8, {1}, Begin::kWritten, End::kAnywhere},
                     {8, {3}, Begin::kWritten, End::kDead}};
  const Decisions rule = Apply(Policy::kLeastRecentlyUsed, problem, 8);
  const auto counts = Replay(problem, 8, rule.residencies);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->read_bytes, 8);
  EXPECT_EQ(counts->written_bytes, 4 + 8);
}

TEST(Traffic, ReplayRefusesWhatBreaksTheRules) {
  Problem problem;
  problem.num_steps = 3;
  problem.tensors = {{10, {0, 2}, Begin::kWritten, End::kDead},
                     {5, {1}, Begin::kOffChip, End::kDead}};
  EXPECT_TRUE(Replay(problem, 10, std::vector<Residency>{{0, 0, 3}}));
  for (const std::vector<Residency>& wrong :
       {std::vector<Residency>{{0, 0, 3}, {1, 1, 2}},  // too much at step 1
        {{0, 1, 3}},                                   // begins without an access
        {{1, 0, 1}},
        {{0, 0, 4}},
        {{2, 0, 1}},
        {{0, 2, 3}, {0, 0, 1}},
        {{0, 0, 1}, {0, 1, 2}}}) {
    std::string why;
    EXPECT_FALSE(Replay(problem, 10, wrong, &why));
    EXPECT_FALSE(why.empty());
  }
}

TEST(Traffic, ValidateNamesWhatIsWrong) {
  Problem problem;
  problem.num_steps = 2;
  problem.tensors = {{1, {0, 1}, Begin::kWritten, End::kDead}};
  EXPECT_EQ(Validate(problem), std::nullopt);
  auto wrong = [&](auto change) {
    Problem other = problem;
    change(other);
    return Validate(other).has_value();
  };
  EXPECT_TRUE(wrong([](Problem& p) { p.tensors[0].bytes = -1; }));
  EXPECT_TRUE(wrong([](Problem& p) { p.tensors[0].bytes = kMaxTraffic; }));
  EXPECT_TRUE(wrong([](Problem& p) { p.tensors[0].accesses = {}; }));
  EXPECT_TRUE(wrong([](Problem& p) { p.tensors[0].accesses = {1, 1}; }));
  EXPECT_TRUE(wrong([](Problem& p) { p.tensors[0].accesses = {2}; }));
  EXPECT_TRUE(wrong([](Problem& p) { p.scratch_bytes = {1}; }));
  EXPECT_TRUE(wrong([](Problem& p) { p.scratch_bytes = {1, -1}; }));
}

}  // namespace
}  // namespace neap::traffic
