// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/units/check.h"

#include <algorithm>
#include <limits>
#include <set>

namespace neap::units {

std::vector<Moment> LiveBytes(const Problem& problem, const std::vector<std::int64_t>& start) {
  const auto begins = [&](OpIndex op) { return start[static_cast<std::size_t>(op)]; };
  const auto ends = [&](OpIndex op) {
    return begins(op) + problem.durations[static_cast<std::size_t>(op)];
  };
  std::set<std::int64_t> times;
  for (OpIndex op = 0; op < problem.graph.num_ops; ++op) {
    times.insert(begins(op));
    times.insert(ends(op));
  }
  std::vector<Moment> moments;
  for (const std::int64_t time : times) {
    std::int64_t live = 0;
    for (const schedule::Buffer& buffer : problem.graph.buffers) {
      const auto& users = buffer.users;
      const bool begun =
          buffer.live_at_start || std::any_of(users.begin(), users.end(),
                                              [&](OpIndex user) { return begins(user) <= time; });
      const bool needed =
          buffer.live_at_end ||
          std::any_of(users.begin(), users.end(), [&](OpIndex user) { return ends(user) > time; });
      if (begun && needed) live += buffer.bytes;
    }
    for (std::size_t op = 0; op < problem.graph.scratch_bytes.size(); ++op) {
      const auto index = static_cast<OpIndex>(op);
      if (begins(index) <= time && time < ends(index)) live += problem.graph.scratch_bytes[op];
    }
    moments.push_back({time, live});
  }
  return moments;
}

std::optional<std::string> FindViolation(const Problem& problem, const Schedule& schedule) {
  const auto count = static_cast<std::size_t>(problem.graph.num_ops);
  if (schedule.start.size() != count || schedule.unit.size() != count) {
    return "the schedule has another number of operators";
  }
  std::int64_t makespan = 0;
  for (std::size_t op = 0; op < count; ++op) {
    if (schedule.start[op] < 0 || schedule.start[op] > kMaxTotalDuration) {
      return "operator " + std::to_string(op) + " starts out of range";
    }
    if (schedule.unit[op] < 0 || schedule.unit[op] >= problem.units) {
      return "operator " + std::to_string(op) + " is on no unit";
    }
    makespan = std::max(makespan, schedule.start[op] + problem.durations[op]);
  }
  for (const auto& [before, after] : problem.graph.precedences) {
    const auto a = static_cast<std::size_t>(before);
    const auto b = static_cast<std::size_t>(after);
    if (schedule.start[a] + problem.durations[a] > schedule.start[b]) {
      return "operator " + std::to_string(after) + " starts before the end of operator " +
             std::to_string(before);
    }
  }
  // (unit, start, operator): neighbours on a unit must not overlap.
  std::vector<std::size_t> sorted(count);
  for (std::size_t op = 0; op < count; ++op) sorted[op] = op;
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
    if (schedule.unit[a] != schedule.unit[b]) return schedule.unit[a] < schedule.unit[b];
    if (schedule.start[a] != schedule.start[b]) return schedule.start[a] < schedule.start[b];
    return a < b;
  });
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t a = sorted[i - 1];
    const std::size_t b = sorted[i];
    if (schedule.unit[a] == schedule.unit[b] &&
        schedule.start[a] + problem.durations[a] > schedule.start[b]) {
      return "operators " + std::to_string(a) + " and " + std::to_string(b) +
             " run at once on unit " + std::to_string(schedule.unit[a]);
    }
  }
  if (makespan != schedule.makespan) {
    return "the makespan is " + std::to_string(makespan) + ", not " +
           std::to_string(schedule.makespan);
  }
  std::int64_t peak = 0;
  for (const Moment& moment : LiveBytes(problem, schedule.start)) {
    if (moment.time < makespan) peak = std::max(peak, moment.live_bytes);
  }
  if (peak != schedule.peak_bytes) {
    return "the peak is " + std::to_string(peak) + ", not " + std::to_string(schedule.peak_bytes);
  }
  return std::nullopt;
}

}  // namespace neap::units
