// SPDX-License-Identifier: Apache-2.0
//
// Moments of every run at which more bytes are live than fast memory has (plan::SlowMoment): they
// prove a lower bound of the traffic with slow memory.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

struct Moments {
  std::vector<plan::SlowMoment> moments;
  // Beside the bytes of inputs and outputs: no plan that computes every pixel once reads and writes
  // fewer, in any order, with a fast memory of that size.
  std::int64_t bytes = 0;
};

// No tensor carries paths of two moments. Takes all orders into account; that of `network` selects
// which tensors are tried together.
Moments FindMoments(const graph::Subgraph& subgraph, const Network& network,
                    std::int64_t fast_bytes);

}  // namespace neap::stream
