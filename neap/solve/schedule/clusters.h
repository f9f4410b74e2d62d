// SPDX-License-Identifier: Apache-2.0
//
// Next-freed-buffer branching: every completion frees some buffer first, so it suffices to try the
// operators required for each buffer. Private to neap/solve/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/solve/schedule/instance.h"

namespace neap::schedule {

// Notions (proofs: docs/algorithms/order.md, "Next freed buffer"):
// * cluster of a buffer: its users and all their ancestors that have not run.
// * volume(v): bytes that v touches first; height(v, F): the maximum bytes that v needs beyond
//   those live when it begins, if the buffers F are freed early, in a stage before its last one.
// * extra(v) = height(v, {}) - volume(v): scratch and the like.
// * early set of v: an F such that each proper subset leaves a greater height. Its cluster is that
//   of all its buffers together.
// * slack of a cluster: how much extra others may have that run after it instead of before.
// Moves: the inclusion-minimal clusters; the cluster of an early set also when a smaller one
// contains its operator; and for each operator z with more extra than the slack of a cluster that
// could run after it: z with its ancestors.
class Clusters {
 public:
  // All of them are needed; only tests, which show that, leave one out.
  struct Rules {
    bool early_sets = true;
    bool tall_operators = true;
  };
  // `wanted` false: an object that is not usable.
  Clusters(const Instance& instance, bool wanted, const Rules& rules);

  // Each buffer has one first user, and no operator has too many early sets.
  bool usable() const { return usable_; }
  // Operators that may need moves of their own.
  std::int64_t tall() const { return static_cast<std::int64_t>(tall_.size()); }

  struct Found {
    std::size_t row;  // in rows()
    OpIndex last;     // runs last; -1: any order will do
    std::int64_t hill;
    std::int64_t live;
  };
  // The moves from a closed state, in `found()`. Only when usable().
  void Find(const Word* executed, std::int64_t live, std::int64_t budget);
  const std::vector<Found>& found() const { return found_; }
  // About nanoseconds that the last Find() took.
  std::int64_t find_work() const { return find_work_; }
  const std::vector<Word>& rows() const { return rows_; }

  // The operators of `row` in an order whose largest hill before `last` (-1: none) is lowest.
  void Order(const Word* row, OpIndex last, std::vector<OpIndex>* order) const;

 private:
  struct Cluster {
    std::int64_t bytes = 0;  // freed by it
    std::int64_t slack = 0;
    std::int64_t min_extra = 0;  // of an operator that may run last; below 0: an early set
    std::vector<OpIndex> pins;   // operators with this early set
    std::size_t end_word = 0;    // behind the last word of its row that is not zero
    bool is_buffer = true;       // of one buffer; else of an early set of several
  };
  struct Candidate {
    const Cluster* cluster;
    std::int64_t adds;
    std::int64_t frees;
    int count;
    std::size_t row;
    std::size_t pivot;  // a word of the row that is not zero
  };

  void Compile();
  void AddBuffer(const Instance::CompiledBuffer& buffer);
  std::int64_t LeastExtra(OpIndex op) const;
  void CompileRows(const std::vector<std::vector<BufferIndex>>& buffers_of);
  void AddEarlySets(OpIndex op);
  std::int64_t HeightOf(const std::vector<Instance::Stage>& stages, OpIndex op,
                        const std::vector<BufferIndex>& early) const;
  bool Collect(const Word* executed, std::int64_t room);
  void KeepMinimal();
  void Judge(const Candidate& candidate, std::int64_t live, std::int64_t budget);
  bool Try(std::size_t row, OpIndex last, std::int64_t live, std::int64_t budget, Found* found);
  void AddTall(const Word* executed, std::int64_t live, std::int64_t budget);
  bool IsCalledFor(OpIndex op, std::int64_t room) const;
  std::int64_t Volume(const Word* row) const;
  void RunRest(std::int64_t live, std::int64_t budget);

  const Instance& instance_;
  Rules rules_;
  std::size_t words_;
  bool usable_ = false;
  bool plain_ = true;                // no extra, no early sets: any order of a cluster will do
  std::vector<std::int64_t> extra_;  // per operator
  std::vector<std::vector<std::vector<BufferIndex>>> early_;  // per operator: its early sets
  std::vector<std::vector<std::int64_t>> early_height_;
  BitRows needed_;  // per cluster
  std::vector<Cluster> clusters_;
  std::vector<OpIndex> tall_;  // operators with more extra than the least slack
  const Word* executed_ = nullptr;
  std::vector<Candidate> candidates_;
  std::vector<const Candidate*> fitting_;
  std::vector<Found> found_;
  std::int64_t find_work_ = 0;
  std::vector<Word> rows_;
  std::vector<Word> row_;
  mutable std::vector<OpIndex> order_;
};

}  // namespace neap::schedule
