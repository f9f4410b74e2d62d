// SPDX-License-Identifier: Apache-2.0
//
// The operator at the peak, and the tensors live there. Private to neap/compile.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/compile/timeline.h"
#include "neap/plan/profile.h"

namespace neap::compile {

// `live_bytes`: LiveBytes() of the timeline.
PeakCause CauseOfPeak(const Timeline& timeline, const std::vector<std::int64_t>& live_bytes,
                      const AllSizes& sizes, const plan::Profile& profile);

}  // namespace neap::compile
