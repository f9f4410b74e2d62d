// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/headline.h"

#include <algorithm>

namespace neap::compile {

std::int64_t HeadlineBytes(const Compiled& compiled, bool placed) {
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  if (!placed) return entry.peak_bytes;
  return compiled.delivered_arena_bytes >= 0 ? compiled.delivered_arena_bytes : entry.arena_bytes;
}

bool IsProven(const plan::Plan& plan, bool placed) {
  return std::all_of(plan.entries.begin(), plan.entries.end(), [&](const plan::EntryPlan& entry) {
    return (placed ? entry.arena_status : entry.order_status) == plan::BoundStatus::kOptimal;
  });
}

}  // namespace neap::compile
