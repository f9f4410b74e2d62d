// SPDX-License-Identifier: Apache-2.0
//
// Moves of many operators at once across the highest step. Private to neap/schedule.
#pragma once

#include <cstdint>

#include "neap/base/limits.h"
#include "neap/solve/schedule/flat_cut.h"
#include "neap/solve/schedule/order_state.h"
#include "neap/solve/schedule/windows.h"

namespace neap::schedule {

// For the operator of the highest step, finds what has to run before it so that its hill is lowest
// (a minimum cut), puts that first and the rest after it, each in the order it had, and closes the
// result; among the operators near the step first, then among more of them. Keeps the result where
// the sum of the fourth powers of the highest hills falls, so that the peak never rises. Goes on
// while it falls. Not below `floor_bytes`, a proven bound. True: the sum fell.
bool Uncross(OrderState* state, WindowMaker* maker, FlatCut* cut, std::int64_t floor_bytes,
             const Limits& limits);

}  // namespace neap::schedule
