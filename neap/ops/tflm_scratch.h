// SPDX-License-Identifier: Apache-2.0
//
// Scratch buffers that the kernels of TensorFlow Lite Micro request in the arena
// (RequestScratchBufferInArena) when a model is loaded. Every row of the reference kernels was
// measured on the wheel tflite-micro 0.dev20261023182759; tests/conformance/test_kernel_memory.py
// measures them again. Those of CMSIS-NN and ESP-NN follow from the sizes in neap/target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/target/target.h"

namespace neap::ops {

// In the order of the requests, in bytes; TFLM rounds each up to 16. nullopt: not modelled, because
// the kernel is not known, its options cannot be read, a shape or type is none that it takes, or an
// input is compressed. An operator of graph JSON has its own scratch alone.
std::optional<std::vector<std::int64_t>> TflmScratchRequests(const graph::Subgraph& subgraph,
                                                             const graph::Op& op,
                                                             const target::Target& target);

// The sum of the requests, each rounded up to 16.
std::optional<std::int64_t> TflmScratchBytes(const graph::Subgraph& subgraph, const graph::Op& op,
                                             const target::Target& target);

// Why TflmScratchBytes() has no value, where the operator's type is not the reason: "its input #3
// 'w' is compressed". "": it has a value, or the kernel is unknown.
std::string WhyScratchUnknown(const graph::Subgraph& subgraph, const graph::Op& op,
                              const target::Target& target);

// Op::scratch_bytes, where it is stated, else TflmScratchBytes(); 0 where that is not modelled.
std::int64_t TflmScratchOrStated(const graph::Subgraph& subgraph, const graph::Op& op,
                                 const target::Target& target);

// A FULLY_CONNECTED as the kernel of CMSIS-NN sees it.
struct FullyConnectedShape {
  std::int64_t outputs = 0;   // channels
  bool is_pointwise = false;  // its kernel runs the one of a 1x1 convolution
  bool is_constant = false;   // weights and bias
};
// nullopt: a shape is not known.
std::optional<FullyConnectedShape> FullyConnectedOf(const graph::Subgraph& subgraph,
                                                    const graph::Op& op);

// Of a custom operator of a .tflite: an integer among its options. nullopt: there is none.
std::optional<std::int64_t> CustomOption(const graph::Op& op, const char* name);

}  // namespace neap::ops
