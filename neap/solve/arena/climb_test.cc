// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/climb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "neap/solve/arena/anytime.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "testing/arena.h"

namespace neap::arena {
namespace {

// A rectangle of time and bytes, cut until there are enough buffers: every byte is in use.
Problem Sliced(Random& random, std::size_t buffers) {
  struct Piece {
    Buffer buffer;
    std::int64_t area() const { return buffer.bytes * (buffer.last - buffer.first); }
  };
  std::vector<Piece> pieces(1);
  pieces[0].buffer.bytes = 1000;
  pieces[0].buffer.last = 60;
  while (pieces.size() < buffers) {
    auto piece = std::max_element(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.area() < b.area();
    });
    if (random.Chance(1, 2)) {
      piece = pieces.begin() + static_cast<std::ptrdiff_t>(random.Below(pieces.size()));
    }
    Piece other = *piece;
    if (random.Chance(1, 2)) {
      if (piece->buffer.bytes < 2) continue;
      other.buffer.bytes = random.Between(1, piece->buffer.bytes - 1);
      piece->buffer.bytes -= other.buffer.bytes;
    } else {
      if (piece->buffer.last - piece->buffer.first < 2) continue;
      other.buffer.first =
          static_cast<Step>(random.Between(piece->buffer.first + 1, piece->buffer.last - 1));
      piece->buffer.last = other.buffer.first;
    }
    pieces.push_back(other);
  }
  Problem problem;
  for (const Piece& piece : pieces) problem.buffers.push_back(piece.buffer);
  random.Shuffle(problem.buffers);
  return problem;
}

std::vector<BufferIndex> All(const Problem& problem) {
  std::vector<BufferIndex> all(problem.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(Climb, PlacesBuffersWithoutAGap) {
  Random random(7);
  int by_climbing = 0;
  for (int round = 0; round < 6; ++round) {
    const Problem problem = Sliced(random, 90);
    const auto sections = Sections::Build(problem, PairTable(problem), All(problem));
    ASSERT_TRUE(sections.has_value());
    Climb climb(*sections);
    const Limits limits = States(400'000);
    Budget budget(limits);
    const std::int64_t capacity = LoadLowerBound(problem);
    Verdict verdict = Verdict::kUndecided;
    int runs = 0;
    for (; verdict == Verdict::kUndecided && !budget.Ended(); ++runs) {
      verdict = climb.Run(capacity, 100'000, random, budget);
    }
    EXPECT_NE(verdict, Verdict::kImpossible);
    if (verdict != Verdict::kPlaced) continue;
    by_climbing += runs > 20 ? 1 : 0;  // the first 20 are starts
    Placement placement;
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      placement.offsets.push_back(climb.search().OffsetOf(i) * sections->unit);
    }
    placement.height_bytes = capacity;
    EXPECT_EQ(FindViolation(problem, placement), std::nullopt) << "round " << round;
  }
  EXPECT_GE(by_climbing, 2);
}

TEST(Anytime, CompletesWhatDoesNotFit) {
  Random random(3);
  int completed = 0;
  for (int round = 0; round < 400; ++round) {
    const Problem problem = Sliced(random, 40);
    std::vector<std::int64_t> bytes;
    bytes.reserve(problem.buffers.size());
    for (const Buffer& buffer : problem.buffers) bytes.push_back(buffer.bytes);
    const std::int64_t all = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    const PairTable table(problem);
    AnytimeSearch search(MakeCapacitySearch(problem, table, All(problem)), std::move(bytes), all,
                         5);
    const Limits limits = States(1'000);
    Budget budget(limits);
    std::int64_t lower = LoadLowerBound(problem);
    const std::int64_t load = lower;
    // A run without a failure lacks one buffer.
    if (!search.Round(39, load, lower, budget)) continue;
    completed += search.upper_bytes() > load ? 1 : 0;
    EXPECT_EQ(lower, load);
    const Placement placement{search.offsets(), search.upper_bytes()};
    EXPECT_EQ(FindViolation(problem, placement), std::nullopt) << "round " << round;
  }
  EXPECT_GE(completed, 2);
}

}  // namespace
}  // namespace neap::arena
