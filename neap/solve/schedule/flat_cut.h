// SPDX-License-Identifier: Apache-2.0
//
// Minimum cuts as in cut.h, on problems that are too large for the bit rows of Instance: memory and
// the time to build a network are linear in the problem. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/max_flow.h"
#include "neap/solve/schedule/order_state.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

class FlatCut {
 public:
  // `order`: any valid order. Both outlive this.
  FlatCut(const FlatProblem& flat, const std::vector<OpIndex>& order);

  // Least hill of `op` over all orders, or a smaller number where `op` takes over parts of its
  // inputs; or `enough` or more as soon as it is known to be at least `enough`.
  std::int64_t LeastHill(OpIndex op, std::int64_t enough);
  // The same among the orders that have the operators of `state` outside of steps [begin, end)
  // as far as they exist. `op` is inside.
  std::int64_t LeastHillBetween(OpIndex op, const OrderState& state, std::int32_t begin,
                                std::int32_t end);
  // After one of the two that returned less than `enough`: the operators that run before `op` where
  // its hill is lowest; as many of them as possible, or as few.
  enum class Extreme : std::uint8_t { kLargest, kSmallest };
  bool RunsBefore(OpIndex op) const { return before_[At(op)] != 0; }
  void FindBefore(Extreme extreme);

  // The flow that proves LeastHill(op), which comes in `hill`. Not for problems with a TakeOver.
  std::vector<CutPath> Witness(OpIndex op, std::int64_t* hill);

  // About nanoseconds that the last network cost.
  std::int64_t work() const { return work_; }

 private:
  enum : int { kExecuted = MaxFlow::kSource, kWaiting = MaxFlow::kSink };
  void Mark(OpIndex op, int node, std::int32_t begin, std::int32_t end);
  std::int64_t Solve(OpIndex op, std::int64_t enough);
  int TouchedNode(BufferIndex index);
  int FinishedNode(BufferIndex index, OpIndex skip);

  const FlatProblem& flat_;
  const OrderState* state_ = nullptr;
  std::vector<OpIndex> first_;  // per buffer: the user that all others follow directly, or -1
  MaxFlow flow_;
  std::vector<int> node_of_;  // per operator
  std::vector<OpIndex> free_ops_;
  std::vector<OpIndex> queue_;
  std::vector<char> before_;
  std::int64_t work_ = 0;
};

}  // namespace neap::schedule
