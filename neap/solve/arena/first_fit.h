// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: lowest-fit placement in a given order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/solve/arena/neighbours.h"
#include "neap/solve/arena/pair_table.h"
#include "neap/solve/arena/placed_blocks.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

// Height of the arena that `offsets` make.
std::int64_t HeightOf(const Problem& problem, std::span<const std::int64_t> offsets);

// The buffers that are not fixed, in index order.
std::vector<BufferIndex> FreeBuffers(const Problem& problem);

// The order in which TensorFlow Lite Micro places the buffers that are not fixed (arena.h).
std::vector<BufferIndex> TflmOrder(const Problem& problem);

// Places buffers one after the other, each at the lowest aligned offset where it fits among the
// buffers placed before it under the rules of their pairs; those with a fixed offset are placed
// first. Visits only buffers that are live at the same time where their pairs fit in memory, else
// all placed ones. A pass costs O(sum over buffers of k log k), k the number of time-overlapping
// buffers, or O(n^2).
class FirstFit {
 public:
  enum class Pairs { kHonoured, kIgnored };
  explicit FirstFit(const Problem& problem, Pairs pairs = Pairs::kHonoured);  // keeps a reference

  // `order` names every free buffer once.
  Placement Place(std::span<const BufferIndex> order) const;
  // The same, counted; a pass is used by one thread at a time.
  struct Pass;
  Placement Place(std::span<const BufferIndex> order, Pass* pass) const;

  // nullptr where there are too many pairs.
  const Neighbours* neighbours() const { return neighbours_ ? &*neighbours_ : nullptr; }

  // Offsets strictly between are forbidden.
  struct Interval {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  struct Pass {
    // Placed buffers looked at, over all placements: a measure of work that is the same everywhere.
    std::int64_t visits = 0;
    std::vector<Interval> forbidden;  // scratch
    PlacedBlocks placed;              // without neighbours only
  };

 private:
  std::int64_t LowestAmongNeighbours(BufferIndex buffer, std::span<const std::int64_t> offsets,
                                     Pass* pass) const;
  std::int64_t LowestAmongAll(BufferIndex buffer, Pass* pass) const;
  std::int64_t LowestAmongAllWithRules(BufferIndex buffer, Pass* pass) const;
  void Forbid(BufferIndex buffer, BufferIndex other, std::int64_t offset, Pass* pass) const;
  void InsertByOffset(BufferIndex buffer, std::int64_t offset, Pass* pass) const;

  const Problem& problem_;
  std::vector<LiveRange> ranges_;  // empty for a buffer that occupies nothing
  std::optional<Neighbours> neighbours_;
  std::optional<PairTable> table_;  // none: no rules
};

}  // namespace neap::arena
