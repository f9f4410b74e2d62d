// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/units/units.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "neap/base/index.h"
#include "neap/solve/units/instance.h"

namespace neap::units {

bool IsBetter(Objective objective, std::int64_t peak_a, std::int64_t makespan_a,
              std::int64_t peak_b, std::int64_t makespan_b) {
  return objective == Objective::kPeak
             ? std::tie(peak_a, makespan_a) < std::tie(peak_b, makespan_b)
             : std::tie(makespan_a, peak_a) < std::tie(makespan_b, peak_b);
}

bool IsWithin(const Options& options, std::int64_t peak, std::int64_t makespan) {
  return (options.peak_limit < 0 || peak <= options.peak_limit) &&
         (options.makespan_limit < 0 || makespan <= options.makespan_limit);
}

Schedule Complete(const Instance& instance, std::vector<std::int64_t> start) {
  const Problem& problem = *instance.problem;
  Schedule out;
  out.start = std::move(start);
  out.unit.assign(instance.size(), 0);
  std::vector<OpIndex> by_start = instance.topological;
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](OpIndex a, OpIndex b) { return out.start[At(a)] < out.start[At(b)]; });
  std::vector<std::int64_t> free_from(At(problem.units), 0);
  for (const OpIndex op : by_start) {
    std::size_t unit = 0;
    while (free_from[unit] > out.start[At(op)]) ++unit;
    free_from[unit] = out.start[At(op)] + problem.durations[At(op)];
    out.unit[At(op)] = static_cast<std::int32_t>(unit);
    out.makespan = std::max(out.makespan, free_from[unit]);
  }
  std::map<std::int64_t, std::int64_t> change;
  const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t bytes) {
    if (first >= last) return;
    change[first] += bytes;
    change[last] -= bytes;
  };
  for (const schedule::Buffer& buffer : problem.graph.buffers) {
    if (buffer.users.empty() && !(buffer.live_at_start && buffer.live_at_end)) continue;
    std::int64_t first = out.makespan;
    std::int64_t last = 0;
    for (const OpIndex user : buffer.users) {
      first = std::min(first, out.start[At(user)]);
      last = std::max(last, out.start[At(user)] + problem.durations[At(user)]);
    }
    add(buffer.live_at_start ? 0 : first, buffer.live_at_end ? out.makespan : last, buffer.bytes);
  }
  for (std::size_t op = 0; op < problem.graph.scratch_bytes.size(); ++op) {
    add(out.start[op], out.start[op] + problem.durations[op], problem.graph.scratch_bytes[op]);
  }
  std::int64_t live = 0;
  for (const auto& [time, bytes] : change) {
    live += bytes;
    out.peak_bytes = std::max(out.peak_bytes, live);
  }
  return out;
}

namespace {

// Bounds that need no search; true where they show that nothing is within the limits.
bool Bound(const Instance& instance, const Options& options, std::int64_t sequence_bound,
           Outcome* outcome) {
  const Problem& problem = *instance.problem;
  outcome->peak_lower_bound = sequence_bound;
  outcome->makespan_lower_bound = MakespanBound(instance, options.peak_limit);
  if (options.makespan_limit >= 0 && outcome->makespan_lower_bound <= options.makespan_limit) {
    std::vector<std::int64_t> latest(instance.size());
    for (std::size_t op = 0; op < instance.size(); ++op) {
      latest[op] = options.makespan_limit - instance.tail[op] - problem.durations[op];
    }
    outcome->peak_lower_bound =
        std::max(outcome->peak_lower_bound, CompulsoryPeak(instance, instance.head, latest, 0));
  }
  return !IsWithin(options, outcome->peak_lower_bound, outcome->makespan_lower_bound);
}

void SetOptimal(const Options& options, Outcome* outcome) {
  if (!outcome->best) return;
  const bool least_peak = outcome->best->peak_bytes == outcome->peak_lower_bound;
  const bool least_makespan = outcome->best->makespan == outcome->makespan_lower_bound;
  outcome->optimal |= options.objective == Objective::kPeak ? least_peak : least_makespan;
  outcome->tie_optimal |= least_peak && least_makespan;
}

}  // namespace

Outcome Solver::Solve(const Options& options) {
  const Instance instance = MakeInstance(problem_);
  Outcome outcome;
  if (!sequence_) {
    constexpr std::int64_t kSequenceStates = 50'000;
    Limits limits = options.limits;
    limits.max_states = kSequenceStates;
    sequence_ =
        problem_.graph.num_ops > 0 ? schedule::Solve(problem_.graph, limits) : schedule::Outcome();
  }
  if (Bound(instance, options, sequence_->lower_bound_bytes, &outcome)) {
    outcome.infeasible = true;
    return outcome;
  }
  ImproveByLists(instance, sequence_->order, options, &outcome);
  SetOptimal(options, &outcome);
  if (outcome.tie_optimal || outcome.interrupted) return outcome;
  if (problem_.graph.num_ops <= kMaxExactOps) SearchExact(instance, options, &outcome);
  SetOptimal(options, &outcome);
  return outcome;
}

}  // namespace neap::units
