// SPDX-License-Identifier: Apache-2.0
//
// What stock runtimes allocate for activations when they are given an order alone. Private to
// neap/compile.
#pragma once

#include <cstdint>

#include "neap/compile/timeline.h"

namespace neap::compile {

// TensorFlow Lite Micro: the arena head that its allocation-info builder and greedy planner reserve
// for the timeline of subgraph 0 (with everything it calls). Every tensor of every subgraph takes
// part, those that nothing refers to included. Kernels' own scratch requests are not modelled: the
// reference kernels of the common operators make none. `sizes`: counted with 16-byte alignment, of
// every tensor of every subgraph that is neither constant nor variable.
std::int64_t TflmArenaBytes(const graph::Graph& graph, const Timeline& timeline,
                            const AllSizes& sizes);

}  // namespace neap::compile
