// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/headline.h"

namespace neap::compile {

std::int64_t HeadlineBytes(const Compiled& compiled, bool placed) {
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  if (!placed) return entry.peak_bytes;
  return compiled.delivered_arena_bytes >= 0 ? compiled.delivered_arena_bytes : entry.arena_bytes;
}

}  // namespace neap::compile
