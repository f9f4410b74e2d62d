// SPDX-License-Identifier: Apache-2.0
//
// The bound of a chain of tensors, each computed from the one before. Private to the bound.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

// Progress is counted in rows, finely enough that what is lost by rounding is less than a byte.
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
// Every schedule passes every progress x of every tensor j of the chain. The least that is live
// then, over all progress of the others, is a bound; what is live of a tensor depends on its own
// progress and on that of the next one alone, so two sweeps find it for all j and x. The least is
// taken where no progress can move without meeting a limit: at the ends of a tensor, where its
// first row dies, or as far as, or only as far as, a neighbour allows it.
//
// O(tensors x places), some hundred places a tensor; for tensors with rows that nobody reads,
// O(places^2).
std::int64_t BoundOfChain(std::vector<Link> links);

}  // namespace neap::stream
