// SPDX-License-Identifier: Apache-2.0
//
// For tests only: a clock that every look advances, so that no verdict depends on the speed of the
// machine.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "neap/base/limits.h"
#include "neap/base/work.h"

namespace neap {

// The clock of all limits while it lives; every look takes a millisecond.
class CountedClock {
 public:
  CountedClock() {
    looks_ = 0;
    work_internal::clock = &Now;
  }
  ~CountedClock() { work_internal::clock = &Limits::Clock::now; }
  CountedClock(const CountedClock&) = delete;
  CountedClock& operator=(const CountedClock&) = delete;

  // Limits whose deadline is after so many looks.
  static Limits DeadlineAfter(std::int64_t looks) {
    Limits limits;
    limits.deadline = At(looks);
    return limits;
  }
  static Limits::Clock::time_point Now() { return At(++looks_); }
  static Limits::Clock::time_point At(std::int64_t looks) {
    return Limits::Clock::time_point(std::chrono::milliseconds(looks));
  }
  static std::int64_t looks() { return looks_; }

 private:
  static inline std::atomic<std::int64_t> looks_{0};
};

}  // namespace neap
