// SPDX-License-Identifier: Apache-2.0
//
// Counts states and stops a search at its limits. Private to neap/schedule.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "neap/base/limits.h"
#include "neap/base/work.h"

namespace neap::schedule {

// The approximate nanoseconds per state of a problem with this many operators: a constant, and the
// words of rows that are scanned.
inline std::int64_t StateCost(std::int64_t num_ops) {
  constexpr std::int64_t kAnyState = 400;
  constexpr std::int64_t kWordsAtOnce = 5;
  return kAnyState + num_ops * ((num_ops + 63) / 64) / kWordsAtOnce;
}

class Stopper {
 public:
  explicit Stopper(const Limits& limits)
      : limits_(limits), reported_(LimitNow()), end_(limits.EndOfSearch(reported_)) {}

  // States from here on are those of a problem of so many operators. Those of large problems scan
  // only the rows of operators that are ready: about as many as on a problem of 5,600 operators.
  void SetSize(std::int64_t num_ops) {
    constexpr std::int64_t kMost = 100'000;
    state_cost_ = kWorkOfState * std::min(StateCost(num_ops), kMost);
  }

  using Clock = Limits::Clock;

  // Stops at `end`, where there is a time limit, or after so many states in all, until Resume().
  void PauseAt(Clock::time_point end, std::int64_t states) {
    pause_end_ = end;
    pause_states_ = states;
  }
  // False: it is not paused; a limit has stopped it, or nothing has.
  bool Resume() {
    const bool was_paused = paused_ && !exhausted_ && !interrupted_;
    paused_ = false;
    pause_end_ = Clock::time_point::max();
    pause_states_ = std::numeric_limits<std::int64_t>::max();
    return was_paused;
  }
  // When max_seconds and the deadline end the search; time_point::max(): never.
  Clock::time_point end() const { return end_; }

  // For a search on another thread on this one's behalf: the same clock and stop flag, states of
  // its own. Charge() adds them to this one.
  Stopper Child() const {
    Stopper child(*this);
    child.limits_.max_states = 0;
    child.limits_.observer = nullptr;
    child.charges_ = false;
    child.states_ = 0;
    return child;
  }

  // Counts one state. True: stop now.
  bool Count() {
    ++states_;
    Work(state_cost_);
    LookAtStates();
    return stopped();
  }
  // `states`, or the rest of max_states and of the work if that is less.
  std::int64_t Remaining(std::int64_t states) const {
    if (limits_.max_states > 0) states = std::min(states, limits_.max_states - states_);
    if (charges_) states = std::min(states, WorkLeft() / state_cost_);
    return std::max<std::int64_t>(states, 1);
  }
  // Counts states that another search has expanded on this one's behalf.
  bool Charge(std::int64_t states) {
    states_ += states;
    LookAtStates();
    if (charges_) ChargeWork(states * state_cost_);
    return Look();
  }
  // Counts work that is as dear as so many states, and is none. True: stop now.
  bool WorkOf(std::int64_t states) { return Work(states * state_cost_); }
  // Counts work of a state that costs so much in all, as far as it is more than states are taken to
  // cost. True: stop now.
  bool WorkBeyondState(std::int64_t nanoseconds) {
    return Work(std::max<std::int64_t>(nanoseconds - state_cost_, 0));
  }
  // Counts work in about nanoseconds. True: stop now.
  bool Work(std::int64_t nanoseconds) {
    if (charges_) ChargeWork(nanoseconds);
    unseen_work_ += nanoseconds;
    if (unseen_work_ >= kWorkPerLook) Look();
    return stopped();
  }
  // Looks at the clock and the stop flag; for work that counts no states.
  bool Look() {
    unseen_work_ = 0;
    if (limits_.Interrupted()) interrupted_ = true;
    if (charges_ && IsOutOfWork()) exhausted_ = true;
    if (limits_.HasTimeLimit() || limits_.observer) {
      const auto now = LimitNow();
      if (now >= end_) interrupted_ = true;
      if (now >= pause_end_) paused_ = true;
      if (limits_.observer && now - reported_ >= std::chrono::milliseconds(100)) {
        reported_ = now;
        limits_.observer({upper_bound_bytes_, lower_bound_bytes_, states_});
      }
    }
    return stopped();
  }
  void SetBounds(std::int64_t upper_bound_bytes, std::int64_t lower_bound_bytes) {
    upper_bound_bytes_ = upper_bound_bytes;
    lower_bound_bytes_ = lower_bound_bytes;
  }
  bool stopped() const { return exhausted_ || interrupted_ || paused_; }
  bool interrupted() const { return interrupted_; }
  std::int64_t states() const { return states_; }
  const Limits& limits() const { return limits_; }

 private:
  static constexpr std::int64_t kWorkOfState = 3;  // several searches, closures and cuts of a state
  static constexpr std::int64_t kWorkPerLook = 150'000;

  void LookAtStates() {
    if (limits_.max_states > 0 && states_ >= limits_.max_states) exhausted_ = true;
    if (states_ >= pause_states_) paused_ = true;
  }

  Limits limits_;
  Clock::time_point reported_;
  Clock::time_point end_;
  Clock::time_point pause_end_ = Clock::time_point::max();
  std::int64_t pause_states_ = std::numeric_limits<std::int64_t>::max();
  bool charges_ = true;  // false: who it is a child of does
  std::int64_t state_cost_ = kWorkOfState * StateCost(0);
  std::int64_t unseen_work_ = 0;  // since the last look at the clock
  std::int64_t states_ = 0;
  std::int64_t upper_bound_bytes_ = 0;
  std::int64_t lower_bound_bytes_ = 0;
  bool exhausted_ = false;
  bool interrupted_ = false;
  bool paused_ = false;
};

}  // namespace neap::schedule
