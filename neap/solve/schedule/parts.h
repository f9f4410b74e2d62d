// SPDX-License-Identifier: Apache-2.0
//
// Hourglass splits (divide and conquer): an operator that is comparable with every other one has
// the same operators before it in every order, so the problem falls apart there. SERENITY (MLSys
// 2020), section 3.2, cuts only where a single tensor is live; here any number of tensors may jump
// the cut. Private to neap/schedule.
#pragma once

#include <vector>

#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

struct Part {
  std::vector<OpIndex> ops;          // of the whole problem; position = index in `problem`
  Problem problem;                   // a buffer that is live across it has no users in it
  std::vector<BufferIndex> buffers;  // of the whole problem; -1: the one without users
};

// In order; the concatenation of orders of the parts is an order of the problem, its peak is the
// largest of theirs, and nothing is lost. O(ops + precedences + buffer users).
std::vector<Part> SplitAtHourglasses(const Problem& problem);

}  // namespace neap::schedule
