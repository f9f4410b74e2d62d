// SPDX-License-Identifier: Apache-2.0
//
// Independent count of the traffic: replays decisions step by step from the rules in problem.h.
// Shares no code with the solvers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "neap/solve/traffic/blocks.h"
#include "neap/solve/traffic/problem.h"

namespace neap::traffic {

// nullopt when the residencies break a rule; `why`, if given, receives the reason in one line.
// `residencies` by tensor, then by step. O((steps + accesses + residencies) log).
std::optional<Counts> Replay(const Problem& problem, std::int64_t on_chip_bytes,
                             std::span<const Residency> residencies, std::string* why = nullptr);

// The same for blocks: evicted blocks and their positions. O(accesses of blocks, up to logarithms).
std::optional<Counts> ReplayBlocks(const Problem& problem, const BlockMemory& memory,
                                   std::span<const Eviction> evictions, std::string* why = nullptr);

}  // namespace neap::traffic
