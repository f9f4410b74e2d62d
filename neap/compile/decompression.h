// SPDX-License-Identifier: Apache-2.0
//
// Compressed models under TFLM: memory beside the arena for the outputs of TFLM_DECODE, which the
// application passes to TFLM (MicroInterpreter::SetDecompressionMemory), as one region. TFLM uses
// it again for every TFLM_DECODE, so that each output has to be read by the next operator alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::compile {

struct DecompressionMemory {
  std::int64_t bytes = 0;  // the smallest region that takes every output; aligned to 16
  std::int64_t total_arena_bytes = -1;  // then, on the target of the plan
  std::string missing;                  // why there is no total, such as an order that forbids it
};

// Of the model that is delivered for `compiled`, a plan of `graph` for TFLM. TFLM ignores the
// offsets of tensors that are not in the arena. nullopt: no TFLM_DECODE runs, or the total without
// such a memory is not known either. Of a plan without TFLM_DECODE: O(operators).
std::optional<DecompressionMemory> DecompressionMemoryOf(const graph::Graph& graph,
                                                         const Compiled& compiled);

}  // namespace neap::compile
