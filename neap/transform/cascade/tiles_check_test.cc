// SPDX-License-Identifier: Apache-2.0
//
// The check of tiles against tiles that are wrong: every change of right tiles that changes what is
// computed is found.
#include "neap/transform/cascade/tiles_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "neap/transform/cascade/region.h"
#include "testing/tile_layers.h"

namespace neap::cascade {
namespace {

using graph::OpId;
using Tiles = std::vector<Tile>;

// Two convolutions with padding, a residual sum and a pool, cut into three bands of rows.
class TilesCheckTest : public ::testing::Test {
 protected:
  TilesCheckTest() {
    const auto input = layers_.Input({1, 12, 8, 4});
    const auto first = layers_.Conv(input, 4, {{3, 3}});
    const auto sum = layers_.Add(layers_.Conv(first, 4, {{3, 3}}), first);
    layers_.Output(layers_.MaxPool(sum, {{2, 2}, {2, 2}}));
    plan_.ops = layers_.Ops();
    plan_.splits = {{1, {2, 4}}};
    auto tiles = TilesOf(layers_.Main(), plan_);
    EXPECT_TRUE(tiles) << tiles.error().ToString();
    tiles_ = *std::move(tiles);
  }

  std::string Wrong(const Tiles& tiles) { return FindWrongTile(layers_.Main(), plan_, tiles); }
  std::string WrongAfter(const std::function<void(Tiles*)>& change) {
    Tiles tiles = tiles_;
    change(&tiles);
    return Wrong(tiles);
  }

  // Which step writes a tensor of a tile, and its rows.
  std::string Written(std::size_t t, std::size_t k) const {
    std::string text;
    for (const TileStep& step : tiles_[t].steps) {
      if (step.output != static_cast<int>(k)) continue;
      text = step.op.valid() ? " of operator " + std::to_string(step.op.value()) : " of a slice";
    }
    const ops::Interval& rows = tiles_[t].tensors[k].box[1];
    return text + ", rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end);
  }

  Layers layers_;
  RegionPlan plan_;
  Tiles tiles_;
};

TEST_F(TilesCheckTest, RightTilesPass) {
  ASSERT_EQ(tiles_.size(), 3);
  EXPECT_EQ(Wrong(tiles_), "");
}

TEST_F(TilesCheckTest, TilesMakeUpTheOutputOnce) {
  EXPECT_EQ(WrongAfter([](Tiles* tiles) { tiles->pop_back(); }),
            "the tiles do not make up the output");
  EXPECT_EQ(WrongAfter([](Tiles* tiles) { tiles->push_back(tiles->front()); }),
            "two tiles contribute the same elements");
  EXPECT_EQ(WrongAfter([](Tiles* tiles) { std::reverse(tiles->begin(), tiles->end()); }), "")
      << "each tile has its place in its box";
}

// Rows of any tensor of any tile, one up or down: no such tile computes the same.
TEST_F(TilesCheckTest, AnotherPartOfAnyTensorIsFound) {
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    for (std::size_t k = 0; k < tiles_[t].tensors.size(); ++k) {
      for (const std::int64_t by : {-1, 1}) {
        EXPECT_NE(WrongAfter([&](Tiles* tiles) {
                    ops::Interval& rows = (*tiles)[t].tensors[k].box[1];
                    rows.begin += by;
                    rows.end += by;
                  }),
                  "")
            << "tile " << t << ", tensor " << k << ", by " << by;
      }
    }
  }
}

// One row less than the tile uses.
TEST_F(TilesCheckTest, AMissingRowOfAnyTensorIsFound) {
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    for (std::size_t k = 0; k < tiles_[t].tensors.size(); ++k) {
      for (const bool first : {true, false}) {
        EXPECT_NE(WrongAfter([&](Tiles* tiles) {
                    ops::Interval& rows = (*tiles)[t].tensors[k].box[1];
                    first ? ++rows.begin : --rows.end;
                  }),
                  "")
            << "tile " << t << ", tensor " << k << (first ? ", first" : ", last") << Written(t, k);
      }
    }
  }
}

TEST_F(TilesCheckTest, AnotherInputOfAnyOperatorIsFound) {
  int changed = 0;
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    for (std::size_t s = 0; s < tiles_[t].steps.size(); ++s) {
      const TileStep& step = tiles_[t].steps[s];
      for (std::size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] == kWhole) continue;
        for (int other = 0; other < static_cast<int>(tiles_[t].tensors.size()); ++other) {
          if (other == step.inputs[i] || other == step.output) continue;
          // The same part of the same tensor is no other input.
          const TileTensor& a = tiles_[t].tensors[static_cast<std::size_t>(other)];
          const TileTensor& b = tiles_[t].tensors[static_cast<std::size_t>(step.inputs[i])];
          if (a.whole == b.whole) continue;
          ++changed;
          EXPECT_NE(WrongAfter([&](Tiles* tiles) { (*tiles)[t].steps[s].inputs[i] = other; }), "")
              << "tile " << t << ", step " << s << ", input " << i << " = tensor " << other;
        }
      }
    }
  }
  EXPECT_GT(changed, 20);
}

TEST_F(TilesCheckTest, AnotherStrideOrPaddingIsFound) {
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    for (std::size_t s = 0; s < tiles_[t].steps.size(); ++s) {
      const graph::OpId op = tiles_[t].steps[s].op;
      if (!op.valid() || layers_.Main().ops[op].type == "ADD") continue;
      const auto set = [&](const char* name, std::int64_t value) {
        return WrongAfter([&](Tiles* tiles) {
          auto& attributes = (*tiles)[t].steps[s].attributes;
          std::erase_if(attributes, [&](const auto& one) { return one.first == name; });
          attributes.emplace_back(name, value);
        });
      };
      EXPECT_NE(set("stride_h", 3), "") << "tile " << t << ", step " << s;
      if (layers_.Main().ops[op].type == "CONV_2D") {
        EXPECT_NE(set("dilation_h_factor", 2), "") << "tile " << t << ", step " << s;
      }
    }
  }
}

// A batch through a RESHAPE and a mean: no other shape, no other image.
TEST(TilesCheck, OtherShapesAndImagesAreFound) {
  Layers layers;
  const auto input = layers.Input({4, 6, 6, 3});
  const auto pixels = layers.Reshape(layers.Relu(input), {4, 36, 3});
  layers.Output(layers.Mean(layers.Reshape(pixels, {4, 36, 1, 3}), false));
  RegionPlan plan;
  plan.ops = layers.Ops();
  plan.splits = {{0, {1, 3}}};
  const auto tiles = TilesOf(layers.Main(), plan);
  ASSERT_TRUE(tiles) << tiles.error().ToString();
  EXPECT_EQ(FindWrongTile(layers.Main(), plan, *tiles), "");
  int shapes = 0;
  for (std::size_t t = 0; t < tiles->size(); ++t) {
    for (std::size_t s = 0; s < (*tiles)[t].steps.size(); ++s) {
      if ((*tiles)[t].steps[s].sizes.empty()) continue;
      Tiles changed = *tiles;
      std::vector<std::int64_t>& sizes = changed[t].steps[s].sizes;
      std::swap(sizes[0], sizes[1]);
      EXPECT_NE(FindWrongTile(layers.Main(), plan, changed), "") << t << ", " << s;
      sizes.clear();
      EXPECT_NE(FindWrongTile(layers.Main(), plan, changed), "") << t << ", " << s;
      ++shapes;
    }
    for (std::size_t k = 0; k < (*tiles)[t].tensors.size(); ++k) {
      Tiles changed = *tiles;
      ++changed[t].tensors[k].box[0].begin;
      ++changed[t].tensors[k].box[0].end;
      EXPECT_NE(FindWrongTile(layers.Main(), plan, changed), "") << t << ", tensor " << k;
    }
  }
  EXPECT_EQ(shapes, 6);
}

// Channels that go two ways: no other part, no other half of the input.
TEST(TilesCheck, OtherPartsOfASplitAreFound) {
  Layers layers;
  const auto halves = layers.Split(layers.Relu(layers.Input({1, 12, 6, 4})), 2);
  layers.Output(layers.Add(layers.Conv(halves[0], 2, {{3, 3}}), halves[1]));
  RegionPlan plan;
  plan.ops = layers.Ops();
  plan.splits = {{1, {4, 7}}};
  const auto tiles = TilesOf(layers.Main(), plan);
  ASSERT_TRUE(tiles) << tiles.error().ToString();
  ASSERT_EQ(FindWrongTile(layers.Main(), plan, *tiles), "");
  int parts = 0;
  for (std::size_t t = 0; t < tiles->size(); ++t) {
    for (std::size_t s = 0; s < (*tiles)[t].steps.size(); ++s) {
      const TileStep& step = (*tiles)[t].steps[s];
      if (step.op != OpId(1)) continue;
      ++parts;
      const auto wrong = [&](const std::function<void(Tile*, TileStep*)>& change) {
        Tiles changed = *tiles;
        change(&changed[t], &changed[t].steps[s]);
        return FindWrongTile(layers.Main(), plan, changed);
      };
      const auto box = [&](Tile* tile) -> ops::Box& {
        return tile->tensors[static_cast<std::size_t>(step.output)].box;
      };
      EXPECT_NE(wrong([&](Tile*, TileStep* one) { one->op_output = 1 - one->op_output; }), "");
      EXPECT_NE(wrong([&](Tile*, TileStep* one) { one->op_output = 2; }), "");
      EXPECT_NE(wrong([&](Tile* tile, TileStep*) { ++box(tile)[1].begin; }), "");
      EXPECT_NE(wrong([&](Tile* tile, TileStep*) { --box(tile)[1].end; }), "");
      EXPECT_NE(wrong([&](Tile* tile, TileStep*) { ++box(tile)[3].begin; }), "");
      EXPECT_NE(wrong([&](Tile* tile, TileStep*) { ++box(tile)[3].end; }), "");
      EXPECT_NE(wrong([&](Tile*, TileStep* one) { one->sizes = {1, 4, 6, 2}; }), "");
      EXPECT_NE(wrong([&](Tile*, TileStep* one) { one->inputs[1] = kWhole; }), "");
    }
  }
  EXPECT_EQ(parts, 6);
}

// A RESHAPE of just one image of a batch.
TEST(TilesCheck, OtherImagesOfAnUnpackAreFound) {
  Layers layers;
  const auto images = layers.Unpack(layers.Relu(layers.Input({2, 9, 5, 3})));
  layers.Output(layers.Add(images[0], images[1]));
  RegionPlan plan;
  plan.ops = layers.Ops();
  plan.splits = {{0, {4, 6}}};
  const auto tiles = TilesOf(layers.Main(), plan);
  ASSERT_TRUE(tiles) << tiles.error().ToString();
  ASSERT_EQ(FindWrongTile(layers.Main(), plan, *tiles), "");
  int images_taken = 0;
  for (std::size_t t = 0; t < tiles->size(); ++t) {
    for (const TileStep& step : (*tiles)[t].steps) {
      if (step.op != OpId(1)) continue;
      const auto part = static_cast<std::size_t>(step.inputs[0]);
      for (const std::int64_t by : {-1, 1}) {
        Tiles changed = *tiles;
        changed[t].tensors[part].box[0].begin += by;
        changed[t].tensors[part].box[0].end += by;
        EXPECT_NE(FindWrongTile(layers.Main(), plan, changed), "") << "tile " << t;
      }
      ++images_taken;
    }
  }
  EXPECT_EQ(images_taken, 6);
}

TEST(TilesCheck, OperatorsThatNeedAllOfTheirInputAreNotCut) {
  Layers layers;
  const auto input = layers.Input({1, 8, 8, 4});
  layers.Output(layers.Softmax(layers.Relu(input)));
  RegionPlan plan;
  plan.ops = layers.Ops();
  plan.splits = {{3, {2}}};  // along the axis that is summed over
  const auto tiles = TilesOf(layers.Main(), plan);
  EXPECT_TRUE(!tiles || !FindWrongTile(layers.Main(), plan, *tiles).empty());
}

}  // namespace
}  // namespace neap::cascade
