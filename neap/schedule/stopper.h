// SPDX-License-Identifier: Apache-2.0
//
// Counts states and tells when a limit is reached. Private to neap/schedule.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "neap/base/limits.h"

namespace neap::schedule {

class Stopper {
 public:
  explicit Stopper(const Limits& limits)
      : limits_(limits), reported_(Clock::now()), end_(limits.EndOfSearch(reported_)) {}

  // For a search on another thread on this one's behalf: the same clock and stop flag, states of
  // its own, which Charge() tells this one of.
  Stopper Child() const {
    Stopper child(*this);
    child.limits_.max_states = 0;
    child.limits_.observer = nullptr;
    child.states_ = 0;
    return child;
  }

  // Counts one state. True: stop now.
  bool Count() {
    ++states_;
    if (limits_.max_states > 0 && states_ >= limits_.max_states) exhausted_ = true;
    if ((states_ & 127) == 0) Look();
    return exhausted_ || interrupted_;
  }
  // `states`, or what is left of max_states if that is less.
  std::int64_t Remaining(std::int64_t states) const {
    if (limits_.max_states <= 0) return states;
    return std::max<std::int64_t>(std::min(states, limits_.max_states - states_), 1);
  }
  // Counts states that another search has expanded on this one's behalf.
  bool Charge(std::int64_t states) {
    states_ += states;
    if (limits_.max_states > 0 && states_ >= limits_.max_states) exhausted_ = true;
    return Look();
  }
  // Looks at the clock and the stop flag; for work that counts no states.
  bool Look() {
    if (limits_.Interrupted()) interrupted_ = true;
    if (limits_.HasTimeLimit() || limits_.observer) {
      const auto now = Clock::now();
      if (now >= end_) interrupted_ = true;
      if (limits_.observer && now - reported_ >= std::chrono::milliseconds(100)) {
        reported_ = now;
        limits_.observer({upper_bound_bytes_, lower_bound_bytes_, states_});
      }
    }
    return exhausted_ || interrupted_;
  }
  void SetBounds(std::int64_t upper_bound_bytes, std::int64_t lower_bound_bytes) {
    upper_bound_bytes_ = upper_bound_bytes;
    lower_bound_bytes_ = lower_bound_bytes;
  }
  bool stopped() const { return exhausted_ || interrupted_; }
  bool interrupted() const { return interrupted_; }
  std::int64_t states() const { return states_; }
  const Limits& limits() const { return limits_; }

 private:
  using Clock = Limits::Clock;

  Limits limits_;
  Clock::time_point reported_;
  Clock::time_point end_;
  std::int64_t states_ = 0;
  std::int64_t upper_bound_bytes_ = 0;
  std::int64_t lower_bound_bytes_ = 0;
  bool exhausted_ = false;
  bool interrupted_ = false;
};

}  // namespace neap::schedule
