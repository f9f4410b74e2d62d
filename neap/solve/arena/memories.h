// SPDX-License-Identifier: Apache-2.0
//
// Several memories: every buffer gets one of them for its whole life and an offset in it, so that
// each memory's placement fits into its capacity and the sum of costs is minimal. The caller
// defines the costs, e.g. cycles spent on reading and writing the buffer in that memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

using MemoryIndex = std::int32_t;

struct MemoryProblem {
  static constexpr std::int64_t kNotAllowed = -1;

  // Pair rules hold for two buffers in the same memory; two in different memories are never in each
  // other's way. A fixed offset holds in whichever memory the buffer gets.
  Problem problem;
  std::vector<std::int64_t> capacities_bytes;  // one per memory, at least one
  // Of each buffer in each memory, buffer by buffer; >= 0, or kNotAllowed.
  std::vector<std::int64_t> costs;

  std::int64_t CostOf(std::size_t buffer, std::size_t memory) const {
    return costs[buffer * capacities_bytes.size() + memory];
  }
};

struct MemoryPlacement {
  std::vector<MemoryIndex> memories;        // one per buffer
  std::vector<std::int64_t> offsets;        // one per buffer
  std::vector<std::int64_t> heights_bytes;  // one per memory
  std::int64_t cost = 0;
};

struct MemoryOutcome {
  std::optional<MemoryPlacement> best;  // none: none was found
  std::int64_t lower_bound_cost = 0;    // proven: nothing that fits costs less
  bool impossible = false;              // proven: nothing fits
  std::int64_t states = 0;              // assignments tried, and buffers placed

  bool optimal() const { return best && best->cost == lower_bound_cost; }
};

// The error of a malformed problem, in one line; nullopt when it is well-formed. Fixed buffers must
// not collide, whichever memories they get.
std::optional<std::string> Validate(const MemoryProblem& problem);

// The independent check of a placement, as in check.h: the first violation in one line.
std::optional<std::string> FindViolation(const MemoryProblem& problem,
                                         const MemoryPlacement& placement);

// Depth-first branch and bound over the memories of the buffers, those with the largest differences
// of cost first, the cheapest memory first; assignments whose loads fit are placed by Solve. The
// bound is the sum of the lowest costs, plus a lower bound of the cost of meeting the capacities at
// steps that share no buffer. Anytime: returns the best result and the bound whenever a limit ends
// it. Deterministic unless limits.max_seconds or limits.stop ends it. `problem` is one for which
// Validate() finds nothing wrong.
MemoryOutcome SolveMemories(const MemoryProblem& problem, const Limits& limits);

}  // namespace neap::arena
