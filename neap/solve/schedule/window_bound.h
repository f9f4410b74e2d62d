// SPDX-License-Identifier: Apache-2.0
//
// Lower bounds of large problems, in memory linear in the problem: minimum cuts, and searches of
// some of the operators alone. docs/algorithms/order.md has the proofs. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/flat_cut.h"
#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/order_state.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

// What some operators need in every order, by themselves: a buffer is live while one of them runs
// where that is certain, that is, where a user of it is that operator or before it and one is that
// operator or after it; and from the beginning (to the end) where a user is before (after) all of
// them. No order of the whole problem has a smaller peak than the best order of this one.
struct FreeWindow {
  std::vector<OpIndex> ops;          // of its operators, in the whole problem
  std::vector<BufferIndex> buffers;  // likewise; -1: of several
  Problem problem;
};

// `ops`: operators that are at steps begin, begin + 1, ... of a valid order `order`.
// O(size of the problem * ops / 64).
FreeWindow MakeFreeWindow(const FlatProblem& flat, const std::vector<OpIndex>& order,
                          std::int32_t begin, std::int32_t end);

// A lower bound and why it holds, in terms of schedule::Outcome.
struct Bound {
  std::int64_t bytes = 0;
  Proof proof = Proof::kSingleOp;
  OpIndex op = -1;
  std::vector<CutPath> witness;
  bool reversed = false;
  std::int64_t states = 0;
};

// Raises `bound` where the hills of `state`, an order as good as known, allow it, until it meets
// the peak or no work or time is left. Cuts of the operators with the highest hills first, then
// windows around the highest step.
void RaiseBounds(const OrderState& state, FlatCut* cut, const Limits& limits, Bound* bound);

}  // namespace neap::schedule
