// SPDX-License-Identifier: Apache-2.0
//
// One order with the hill of every step, changed in place where operators move. Memory linear in
// the problem. Private to neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

class OrderState {
 public:
  // `order`: a valid order of all operators, of which there is at least one. `flat` outlives this.
  // O(size of the problem).
  OrderState(const FlatProblem& flat, std::vector<OpIndex> order);

  const FlatProblem& flat() const { return flat_; }
  const std::vector<OpIndex>& order() const { return order_; }
  std::int32_t size() const { return static_cast<std::int32_t>(order_.size()); }
  OpIndex OpAt(std::int32_t step) const { return order_[At(step)]; }
  std::int32_t Place(OpIndex op) const { return place_[At(op)]; }
  std::int64_t Bytes(BufferIndex buffer) const { return bytes_[At(buffer)]; }
  // First and last step at which a user of the buffer runs. First: -1 where it is live at start.
  // Last: size() where it is live at end. A buffer without users is first used after the end.
  std::int32_t First(BufferIndex buffer) const {
    const OpIndex op = first_[At(buffer)];
    return op >= 0 ? place_[At(op)] : op == kOutside ? -1 : size();
  }
  std::int32_t Last(BufferIndex buffer) const {
    const OpIndex op = last_[At(buffer)];
    return op >= 0 ? place_[At(op)] : op == kOutside ? size() : -1;
  }

  std::int64_t Hill(std::int32_t step) const { return tree_[leaves_ + At(step)]; }
  // Live bytes between `step` and the one after it; -1: before the first step.
  std::int64_t LiveAfter(std::int32_t step) const { return live_after_[At(step + 1)]; }
  std::int64_t Peak() const { return tree_[1]; }
  // The first step of that height.
  std::int32_t PeakStep() const;
  // A step whose hill exceeds `bytes`, which are less than Peak(). O(log).
  std::int32_t RandomStepAbove(std::int64_t bytes, Random* random) const;

  // Puts `ops`, which are the operators at begin, begin + 1, ... in another valid order, there.
  // O(lists of these operators + log).
  void Replace(std::int32_t begin, std::span<const OpIndex> ops);

 private:
  friend class Passage;  // moves single operators
  enum : OpIndex { kOutside = -1, kNone = -2 };
  std::int64_t Shared(OpIndex op, std::int32_t step) const;
  void Measure(std::int32_t begin, std::int32_t end);
  void UpdateTree(std::size_t begin, std::size_t end);

  const FlatProblem& flat_;
  std::vector<OpIndex> order_;
  std::vector<std::int32_t> place_;  // per operator
  std::vector<std::int64_t> bytes_;  // per buffer
  std::vector<OpIndex> first_;       // likewise: its first user, kOutside: live at start, kNone
  std::vector<OpIndex> last_;        // its last user, kOutside: live at end, kNone
  std::vector<std::int64_t> live_after_;  // per step, and one before
  // Node k is the larger of nodes 2k and 2k + 1; the hills are the leaves, from leaves_ on.
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> tree_;
};

}  // namespace neap::schedule
