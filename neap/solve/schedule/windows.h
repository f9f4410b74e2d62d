// SPDX-License-Identifier: Apache-2.0
//
// Parts of an order as problems of their own, small enough for the exact search. Private to
// neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/order_state.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

struct Window {
  std::vector<OpIndex> ops;  // of the window's operators, in the whole problem
  Problem problem;
};

class WindowMaker {
 public:
  // `flat` outlives this. O(size of the problem).
  explicit WindowMaker(const FlatProblem& flat);

  // Steps [begin, end) of the order, the rest of which stays as it is: any order of the window's
  // problem has the same hills there as in the place of these steps. The window's operators are in
  // the order of the steps. O(lists of its operators).
  Window Make(const OrderState& state, std::int32_t begin, std::int32_t end);

 private:
  BufferIndex Add(BufferIndex buffer, bool at_start, bool at_end);
  void AddShares(const Window& window);

  const FlatProblem& flat_;
  std::vector<OpIndex> op_in_;          // per operator: its index in the window; -1
  std::vector<BufferIndex> buffer_in_;  // likewise
  std::vector<BufferIndex> added_;
  Problem problem_;
};

// Solves windows around the highest step, small ones first, until none is left that lowers it, or
// no work or time is left; the peak is then at a step that every window leaves as high. Not below
// `floor_bytes`, a proven bound. The peak never rises. True: it fell.
bool LowerByWindows(OrderState* state, WindowMaker* maker, std::int64_t floor_bytes,
                    const Limits& limits);

}  // namespace neap::schedule
