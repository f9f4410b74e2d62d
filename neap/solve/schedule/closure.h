// SPDX-License-Identifier: Apache-2.0
//
// Forced closure: an order in which every operator runs as soon as it can do so without loss.
// docs/algorithms/order.md has the proof that no peak grows. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

// `order`, with every operator moved forward to the first place where it is ready, leaves no more
// bytes live than it finds and stays within `budget`; of several, the one that needs least.
// `reversed`: the same from the end: operators move backward. Where the peak of `order` is at most
// `budget`, so is that of the result; and where all operators that run up to some operator can be
// completed within `budget` at all, they still can. `order` is a valid order, and so is the result.
// O(size of the problem * log ops).
std::vector<OpIndex> ClosePass(const FlatProblem& flat, const std::vector<OpIndex>& order,
                               std::int64_t budget, bool reversed);

struct RankedOrder {
  std::vector<OpIndex> order;
  std::int64_t peak_bytes = 0;
};

// Passes in both directions, each within the peak of the order before, until two in a row change no
// peak, or no work or time is left. The peak never grows. `start.peak_bytes` is that of its order.
RankedOrder Close(const FlatProblem& flat, RankedOrder start, const Limits& limits);

// Ready operators that leave the fewest bytes live first; of those the one that needs least, then
// the one that `preference` names first. `reversed`: built from the end. O(size * log ops).
std::vector<OpIndex> ListOrder(const FlatProblem& flat, const std::vector<OpIndex>& preference,
                               bool reversed);

// Depth first from the operators without successors; of the predecessors the one first whose part,
// as far as it has not been visited, needs the most bytes beyond those that it leaves (the rule of
// Sethi and Ullman, 1970, which is optimal on trees without in-place operators). O(size * log ops).
std::vector<OpIndex> LabelledDepthFirstOrder(const FlatProblem& flat,
                                             const std::vector<OpIndex>& file_order);

// `given` and five orders that cost next to nothing (that of the problem, two lists, two depth
// first), each closed in both directions, lowest first: the first is no higher than `given`. Fewer
// of them where no work or time is left.
std::vector<RankedOrder> ClosedOrders(const FlatProblem& flat, RankedOrder given,
                                      const Limits& limits);

// About nanoseconds that one pass costs.
std::int64_t PassWork(const FlatProblem& flat);

}  // namespace neap::schedule
