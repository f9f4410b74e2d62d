// SPDX-License-Identifier: Apache-2.0
//
// Tiles that are the same operators on tensors of the same shapes may share one body, which each of
// them calls; and the cost where a runtime keeps data for every operator. Private to
// neap/transform/cascade.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// For every tile the number of its body, from 0 by first use; kNoBody: it stays a clone. A body is
// shared by at least two tiles, which differ in nothing but where their slices of the region's
// inputs begin, and by so many that TensorFlow Lite Micro keeps less than for clones. Tiles that
// read a tensor from outside whole stay clones: a body is given its inputs as copies. kClones, and
// operators of ONNX: no bodies. O(tiles x bodies x steps).
inline constexpr int kNoBody = -1;
std::vector<int> BodiesOf(const graph::Subgraph& subgraph, std::span<const Tile> tiles,
                          TileBodies bodies);

// Approximate persistent bytes of TensorFlow Lite Micro on a 32-bit machine: for a tile as clones;
// for one body with its own tensors; for a call of a body, slices of the region's inputs included.
std::int64_t KeptByClones(const graph::Subgraph& subgraph, const Tile& tile);
std::int64_t KeptByBody(const graph::Subgraph& subgraph, const Tile& tile);
std::int64_t KeptByCall(const Tile& tile);
// For one operator; the least for a clone of it, however small the part; for the concatenation of
// tiles.
std::int64_t KeptBytes(const graph::Subgraph& subgraph, const graph::Op& op);
std::int64_t KeptByAnyPart(const graph::Subgraph& subgraph, const graph::Op& op);
inline constexpr std::int64_t kKeptByConcatenation = 32 + 12 + 8 + 32;

}  // namespace neap::cascade
