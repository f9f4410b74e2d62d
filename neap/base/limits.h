// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace neap {

// Progress of a running search. The observer is called from the searching thread, at most a few
// times a second; it must not block.
struct Progress {
  std::int64_t upper_bound_bytes = 0;
  std::int64_t lower_bound_bytes = 0;  // 0: none is known yet
  std::int64_t states = 0;
};
using Observer = std::function<void(const Progress&)>;

// Limits::max_states: as many states as take a few seconds on a problem of that size.
inline constexpr std::int64_t kStatesForAFewSeconds = -1;

// When a search has to stop and return the best it has with its bound. max_states is counted by the
// search itself, so it ends at the same place on every machine; max_seconds and deadline do not,
// and results that they cut short may differ between runs. Zero means no limit.
// kStatesForAFewSeconds is a number that the search computes from the size of the problem alone.
struct Limits {
  using Clock = std::chrono::steady_clock;

  std::int64_t max_states = 0;
  double max_seconds = 0;                                 // of each search, from its beginning
  std::optional<Clock::time_point> deadline;              // of all searches together
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;  // of tables of states; see each search
  int threads = 1;                                        // at most; never changes a result
  const std::atomic<bool>* stop = nullptr;                // not owned; set by a signal handler
  Observer observer;

  bool Interrupted() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  bool HasTimeLimit() const { return max_seconds > 0 || deadline.has_value(); }
  // When a search that begins at `now` has to end.
  Clock::time_point EndOfSearch(Clock::time_point now) const {
    constexpr double kForever = 1e9;
    Clock::time_point end = deadline.value_or(Clock::time_point::max());
    if (max_seconds > 0 && max_seconds < kForever) {
      const std::chrono::duration<double> seconds(max_seconds);
      end = std::min(end, now + std::chrono::duration_cast<Clock::duration>(seconds));
    }
    return end;
  }
};

}  // namespace neap
