// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace neap {

// What a search tells while it runs. Called from the searching thread, at most a few times a second
// by the solvers' own clock check; must not block.
struct Progress {
  std::int64_t upper_bound_bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t states = 0;
};
using Observer = std::function<void(const Progress&)>;

// Limits::max_states: as many states as take a few seconds on a problem of that size.
inline constexpr std::int64_t kStatesForAFewSeconds = -1;

// When a search has to stop and return the best it has with its bound. max_states is counted by the
// search itself, so it ends at the same place on every machine; max_seconds does not, and results
// that it cut short may differ between runs. Zero means no limit. kStatesForAFewSeconds is a number
// that the search computes from the size of the problem alone.
struct Limits {
  std::int64_t max_states = 0;
  double max_seconds = 0;
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;  // of tables of states; see each search
  int threads = 1;                                        // at most; never changes a result
  const std::atomic<bool>* stop = nullptr;                // not owned; set by a signal handler
  Observer observer;
};

}  // namespace neap
