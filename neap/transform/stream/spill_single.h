// SPDX-License-Identifier: Apache-2.0
//
// Plans with two memories that run one operator after the other as a whole, with the tensors of the
// arena stacked. Private to the search for plans with two memories.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/assemble.h"
#include "neap/transform/stream/spill_ways.h"

namespace neap::stream {

// For each node of a network whose images are all in slow memory, its ways with every choice of
// homes, of more than five tensors only all fast or all slow; `bytes` are those of its inputs and
// outputs side by side.
std::vector<std::vector<Way>> SingleWays(const Network& network);

// `path`: a way of SingleWays() for every node. Before each operator the tensors that stay in the
// arena move down until there is no gap between them; buffers and outputs are above. Hence the
// arena of a segment has no unused bytes, for every choice of homes.
Assembled Stacked(const Network& network, const std::vector<const Way*>& path);

}  // namespace neap::stream
