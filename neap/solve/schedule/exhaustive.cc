// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/exhaustive.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/stopper.h"
#include "neap/solve/schedule/walk.h"

namespace neap::schedule {
namespace {

class Enumeration {
 public:
  Enumeration(const Problem& problem, const Limits& limits, const std::vector<OpIndex>& file_order)
      : ops_(static_cast<std::size_t>(problem.num_ops)),
        walk_(problem),
        stopper_(limits),
        outcome_(FallbackOutcome(problem, limits, file_order)) {
    ready_ = walk_.sources();
    stopper_.SetSize(0);
  }

  Outcome Run() {
    stopper_.SetBounds(outcome_.peak_bytes, outcome_.lower_bound_bytes);
    Enter(0);
    while (!stack_.empty() && !stopper_.stopped()) {
      Frame& top = stack_.back();
      if (top.next == top.choices) {
        Leave();
      } else {
        Step(top.next++);
      }
    }
    if (best_ <= outcome_.peak_bytes) {
      outcome_.order = std::move(best_order_);
      outcome_.peak_bytes = best_;
    }
    if (!stopper_.stopped()) RaiseBound(outcome_.peak_bytes, &outcome_);
    outcome_.states = stopper_.states();
    outcome_.transitions = transitions_;
    outcome_.interrupted = stopper_.interrupted();
    return std::move(outcome_);
  }

 private:
  // A prefix. ready_[0, choices) are the operators that may follow it.
  struct Frame {
    std::int64_t peak;
    std::int64_t live;
    std::size_t choices;
    std::size_t next;      // the first choice not tried yet
    std::size_t chosen;    // position of the last operator in the ready list of its parent
    std::size_t appended;  // operators that it made ready
  };

  void Enter(std::int64_t peak) {
    stack_.push_back({peak, walk_.live(), ready_.size(), 0, 0, 0});
    stopper_.Count();
  }

  void Step(std::size_t choice) {
    const OpIndex op = ready_[choice];
    ++transitions_;
    const std::int64_t peak = std::max(stack_.back().peak, walk_.EffectOf(op).hill);
    if (peak >= best_) return;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(choice));
    const std::size_t before = ready_.size();
    walk_.Run(op, &ready_);
    prefix_.push_back(op);
    Enter(peak);
    stack_.back().chosen = choice;
    stack_.back().appended = ready_.size() - before;
    if (prefix_.size() < ops_) return;
    best_order_ = prefix_;
    best_ = peak;
    stopper_.SetBounds(std::min(peak, outcome_.peak_bytes), outcome_.lower_bound_bytes);
  }

  // Takes back the operator that led to the prefix on top.
  void Leave() {
    const Frame top = stack_.back();
    stack_.pop_back();
    if (stack_.empty()) return;
    ready_.resize(ready_.size() - top.appended);
    const OpIndex op = prefix_.back();
    prefix_.pop_back();
    ready_.insert(ready_.begin() + static_cast<std::ptrdiff_t>(top.chosen), op);
    walk_.Undo(op, stack_.back().live);
  }

  std::size_t ops_;
  Walk walk_;
  Stopper stopper_;
  Outcome outcome_;  // a cheap order until the end
  std::int64_t best_ = std::numeric_limits<std::int64_t>::max();
  std::vector<OpIndex> best_order_;
  std::vector<OpIndex> ready_;
  std::vector<OpIndex> prefix_;
  std::vector<Frame> stack_;
  std::int64_t transitions_ = 0;
};

}  // namespace

Outcome Exhaustive(const Problem& problem, const Limits& limits,
                   const std::vector<OpIndex>& file_order) {
  if (problem.num_ops == 0) return {};
  return Enumeration(problem, limits, file_order).Run();
}

}  // namespace neap::schedule
