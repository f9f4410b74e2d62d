// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/tile_maker.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/transform/cascade/region.h"
#include "testing/cases.h"
#include "testing/tile_networks.h"

namespace neap::cascade {
namespace {

using graph::Subgraph;
using graph::SubgraphId;

void ExpectEqual(const std::vector<Tile>& a, const std::vector<Tile>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    EXPECT_EQ(a[t].output_box, b[t].output_box);
    EXPECT_EQ(a[t].output, b[t].output);
    ASSERT_EQ(a[t].tensors.size(), b[t].tensors.size());
    for (std::size_t i = 0; i < a[t].tensors.size(); ++i) {
      EXPECT_EQ(a[t].tensors[i].whole, b[t].tensors[i].whole);
      EXPECT_EQ(a[t].tensors[i].box, b[t].tensors[i].box);
    }
    ASSERT_EQ(a[t].steps.size(), b[t].steps.size());
    for (std::size_t k = 0; k < a[t].steps.size(); ++k) {
      EXPECT_EQ(a[t].steps[k].op, b[t].steps[k].op);
      EXPECT_EQ(a[t].steps[k].inputs, b[t].steps[k].inputs);
      EXPECT_EQ(a[t].steps[k].output, b[t].steps[k].output);
      EXPECT_EQ(a[t].steps[k].paddings, b[t].steps[k].paddings);
    }
  }
}

// One for all regions of a network and all grids of them.
TEST(TileMaker, TilesDoNotDependOnEarlierOnes) {
  Random random(25);
  int cut = 0;
  for (int i = 0; i < Cases(24); ++i) {
    SCOPED_TRACE(i);
    const Network network = i % 3 == 0   ? RandomOnnx(&random)
                            : i % 3 == 1 ? RandomTflite(&random, true)
                                         : RandomTfliteOfMoves(&random, true);
    const Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
    TileMaker maker(main);
    for (std::size_t begin = network.ops.size(); begin-- > 0;) {
      RegionPlan region;
      region.ops.assign(network.ops.begin() + static_cast<std::ptrdiff_t>(begin),
                        network.ops.end());
      const graph::Shape& shape = *main.tensors[main.outputs[0]].shape;
      const std::size_t axis = i % 3 == 0 ? 2 : 1;
      for (std::int64_t parts = 2; parts <= shape[axis]; ++parts) {
        region.splits = {EvenSplit(axis, shape[axis], parts)};
        const auto with = maker.TilesOf(region);
        const auto without = TilesOf(main, region);
        ASSERT_EQ(with.has_value(), without.has_value());
        if (!with) {
          EXPECT_EQ(with.error().ToString(), without.error().ToString());
          continue;
        }
        ++cut;
        ExpectEqual(*with, *without);
      }
    }
  }
  EXPECT_GT(cut, 0);
}

}  // namespace
}  // namespace neap::cascade
