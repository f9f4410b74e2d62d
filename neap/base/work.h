// SPDX-License-Identifier: Apache-2.0
//
// Time and work of searches. Work is counted in about nanoseconds of one core: each search charges
// what its states cost. A limit of work ends a search at the same place on every machine, so that
// the same input gives the same bytes; a limit of time does not.
//
// Work is counted for each thread apart. A search that uses several threads charges on the thread
// that called it, after they have ended.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "neap/base/limits.h"

namespace neap {

namespace work_internal {

inline constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

struct Account {
  std::int64_t now = 0;
  std::int64_t end = kNoEnd;
};
inline thread_local Account account;

// Tests put another clock here.
inline Limits::Clock::time_point (*clock)() = &Limits::Clock::now;

}  // namespace work_internal

// The clock of all limits.
inline Limits::Clock::time_point LimitNow() { return work_internal::clock(); }

// Counts work of this thread.
inline void ChargeWork(std::int64_t nanoseconds) { work_internal::account.now += nanoseconds; }
// Work that this thread has done so far.
inline std::int64_t WorkDone() { return work_internal::account.now; }
// Work that is left to this thread; less than nothing where a search went over it.
inline std::int64_t WorkLeft() {
  const work_internal::Account& account = work_internal::account;
  return account.end == work_internal::kNoEnd ? account.end : account.end - account.now;
}
inline bool IsOutOfWork() { return WorkLeft() <= 0; }

// Limits the work of this thread while it lives. Scopes nest: an inner one never has more than the
// outer one has left.
class WorkScope {
 public:
  // Limits the work from now on.
  explicit WorkScope(std::int64_t nanoseconds) : outer_end_(work_internal::account.end) {
    work_internal::account.end =
        WorkDone() + std::max<std::int64_t>(std::min(nanoseconds, WorkLeft()), 0);
  }
  // `part` of `parts` of the remaining work; without a limit: no limit.
  WorkScope(std::int64_t part, std::int64_t parts) : outer_end_(work_internal::account.end) {
    if (outer_end_ == work_internal::kNoEnd) return;
    const std::int64_t left = std::max<std::int64_t>(WorkLeft(), 0);
    work_internal::account.end = WorkDone() + left / parts * part;
  }
  ~WorkScope() { work_internal::account.end = outer_end_; }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  std::int64_t outer_end_;
};

// Nothing more is to be begun: interrupted, after the deadline, or out of work.
inline bool IsOver(const Limits& limits) {
  return limits.Interrupted() || IsOutOfWork() ||
         (limits.deadline && LimitNow() >= *limits.deadline);
}

// Whether about this much work, which cannot be interrupted, fits into the remaining limit.
inline bool Affords(const Limits& limits, std::int64_t nanoseconds) {
  if (limits.Interrupted() || WorkLeft() < nanoseconds) return false;
  return !limits.deadline || LimitNow() + std::chrono::nanoseconds(nanoseconds) < *limits.deadline;
}

// The same limits with `part` of `parts` of the time that is left until the deadline: for one of
// several searches that share it.
inline Limits WithShareOfTime(const Limits& limits, int part, int parts) {
  Limits share = limits;
  if (!limits.deadline) return share;
  const Limits::Clock::time_point now = LimitNow();
  if (*limits.deadline > now) share.deadline = now + (*limits.deadline - now) / parts * part;
  return share;
}

}  // namespace neap
