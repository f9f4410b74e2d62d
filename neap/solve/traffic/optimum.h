// SPDX-License-Identifier: Apache-2.0
//
// The minimum traffic: which tensors are resident when, so that the sum of read and written bytes
// is minimal, for whole tensors of different sizes. Belady's rule is not optimal here: sizes
// differ, and evicting a tensor that was never written out costs twice.
#pragma once

#include <atomic>
#include <cstdint>

#include "neap/solve/traffic/policy.h"
#include "neap/solve/traffic/problem.h"

namespace neap::traffic {

struct OptimumOptions {
  std::int64_t max_states = 400'000;        // of the search, over all its passes
  const std::atomic<bool>* stop = nullptr;  // not owned
};

struct Optimum {
  Decisions decisions;
  std::int64_t lower_bound_bytes = 0;  // proven: no decisions move fewer
  std::int64_t states = 0;
  bool optimal() const { return decisions.counts.total() == lower_bound_bytes; }
};

// Step by step over the sets of tensors that are on chip, from the best rule's decisions on: states
// whose cost and lower bound (prices.h) reach the best known are dropped, and of those that differ
// in cost alone the cheapest stays. Passes of growing width; the last one is exhaustive where
// max_states allows it, which proves the optimum. Deterministic unless `stop` is set.
// `problem` passes Validate().
Optimum LeastTraffic(const Problem& problem, std::int64_t on_chip_bytes,
                     const OptimumOptions& options);

}  // namespace neap::traffic
