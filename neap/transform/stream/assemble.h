// SPDX-License-Identifier: Apache-2.0
//
// From the segments of a plan to the plan of plan.json.
#pragma once

#include "neap/transform/stream/search.h"

namespace neap::stream {

struct Assembled {
  plan::Stream stream;
  std::int64_t arena_bytes = 0;       // highest byte that is touched
  std::vector<std::int64_t> heights;  // most rows of a block, of each image
};

// Lays the segments out and finds the copies between them. Where tensors have to change their order
// and there is no space for it, the arena grows accordingly. `may_stay`: tensors may stay where
// they are, with unused bytes between them, which saves copies.
Assembled Assemble(const Network& network, const std::vector<SegmentChoice>& segments,
                   plan::StreamInput input, bool may_stay = true);

}  // namespace neap::stream
