// SPDX-License-Identifier: Apache-2.0
//
// Selection rules of compilers for large models, as baselines. Memory linear in the problem;
// `file_order` is a valid order of all operators. Private to neap/schedule.
#pragma once

#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/flat_problem.h"

namespace neap::schedule {

// Source: the list scheduler of XLA (hlo_memory_scheduler). At each step the ready operator that
// frees the most bytes, less those that it allocates; ties by the larger number of consumers, then
// by the one whose priority changed last.
// Deviations: bytes of graph inputs count when they are freed, because they are freed here. Scalar
// results get no precedence, because a problem has no shapes.
// O(size of the problem * log ops). Empty: no work or time is left.
std::vector<OpIndex> XlaListOrder(const FlatProblem& flat, const std::vector<OpIndex>& file_order,
                                  const Limits& limits);

// Source: LPMF of PyTorch's Inductor (memory.py), after a paper on Simulink models (DAC 2006).
// Where ready operators fit under the highest peak so far, the one of them that leaves the fewest
// live bytes; otherwise the one that needs the fewest bytes. Ties by the live bytes that an
// operator leaves, then by the file order. Deviation: scratch is added to the outputs; Inductor has
// none. Operators that fit and those that do not are in two heaps, so that a step costs O(log ops)
// unless the free bytes below the peak change. Empty: no work or time is left.
std::vector<OpIndex> LeastPeakFirstOrder(const FlatProblem& flat,
                                         const std::vector<OpIndex>& file_order,
                                         const Limits& limits);

}  // namespace neap::schedule
