// SPDX-License-Identifier: Apache-2.0
//
// Whether the target runtime has kernels for the operators that tiles add. Private to neap/cascade.
#pragma once

#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/stock_kernels.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// The tiles of a region with this output may be concatenated.
bool MayJoin(const graph::Subgraph& subgraph, graph::TensorId output, ops::StockRuntime runtime);

// All tensors that the tiles slice may be sliced.
bool MaySlice(const graph::Subgraph& subgraph, const std::vector<Tile>& tiles,
              ops::StockRuntime runtime);

}  // namespace neap::cascade
