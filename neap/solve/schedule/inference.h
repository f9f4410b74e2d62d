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
  std::int64_t cuts = 0;  // minimum cuts computed
};

// Rule: where every downset before v that contains u costs more than the budget, v runs before u;
// where every one without u does, u runs before v (docs/algorithms/order.md, "Inference"). One
// affordable downset decides for all operators inside and outside it at once, which saves most
// cuts. Repeats with its results until nothing is new, `max_cuts` are spent or `stopper` stops.
// `stages`: as of Instance, or empty. `budget` is in units of `unit`, which divides all sizes.
// O(num_ops^2) cuts at worst.
Inference InferPrecedences(const Problem& problem, const Instance::Stages& stages,
                           std::int64_t unit, std::int64_t budget, std::int64_t max_cuts,
                           Stopper* stopper);

}  // namespace neap::schedule
