// SPDX-License-Identifier: Apache-2.0
//
// Precedences that every order within a budget obeys. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {

struct Inference {
  bool infeasible = false;  // no order stays within the budget, proven
  // (before, after): holds in every order within the budget (and in every one within less).
  std::vector<std::pair<OpIndex, OpIndex>> precedences;
  std::int64_t cuts = 0;    // minimum cuts computed
  std::int64_t trials = 0;  // precedences that were tried
};

struct InferenceLimits {
  std::int64_t max_cuts = 0;
  bool trials = false;
};

// Rule: where every downset before v that contains u costs more than the budget, v runs before u;
// where every one without u does, u runs before v (docs/algorithms/order.md, "Inference"). One
// affordable downset decides for all operators inside and outside it at once, and goes on to do so
// while new precedences do not split it, which saves most cuts. With `trials`, when nothing is new:
// a precedence that refutes the budget together with all that follows from it is wrong, so that its
// opposite holds. Ends when nothing is new, `max_cuts` are spent or `stopper` stops.
// `stages`: as of Instance, or empty. `budget` is in units of `unit`, which divides all sizes.
// Without trials O(num_ops^2) cuts at worst.
Inference InferPrecedences(const Problem& problem, const Instance::Stages& stages,
                           std::int64_t unit, std::int64_t budget, const InferenceLimits& limits,
                           Stopper* stopper);

}  // namespace neap::schedule
