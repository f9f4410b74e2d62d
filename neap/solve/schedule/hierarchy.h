// SPDX-License-Identifier: Apache-2.0
//
// Scheduling of groups of operators as single operators, after HMCOS. Private to neap/schedule.
#pragma once

#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

// Source: HMCOS (DAC 2022): the cells of a network are scheduled alone, the network of cells by a
// dynamic program, and the cell at the highest step is dissolved into its sequences of operators,
// then into operators, until the highest step belongs to a single operator.
// Deviations: cells end in an operator with more than two predecessors, where HMCOS has
//   concatenations, because a problem has no kinds of operators. A cell is that operator and, as
//   far as they belong to no other cell, the operators all of whose successors are in the cell, so
//   that groups never wait for each other. Cells and groups are scheduled by SERENITY's dynamic
//   program with soft budgets (serenity.h). The bytes that a group needs are those of its own order
//   where the groups before it have run in file order.
// Returns the lowest order of all rounds; a round whose dynamic program a limit ends is the last.
// Proves nothing beyond the largest single operator.
Outcome Hierarchical(const Problem& problem, const Limits& limits,
                     const std::vector<OpIndex>& file_order);

}  // namespace neap::schedule
