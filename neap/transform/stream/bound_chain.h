// SPDX-License-Identifier: Apache-2.0
//
// The bound of a chain of tensors, each computed from the one before. Private to the bound.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

// Progress is counted in rows, finely enough that rounding loses less than a byte.
inline constexpr std::int64_t kProgressUnit = std::int64_t{1} << 20;

// A tensor of a chain and how the next one of the chain reads it.
struct Link {
  std::int64_t rows = 0;  // in units
  std::int64_t row_bytes = 0;
  std::int64_t rows_read = 0;  // in units; those behind are never read
  AxisMap map;
  std::int64_t block_rows = 1;  // most rows that are computed side by side
  bool external = false;        // it is not in the arena
  bool resident = false;        // it is complete from the start
};

// Bytes that every schedule of the chain has live at some moment, at least; 0 for chains that are
// empty or too long.
//
// Every schedule reaches each progress x of each tensor j of the chain. The minimum of the live
// bytes at that moment, over all progress of the others, is a bound. The live part of a tensor
// depends only on its own progress and on that of the next one, so two sweeps compute the minimum
// for all j and x. The minimum is attained where no progress can change without reaching a limit:
// at the ends of a tensor, where its first row is freed, or at the largest or smallest progress
// that a neighbour allows.
//
// O(tensors x places), some hundred places a tensor; for tensors with rows that no operator reads,
// O(places^2).
std::int64_t BoundOfChain(std::vector<Link> links);

}  // namespace neap::stream
