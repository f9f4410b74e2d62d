// SPDX-License-Identifier: Apache-2.0
//
// Local search; see cut.h.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "neap/base/index.h"
#include "neap/solve/partition/check.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/grouped.h"
#include "neap/solve/partition/load.h"
#include "neap/solve/partition/simulate.h"

namespace neap::partition {
namespace {

// Costs of all stages and of a shared link, largest first: smaller is better, the bottleneck before
// all others.
std::vector<std::int64_t> Profile(const Problem& problem, const std::vector<Stage>& stage_of) {
  std::vector<std::int64_t> costs;
  const std::int64_t limit = problem.machine.parameter_limit_bytes;
  const Evaluation evaluation = Evaluate(problem, stage_of);
  costs.push_back(evaluation.link_cost);
  for (const StageCost& stage : evaluation.stages) {
    const bool allowed = limit < 0 || stage.parameter_bytes <= limit;
    costs.push_back(allowed ? stage.cost : kNever);
  }
  if (HasForbiddenStage(problem, stage_of)) costs.front() = kNever;
  std::sort(costs.rbegin(), costs.rend());
  return costs;
}

// Moves one group at a time as long as `cost_of` falls.
template <typename CostOf>
Assignment LocalSearch(const Problem& problem, const Assignment& start, std::int64_t max_steps,
                       const CostOf& cost_of) {
  const Grouped grouped(problem);
  const Problem& merged = grouped.problem();
  const Relations relations(merged);
  std::vector<Stage> stage_of = grouped.StagesOf(start.stage_of);
  const auto may_move = [&](std::size_t op, Stage to) {
    if (to < 0 || to >= merged.num_stages) return false;
    const auto& before = relations.before[op];
    const auto& after = relations.after[op];
    return std::all_of(before.begin(), before.end(),
                       [&](OpIndex other) { return stage_of[At(other)] <= to; }) &&
           std::all_of(after.begin(), after.end(),
                       [&](OpIndex other) { return stage_of[At(other)] >= to; });
  };
  auto best = cost_of(merged, stage_of);
  bool improved = true;
  while (improved) {
    improved = false;
    for (std::size_t op = 0; op < stage_of.size(); ++op) {
      for (const Stage by : {Stage{-1}, Stage{1}}) {
        const Stage old = stage_of[op];
        if (!may_move(op, old + by) || max_steps-- <= 0) continue;
        stage_of[op] = old + by;
        auto costs = cost_of(merged, stage_of);
        if (costs < best) {
          best = std::move(costs);
          improved = true;
        } else {
          stage_of[op] = old;
        }
      }
    }
  }
  return grouped.Expand(stage_of);
}

bool KeepsLimits(const Problem& problem, const std::vector<Stage>& stage_of) {
  const std::int64_t limit = problem.machine.parameter_limit_bytes;
  if (HasForbiddenStage(problem, stage_of)) return false;
  if (limit < 0) return true;
  const Evaluation evaluation = Evaluate(problem, stage_of);
  return std::all_of(evaluation.stages.begin(), evaluation.stages.end(),
                     [&](const StageCost& stage) { return stage.parameter_bytes <= limit; });
}

}  // namespace

Assignment Improve(const Problem& problem, const Assignment& start, std::int64_t max_steps) {
  return LocalSearch(problem, start, max_steps, &Profile);
}

Assignment ImproveSimulated(const Problem& problem, const Assignment& start,
                            const SimulationOptions& options, std::int64_t max_steps) {
  return LocalSearch(problem, start, max_steps,
                     [&](const Problem& merged, const std::vector<Stage>& stage_of) {
                       if (!KeepsLimits(merged, stage_of)) return kNever;
                       return Simulate(merged, stage_of, options).all_done;
                     });
}

}  // namespace neap::partition
