// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: when a search ends, and its progress reports.
#pragma once

#include <chrono>
#include <cstdint>

#include "neap/base/limits.h"
#include "neap/base/work.h"

namespace neap::arena {

class Budget {
 public:
  // Without any limit of the caller's a search for a height that does not exist would never end.
  static constexpr std::int64_t kDefaultStates = 20'000'000;

  explicit Budget(const Limits& limits)
      : limits_(limits),
        max_states_(limits.max_states),
        last_report_(LimitNow()),
        end_(limits.EndOfSearch(last_report_)) {
    if (max_states_ == 0 && !limits.HasTimeLimit()) max_states_ = kDefaultStates;
  }

  // Where the caller requested kStatesForAFewSeconds.
  void SetFewSeconds(std::int64_t states) {
    if (max_states_ == kStatesForAFewSeconds) max_states_ = states;
  }

  // The cost of a state from here on, approximately in nanoseconds.
  void SetStateCost(std::int64_t nanoseconds) { state_cost_ = nanoseconds; }

  // Counts placed buffers; false once the search has to end. Looks at the clock rarely.
  bool Spend(std::int64_t states) {
    states_ += states;
    Work(states * state_cost_);
    return !Ended();
  }
  // Counts work that places no buffer, in about nanoseconds.
  void Work(std::int64_t nanoseconds) {
    ChargeWork(nanoseconds);
    unseen_work_ += nanoseconds;
    if (unseen_work_ >= kWorkPerLook) Look();
  }
  // The time was over before anything was counted.
  bool IsLate() const { return last_report_ >= end_; }
  bool Ended() const { return ended_ || (max_states_ > 0 && states_ >= max_states_); }
  std::int64_t states() const { return states_; }
  std::int64_t left() const { return max_states_ > 0 ? max_states_ - states_ : INT64_MAX; }

  // The bounds that the observer gets next.
  void SetBounds(std::int64_t upper, std::int64_t lower) {
    upper_ = upper;
    lower_ = lower;
  }

 private:
  using Clock = Limits::Clock;
  static constexpr std::int64_t kWorkPerLook = 100'000;
  static constexpr std::chrono::milliseconds kReportEvery{300};

  void Look() {
    unseen_work_ = 0;
    if (limits_.Interrupted() || IsOutOfWork()) ended_ = true;
    if (!limits_.HasTimeLimit() && !limits_.observer) return;
    const Clock::time_point now = LimitNow();
    if (now >= end_) ended_ = true;
    if (limits_.observer && now - last_report_ >= kReportEvery) {
      last_report_ = now;
      limits_.observer({upper_, lower_, states_});
    }
  }

  const Limits& limits_;
  std::int64_t max_states_;
  Clock::time_point last_report_;
  Clock::time_point end_;
  std::int64_t states_ = 0;
  std::int64_t state_cost_ = 1000;
  std::int64_t unseen_work_ = 0;  // since the last look at the clock
  std::int64_t upper_ = 0;
  std::int64_t lower_ = 0;
  bool ended_ = false;
};

}  // namespace neap::arena
