// SPDX-License-Identifier: Apache-2.0
//
// The bytes of an arena that are in use: bytes that live tensors share count once.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/compile/compile.h"
#include "neap/plan/plan.h"

namespace neap::report {

// The slot in which the most bytes of the arena are in use; the first of equals.
struct FullestSlot {
  // The operator and its live tensors, counted as in the peak: in full, without outputs in place.
  compile::PeakCause cause;
  std::int64_t live_bytes = 0;    // the sum of the terms of `cause`
  std::int64_t in_use_bytes = 0;  // addresses that at least one of them has
};

// nullopt: a streamed plan, a plan without addresses, or one of several memories.
// O(tensors x slots).
std::optional<FullestSlot> FindFullestSlot(const plan::Plan& plan, const plan::EntryPlan& entry);

}  // namespace neap::report
