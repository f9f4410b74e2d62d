// SPDX-License-Identifier: Apache-2.0
//
// Local search; see cut.h.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "neap/base/index.h"
#include "neap/pipeline/check.h"
#include "neap/pipeline/cut.h"
#include "neap/pipeline/grouped.h"
#include "neap/pipeline/load.h"

namespace neap::pipeline {
namespace {

// Costs of all stages, largest first: smaller is better, the bottleneck before all others.
std::vector<std::int64_t> Profile(const Problem& problem, const std::vector<Stage>& stage_of) {
  std::vector<std::int64_t> costs;
  const std::int64_t limit = problem.machine.parameter_limit_bytes;
  for (const StageCost& stage : Evaluate(problem, stage_of).stages) {
    const bool allowed = limit < 0 || stage.parameter_bytes <= limit;
    costs.push_back(allowed ? stage.cost : kNever);
  }
  if (HasForbiddenStage(problem, stage_of)) costs.front() = kNever;
  std::sort(costs.rbegin(), costs.rend());
  return costs;
}

}  // namespace

Assignment Improve(const Problem& problem, const Assignment& start, std::int64_t max_steps) {
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
  std::vector<std::int64_t> best = Profile(merged, stage_of);
  bool improved = true;
  while (improved) {
    improved = false;
    for (std::size_t op = 0; op < stage_of.size(); ++op) {
      for (const Stage by : {Stage{-1}, Stage{1}}) {
        const Stage old = stage_of[op];
        if (!may_move(op, old + by) || max_steps-- <= 0) continue;
        stage_of[op] = old + by;
        std::vector<std::int64_t> costs = Profile(merged, stage_of);
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

}  // namespace neap::pipeline
