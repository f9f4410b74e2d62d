// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/settings.h"

#include <algorithm>

#include "neap/plan/profile.h"

namespace neap::compile {

ops::KernelLibrary KernelsOf(const Options& options) {
  return options.kernels == ops::KernelLibrary::kNone ? plan::ProfileOf(options.runtime).kernels
                                                      : options.kernels;
}

OverlapOptions OverlapOf(const Options& options) {
  return {KernelsOf(options), options.keep_inputs};
}

bool WritesMemoryPlan(const Options& options) {
  return options.runtime == plan::Runtime::kTflm && options.place && options.memory_plan &&
         options.memories.empty();
}

Limits PlacementLimits(const Options& options, std::int64_t states) {
  Limits limits = options.limits;
  // Who interrupts is waiting.
  if (limits.Interrupted()) states /= 10;
  limits.max_states = std::max<std::int64_t>(states, 1);
  // An order that was interrupted is still placed well: that ends soon.
  limits.max_seconds = 0;
  limits.stop = nullptr;
  return limits;
}

}  // namespace neap::compile
