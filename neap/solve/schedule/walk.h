// SPDX-License-Identifier: Apache-2.0
//
// One order, step by step, forwards and backwards, in memory linear in the problem: counters
// instead of the bit rows of Instance, so that it also serves problems that are too large for
// those. Private to neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

class Walk {
 public:
  // `problem` passes Validate() and outlives this.
  explicit Walk(const Problem& problem);

  std::int64_t live() const { return live_; }
  // The operators that nothing precedes, in increasing order.
  const std::vector<OpIndex>& sources() const { return sources_; }

  // Effect of the ready operator `op` now. O(buffers of op).
  Effect EffectOf(OpIndex op) const;
  // Runs a ready operator; appends the operators that become ready to `ready`.
  // O(buffers and successors of op).
  void Run(OpIndex op, std::vector<OpIndex>* ready);
  // Undoes `op`, the last one run; `live` is the value of live() before it.
  void Undo(OpIndex op, std::int64_t live);

 private:
  static std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }
  std::int64_t TakenOver(const TakeOver& part) const;

  const Problem& problem_;
  std::int64_t live_ = 0;
  std::vector<OpIndex> sources_;
  std::vector<std::vector<OpIndex>> successors_;
  std::vector<std::vector<BufferIndex>> buffers_of_;
  std::vector<std::int32_t> missing_;    // per operator: predecessors that have not run
  std::vector<std::size_t> touched_;     // per buffer: users that have run
  std::vector<InPlace> in_place_;        // per operator
  std::vector<std::int32_t> take_over_;  // per operator: index into the problem's, or -1
};

}  // namespace neap::schedule
