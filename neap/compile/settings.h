// SPDX-License-Identifier: Apache-2.0
//
// What the options of a compilation come to. Private to neap/compile.
#pragma once

#include <cstdint>

#include "neap/base/limits.h"
#include "neap/compile/compile.h"
#include "neap/compile/overlap.h"
#include "neap/ops/overlap.h"

namespace neap::compile {

// What was asked for, else what the profile has of itself.
ops::KernelLibrary KernelsOf(const Options& options);
OverlapOptions OverlapOf(const Options& options);

// Whether the written model carries an offline memory plan for TFLM.
bool WritesMemoryPlan(const Options& options);

// Of a placement: at most so many states, fewer after an interrupt, and no end by time.
Limits PlacementLimits(const Options& options, std::int64_t states);

}  // namespace neap::compile
