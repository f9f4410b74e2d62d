// SPDX-License-Identifier: Apache-2.0
//
// Rules that decide at every access what stays on chip, tensors as wholes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "neap/solve/traffic/problem.h"

namespace neap::traffic {

enum class Policy : std::uint8_t {
  kFurthestNextUse,  // Belady's rule: evicts the furthest next use first; not optimal for
                     // tensors of different sizes
  kLeastRecentlyUsed,
};
std::string_view NameOf(Policy policy);  // "furthest-next-use", "lru"

// The decisions of a rule or a search, and its own count of the traffic.
struct Decisions {
  std::vector<Residency> residencies;  // by tensor, then by step
  Counts counts;
};

// The tensors of a step are loaded one after the other, inputs before outputs; for each, others
// that the step does not touch are evicted until it fits; a tensor that does not fit streams past.
// Tensors that are on chip at the start stay, in the order of their indices, while they fit.
// `problem` passes Validate(). O(accesses x held tensors).
Decisions Apply(Policy policy, const Problem& problem, std::int64_t on_chip_bytes);

}  // namespace neap::traffic
