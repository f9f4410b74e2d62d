// SPDX-License-Identifier: Apache-2.0
//
// The independent check of a sequence. Shares no code with the search: it replays the sequence from
// the definition in problem.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "neap/solve/rematerialise/problem.h"

namespace neap::rematerialise {

struct Replay {
  std::int64_t peak_bytes = 0;
  std::int64_t cost = 0;
  std::int64_t repetitions = 0;          // steps beyond the first run of each operator
  std::vector<std::int64_t> live_bytes;  // per step
};

// nullopt when an operator is missing, runs again although it is not repeatable, reads a value
// before it is written, or violates a precedence. `why`, if given, receives the reason in one line.
// O(problem + the reads of the sequence).
std::optional<Replay> ReplaySequence(const Problem& problem, std::span<const OpIndex> sequence,
                                     std::string* why = nullptr);

}  // namespace neap::rematerialise
