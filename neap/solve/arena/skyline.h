// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: placement in O(n log n), for problems that are too large for first-fit.
#pragma once

#include <span>

#include "neap/solve/arena/problem.h"

namespace neap::arena {

// Each buffer of the order on top of all that was placed before it at its steps, fixed ones first:
// holes stay empty. All pairs that are live together are disjoint.
Placement PlaceOnSkyline(const Problem& problem, std::span<const BufferIndex> order);

}  // namespace neap::arena
