// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: lowering a placement piece by piece (large neighbourhood search), for
// problems of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/neighbours.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

class WindowRepair {
 public:
  // Keeps references; `neighbours` are those of the buffers that occupy something.
  WindowRepair(const Problem& problem, const Neighbours& neighbours, std::uint64_t seed);

  // Takes each buffer that ends above `capacity_bytes` out of a valid placement, together with at
  // most `window` buffers around it, and lets the exact search place these again below the
  // capacity, without moving other buffers. `offsets` remains valid; a buffer for which this fails
  // keeps its place. Costs at most a fixed number of placed buffers per buffer above the capacity.
  void Run(std::int64_t capacity_bytes, std::size_t window, std::vector<std::int64_t>& offsets,
           Budget& budget);

 private:
  void Collect(BufferIndex center, std::size_t window);
  Problem Excerpt(std::int64_t capacity_bytes, const std::vector<std::int64_t>& offsets);
  bool PlaceAnew(std::int64_t capacity_bytes, std::vector<std::int64_t>& offsets, Budget& budget);
  bool Mark(BufferIndex buffer);  // true the first time since marks_ were forgotten

  const Problem& problem_;
  const Neighbours& neighbours_;
  Random random_;
  std::vector<BufferIndex> window_;  // placed again
  std::vector<std::int32_t> marks_;  // one per buffer: when it was seen last
  std::int32_t now_ = 0;
};

}  // namespace neap::arena
