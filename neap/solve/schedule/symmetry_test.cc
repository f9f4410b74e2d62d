// SPDX-License-Identifier: Apache-2.0
//
// Symmetry breaking against brute force, on problems with copies of one part; and without the
// verification, where the same check fails.
#include "neap/solve/schedule/symmetry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/schedule.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

// An operator, `copies` copies of a random part of `part` operators that read its output, and an
// operator that reads all outputs without consumers. Sometimes a copy differs by a byte.
Problem Copies(Random& random, int copies, int part) {
  Problem problem;
  problem.num_ops = static_cast<OpIndex>(1 + copies * part + 1);
  problem.buffers.push_back({random.Between(1, 9), {0}, false, false});
  const OpIndex last = problem.num_ops - 1;
  std::vector<std::vector<int>> reads(static_cast<std::size_t>(part));
  std::vector<std::int64_t> bytes;
  for (int op = 0; op < part; ++op) {
    bytes.push_back(random.Between(1, 20));
    for (int before = 0; before < op; ++before) {
      if (random.Chance(1, 2)) reads[static_cast<std::size_t>(op)].push_back(before);
    }
  }
  const bool scratch = random.Chance(1, 2);
  if (scratch) problem.scratch_bytes.assign(static_cast<std::size_t>(problem.num_ops), 0);
  for (int copy = 0; copy < copies; ++copy) {
    for (int op = 0; op < part; ++op) {
      const auto self = static_cast<OpIndex>(1 + copy * part + op);
      const std::int64_t more = random.Chance(1, 12) ? 1 : 0;
      problem.buffers.push_back({bytes[static_cast<std::size_t>(op)] + more, {self}, false, false});
      if (scratch) problem.scratch_bytes[static_cast<std::size_t>(self)] = 3 * op;
      if (reads[static_cast<std::size_t>(op)].empty()) {
        AddUser(&problem.buffers[0], self);
        problem.precedences.emplace_back(0, self);
      }
      for (const int before : reads[static_cast<std::size_t>(op)]) {
        const auto writer = static_cast<OpIndex>(1 + copy * part + before);
        AddUser(&problem.buffers[static_cast<std::size_t>(writer)], self);
        problem.precedences.emplace_back(writer, self);
      }
    }
  }
  for (std::size_t b = 1; b < problem.buffers.size(); ++b) {
    Buffer& buffer = problem.buffers[b];
    problem.precedences.emplace_back(buffer.users.front(), last);
    if (buffer.users.size() == 1 && random.Chance(9, 10)) AddUser(&buffer, last);
  }
  problem.buffers.push_back({1, {last}, false, true});
  return problem;
}

TEST(Symmetry, KeepsTheLeastPeak) {
  Random random(51);
  int found = 0;
  for (int i = 0; i < Cases(4000); ++i) {
    const int part = static_cast<int>(random.Between(1, 4));
    Problem problem = Copies(random, static_cast<int>(random.Between(2, 10 / part)), part);
    ASSERT_EQ(Validate(problem), std::nullopt);
    const std::int64_t best = BruteForcePeak(problem);
    const auto more = BreakSymmetries(problem, {});
    found += static_cast<int>(more.size());
    problem.precedences.insert(problem.precedences.end(), more.begin(), more.end());
    ASSERT_EQ(Validate(problem), std::nullopt);
    ASSERT_EQ(BruteForcePeak(problem), best) << Dump(problem);
  }
  EXPECT_GT(found, Cases(4000));
}

// Random problems have few symmetries, and no others may be found.
TEST(Symmetry, KeepsTheLeastPeakOfAnyProblem) {
  Random random(52);
  for (int i = 0; i < Cases(6000); ++i) {
    Problem problem = RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    const auto more = BreakSymmetries(problem, {});
    problem.precedences.insert(problem.precedences.end(), more.begin(), more.end());
    ASSERT_EQ(BruteForcePeak(problem), best) << Dump(problem);
  }
}

// Operators that look alike but are not interchangeable may not be put in order.
TEST(Symmetry, LikenessIsNotEnough) {
  Random random(53);
  int wrong = 0;
  for (int i = 0; i < Cases(4000); ++i) {
    Problem problem = RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    // The first two operators that have as many buffers each, and nothing between them.
    std::vector<int> uses(static_cast<std::size_t>(problem.num_ops), 0);
    for (const Buffer& buffer : problem.buffers) {
      for (const OpIndex user : buffer.users) ++uses[static_cast<std::size_t>(user)];
    }
    for (OpIndex a = 0; a + 1 < problem.num_ops; ++a) {
      if (uses[static_cast<std::size_t>(a)] != uses[static_cast<std::size_t>(a) + 1]) continue;
      problem.precedences.emplace_back(a, a + 1);
      break;
    }
    if (Validate(problem).has_value()) continue;
    wrong += BruteForcePeak(problem) != best ? 1 : 0;
  }
  EXPECT_GT(wrong, 0);
}

TEST(Symmetry, OrdersInterchangeableBranches) {
  Random random(54);
  Problem problem;
  problem.num_ops = 8;
  problem.buffers = {{4, {0, 1, 2, 3, 4, 5, 6}, false, false}};
  for (OpIndex op = 1; op < 7; ++op) {
    problem.precedences.emplace_back(0, op);
    problem.precedences.emplace_back(op, 7);
    problem.buffers.push_back({5, {op, 7}, false, false});
  }
  using Pair = std::pair<OpIndex, OpIndex>;
  EXPECT_EQ(BreakSymmetries(problem, {}),
            (std::vector<Pair>{{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}));
  problem.buffers[3].bytes = 6;  // of operator 3
  EXPECT_EQ(BreakSymmetries(problem, {}), (std::vector<Pair>{{1, 2}, {2, 4}, {4, 5}, {5, 6}}));
}

}  // namespace
}  // namespace neap::schedule
