// SPDX-License-Identifier: Apache-2.0
//
// All topological orders, one after the other. Private to neap/schedule.
#pragma once

#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

// Source: SERENITY (MLSys 2020), section 2.3: the brute force that the dynamic program is compared
//   with, over topological orders.
// Deviations: leaves a prefix whose peak is no lower than that of the best order so far (the
// trivial
//   bound); the first order tried is the best of the cheap ones.
// Invariant: the walk contains the prefix on the stack; every order with a smaller peak than the
// best
//   one has a prefix that is still to be entered.
// Cost: as many states (prefixes) as there are, up to num_ops! ones; memory linear in the problem.
// Proves its result when it finishes; a limit leaves the best order so far, or a cheap one, with
// the bound of the largest single operator. Without any limit it does not end on graphs of more
// than some 15 operators.
Outcome Exhaustive(const Problem& problem, const Limits& limits,
                   const std::vector<OpIndex>& file_order);

}  // namespace neap::schedule
