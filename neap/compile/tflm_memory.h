// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Lite Micro's persistent data beside the activations, and the smallest arena with which
// a model loads. Private to neap/compile.
#pragma once

#include <cstdint>

#include "neap/compile/compile.h"
#include "neap/compile/timeline.h"
#include "neap/target/target.h"

namespace neap::compile {

// For the operators of `orders` and activations of `arena_bytes`. The allocations of MicroAllocator
// are replayed one by one, with their alignments: from the end of the arena its own objects, the
// eval tensors, the nodes, parsed options, the kernels' data, handles of scratch, variables, the
// tensors of inputs and outputs; from its start what is needed while the memory is being planned.
// No numbers, and the reason, where an operator's kernel is not known, where resources are used
// (their memory is the application's business), or where loading one operator may take more than
// everything else.
// `outside`: so many tensors are in decompression memory (decompression.h), not in the arena; 0:
// there is none.
TflmTotal TflmTotalOf(const graph::Graph& graph, const Orders& orders, std::int64_t arena_bytes,
                      const target::Target& target, std::int64_t outside = 0);

}  // namespace neap::compile
