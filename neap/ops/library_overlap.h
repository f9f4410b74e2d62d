// SPDX-License-Identifier: Apache-2.0
//
// Distances of the kernels of optimised libraries: CMSIS-NN and ESP-NN. Private to neap/ops.
//
// Sources: the loops of CMSIS-NN 4.0.0 (Source/ConvolutionFunctions, FullyConnectedFunctions,
// PoolingFunctions, NNSupportFunctions) and of ESP-NN 1.2.6 (src/*/*_ansi.c, *_opt.c), which
// tests/conformance/test_library_overlap.py executes at each distance and one byte beyond it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "neap/ops/op_rules.h"
#include "neap/ops/overlap.h"
#include "neap/ops/window.h"

namespace neap::ops::overlap {

// No byte is read any more.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Lowest input byte that each output pixel reads, in the order of the output, channel 0; kNever:
// its window has no element of the input.
std::vector<std::int64_t> LowestReads(const ops::Window& w, std::int64_t in_bytes);

// Of Subject::library, one of kCmsisNnScalar, kCmsisNnDsp and kCmsisNnMve; of 8-bit convolutions,
// depthwise convolutions, fully connected layers and pooling. nullopt: other operators, types and
// shapes. O(pixels of the output).
std::optional<OverlapRule> CmsisNn(const Subject& subject);

// Of ESP-NN in C; of the same operators, and of ADD and MUL of equal shapes.
std::optional<OverlapRule> EspNn(const Subject& subject);

}  // namespace neap::ops::overlap
