// SPDX-License-Identifier: Apache-2.0
//
// One search state at a time: the operators that may be run at once without loss (closure), and the
// moves that are enough to branch on. Private to neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/solve/schedule/clusters.h"
#include "neap/solve/schedule/instance.h"

namespace neap::schedule {

// The executed operators, the ready operators, and the live bytes.
struct State {
  std::vector<Word> executed;
  std::vector<Word> ready;
  std::int64_t live = 0;
};

// One operator, or a set of operators with everything that they wait for.
struct Move {
  std::int64_t hill = 0;  // maximum live bytes while they run
  std::int64_t live = 0;  // live bytes afterwards
  OpIndex op = -1;        // the one that runs last; -1: any
  std::int32_t row = -1;  // of Moves::rows; -1: `op` alone
};
struct Moves {
  std::vector<Move> list;
  std::vector<Word> rows;
};

class Expander {
 public:
  // `next_freed`: branch over clusters where the instance allows it (clusters.h).
  explicit Expander(const Instance& instance, bool next_freed = true,
                    const Clusters::Rules& rules = {});

  State Start() const;
  // Makes `ready` agree with `executed`.
  void FindReady(State* state) const;

  // Runs every operator that is ready, fits (hill <= budget) and leaves no more bytes live than
  // before, until there is none: such an operator may always come next (single forced operator;
  // docs/algorithms/order.md). Appends what it runs to `path`.
  void Close(State* state, std::int64_t budget, std::vector<OpIndex>* path);

  // Moves from a closed state within the budget that are enough to branch on, best first (least
  // live bytes, then least hill). None: the state is a dead end. Next-freed-buffer moves, or else
  // every ready operator by itself.
  void FindMoves(const State& state, std::int64_t budget, Moves* moves);

  // About nanoseconds that the last FindMoves() took, where that depends on the clusters.
  std::int64_t find_work() const { return clusters_.find_work(); }

  // Runs a move of `state`, appending its operators to `path`.
  void Apply(const Moves& moves, const Move& move, State* state, std::vector<OpIndex>* path);

  bool next_freed() const { return clusters_.usable(); }
  std::int64_t tall() const { return clusters_.tall(); }

 private:
  void SingleMoves(const State& state, std::int64_t budget, Moves* moves) const;
  void MarkExecuted(OpIndex op, State* state) const;

  const Instance& instance_;
  Clusters clusters_;
  std::vector<OpIndex> ready_;
  std::vector<OpIndex> order_;
};

}  // namespace neap::schedule
