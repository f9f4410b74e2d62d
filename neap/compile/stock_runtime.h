// SPDX-License-Identifier: Apache-2.0
//
// Stock runtimes' allocation for activations, given an order alone. Private to neap/compile.
#pragma once

#include <cstdint>

#include "neap/compile/timeline.h"
#include "neap/solve/arena/arena.h"
#include "neap/target/target.h"

namespace neap::compile {

// TensorFlow Lite Micro: the arena head (height) that its allocation-info builder and greedy
// planner reserve for the timeline of subgraph 0 (with everything it calls). Every tensor of every
// subgraph takes part, including unused ones, and the scratch that the kernels of
// `target` request, where that is modelled. `sizes`: counted with 16-byte
// alignment, of every tensor of every subgraph that is neither constant nor variable. `offsets`:
// the offline plan that the file carries, around which the rest is placed; empty: none. Offsets
// come in the order in which TFLM adds the buffers to its planner (AddBuffer): tensors of every
// subgraph by index, then scratch.
arena::Placement PlaceInTflm(const graph::Graph& graph, const Timeline& timeline,
                             const AllSizes& sizes, const target::Target& target,
                             const graph::TensorOffsets& offsets = {});

// The offline plan for TFLM with the offsets of `plan`: an entry for every tensor of every
// subgraph. Where several entries place a tensor, the first one decides, which is the one that TFLM
// runs. Tensors that no operator uses get offset 0: TFLM allocates them, but never accesses them.
// kNoOffset is for constants, variables and tensors without bytes, and where TFLM would take an
// offset for that of a variable: it looks up the variables of *every* subgraph with their index
// among the tensors of their own subgraph, and does not allocate a variable for which it finds an
// offset. Empty: an offset does not fit into 32 bits, or the plan has moves or several memories.
graph::TensorOffsets OfflineOffsets(const graph::Graph& graph, const plan::Plan& plan,
                                    const AllSizes& sizes);

}  // namespace neap::compile
