// SPDX-License-Identifier: Apache-2.0
//
// The independent check of an order. Shares no code with the search: it replays the order step by
// step from the definition in problem.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

struct Replay {
  std::int64_t peak_bytes = 0;
  OpIndex peak_step = 0;                 // the first step that reaches the peak
  std::vector<std::int64_t> live_bytes;  // per step, while its operator runs
};

// nullopt when `order` is not a permutation of the operators or violates a precedence. `why`, if
// given, receives the reason in one line. O(size of the problem).
std::optional<Replay> ReplayOrder(const Problem& problem, std::span<const OpIndex> order,
                                  std::string* why = nullptr);

}  // namespace neap::schedule
