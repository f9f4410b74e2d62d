// SPDX-License-Identifier: Apache-2.0
//
// A query about the minimum peak that is cheaper than computing it, for searches over many
// problems.
#pragma once

#include <cstdint>

#include "neap/base/limits.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

// Solve() that ends as soon as it is known whether an order has a peak below `below_bytes` (at
// least 1): then either peak_bytes is below it, or lower_bound_bytes is not. Where neither holds, a
// limit ended it. Order, peak and bound are valid as those of Solve(), and often wide apart.
// `problem` must pass Validate(). Deterministic.
Outcome SolveBelow(const Problem& problem, const Limits& limits, std::int64_t below_bytes);

}  // namespace neap::schedule
