// SPDX-License-Identifier: Apache-2.0
//
// Proofs of traffic bounds (plan::SlowMoment). Private to the checker of streamed plans.
#pragma once

#include <cstdint>
#include <string>

#include "neap/plan/stream.h"

namespace neap::check {

struct ProvenMoments {
  // Of slow memory, beside inputs and outputs: every plan that computes every pixel once reads and
  // writes so many.
  std::int64_t bytes = 0;
  std::string wrong;  // empty: all moments hold
};

// `images`: plan::ImagesOf() the subgraph. O(moments x operators x rows), and the channels of all
// operators once.
ProvenMoments ProveMoments(const graph::Subgraph& subgraph, const plan::StreamImages& images,
                           const plan::SlowMemory& slow);

}  // namespace neap::check
