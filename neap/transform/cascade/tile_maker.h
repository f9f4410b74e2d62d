// SPDX-License-Identifier: Apache-2.0
//
// Tiles of many regions of one subgraph. Properties of a region that its cuts do not change are
// found once, as long as the next call is of the same region; needs of operators are found once for
// all regions. Private to neap/cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/ops/stock_kernels.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// The subgraph lives as long as this and does not change.
class TileMaker {
 public:
  // `runtime`: that of the plan. It has no tiles of products of floats whose sums depend on the
  // number of columns there.
  explicit TileMaker(const graph::Subgraph& subgraph,
                     ops::StockRuntime runtime = ops::StockRuntime::kNone);
  TileMaker(TileMaker&&) = delete;
  ~TileMaker();

  // As cascade::TilesOf().
  Result<std::vector<Tile>> TilesOf(const RegionPlan& plan);
  // One of them: number at[s] along split s, from 0. Fails only where TilesOf() fails.
  Result<Tile> TileOf(const RegionPlan& plan, const std::vector<std::size_t>& at);
  // Elements of the outputs of each operator that the output of the region needs; 0: not known.
  std::vector<std::int64_t> NeededElements(const std::vector<graph::OpId>& ops);
  // As cascade::BorderOf(). Until the next call.
  const Border& BorderOf(const std::vector<graph::OpId>& ops);

 private:
  class Tiler;
  std::unique_ptr<Tiler> tiler_;
};

}  // namespace neap::cascade
