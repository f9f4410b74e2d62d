// SPDX-License-Identifier: Apache-2.0
//
// The kernels of neap_rt, the runtime of emitted C (runtime/), as a library of kernels: how far
// outputs may overlap inputs under them, by the order of reads and writes that runtime/README.md
// states. A set of libraries of its own, since a plan for it runs nowhere else.
#pragma once

#include <cstdint>

#include "neap/ops/overlap.h"

namespace neap::ops {

// The bit after those of KernelLibrary. OverlapRuleOf(), ViewRuleOf(), names and the checker know
// it as they know those.
inline constexpr auto kNeapRt = static_cast<KernelLibrary>(1U << 7U);

}  // namespace neap::ops
