// SPDX-License-Identifier: Apache-2.0
//
// The independent check of a placement: compares all pairs from the definition in problem.h and
// shares no code with the solvers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/solve/arena/problem.h"

namespace neap::arena {

// The first violation in one line (two buffers share bytes or break the rule of their pair, an
// offset is negative, misaligned or
// not where it is fixed, the height is not max(offset + bytes)); nullopt when the placement is
// right. O(n^2) pairs up to
// 5,000 buffers, above that O((n + r) log n) where few buffers have rules. `problem` is one for
// which Validate() finds nothing wrong, except that fixed buffers may collide.
std::optional<std::string> FindViolation(const Problem& problem, const Placement& placement);

// Its two ways to compare pairs, for tests: all of them, and a sweep over time.
std::optional<std::string> FindCollision(const Problem& problem,
                                         const std::vector<std::int64_t>& offsets);
std::optional<std::string> FindCollisionBySweep(const Problem& problem,
                                                const std::vector<std::int64_t>& offsets);

}  // namespace neap::arena
