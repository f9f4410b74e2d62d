// SPDX-License-Identifier: Apache-2.0
//
// A partial order that grows operator by operator, from either end, with what every other operator
// would do to memory next. Private to neap/schedule.
//
// The bytes that an operator adds while it runs, and the bytes that it leaves live, only fall as
// operators run before it ("hills shrink as D grows", docs/algorithms/order.md). So a heap of
// operators by either number needs no deletions: an entry that is out of date is too large, and
// the entry that replaces it is removed first.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/solve/schedule/flat_problem.h"

namespace neap::schedule {

class Frontier {
 public:
  // `reversed`: from the last operator backwards: precedences and what is live at start and at end
  // change places, hills stay the same. `flat` outlives this. O(size of the problem).
  Frontier(const FlatProblem& flat, bool reversed);

  std::int64_t live() const { return live_; }
  bool HasRun(OpIndex op) const { return missing_[At(op)] < 0; }
  bool IsReady(OpIndex op) const { return missing_[At(op)] == 0; }
  // Bytes by which the hill of `op` would exceed live(). O(1); of an operator that takes over,
  // O(its lists).
  std::int64_t Need(OpIndex op) const;
  // live() after `op` less live() before; forced operators have no more than 0. O(1).
  std::int64_t Change(OpIndex op) const { return adds_[At(op)] - frees_[At(op)]; }

  // Runs a ready operator. Appends to `changed` every operator that became ready, and every ready
  // one whose Need() or Change() fell; operators may occur several times. All runs together take
  // O(size of the problem).
  void Run(OpIndex op, std::vector<OpIndex>* changed);

 private:
  std::span<const OpIndex> After(OpIndex op) const {
    return reversed_ ? flat_.Predecessors(op) : flat_.Successors(op);
  }
  bool AtStart(const Buffer& buffer) const {
    return reversed_ ? buffer.live_at_end : buffer.live_at_start;
  }
  bool AtEnd(const Buffer& buffer) const {
    return reversed_ ? buffer.live_at_start : buffer.live_at_end;
  }
  std::int64_t Shared(OpIndex op) const;
  void Begin(BufferIndex index, OpIndex op, std::vector<OpIndex>* changed);
  void CreditLastUser(BufferIndex index, std::vector<OpIndex>* changed);

  const FlatProblem& flat_;
  bool reversed_;
  std::int64_t live_ = 0;
  std::vector<std::int32_t> missing_;  // per operator: those before it that have not run; -1: ran
  std::vector<std::int64_t> adds_;     // per operator: bytes of its buffers that are not live yet
  std::vector<std::int64_t> frees_;    // per operator: bytes of its buffers that wait for it alone
  std::vector<std::int32_t> remaining_;  // per buffer: users that have not run
};

}  // namespace neap::schedule
