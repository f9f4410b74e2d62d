// SPDX-License-Identifier: Apache-2.0
//
// Sums over the places of an image, channel by channel (plan::StreamOp::sums).
// Private to neap/execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::execute {

// Adds `pixels`, one after the other, to `sums`: of int8 or uint8 `size` bytes (2 or 4) for each
// channel, at any address, of values from -128 to 127: unsigned ones count less 128; of float32
// floats, added as kernels add them. `first`: the sums are 0 before.
void AddPixels(std::span<const std::byte> pixels, graph::ElementType type, bool first,
               std::size_t size, std::span<std::byte> sums);

// An image of `places` pixels that has these sums, which are those of one such image, also of
// floats added in order.
std::vector<std::byte> ImageOfSums(std::span<const std::byte> sums, std::size_t size,
                                   graph::ElementType type, std::int64_t places);

}  // namespace neap::execute
