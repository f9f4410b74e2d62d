// SPDX-License-Identifier: Apache-2.0
//
// One search state at a time: the operators that may be run at once without loss (closure), and the
// moves that are enough to branch on. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/schedule/instance.h"

namespace neap::schedule {

// A set of operators to run next, in any topological order.
struct Move {
  std::int64_t hill = 0;  // most live bytes while they run
  std::int64_t live = 0;  // live bytes afterwards
  std::vector<Word> ops;
};

class Expander {
 public:
  explicit Expander(const Instance& instance);

  // Runs every operator that is ready, fits (hill <= budget) and leaves no more bytes live than
  // before, until there is none: such an operator may always come next (single forced operator;
  // docs/algorithms/order.md). Appends what it runs to `path`.
  void Close(Word* executed, std::int64_t* live, std::int64_t budget, std::vector<OpIndex>* path);

  // Moves from a closed state within the budget that are enough to branch on, best first (least
  // live bytes, then least hill, then least operators). None: the state is a dead end. On a pure
  // instance: the next-freed-buffer moves, otherwise every ready operator by itself.
  void Moves(const Word* executed, std::int64_t live, std::int64_t budget,
             std::vector<Move>* moves);

  // Appends the operators of a move to `path` in topological order.
  void AppendInOrder(const Word* ops, std::vector<OpIndex>* path) const;

 private:
  void SingleMoves(const Word* executed, std::int64_t live, std::int64_t budget,
                   std::vector<Move>* moves);
  void NextFreedMoves(const Word* executed, std::int64_t live, std::int64_t budget,
                      std::vector<Move>* moves);

  const Instance& instance_;
  std::vector<std::int32_t> rank_;  // position in the instance's topological order
  // Per buffer that can be freed: all its users and their ancestors.
  BitRows needed_;
  struct Freeable {
    BufferIndex buffer;
    std::size_t end_word;  // behind the last word of the row that is not zero
  };
  std::vector<Freeable> freeable_;
  std::vector<OpIndex> ready_;
  std::vector<char> can_be_forced_;  // per operator
  struct Candidate {
    std::int64_t adds;
    std::int64_t frees;
    int count;
    std::size_t row;    // in rows_
    std::size_t pivot;  // a word of the row that is not zero
  };
  std::vector<Candidate> candidates_;
  std::vector<Word> rows_;
  std::vector<Word> row_;
};

}  // namespace neap::schedule
