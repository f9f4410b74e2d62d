// SPDX-License-Identifier: Apache-2.0
//
// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) by moves of single operators. Private to
// neap/schedule.
#pragma once

#include <cstdint>

#include "neap/base/limits.h"
#include "neap/base/random.h"
#include "neap/solve/schedule/order_state.h"

namespace neap::schedule {

// Moves operators to other places, and keeps a move where the sum of the squares by which hills
// exceed a share of the peak falls, or rises by little enough. One run from a high temperature to a
// low one, within about `work` nanoseconds. Leaves the best order that it met in `state`: the peak
// never rises. True: it fell. Ends early at a peak of `floor_bytes` or less, a bound that is
// proven, and where no work or time is left. Integers only; the same for the same `random`.
bool Anneal(OrderState* state, std::int64_t floor_bytes, std::int64_t work, Random* random,
            const Limits& limits);

// The same moves with the peak as a limit of every hill: the sum of the squares by which hills
// exceed 60 % of the peak falls. Fewer steps near the peak leave a placement more space. True: the
// sum fell; otherwise the order is as before. Takes about `work` nanoseconds.
bool LowerOtherHills(OrderState* state, std::int64_t work, Random* random, const Limits& limits);

}  // namespace neap::schedule
