// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"

namespace neap::emit {
namespace {

Program ProgramOf(std::vector<plan::StreamRange> used, std::int64_t bytes, std::int64_t memory) {
  Call call;
  call.scratch_bytes = bytes;
  call.used = std::move(used);
  call.comment = "op";
  Program program;
  program.segments.resize(1);
  program.segments[0].calls = {call};
  program.memory_bytes = {memory};
  return program;
}

TEST(Scratch, IsInTheLowestGapOrBehindTheTensors) {
  Program gap = ProgramOf({{60, 100}, {0, 17}}, 40, 100);
  EXPECT_EQ(PlaceScratch(&gap), 100);
  EXPECT_EQ(gap.segments[0].calls[0].scratch, 20);
  Program behind = ProgramOf({{60, 98}, {0, 17}}, 41, 98);
  EXPECT_EQ(PlaceScratch(&behind), 144);
  EXPECT_EQ(behind.segments[0].calls[0].scratch, 100);
  Program none = ProgramOf({{0, 50}}, 0, 50);
  EXPECT_EQ(PlaceScratch(&none), 52);
}

TEST(Scratch, TheCheckFindsOverlapsAndBadOffsets) {
  Program program = ProgramOf({{0, 16}, {32, 40}}, 12, 40);
  const std::int64_t end = PlaceScratch(&program);
  EXPECT_EQ(FindScratchOverlap(program, end), "");
  Call& call = program.segments[0].calls[0];
  for (const std::int64_t bad : {12, 24, 36, 18, -4, 40}) {
    call.scratch = bad;
    EXPECT_NE(FindScratchOverlap(program, end), "") << bad;
  }
}

// No lower aligned offset is free: compared with every offset, byte by byte.
TEST(Scratch, RandomGapsAgainstEveryOffset) {
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    std::vector<plan::StreamRange> used;
    std::vector<bool> taken(256, false);
    for (std::int64_t n = random.Between(0, 6); n > 0; --n) {
      const std::int64_t first = random.Between(0, 99);
      used.push_back({first, first + random.Between(0, 30)});
      for (std::int64_t at = first; at < used.back().last; ++at) {
        taken[static_cast<std::size_t>(at)] = true;
      }
    }
    const std::int64_t bytes = random.Between(1, 40);
    std::int64_t lowest = 0;
    const auto is_free = [&](std::int64_t at) {
      return std::none_of(taken.begin() + at, taken.begin() + at + bytes, [](bool b) { return b; });
    };
    while (!is_free(lowest)) lowest += kScratchAlignment;
    Program program = ProgramOf(used, bytes, 129);
    const std::int64_t end = PlaceScratch(&program);
    ASSERT_EQ(program.segments[0].calls[0].scratch, lowest) << i;
    ASSERT_EQ(FindScratchOverlap(program, end), "") << i;
  }
}

}  // namespace
}  // namespace neap::emit
