// SPDX-License-Identifier: Apache-2.0
//
// A problem compiled for search: indices, masks and constant sums that every search step reads.
// Private to neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/solve/schedule/bits.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

// The effect on memory of running one operator after a downset.
struct Effect {
  std::int64_t hill = 0;  // live bytes while it runs
  std::int64_t live = 0;  // live bytes afterwards
};

// The search sees both directions through this one type: the reversed instance has its precedences
// turned round and live_at_start swapped with live_at_end. Hills are the same in both directions
// (everything an operator touches is live while it runs), so a reversed order has the same peak.
//
// Running an operator is a list of stages. Each touches some buffers, then reaches its peak, then
// frees the buffers without further users. Ordinary operators have one stage, in-place operators
// and those that take over two (the input is freed before the output starts), fused operators
// (fusion.h) as many as needed.
class Instance {
 public:
  struct CompiledBuffer {
    std::int64_t bytes;
    bool at_start;
    bool at_end;
    // The one user that precedes all others; -1 where there is none or the buffer is live at start.
    OpIndex first;
    // The one user that all others precede; -1 where there is none or the buffer is live at end.
    OpIndex last;
    std::vector<OpIndex> users;
  };
  struct Stage {
    std::int64_t peak = 0;  // besides what is live of `buffers()`: scratch, fused buffers
    std::vector<BufferIndex> touched;
    std::vector<BufferIndex> freed;  // touched by no later stage
  };
  // Per operator; empty: an ordinary one, with the scratch of the problem.
  using Stages = std::vector<std::vector<Stage>>;

  // `problem` passes Validate(). All sizes are divided by `unit`, which divides every one of them.
  Instance(const Problem& problem, std::int64_t unit, bool reversed);
  // With operators that run in stages; sizes in bytes, forward.
  Instance(const Problem& problem, const Stages& stages, std::int64_t unit, bool reversed);

  OpIndex num_ops() const { return num_ops_; }
  bool reversed() const { return reversed_; }
  std::size_t words() const { return words_; }
  std::int64_t start_live() const { return start_live_; }
  std::int64_t end_live() const { return end_live_; }
  // Every buffer has one operator that touches it first in every order. Next-freed-buffer branching
  // is proven for such problems only.
  bool one_first_user() const { return one_first_user_; }

  const std::vector<OpIndex>& Predecessors(OpIndex op) const { return predecessors_[At(op)]; }
  const std::vector<OpIndex>& Successors(OpIndex op) const { return successors_[At(op)]; }
  const Word* Ancestors(OpIndex op) const { return ancestors_.Row(op); }
  const Word* Descendants(OpIndex op) const { return descendants_.Row(op); }
  const std::vector<CompiledBuffer>& buffers() const { return buffers_; }
  const std::vector<BufferIndex>& BuffersOf(OpIndex op) const { return buffers_of_[At(op)]; }
  const Word* Users(BufferIndex buffer) const { return users_.Row(buffer); }
  std::int64_t Scratch(OpIndex op) const { return scratch_[At(op)]; }
  // The buffers that an op takes over; nullptr: none.
  const TakeOver* TakeOverOf(OpIndex op) const {
    const std::int32_t index = take_over_index_[At(op)];
    return index < 0 ? nullptr : &take_over_[At(index)];
  }
  // The in-place pair of an op: {-1, -1} where it has none.
  const InPlace& InPlaceOf(OpIndex op) const { return in_place_[At(op)]; }
  // Bytes of the buffers that `op` touches first in every order.
  std::int64_t FirstTouched(OpIndex op) const { return first_touched_[At(op)]; }
  // An arbitrary but fixed topological order, and the position of an operator in it.
  const std::vector<OpIndex>& topological() const { return topological_; }
  std::int32_t Rank(OpIndex op) const { return rank_[At(op)]; }

  bool IsReady(const Word* executed, OpIndex op) const {
    for (const OpIndex before : Predecessors(op)) {
      if (!TestBit(executed, before)) return false;
    }
    return true;
  }
  // Effect of the ready operator `op` after `executed`, whose live bytes are `live`.
  Effect EffectOf(const Word* executed, std::int64_t live, OpIndex op) const;
  // The operator may leave fewer bytes live than before, or as many.
  bool CanBeForced(OpIndex op) const { return can_be_forced_[At(op)] != 0; }
  // Its stages describe its whole effect; false: it has an in-place pair that they do not contain.
  bool IsStaged(OpIndex op) const { return in_place_[At(op)].op < 0 || staged_[At(op)] != 0; }
  // In this instance's direction and units.
  std::vector<Stage> StagesOf(OpIndex op) const;

  // Largest hill of a complete order, by this instance's own arithmetic.
  std::int64_t PeakOf(const std::vector<OpIndex>& order) const;

 private:
  static std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }
  void CompilePrecedences(const Problem& problem, bool reversed);
  void CompileBuffers(const Problem& problem, std::int64_t unit, bool reversed);
  void FindEnds(CompiledBuffer* buffer, BufferIndex index);
  void CompileStages(const Stages& stages, std::int64_t unit, bool reversed);
  std::vector<Stage> OrdinaryStages(OpIndex op, bool reversed) const;
  std::vector<Stage> TakeOverStages(OpIndex op, const TakeOver& part) const;
  void CompileStage(OpIndex op, const Stage& stage);
  std::int64_t SharedBytes(const Word* executed, OpIndex op) const;

  OpIndex num_ops_ = 0;
  std::size_t words_ = 0;
  bool reversed_ = false;
  std::int64_t start_live_ = 0;
  std::int64_t end_live_ = 0;
  bool one_first_user_ = true;
  std::vector<std::vector<OpIndex>> predecessors_;
  std::vector<std::vector<OpIndex>> successors_;
  std::vector<OpIndex> topological_;
  std::vector<std::int32_t> rank_;  // position in topological_
  BitRows ancestors_;
  BitRows descendants_;
  BitRows users_;
  std::vector<CompiledBuffer> buffers_;
  std::vector<std::vector<BufferIndex>> buffers_of_;
  std::vector<std::int64_t> scratch_;
  std::vector<std::int64_t> first_touched_;
  std::vector<InPlace> in_place_;
  std::vector<TakeOver> take_over_;            // of the problem
  std::vector<std::int32_t> take_over_index_;  // per operator: into take_over_, or -1

  // The certain bytes of a stage are summed up; the lists contain the buffers that depend on the
  // executed set.
  struct CompiledStage {
    std::int64_t peak = 0;
    std::int64_t adds = 0;
    std::int64_t frees = 0;
    std::uint32_t touched_begin = 0;
    std::uint32_t touched_end = 0;
    std::uint32_t freed_begin = 0;
    std::uint32_t freed_end = 0;
  };
  std::vector<std::uint32_t> stage_begin_;  // per operator, and one more
  std::vector<CompiledStage> stages_;
  std::vector<BufferIndex> stage_buffers_;
  std::vector<char> staged_;               // per operator: its in-place pair is in its stages
  std::vector<char> can_be_forced_;        // per operator
  std::vector<std::vector<Stage>> given_;  // of fused operators, in this direction and unit
};

// About nanoseconds that the Instance of a problem costs.
std::int64_t InstanceWork(const Problem& problem);

}  // namespace neap::schedule
