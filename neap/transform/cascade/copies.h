// SPDX-License-Identifier: Apache-2.0
//
// Weights in fast memory: tiles read the same weights again and again, so that a copy beside the
// activations, made before the first tile and kept to the last, may pay.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/cascade/device.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// The constants of one operator of a region.
struct WeightCopy {
  graph::OpId op;  // of the graph that was cut
  std::vector<graph::TensorId> tensors;
  std::int64_t bytes = 0;
  std::int64_t reads = 0;         // tiles that use them
  std::int64_t saved_cycles = 0;  // after subtracting the cost of the copy
};

// Copies for a region that save cycles by the model of the device: from the memory for weights to
// the one for activations. `realised` is the graph with the region in tiles, in which constants
// keep their ids. Empty where both are the same memory.
std::vector<WeightCopy> CopiesThatPay(const graph::Subgraph& subgraph, const RegionPlan& region,
                                      const graph::Subgraph& realised, const Device& device);

// Of these, those that save most cycles and have at most `free_bytes` together; of equal savings
// the fewest bytes. Exact: no subset is better. In the order in which they were given.
std::vector<WeightCopy> BestCopies(const std::vector<WeightCopy>& copies, std::int64_t free_bytes);

// Bytes that the device's memory for activations has beside an arena; 0 where its size is unknown.
std::int64_t FreeBytes(const Device& device, std::int64_t arena_bytes);

}  // namespace neap::cascade
