// SPDX-License-Identifier: Apache-2.0
//
// Limits and settings derived from the options of a compilation. Private to neap/compile.
#pragma once

#include <cstdint>

#include "neap/base/limits.h"
#include "neap/compile/compile.h"
#include "neap/compile/overlap.h"
#include "neap/ops/overlap.h"

namespace neap::compile {

// The requested kernels, else those of the profile.
ops::KernelLibrary KernelsOf(const Options& options);
OverlapOptions OverlapOf(const Options& options);

// Whether the written model carries an offline memory plan for TFLM.
bool WritesMemoryPlan(const Options& options);

// Of a placement: a limit of states, lower after an interrupt, and no time limit.
Limits PlacementLimits(const Options& options, std::int64_t states);

}  // namespace neap::compile
