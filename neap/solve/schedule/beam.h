// SPDX-License-Identifier: Apache-2.0
//
// Beam search for good orders; proves nothing. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/solve/schedule/expander.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {

// An order with peak <= budget, or an empty vector when the beam found none (which proves nothing).
// Keeps the `width` states with the fewest live bytes for each number of executed operators.
// O(num_ops x width x moves x words). `expander`: of `instance`.
std::vector<OpIndex> BeamSearch(const Instance& instance, Expander* expander, std::int64_t budget,
                                std::size_t width, Stopper* stopper);

}  // namespace neap::schedule
