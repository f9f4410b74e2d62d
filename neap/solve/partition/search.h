// SPDX-License-Identifier: Apache-2.0
//
// Dynamic programming over downsets, for assignments that are cheaper than a bound. Private to
// neap/pipeline.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/partition/certificate.h"
#include "neap/solve/partition/lattice.h"
#include "neap/solve/partition/load.h"
#include "neap/solve/partition/problem.h"

namespace neap::partition {

// Counts states over all searches of one solution.
class StateBudget {
 public:
  explicit StateBudget(const Limits& limits);
  // False: stop now.
  bool Spend();
  // States that the searches from here on may use together.
  void Allow(std::int64_t states);
  std::int64_t states() const { return states_; }
  std::int64_t max_states() const { return max_states_; }
  bool interrupted() const { return interrupted_; }
  std::int64_t max_memory_bytes() const { return limits_.max_memory_bytes; }

 private:
  const Limits& limits_;
  std::int64_t max_states_;
  std::int64_t allowed_;
  std::int64_t states_ = 0;
  bool interrupted_ = false;
  Limits::Clock::time_point end_;
};

// Necessary for a rest that costs at most `most` a stage: its fixed costs, computing costs and
// parameters do, when they are spread perfectly over `stages`.
bool RestMayFit(const Machine& machine, std::int64_t compute, std::int64_t parameters, Stage stages,
                std::int64_t most);

class DownsetSearch {
 public:
  // `problem` has no groups and outlives this, like `budget`.
  DownsetSearch(const Problem& problem, StateBudget* budget);

  // Searches for the cheapest assignment below `bound`. With a shared link: for the one below
  // `bound` with the lowest link cost, since an assignment that is better in one cost may be worse
  // in the other. False: the budget ended it first.
  bool Run(std::int64_t bound);
  // The result; nullopt: none found.
  std::optional<Assignment> Found() const;
  // After an exhausted search: the downsets that stages below `bound` lead to, where `bound` is at
  // most that of the search and of its result; with a shared link only after a search without a
  // result.
  Layers LayersBelow(std::int64_t bound) const;
  DownsetIndex downsets() const { return lattice_.size(); }

 private:
  struct Step {
    DownsetIndex set;
    std::size_t next = 0;
    OpIndex added;
  };
  void Reserve();
  std::int64_t& Best(DownsetIndex set, Stage stages) {
    return best_[static_cast<std::size_t>(set) * width_ + static_cast<std::size_t>(stages)];
  }
  std::int64_t Best(DownsetIndex set, Stage stages) const {
    return best_[static_cast<std::size_t>(set) * width_ + static_cast<std::size_t>(stages)];
  }
  bool IsAlive(DownsetIndex set, Stage stages, std::int64_t bound) const;
  bool Expand(DownsetIndex set);
  void Reach(DownsetIndex from, DownsetIndex to);

  const Problem& problem_;
  StateBudget* budget_;
  Lattice lattice_;
  ByOperator lists_;
  StageLoad load_;
  std::size_t width_;
  std::int64_t bound_ = 0;
  // By downset and number of stages: the cost of the costliest, or of the link that they share.
  std::vector<std::int64_t> best_;
  std::vector<DownsetIndex> from_;  // the same
  std::vector<bool> reached_;
  std::vector<DownsetIndex> seen_;                  // by downset: for which one it was last reached
  std::vector<std::vector<DownsetIndex>> waiting_;  // by number of operators
  std::vector<Stage> alive_;
  std::vector<Step> stack_;
  DownsetIndex whole_ = Lattice::kUnknown;
};

}  // namespace neap::partition
