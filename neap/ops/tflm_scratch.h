// SPDX-License-Identifier: Apache-2.0
//
// Scratch buffers that the reference kernels of TensorFlow Lite Micro request in the arena
// (RequestScratchBufferInArena) when a model is loaded. Every row was measured on the wheel
// tflite-micro 0.dev20261023182759; tests/conformance/test_kernel_memory.py measures them again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::ops {

// In the order of the requests, in bytes; TFLM rounds each up to 16. nullopt: not modelled, because
// the kernel is not known, its options cannot be read, a shape or type is none that it takes, or an
// input is compressed. An operator of graph JSON has its own scratch alone. Pointers count eight
// bytes (ADD_N).
std::optional<std::vector<std::int64_t>> TflmScratchRequests(const graph::Subgraph& subgraph,
                                                             const graph::Op& op);

// The sum of the requests, each rounded up to 16.
std::optional<std::int64_t> TflmScratchBytes(const graph::Subgraph& subgraph, const graph::Op& op);

// Why TflmScratchBytes() has no value, where the operator's type is not the reason: "its input #3
// 'w' is compressed". "": it has a value, or the kernel is unknown.
std::string WhyScratchUnknown(const graph::Subgraph& subgraph, const graph::Op& op);

// Op::scratch_bytes, where it is stated, else TflmScratchBytes(); 0 where that is not modelled.
std::int64_t TflmScratchOrStated(const graph::Subgraph& subgraph, const graph::Op& op);

// Of a custom operator of a .tflite: an integer among its options. nullopt: there is none.
std::optional<std::int64_t> CustomOption(const graph::Op& op, const char* name);

}  // namespace neap::ops
