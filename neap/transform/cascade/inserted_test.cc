// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/inserted.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/tile_layers.h"

namespace neap::cascade {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::TensorId;
using ops::StockRuntime;

struct CutChain {
  explicit CutChain(ElementType type) {
    layers.Output(layers.MaxPool(layers.Relu(layers.Input({1, 8, 8, 4})), {{3, 3}}));
    RegionPlan plan;
    plan.ops = layers.Ops();
    plan.splits = {{1, {4}}};
    tiles = *TilesOf(layers.Main(), plan);
    for (graph::Tensor& tensor : layers.Main().tensors) {
      if (!tensor.constant) tensor.type = type;
    }
  }
  bool Joins(StockRuntime runtime) {
    return MayJoin(layers.Main(), layers.Main().outputs[0], runtime);
  }
  bool Slices(StockRuntime runtime) { return MaySlice(layers.Main(), tiles, runtime); }

  Layers layers;
  std::vector<Tile> tiles;
};

TEST(InsertedTest, TheRuntimeHasAKernelForTheTypeOfWhatIsCut) {
  CutChain int8(ElementType::kInt8);
  for (const auto runtime : {StockRuntime::kNone, StockRuntime::kTflm, StockRuntime::kLitert}) {
    EXPECT_TRUE(int8.Joins(runtime));
    EXPECT_TRUE(int8.Slices(runtime));
  }
  // TFLM has no SLICE for uint8.
  CutChain uint8(ElementType::kUint8);
  EXPECT_FALSE(uint8.Slices(StockRuntime::kTflm));
  EXPECT_TRUE(uint8.Slices(StockRuntime::kLitert));
  EXPECT_TRUE(uint8.Slices(StockRuntime::kNone));
}

TEST(InsertedTest, EveryTensorThatIsSlicedCounts) {
  CutChain chain(ElementType::kInt8);
  ASSERT_TRUE(chain.Slices(StockRuntime::kTflm));
  bool slices = false;
  for (const Tile& tile : chain.tiles) {
    for (const TileStep& step : tile.steps) {
      if (step.op.valid()) continue;
      slices = true;
      const TensorId whole = tile.tensors[static_cast<std::size_t>(step.output)].whole;
      graph::Tensor& tensor = chain.layers.Main().tensors[whole];
      tensor.type = ElementType::kUint8;
      EXPECT_FALSE(chain.Slices(StockRuntime::kTflm)) << tensor.name;
      tensor.type = ElementType::kInt8;
    }
  }
  EXPECT_TRUE(slices);
}

TEST(InsertedTest, OnnxOperatorsAreOfTheVersionOfTheFile) {
  CutChain chain(ElementType::kFloat32);
  graph::Subgraph& main = chain.layers.Main();
  for (const OpId id : main.ops.Ids()) {
    main.ops[id].domain = "";
    main.ops[id].type = id.value() == 0 ? "Relu" : "MaxPool";
    main.ops[id].source_index = id.value();
    main.ops[id].version = 13;
  }
  EXPECT_TRUE(chain.Joins(StockRuntime::kOnnxRuntime));
  EXPECT_TRUE(chain.Slices(StockRuntime::kOnnxRuntime));
  // Concat joins floats alone before version 4.
  for (graph::Tensor& tensor : main.tensors) tensor.type = ElementType::kInt8;
  EXPECT_TRUE(chain.Joins(StockRuntime::kOnnxRuntime));
  for (graph::Op& op : main.ops) op.version = 3;
  EXPECT_FALSE(chain.Joins(StockRuntime::kOnnxRuntime));
  EXPECT_TRUE(chain.Slices(StockRuntime::kOnnxRuntime));
  // A file without operators of the default set does not state its version.
  for (graph::Op& op : main.ops) {
    op.version = 0;
    op.domain = "com.example";
  }
  EXPECT_FALSE(chain.Joins(StockRuntime::kOnnxRuntime));
  for (graph::Op& op : main.ops) op.source_index = -1;
  EXPECT_TRUE(chain.Joins(StockRuntime::kOnnxRuntime)) << "not read from a file";
}

}  // namespace
}  // namespace neap::cascade
