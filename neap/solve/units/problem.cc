// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/units/problem.h"

namespace neap::units {

std::optional<std::string> Validate(const Problem& problem) {
  if (auto error = schedule::Validate(problem.graph)) return error;
  if (!problem.graph.in_place.empty() || !problem.graph.take_over.empty()) {
    return "outputs that take the place of inputs are not defined on several units";
  }
  if (problem.units < 1 || problem.units > kMaxUnits) {
    return "units " + std::to_string(problem.units) + " is out of range";
  }
  if (problem.durations.size() != static_cast<std::size_t>(problem.graph.num_ops)) {
    return "durations have another length than operators";
  }
  std::int64_t total = 0;
  for (const std::int64_t duration : problem.durations) {
    if (duration < 1 || duration > kMaxTotalDuration - total) return "a duration is out of range";
    total += duration;
  }
  return std::nullopt;
}

}  // namespace neap::units
