// SPDX-License-Identifier: Apache-2.0
//
// Is there an order whose peak is at most B? Depth-first search over closed states, with a table of
// refuted states and commitment to waypoints. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/expander.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/state_table.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {

enum class Verdict : std::uint8_t { kFeasible, kInfeasible, kUnknown };

class Decider {
 public:
  // Small searches end without waypoints, which cost a maximum flow each.
  static constexpr std::int64_t kCommitFrom = 1'000;

  // `expander`: of `instance`; both outlive this. Searches that share one do not run at once.
  // Commits to waypoints after `commit_from` states.
  Decider(const Instance& instance, Expander* expander, std::int64_t max_table_bytes,
          std::int64_t commit_from = kCommitFrom);

  // kFeasible: `order` receives an order with peak <= budget. kInfeasible: there is none, proven.
  // kUnknown: `max_states` states or the stopper ended the search; refuted states are kept for the
  // next call, also with another budget.
  Verdict Decide(std::int64_t budget, std::int64_t max_states, Stopper* stopper,
                 std::vector<OpIndex>* order);

  // After kUnknown: the share of the search tree that was refuted, in 2^-30, estimated as if all
  // branches of a state were equally large (Knuth 1975). Chooses between directions; proves
  // nothing.
  std::int64_t Progress() const;

 private:
  // States on the stack have strictly increasing live bytes: a state that does not is replaced,
  // with the ancestors it is no higher than, by the waypoint between them (the commit theorem).
  struct Frame {
    State state;
    std::size_t path_end = 0;  // path_[0, path_end) leads here
    Moves moves;
    std::size_t next = 0;
  };
  Verdict Begin(std::vector<OpIndex>* order);
  void Push();
  void Commit();
  bool Complete() const;

  const Instance& instance_;
  Expander& expander_;
  CutFinder cuts_;
  StateTable table_;
  std::vector<Frame> stack_;
  std::size_t depth_ = 0;  // frames in use; the rest keep their memory
  std::vector<OpIndex> path_;
  State state_;  // the one being entered
  std::vector<Word> waypoint_;
  std::int64_t budget_ = -1;
  std::int64_t since_begin_ = 0;  // states
  std::int64_t commit_from_;
};

}  // namespace neap::schedule
