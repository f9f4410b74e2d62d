// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: when a search ends, and what it tells meanwhile.
#pragma once

#include <chrono>
#include <cstdint>

#include "neap/base/limits.h"

namespace neap::arena {

class Budget {
 public:
  // Without any limit of the caller's a search for a height that does not exist would never end.
  static constexpr std::int64_t kDefaultStates = 20'000'000;

  explicit Budget(const Limits& limits)
      : limits_(limits),
        max_states_(limits.max_states),
        start_(Clock::now()),
        last_report_(start_) {
    if (max_states_ == 0 && limits.max_seconds <= 0) max_states_ = kDefaultStates;
  }

  // Where the caller asked for kStatesForAFewSeconds.
  void SetFewSeconds(std::int64_t states) {
    if (max_states_ == kStatesForAFewSeconds) max_states_ = states;
  }

  // Counts placed buffers; false once the search has to end. Looks at the clock rarely.
  bool Spend(std::int64_t states) {
    states_ += states;
    unchecked_ += states;
    if (unchecked_ >= kStatesPerClock) {
      unchecked_ = 0;
      LookAtClock();
    }
    return !Ended();
  }
  bool Ended() const { return ended_ || (max_states_ > 0 && states_ >= max_states_); }
  std::int64_t states() const { return states_; }
  std::int64_t left() const { return max_states_ > 0 ? max_states_ - states_ : INT64_MAX; }

  // What the observer is told next.
  void SetBounds(std::int64_t upper, std::int64_t lower) {
    upper_ = upper;
    lower_ = lower;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kStatesPerClock = 256;
  static constexpr double kSecondsPerReport = 0.3;

  void LookAtClock() {
    if (limits_.stop != nullptr && limits_.stop->load(std::memory_order_relaxed)) ended_ = true;
    if (limits_.max_seconds <= 0 && !limits_.observer) return;
    const Clock::time_point now = Clock::now();
    const auto since = [now](Clock::time_point then) {
      return std::chrono::duration<double>(now - then).count();
    };
    if (limits_.max_seconds > 0 && since(start_) >= limits_.max_seconds) ended_ = true;
    if (limits_.observer && since(last_report_) >= kSecondsPerReport) {
      last_report_ = now;
      limits_.observer({upper_, lower_, states_});
    }
  }

  const Limits& limits_;
  std::int64_t max_states_;
  Clock::time_point start_;
  Clock::time_point last_report_;
  std::int64_t states_ = 0;
  std::int64_t unchecked_ = 0;
  std::int64_t upper_ = 0;
  std::int64_t lower_ = 0;
  bool ended_ = false;
};

}  // namespace neap::arena
