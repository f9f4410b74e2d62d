// SPDX-License-Identifier: Apache-2.0
//
// Checks tiles by the dependence of operators, with no code that makes them.
#pragma once

#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// "" if every element that a tile contributes is computed from the same elements of the region's
// inputs as in the whole: each operator of the tile, on tensors of the sizes that it has there,
// needs for these elements exactly what the operator of the graph needs (neap/ops/dependence.h),
// with the same padding; else what differs, with the operator. Operators whose arithmetic depends
// on all of their input fail on any part of it. O(tiles x operators).
std::string FindWrongTile(const graph::Subgraph& subgraph, const RegionPlan& plan,
                          const std::vector<Tile>& tiles);

}  // namespace neap::cascade
