// SPDX-License-Identifier: Apache-2.0
//
// The learning search by itself: its answers about a capacity are compared with all offsets of all
// buffers, in repeated calls.
#include "neap/solve/arena/clause_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/pair_table.h"
#include "neap/solve/arena/sections.h"
#include "testing/arena.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

// One search for every part of a problem.
class Parts {
 public:
  explicit Parts(const Problem& problem)
      : problem_(problem), table_(problem), parts_(SplitByTime(problem)) {
    for (const auto& part : parts_) {
      searches_.push_back(std::make_unique<ClauseSearch>(problem, table_, part));
    }
  }

  Verdict Run(std::int64_t capacity, std::int64_t max_nodes) {
    const Limits limits;
    Budget budget(limits);
    Verdict all = Verdict::kPlaced;
    for (auto& search : searches_) {
      const Verdict one = search->Run(capacity, random_, max_nodes, budget);
      if (one == Verdict::kImpossible) return one;
      if (one == Verdict::kUndecided) all = one;
    }
    if (all == Verdict::kPlaced) ExpectPlacement(capacity);
    return all;
  }

 private:
  void ExpectPlacement(std::int64_t capacity) {
    Placement placement;
    placement.offsets.assign(problem_.buffers.size(), 0);
    for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
      placement.offsets[i] = problem_.buffers[i].fixed_offset.value_or(0);
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      for (std::size_t i = 0; i < parts_[p].size(); ++i) {
        placement.offsets[static_cast<std::size_t>(parts_[p][i])] = searches_[p]->OffsetOf(i);
      }
    }
    for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
      placement.height_bytes =
          std::max(placement.height_bytes, placement.offsets[i] + problem_.buffers[i].bytes);
      if (problem_.buffers[i].occupies()) {
        EXPECT_LE(placement.offsets[i] + problem_.buffers[i].bytes, capacity);
      }
    }
    EXPECT_EQ(FindViolation(problem_, placement), std::nullopt);
  }

  const Problem& problem_;
  PairTable table_;
  std::vector<std::vector<BufferIndex>> parts_;
  std::vector<std::unique_ptr<ClauseSearch>> searches_;
  Random random_{7};
};

struct Kind {
  RandomShape shape;
  int pair_percent = 0;
  bool wild = false;
};

// Capacities in any order, each with the clauses learned before.
TEST(ClauseSearch, EqualsAllOffsets) {
  const std::array<Kind, 6> kinds = {{
      {{.buffers = 8, .steps = 6}, 0, false},
      {{.buffers = 7, .steps = 6}, 30, false},
      {{.buffers = 6, .steps = 5, .max_bytes = 6}, 40, true},
      {{.buffers = 6, .steps = 6, .max_bytes = 12, .alignments = {1, 4, 8}}, 30, false},
      {{.buffers = 7, .steps = 6, .max_bytes = 9, .alignments = {1, 2}, .fixed_percent = 25},
       25,
       false},
      {{.buffers = 6, .steps = 4, .max_bytes = 8, .alignments = {1, 2, 3}, .fixed_percent = 20},
       40,
       true},
  }};
  Random random(61);
  const int rounds = Cases(6000);
  int impossible = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const Kind& kind = kinds[static_cast<std::size_t>(round) % kinds.size()];
    Problem problem = RandomProblem(random, kind.shape);
    AddRandomPairs(random, problem, kind.pair_percent, kind.wild);
    // Buffers without bytes or lifetime are not part of it.
    std::erase_if(problem.buffers, [&](const Buffer& buffer) {
      return problem.pairs.empty() && !buffer.occupies();
    });
    const bool all_occupy = std::all_of(problem.buffers.begin(), problem.buffers.end(),
                                        [](const Buffer& buffer) { return buffer.occupies(); });
    if (!all_occupy) continue;
    const std::int64_t known = Solve(problem, States(1000)).placement.height_bytes;
    if (known >= 60) continue;
    const std::int64_t optimum = OffsetPuzzle(problem).Least(known);
    Parts parts(problem);
    for (int question = 0; question < 6; ++question) {
      const std::int64_t capacity =
          question < 2 ? optimum - question : random.Between(0, optimum + 3);
      const Verdict verdict = parts.Run(capacity, 100'000);
      EXPECT_EQ(verdict, capacity < optimum ? Verdict::kImpossible : Verdict::kPlaced)
          << "round " << round << " capacity " << capacity << " optimum " << optimum;
      impossible += verdict == Verdict::kImpossible ? 1 : 0;
    }
  }
  EXPECT_GT(impossible, rounds);
}

// Cut into small pieces of work the answers stay the same.
TEST(ClauseSearch, GoesOnWhereItStopped) {
  Random random(62);
  const int rounds = Cases(300);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const Problem problem = RandomFullLoad(random, static_cast<int>(random.Between(4, 14)), 24, 16);
    if (problem.buffers.size() > 60) continue;
    const Verdict at_once = Parts(problem).Run(24, 1'000'000);
    ASSERT_NE(at_once, Verdict::kUndecided);
    Parts parts(problem);
    Verdict in_pieces = Verdict::kUndecided;
    for (int piece = 0; piece < 100'000 && in_pieces == Verdict::kUndecided; ++piece) {
      in_pieces = parts.Run(24, 50);
    }
    EXPECT_EQ(in_pieces, at_once) << "round " << round;
  }
}

}  // namespace
}  // namespace neap::arena
