// SPDX-License-Identifier: Apache-2.0
//
// Independent check of schedules on units. Shares no code with the solver: everything is recomputed
// from the definition in problem.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/solve/units/problem.h"

namespace neap::units {

// The live bytes from `time` to the next moment.
struct Moment {
  std::int64_t time = 0;
  std::int64_t live_bytes = 0;
  friend bool operator==(const Moment&, const Moment&) = default;
};

// One moment for every start and every end, in order. `start` has a time for every operator.
std::vector<Moment> LiveBytes(const Problem& problem, const std::vector<std::int64_t>& start);

// Why a schedule is invalid, in one line: an operator before the end of one that precedes it, two
// at once on a unit, a unit out of range, a wrong makespan or peak. O(moments * buffers).
std::optional<std::string> FindViolation(const Problem& problem, const Schedule& schedule);

}  // namespace neap::units
