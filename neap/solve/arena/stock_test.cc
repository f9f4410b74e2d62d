// SPDX-License-Identifier: Apache-2.0
//
// The planners of the stock runtimes, against hand-made cases and literal retellings of their
// loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "testing/arena.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

using Offsets = std::vector<std::int64_t>;

TEST(Tflm, GivesTiesToTheLargerIndex) {
  // All three live together: the last one of equal size is lowest.
  const Problem problem{{{16, 0, 2, 16, {}}, {32, 0, 2, 16, {}}, {16, 0, 2, 16, {}}}};
  EXPECT_EQ(PlaceLikeTflm(problem).offsets, (Offsets{48, 0, 32}));
  EXPECT_EQ(PlaceLikeTflm(problem).height_bytes, 64);
}

TEST(Tflm, TakesTheLowestGapNotTheBest) {
  // Step 2 has 24 at 0 and 30 at 40: the 8 go between them.
  const Problem problem{
      {{40, 0, 2, 1, {}}, {30, 1, 3, 1, {}}, {24, 2, 4, 1, {}}, {8, 2, 3, 1, {}}}};
  EXPECT_EQ(PlaceLikeTflm(problem).offsets, (Offsets{0, 40, 0, 24}));
}

TEST(Tflm, PlansAroundFixedBuffers) {
  const Problem problem{{{64, 0, 2, 16, {}}, {16, 0, 2, 16, 32}, {32, 0, 2, 16, {}}}};
  EXPECT_EQ(PlaceLikeTflm(problem).offsets, (Offsets{48, 32, 0}));
  // Fixed buffers may overlap, as in the real planner.
  const Problem over{{{32, 0, 2, 16, 0}, {16, 0, 2, 16, 0}, {16, 0, 2, 16, {}}}};
  EXPECT_EQ(PlaceLikeTflm(over).offsets, (Offsets{0, 0, 32}));
}

// The activations of a MobileNet v1 of width 1/4 for 96 x 96 images, as operators make them; each
// is read by the next operator only. The real arena has 73,728 bytes.
TEST(Tflm, MeetsTheRealArenaOfAMobileNet) {
  const std::vector<std::int64_t> sizes = {27648, 18432, 18432, 36864, 9216, 18432, 18432, 18432,
                                           4608,  9216,  9216,  9216,  2304, 4608,  4608,  4608,
                                           4608,  4608,  4608,  4608,  4608, 4608,  4608,  4608,
                                           1152,  2304,  2304,  2304,  256,  256,   16,    16};
  Problem problem;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto made = static_cast<Step>(i) - 1;
    problem.buffers.push_back({sizes[i], std::max(made, 0), std::min(made + 2, 31), 16, {}});
  }
  EXPECT_EQ(LoadLowerBound(problem), 55296);
  EXPECT_EQ(PlaceLikeTflm(problem).height_bytes, 73728);
  Limits limits;
  limits.max_states = 10'000;
  EXPECT_EQ(Solve(problem, limits).placement.height_bytes, 55296);
}

// The real loop: lists filled from head and tail, a bubble sort, a linked list by offset.
Offsets GreedyMemoryPlanner(const Problem& problem) {
  const auto& buffers = problem.buffers;
  const std::size_t n = buffers.size();
  std::vector<std::size_t> ids(n);
  std::size_t head = 0;
  std::size_t tail = n;
  for (std::size_t i = 0; i < n; ++i) ids[buffers[i].fixed_offset ? head++ : --tail] = i;
  for (bool swapped = true; swapped;) {
    swapped = false;
    for (std::size_t i = head + 1; i < n; ++i) {
      if (buffers[ids[i - 1]].bytes >= buffers[ids[i]].bytes) continue;
      std::swap(ids[i - 1], ids[i]);
      swapped = true;
    }
  }
  Offsets offsets(n, 0);
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t id : ids) {
    const Buffer& wanted = buffers[id];
    std::int64_t candidate = wanted.fixed_offset.value_or(0);
    for (std::size_t k = 0; !wanted.fixed_offset && k < placed.size(); ++k) {
      const Buffer& other = buffers[placed[k]];
      if (other.first >= wanted.last || wanted.first >= other.last) continue;
      if (offsets[placed[k]] - candidate >= wanted.bytes) break;
      candidate = std::max(candidate, offsets[placed[k]] + other.bytes);
    }
    offsets[id] = candidate;
    std::size_t at = 0;
    while (at < placed.size() && offsets[placed[at]] <= candidate) ++at;
    placed.insert(placed.begin() + static_cast<std::ptrdiff_t>(at), id);
  }
  return offsets;
}

TEST(Tflm, EqualsTheRealLoop) {
  Random random(3);
  for (int round = 0; round < Cases(2000); ++round) {
    Problem problem = RandomProblem(random, {.buffers = 14,
                                             .steps = 8,
                                             .max_bytes = 5,
                                             .alignments = {16},
                                             .whole_alignments = true,
                                             .fixed_percent = round % 2 == 0 ? 0 : 20});
    std::erase_if(problem.buffers,
                  [](const Buffer& b) { return b.bytes == 0 || b.first == b.last; });
    const Placement placement = PlaceLikeTflm(problem);
    ASSERT_EQ(placement.offsets, GreedyMemoryPlanner(problem)) << round;
    ASSERT_EQ(FindViolation(problem, placement), std::nullopt);
  }
}

// A few thousand buffers that are all live at once do not go through the table of neighbours.
TEST(Tflm, EqualsTheRealLoopOnManyPairs) {
  Random random(4);
  Problem problem;
  for (int i = 0; i < 3000; ++i) {
    const auto first = static_cast<Step>(random.Between(0, 100));
    problem.buffers.push_back({random.Between(1, 500), first, first + 900, 1, {}});
  }
  const Placement placement = PlaceLikeTflm(problem);
  EXPECT_EQ(placement.offsets, GreedyMemoryPlanner(problem));
  EXPECT_EQ(FindViolation(problem, placement), std::nullopt);
}

// Many pairs, many that share no step, equal offsets, and fixed ones that overlap.
TEST(Tflm, EqualsTheRealLoopOnLivesOfAllLengths) {
  Random random(5);
  for (const std::int64_t longest : {3, 400, 1000}) {
    for (const std::int64_t fixed_percent : {0, 10}) {
      Problem problem;
      for (int i = 0; i < 4000; ++i) {
        const auto first = static_cast<Step>(random.Between(0, 500));
        const bool fixed = random.Below(100) < static_cast<std::uint64_t>(fixed_percent);
        problem.buffers.push_back(
            {random.Between(1, 20), first, first + static_cast<Step>(random.Between(1, longest)), 1,
             fixed ? std::optional<std::int64_t>(random.Between(0, 2000)) : std::nullopt});
      }
      // Two thousand that live long: too many pairs for the table of neighbours.
      for (int i = 0; i < 2000; ++i)
        problem.buffers.push_back({random.Between(1, 9), 0, 400, 1, {}});
      EXPECT_EQ(PlaceLikeTflm(problem).offsets, GreedyMemoryPlanner(problem))
          << longest << ", " << fixed_percent;
    }
  }
}

TEST(Tflite, PutsWholeRunBuffersFirst) {
  // The input (#0, 64 bytes) and output (#2) of the run are below the larger intermediate #1.
  const Problem problem{{{64, 0, 3, 64, {}}, {256, 0, 2, 64, {}}, {128, 0, 3, 64, {}}}};
  EXPECT_EQ(PlaceLikeTflite(problem, 3).offsets, (Offsets{0, 192, 64}));
  EXPECT_EQ(PlaceLikeTflite(problem, 9).offsets, (Offsets{384, 0, 256}));
}

TEST(Tflite, TakesTheSmallestSufficientGap) {
  // Around the buffer of 8 in step 1 are gaps of 16 at 30 and of 10 at 76.
  const Problem problem{{{30, 1, 2, 1, 0}, {30, 1, 2, 1, 46}, {30, 1, 2, 1, 86}, {8, 1, 2, 1, {}}}};
  EXPECT_EQ(PlaceLikeTflite(problem, 9).offsets[3], 76);
  EXPECT_EQ(PlaceLikeTflm(problem).offsets[3], 30);
}

TEST(Tflite, AlignsOffsetsNotSizes) {
  const Problem problem{{{100, 0, 2, 64, {}}, {10, 0, 2, 64, {}}}};
  EXPECT_EQ(PlaceLikeTflite(problem, 9).offsets, (Offsets{0, 128}));
  EXPECT_EQ(PlaceLikeTflite(problem, 9).height_bytes, 138);
}

TEST(Tflite, RemembersAGapFromItsUnalignedStart) {
  // From 64 on there are 64 bytes, from 192 on 100: the real arena takes the first gap, remembers
  // it as 127 bytes (from 1 to 128), and so prefers the second.
  const Problem problem{
      {{1, 0, 1, 1, 0}, {64, 0, 1, 1, 128}, {8, 0, 1, 1, 292}, {10, 0, 1, 64, {}}}};
  EXPECT_EQ(PlaceLikeTflite(problem, 9).offsets[3], 192);
}

TEST(Tflite, GivesTiesToTheEarlierFirstStep) {
  const Problem problem{{{64, 1, 3, 64, {}}, {64, 0, 2, 64, {}}, {64, 1, 3, 64, {}}}};
  EXPECT_EQ(PlaceLikeTflite(problem, 9).offsets, (Offsets{64, 0, 128}));
}

TEST(Tflite, IsValidOnRandomProblems) {
  Random random(5);
  for (int round = 0; round < Cases(1000); ++round) {
    const Problem problem = RandomProblem(random, {.buffers = 14,
                                                   .steps = 8,
                                                   .max_bytes = 200,
                                                   .alignments = {1, 16, 64},
                                                   .fixed_percent = 10});
    const Placement placement = PlaceLikeTflite(problem, 8);
    ASSERT_EQ(FindViolation(problem, placement), std::nullopt) << round;
    ASSERT_GE(placement.height_bytes, LoadLowerBound(problem)) << round;
  }
}

// SimpleMemoryArena: every buffer looks at all that are allocated.
Offsets SimpleMemoryArena(const Problem& problem, Step whole_run_last) {
  const auto& buffers = problem.buffers;
  const auto key = [&](std::size_t i) {
    const Buffer& b = buffers[i];
    const bool whole = b.first == 0 && b.last == whole_run_last;
    return std::tuple(!whole, whole ? 0 : -b.bytes, whole ? 0 : b.first, i);
  };
  std::vector<std::size_t> ids(buffers.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::sort(ids.begin(), ids.end(), [&](auto a, auto b) { return key(a) < key(b); });
  Offsets offsets(buffers.size(), 0);
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t id : ids) {
    const Buffer& wanted = buffers[id];
    std::int64_t end = 0;
    std::int64_t best = -1;
    std::int64_t best_gap = INT64_MAX;
    for (const std::size_t other : placed) {
      if (buffers[other].first >= wanted.last || wanted.first >= buffers[other].last) continue;
      const std::int64_t start = AlignUp(end, wanted.alignment);
      if (start + wanted.bytes <= offsets[other] && offsets[other] - start < best_gap) {
        best = start;
        best_gap = offsets[other] - end;
      }
      end = std::max(end, offsets[other] + buffers[other].bytes);
    }
    offsets[id] = best < 0 ? AlignUp(end, wanted.alignment) : best;
    std::size_t at = 0;
    while (at < placed.size() && offsets[placed[at]] <= offsets[id]) ++at;
    placed.insert(placed.begin() + static_cast<std::ptrdiff_t>(at), id);
  }
  return offsets;
}

TEST(Tflite, EqualsTheRealLoop) {
  Random random(6);
  for (int round = 0; round < Cases(1000); ++round) {
    Problem problem = RandomProblem(
        random, {.buffers = 20, .steps = 8, .max_bytes = 200, .alignments = {1, 16, 64}});
    std::erase_if(problem.buffers, [](const Buffer& b) { return !b.occupies(); });
    ASSERT_EQ(PlaceLikeTflite(problem, 8).offsets, SimpleMemoryArena(problem, 8)) << round;
  }
}

// As for TFLM: without the table of neighbours.
TEST(Tflite, EqualsTheRealLoopOnManyPairs) {
  Random random(7);
  Problem problem;
  for (int i = 0; i < 3000; ++i) {
    const auto first = static_cast<Step>(random.Between(0, 100));
    problem.buffers.push_back({random.Between(1, 500), first, first + 900, 64, {}});
  }
  EXPECT_EQ(PlaceLikeTflite(problem, 1000).offsets, SimpleMemoryArena(problem, 1000));
}

TEST(LoadLowerBound, CountsWhatIsLiveTogether) {
  EXPECT_EQ(LoadLowerBound({}), 0);
  EXPECT_EQ(LoadLowerBound({{{10, 0, 2, 1, {}}, {20, 1, 3, 1, {}}, {25, 2, 3, 1, {}}}}), 45);
  EXPECT_EQ(LoadLowerBound({{{10, 0, 1, 1, {}}, {20, 1, 2, 1, {}}}}), 20);
  EXPECT_EQ(LoadLowerBound({{{90, 1, 1, 1, {}}, {20, 1, 2, 1, {}}}}), 90);
  EXPECT_EQ(LoadLowerBound({{{10, 0, 1, 1, 100}, {20, 0, 2, 1, {}}}}), 110);
}

TEST(LoadLowerBound, RoundsAllButOne) {
  // 17 of 32 and 10 of 16: the better one on top is the one that wastes more.
  EXPECT_EQ(LoadLowerBound({{{17, 0, 1, 16, {}}, {10, 0, 1, 16, {}}}}), 33);
  // The byte fits behind the 17 when it has no alignment of its own.
  EXPECT_EQ(LoadLowerBound({{{17, 0, 1, 16, {}}, {1, 0, 1, 1, {}}}}), 18);
  EXPECT_EQ(LoadLowerBound({{{17, 0, 1, 16, {}}}}), 17);
}

}  // namespace
}  // namespace neap::arena
