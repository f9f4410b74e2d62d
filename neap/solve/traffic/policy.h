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
  kFurthestNextUse,  // Belady's rule: what is used again last goes first; no optimum for tensors of
                     // different sizes
  kLeastRecentlyUsed,
};
std::string_view NameOf(Policy policy);  // "furthest-next-use", "lru"

// What a rule or a search decided, and what it says that it moves.
struct Decisions {
  std::vector<Residency> residencies;  // by tensor, then by step
  Counts counts;
};

// What a step touches is taken in one after the other, what it reads before what it writes; for
// each, others that the step does not touch go until there is room; what finds none streams past.
// Tensors that are on chip at the start stay, in the order of their indices, while there is room.
// `problem` passes Validate(). O(accesses x held tensors).
Decisions Apply(Policy policy, const Problem& problem, std::int64_t on_chip_bytes);

}  // namespace neap::traffic
