// SPDX-License-Identifier: Apache-2.0
//
// Recomputation for gates (squeeze-and-excite): the image that a gate is computed from is computed
// once for the gate, dropped, and computed again for the product with the gate. It is never stored
// completely.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

// A product of an image with a gate that needs all of that image.
struct Gate {
  int product = -1;         // node
  std::vector<int> body;    // nodes that compute the image from a smaller one; ascending
  std::int64_t held_bytes;  // live at the product when the image is computed once
};

// Gates whose image is larger than the image that it can be computed from again; by held_bytes,
// falling.
std::vector<Gate> FindGates(const Network& network);

// The operators of `network`, with the body of each of `gates` repeated before its product.
std::vector<graph::OpId> OrderWithRecomputedBodies(const Network& network,
                                                   const std::vector<Gate>& gates);

}  // namespace neap::stream
