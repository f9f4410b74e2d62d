// SPDX-License-Identifier: Apache-2.0
//
// The minimum cost of repetitions within a peak, by A*. Private to neap/rematerialise.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/rematerialise/problem.h"

namespace neap::rematerialise {

struct Answer {
  enum class Kind : std::uint8_t {
    kFound,  // `sequence` has the minimum cost of all with a peak within the bound
    kNone,   // no sequence whose repetitions cost at most the maximum is within the bound
    kLimit,  // states, time or an interrupt ended the search
  };
  Kind kind = Kind::kLimit;
  std::vector<OpIndex> sequence;
};

class ExactSearch {
 public:
  // Whether the problem has at most 64 operators and 64 values.
  static bool Accepts(const Problem& problem);

  // `problem` outlives this.
  explicit ExactSearch(const Problem& problem);

  // Sequences of peak at most `peak_bytes` whose repetitions cost at most `max_extra`. Adds the
  // states that it looks at to `states` and ends before these are more than `max_states`.
  Answer Find(std::int64_t peak_bytes, std::int64_t max_extra, std::int64_t max_states,
              const Limits& limits, std::int64_t* states) const;

 private:
  friend class ExactRun;
  using Mask = std::uint64_t;

  // The values of `live` whose copies may still be read when the operators `done` have run.
  Mask UsefulValues(Mask done) const;
  std::int64_t BytesOf(Mask values) const;
  // The cost of operators that have to run again: a lower bound; -1 where no sequence exists.
  std::int64_t CostToGo(Mask done, Mask live) const;

  const Problem& problem_;
  std::vector<OpIndex> order_;  // topological
  std::vector<Mask> reads_;     // per operator
  std::vector<Mask> writes_;    // per operator
  std::vector<Mask> before_;    // per operator: operators whose first run comes first
  std::vector<Mask> readers_;   // per value
  Mask all_ops_ = 0;
  Mask inputs_ = 0;        // values without a writer
  Mask ends_ = 0;          // values that are live at the end
  Mask recomputable_ = 0;  // values with a repeatable writer
};

}  // namespace neap::rematerialise
