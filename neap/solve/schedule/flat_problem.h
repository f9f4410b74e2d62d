// SPDX-License-Identifier: Apache-2.0
//
// The lists of a problem in flat arrays: what passes over whole orders read. Memory linear in the
// problem, where Instance has bit rows that are quadratic. Private to neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/index.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

class FlatProblem {
 public:
  // `problem` passes Validate() and outlives this. O(size of the problem).
  explicit FlatProblem(const Problem& problem);

  const Problem& problem() const { return problem_; }
  OpIndex num_ops() const { return problem_.num_ops; }
  // Direct neighbours, each once, in increasing order.
  std::span<const OpIndex> Predecessors(OpIndex op) const { return predecessors_.Row(op); }
  std::span<const OpIndex> Successors(OpIndex op) const { return successors_.Row(op); }
  std::span<const BufferIndex> BuffersOf(OpIndex op) const { return buffers_of_.Row(op); }
  const Buffer& BufferAt(BufferIndex index) const { return problem_.buffers[At(index)]; }
  std::int64_t Scratch(OpIndex op) const {
    return problem_.scratch_bytes.empty() ? 0 : problem_.scratch_bytes[At(op)];
  }
  // nullptr: none.
  const InPlace* InPlaceOf(OpIndex op) const {
    return shares_ && in_place_[At(op)] >= 0 ? &problem_.in_place[At(in_place_[At(op)])] : nullptr;
  }
  const TakeOver* TakeOverOf(OpIndex op) const {
    return shares_ && take_over_[At(op)] >= 0 ? &problem_.take_over[At(take_over_[At(op)])]
                                              : nullptr;
  }
  // The op has an InPlace or a TakeOver.
  bool Shares(OpIndex op) const {
    return shares_ && (in_place_[At(op)] >= 0 || take_over_[At(op)] >= 0);
  }
  // Entries of all lists: what a pass over the problem costs is a small multiple.
  std::int64_t Size() const;

 private:
  template <typename Item>
  struct Rows {
    std::vector<std::size_t> begin;  // per row, and one more
    std::vector<Item> items;
    std::span<const Item> Row(std::int32_t row) const {
      return {items.data() + begin[At(row)], begin[At(row) + 1] - begin[At(row)]};
    }
  };
  // Row v: the second of all pairs whose first is v.
  static Rows<OpIndex> RowsOf(OpIndex num_ops,
                              const std::vector<std::pair<OpIndex, OpIndex>>& pairs);

  const Problem& problem_;
  Rows<OpIndex> predecessors_;
  Rows<OpIndex> successors_;
  Rows<BufferIndex> buffers_of_;
  bool shares_ = false;
  std::vector<std::int32_t> in_place_;   // per operator: index in the problem, or -1; empty: none
  std::vector<std::int32_t> take_over_;  // likewise
};

}  // namespace neap::schedule
