// SPDX-License-Identifier: Apache-2.0
//
// Gates in two passes: what a gate is made from (squeeze-and-excite) is computed once for the gate,
// dropped, and computed again for the product with it, so that it is never there as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

// A product of an image with a gate that needs all of that image.
struct Gate {
  int product = -1;         // node
  std::vector<int> body;    // nodes that make the image, from something smaller; ascending
  std::int64_t held_bytes;  // what is there at the product when the image is computed once
};

// Those whose image takes more bytes than what it can be computed from again; the ones that hold
// most first.
std::vector<Gate> FindGates(const Network& network);

// The operators of `network`, and before the product of each of `gates` its body once more.
std::vector<graph::OpId> OrderWithBodiesTwice(const Network& network,
                                              const std::vector<Gate>& gates);

}  // namespace neap::stream
