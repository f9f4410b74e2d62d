// SPDX-License-Identifier: Apache-2.0
//
// A sequence within a limit of live bytes, by executing an order in it: where a copy does not fit,
// others are dropped and computed again when they are read (after dynamic tensor rematerialization,
// Kirisame et al., with the uses to come in place of the last one). Private to neap/rematerialise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/solve/rematerialise/problem.h"
#include "neap/solve/rematerialise/trace.h"

namespace neap::rematerialise {

// Which copy is dropped: that of the lowest cost over bytes.
struct EvictionRule {
  // Whether bytes are multiplied by the steps until the next use.
  bool distance = true;
  // Whether the cost has that of the dropped copies which need this one.
  bool readers = true;
  // Whether values that cannot be computed again stay in memory to the end, so that their readers
  // can run again.
  bool keeps_sources = false;
  // With a seed other than 0, costs are up to a fourth larger, at random.
  std::uint64_t seed = 0;
};

// The order `start` with repetitions, whose peak is at most `limit_bytes`. nullopt: some step does
// not fit, or more than `max_work` was needed. `work` counts the values that were looked at.
// Deterministic. O(n) bytes.
std::optional<std::vector<OpIndex>> ExecuteWithin(const Access& access,
                                                  std::span<const OpIndex> start,
                                                  std::int64_t limit_bytes, EvictionRule rule,
                                                  std::int64_t max_work, std::int64_t* work);

}  // namespace neap::rematerialise
