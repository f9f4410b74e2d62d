// SPDX-License-Identifier: Apache-2.0
//
// The work of a realised graph. Private to neap/transform/cascade.
#pragma once

#include <cstdint>

#include "neap/graph/graph.h"
#include "neap/transform/cascade/device.h"

namespace neap::cascade {

// Of the main subgraph and of the bodies of tiles, at every call.
struct Work {
  std::int64_t macs = 0;
  std::int64_t cycles = 0;
};
Work WorkOf(const graph::Graph& graph, const Device& device);

}  // namespace neap::cascade
