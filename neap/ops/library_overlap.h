// SPDX-License-Identifier: Apache-2.0
//
// Distances of the kernels of optimised libraries: CMSIS-NN, ESP-NN, neap_rt. Private to neap/ops.
//
// Sources: the loops of CMSIS-NN 4.0.0 (Source/ConvolutionFunctions, FullyConnectedFunctions,
// PoolingFunctions, NNSupportFunctions) and of ESP-NN 1.2.6 (src/*/*_ansi.c, *_opt.c), which
// tests/conformance/test_library_overlap.py executes at each distance and one byte beyond it; and
// of neap_rt (runtime/), which tests/emit/operators_test.cc executes likewise.
#pragma once

#include <algorithm>
#include <cstddef>
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

// A kernel reads `lowest` and what is above it when it has written the output up to `written`.
inline void Note(std::int64_t written, std::int64_t lowest, std::int64_t* distance) {
  if (lowest != kNever) *distance = std::max(*distance, written - lowest);
}

// The amounts of padding before each dimension of a PAD whose second input is a constant.
std::optional<std::vector<std::int64_t>> PaddingsBefore(const graph::Tensor* paddings,
                                                        std::size_t rank);

// Of Subject::library, one of kCmsisNnScalar, kCmsisNnDsp and kCmsisNnMve; of 8-bit convolutions,
// depthwise convolutions, fully connected layers and pooling. nullopt: other operators, types and
// shapes. O(pixels of the output).
std::optional<OverlapRule> CmsisNn(const Subject& subject);

// Of ESP-NN in C; of the same operators, and of ADD and MUL of equal shapes.
std::optional<OverlapRule> EspNn(const Subject& subject);

// Of neap_rt; of all operators of 8 bits that it computes and that do not copy.
std::optional<OverlapRule> NeapRt(const Subject& subject);

}  // namespace neap::ops::overlap
