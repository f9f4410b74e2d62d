// SPDX-License-Identifier: Apache-2.0
//
// The three schedulers of SERENITY. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

struct SerenityOptions {
  bool divide = false;           // divide and conquer
  std::int64_t step_states = 0;  // T of adaptive soft budgeting; 0: no budgeting
  // Above 0: the dynamic program runs once on each part, with this soft budget (tau) and without a
  // time-out. A part without a schedule within it has a peak above it, which is proven.
  std::int64_t soft_budget_bytes = 0;
};

// Source: SERENITY (MLSys 2020): dynamic programming (Algorithm 1, serenity_dp.h), divide and
// conquer
//   and adaptive soft budgeting (section 3.2, Algorithm 2, serenity_budget.h). Its graph rewriting
//   is another matter.
// Deviations: the graph is divided at every operator that is comparable with all others
//   (parts.h), also where further tensors jump the cut. The paper divides where a cell has a
//   single output; each of its cuts is one of these. The rest: see the two headers.
// Invariant: the order is the concatenation of the parts' orders; its peak is the largest of
// theirs. Cost: that of the dynamic program on each part, times the rounds of budgeting. Proves its
// result when every part is solved. Otherwise the unsolved parts have inexpensive orders, and the
// bound is the highest of: the largest operator, the solved parts, the budgets without a solution.
Outcome Serenity(const Problem& problem, const Limits& limits,
                 const std::vector<OpIndex>& file_order, const SerenityOptions& options);

}  // namespace neap::schedule
