// SPDX-License-Identifier: Apache-2.0
//
// The interface of the module: every rule and the optimum for one order and one on-chip size.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "neap/solve/traffic/problem.h"

namespace neap::traffic {

struct MeasureOptions {
  std::int64_t block_bytes = 1024;
  std::int64_t max_states = 400'000;        // of the search for the optimum
  const std::atomic<bool>* stop = nullptr;  // not owned
};

struct Row {
  std::int64_t on_chip_bytes = 0;
  std::string_view granularity;  // "tensor", "block"
  std::string_view policy;       // "optimum", "furthest-next-use", "lru", "belady"
  Counts counts;
  // Proven: of tensors, no decisions move fewer bytes; of blocks, no rule reads fewer.
  std::int64_t lower_bound_bytes = 0;
  bool optimal = false;  // counts.total() == lower_bound_bytes; of "belady": the misses are fewest
};

// More accesses of blocks than this are not walked through: such rows are left out.
inline constexpr std::int64_t kMaxBlockAccesses = 50'000'000;

// Rows in a fixed order: tensors by optimum, furthest-next-use, lru, then blocks by belady, lru.
// Every row has passed its replay (check.h); a difference is an InternalError.
std::vector<Row> Measure(const Problem& problem, std::int64_t on_chip_bytes,
                         const MeasureOptions& options);

}  // namespace neap::traffic
