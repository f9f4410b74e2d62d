// SPDX-License-Identifier: Apache-2.0
//
// The search by moves: a move drops a value between two of its uses and computes it again, and
// its inputs if necessary. Executions within a limit (eviction.h) that cost less are improved by
// moves, too. Private to neap/rematerialise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/rematerialise/problem.h"

namespace neap::rematerialise {

// Calls `found` with sequences of peaks from that of `start` down to `floor_bytes`. Returns the
// moves that were tried, executions included: about 7/3 of max_moves at most. Deterministic without
// a deadline. `others` are valid sequences, from which it starts where they cost less.
std::int64_t SearchByMoves(const Problem& problem, std::span<const OpIndex> start,
                           const std::vector<std::vector<OpIndex>>& others,
                           std::int64_t floor_bytes, std::int64_t max_moves, const Limits& limits,
                           const std::function<void(const std::vector<OpIndex>& sequence)>& found);

}  // namespace neap::rematerialise
