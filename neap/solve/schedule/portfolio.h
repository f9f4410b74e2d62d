// SPDX-License-Identifier: Apache-2.0
//
// Orders and bounds of problems that the exact search does not finish: stages that take turns, each
// from the best order so far. docs/algorithms/order.md, "Portfolio". Private to neap/schedule.
#pragma once

#include <cstdint>

#include "neap/base/limits.h"
#include "neap/solve/schedule/closure.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/schedule/window_bound.h"

namespace neap::schedule {

// What the portfolio does where no limit is given, in about nanoseconds.
inline constexpr std::int64_t kPortfolioWork = 6'000'000'000;

struct Improved {
  RankedOrder best;
  Bound bound;  // bytes: 0 where nothing better than the given one was found
};

// An order with the peak of `start` or a smaller one, which ReplayOrder() has confirmed. Ends when
// the peak is at most `floor_bytes` (a proven lower bound: nothing smaller exists) or the bound
// that it finds itself, or when no work (WorkScope) or no time until limits.deadline is left. Does
// not look at limits.max_seconds and max_states. Memory linear in the problem. Deterministic
// without a deadline; `seed` gives other moves. Without a limit of work or time it ends after
// kMostSlices. `problem` passes Validate().
Improved ImproveOrder(const Problem& problem, RankedOrder start, std::int64_t floor_bytes,
                      std::uint64_t seed, const Limits& limits);

// An order with the peak of `start` or less, and with fewer steps near it where that is found: the
// arena of such an order is lower. Only for orders that have few steps near the peak and many below
// it, and as far as work or time is left. Deterministic without a deadline.
RankedOrder LowerOtherHills(const Problem& problem, RankedOrder start, std::uint64_t seed,
                            const Limits& limits);

// Annealing alone from `start`, with the work of the whole portfolio, or until limits.deadline;
// not below `floor_bytes`, a proven bound. max_states limits it as it limits Solve(). Never higher
// than `start`. Deterministic without a deadline.
RankedOrder AnnealOrder(const Problem& problem, RankedOrder start, std::int64_t floor_bytes,
                        std::uint64_t seed, const Limits& limits);

}  // namespace neap::schedule
