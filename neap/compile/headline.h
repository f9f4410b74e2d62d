// SPDX-License-Identifier: Apache-2.0
//
// The number of a plan that a user has to reserve memory for.
#pragma once

#include <cstdint>

#include "neap/compile/compile.h"

namespace neap::compile {

// The arena that the stock runtime allocates where that is known (Compiled::delivered_arena_bytes),
// else that of the plan; of an order without a placement the peak. Of the largest entry.
std::int64_t HeadlineBytes(const Compiled& compiled, bool placed);

// Of every entry: no order and no placement of the planned graph has a smaller arena; of orders
// without a placement: no order has a smaller peak.
bool IsProven(const plan::Plan& plan, bool placed);

}  // namespace neap::compile
