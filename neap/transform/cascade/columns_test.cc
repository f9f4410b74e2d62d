// SPDX-License-Identifier: Apache-2.0
//
// Products by columns, and operators that repeat their input as padding, in tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/ops/op_table.h"
#include "neap/transform/cascade/cut_axes.h"
#include "neap/transform/cascade/plan.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tile_maker.h"
#include "neap/transform/cascade/tile_rules.h"
#include "neap/transform/cascade/tiles_check.h"
#include "testing/sketch.h"
#include "testing/tile_networks.h"

namespace neap::cascade {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::SubgraphId;
using graph::TensorId;

constexpr SubgraphId kMain(0);

class Drawn {
 public:
  explicit Drawn(std::string domain) : domain_(std::move(domain)) { graph.subgraphs.push_back({}); }

  graph::Subgraph& main() { return graph.subgraphs[kMain]; }
  TensorId Tensor(ElementType type, Shape shape) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(main().tensors.size());
    tensor.type = type;
    tensor.shape = std::move(shape);
    return main().tensors.push_back(std::move(tensor));
  }
  template <typename T>
  TensorId Constant(ElementType type, const Shape& shape, const std::vector<T>& values) {
    graph::Tensor tensor = graph::ConstantOf(type, shape, values);
    tensor.name = "c" + std::to_string(main().tensors.size());
    return main().tensors.push_back(std::move(tensor));
  }
  TensorId Floats(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i % 7) - 3.0F);
    return Constant(ElementType::kFloat32, shape, values);
  }
  OpId Run(const std::string& type, std::vector<TensorId> inputs, TensorId output,
           std::map<std::string, graph::Attribute> attributes = {}) {
    Op op;
    op.type = type;
    op.domain = domain_;
    op.version = domain_.empty() ? 17 : 0;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.attributes = std::move(attributes);
    return main().ops.push_back(std::move(op));
  }
  void Border(std::vector<TensorId> inputs, TensorId output) {
    main().inputs = std::move(inputs);
    main().outputs = {output};
  }

  graph::Graph graph;

 private:
  std::string domain_;
};

void ExpectSame(const graph::Graph& graph, const graph::Graph& tiled, execute::Kernels kernels) {
  const auto inputs = *execute::RandomInputs(graph.subgraphs[kMain], 5, 1 << 20);
  execute::EvaluateOptions options;
  options.kernels = kernels;
  const auto expected = execute::Evaluate(graph, kMain, inputs, options);
  ASSERT_TRUE(expected) << expected.error().ToString();
  const auto found = execute::Evaluate(tiled, kMain, inputs, options);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ((*expected)[0].bytes, (*found)[0].bytes);
}

// The output in parts, and its bytes.
void ExpectTiles(const graph::Graph& graph, const RegionPlan& plan, execute::Kernels kernels) {
  const auto tiles = TilesOf(graph.subgraphs[kMain], plan);
  ASSERT_TRUE(tiles) << tiles.error().ToString();
  EXPECT_EQ(FindWrongTile(graph.subgraphs[kMain], plan, *tiles), "");
  const auto tiled = Realise(graph, {plan});
  ASSERT_TRUE(tiled) << tiled.error().ToString();
  ExpectSame(graph, *tiled, kernels);
}

std::string WhyNot(const graph::Graph& graph, const RegionPlan& plan) {
  const auto tiles = TilesOf(graph.subgraphs[kMain], plan);
  return tiles ? "" : tiles.error().ToString();
}

// FULLY_CONNECTED by its units: each tile has rows of the weights and elements of the bias.
TEST(Columns, UnitsHaveWeightsOfTheirOwn) {
  Drawn net("tflite");
  const TensorId in = net.Tensor(ElementType::kFloat32, {1, 6});
  const TensorId weights = net.Floats({10, 6});
  const TensorId bias = net.Floats({10});
  const TensorId wide = net.Tensor(ElementType::kFloat32, {1, 10});
  const TensorId out = net.Tensor(ElementType::kFloat32, {1, 10});
  const OpId product = net.Run("FULLY_CONNECTED", {in, weights, bias}, wide);
  const OpId after = net.Run("RELU", {wide}, out);
  net.Border({in}, out);
  const RegionPlan plan = {{product, after}, {{1, {3, 8}}}};
  ExpectTiles(net.graph, plan, execute::Kernels::kTflm);
  const auto tiles = *TilesOf(net.main(), plan);
  ASSERT_EQ(tiles.size(), 3U);
  const auto& parts = tiles[1].steps.front().weights;
  EXPECT_EQ(parts.at(1), (ops::Box{{3, 8}, {0, 6}}));
  EXPECT_EQ(parts.at(2), (ops::Box{{3, 8}}));
  // The search for tiles of LiteRT has none: its sums of floats depend on the number of units.
  EXPECT_FALSE(TileMaker(net.main(), ops::StockRuntime::kLitert).TilesOf(plan));
  EXPECT_TRUE(TileMaker(net.main(), ops::StockRuntime::kTflm).TilesOf(plan));
}

TEST(Columns, AProductThatFollowsAnOperatorOfTheRegionIsRefused) {
  for (const bool onnx : {false, true}) {
    Drawn net(onnx ? "" : "tflite");
    const TensorId in = net.Tensor(ElementType::kFloat32, {1, 6});
    const TensorId before = net.Tensor(ElementType::kFloat32, {1, 6});
    const TensorId weights = net.Floats({10, 6});
    const TensorId out = net.Tensor(ElementType::kFloat32, {1, 10});
    const OpId first = net.Run(onnx ? "Relu" : "RELU", {in}, before);
    const OpId product =
        onnx ? net.Run("Gemm", {before, weights}, out, {{"transB", std::int64_t{1}}})
             : net.Run("FULLY_CONNECTED", {before, weights}, out);
    net.Border({in}, out);
    EXPECT_EQ(WhyNot(net.graph, {{product}, {{1, {5}}}}), "");
    const std::string why = WhyNot(net.graph, {{first, product}, {{1, {5}}}});
    const char* const expected =
        onnx ? "needs all channels of its input" : "has an output that is not cut";
    EXPECT_NE(why.find(expected), std::string::npos) << why;
  }
}

// Tiles of rows and columns read the same parts of the weights.
TEST(Columns, TilesOfTheSameColumnsShareWeights) {
  Drawn net("tflite");
  const TensorId in = net.Tensor(ElementType::kFloat32, {1, 4, 6});
  const TensorId weights = net.Floats({10, 6});
  const TensorId out = net.Tensor(ElementType::kFloat32, {1, 4, 10});
  const OpId product =
      net.Run("FULLY_CONNECTED", {in, weights}, out, {{"keep_num_dims", std::int64_t{1}}});
  net.Border({in}, out);
  const RegionPlan plan = {{product}, {{1, {1, 2, 3}}, {2, {5}}}};
  ExpectTiles(net.graph, plan, execute::Kernels::kTflm);
  const auto tiled = *Realise(net.graph, {plan});
  std::set<TensorId> parts;
  for (const Op& op : tiled.subgraphs[kMain].ops) {
    if (op.type == "FULLY_CONNECTED") parts.insert(op.inputs[1]);
  }
  EXPECT_EQ(parts.size(), 2U);
}

// A second matrix that operators of the region compute is cut as data, along its columns.
TEST(Columns, TheSecondMatrixIsCutAsData) {
  for (const std::int64_t turned : {0, 1}) {
    Drawn net("tflite");
    const TensorId first = net.Tensor(ElementType::kFloat32, {2, 3, 4});
    const TensorId second =
        net.Tensor(ElementType::kFloat32, turned == 0 ? Shape{2, 4, 9} : Shape{2, 9, 4});
    const TensorId keys = net.Tensor(ElementType::kFloat32, *net.main().tensors[second].shape);
    const TensorId out = net.Tensor(ElementType::kFloat32, {2, 3, 9});
    const OpId before = net.Run("RELU", {second}, keys);
    const OpId product = net.Run("BATCH_MATMUL", {first, keys}, out, {{"adj_y", turned}});
    net.Border({first, second}, out);
    ExpectTiles(net.graph, {{before, product}, {{2, {2, 7}}}}, execute::Kernels::kTflm);
    ExpectTiles(net.graph, {{product}, {{2, {2, 7}}}}, execute::Kernels::kTflm);
    ExpectTiles(net.graph, {{before, product}, {{1, {1}}}}, execute::Kernels::kTflm);
  }
}

// Weights that a kernel reads in another order, and activations that it quantises while it runs.
TEST(Columns, OtherFormsOfWeightsAreNotCut) {
  Drawn net("tflite");
  const TensorId in = net.Tensor(ElementType::kFloat32, {1, 6});
  const TensorId weights = net.Floats({10, 6});
  const TensorId out = net.Tensor(ElementType::kFloat32, {1, 10});
  const OpId product =
      net.Run("FULLY_CONNECTED", {in, weights}, out, {{"weights_format", std::int64_t{1}}});
  net.Border({in}, out);
  const RegionPlan plan = {{product}, {{1, {5}}}};
  EXPECT_NE(WhyNot(net.graph, plan), "");
  net.main().ops[product].attributes.clear();
  EXPECT_EQ(WhyNot(net.graph, plan), "");
  net.main().tensors[weights].type = ElementType::kInt8;
  EXPECT_NE(WhyNot(net.graph, plan), "");
}

// ONNX Runtime's sums of floats depend on the number of columns where it does not pack the matrix.
TEST(Columns, FloatsOfOnnxAreCutWhereTheMatrixIsConstant) {
  Drawn net("");
  const TensorId in = net.Tensor(ElementType::kFloat32, {1, 4, 5, 5});
  const TensorId wide = net.Tensor(ElementType::kFloat32, {1, 6, 5, 5});
  const OpId window = net.Run("Conv", {in, net.Floats({6, 4, 1, 1})}, wide);
  net.Border({in}, wide);
  const std::string why = WhyNot(net.graph, {{window}, {{1, {3}}}});
  EXPECT_NE(why.find("depend on the number of columns"), std::string::npos) << why;

  Drawn two("");
  const TensorId a = two.Tensor(ElementType::kFloat32, {3, 4});
  const TensorId b = two.Tensor(ElementType::kFloat32, {4, 8});
  const TensorId out = two.Tensor(ElementType::kFloat32, {3, 8});
  const OpId product = two.Run("MatMul", {a, b}, out);
  two.Border({a, b}, out);
  EXPECT_NE(WhyNot(two.graph, {{product}, {{1, {3}}}}), "");
  two.main().ops[product].inputs[1] = two.Floats({4, 8});
  two.Border({a}, out);
  ExpectTiles(two.graph, {{product}, {{1, {3}}}}, execute::Kernels::kOnnx);
}

// One channel by one filter would be a depthwise convolution.
TEST(Columns, IntegersOfOneChannelAreNotCut) {
  for (const std::int64_t channels : {1, 3}) {
    Drawn net("");
    const TensorId in = net.Tensor(ElementType::kInt8, {1, channels, 5, 5});
    const auto one = [&](float value) {
      return net.Constant(ElementType::kFloat32, {}, std::vector<float>{value});
    };
    const TensorId zero = net.Constant(ElementType::kInt8, {}, std::vector<std::int8_t>{1});
    std::vector<std::int8_t> weights(static_cast<std::size_t>(6 * channels), 9);
    const TensorId filters = net.Constant(ElementType::kInt8, {6, channels, 1, 1}, weights);
    const TensorId scales = net.Constant(ElementType::kFloat32, {6},
                                         std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F});
    const TensorId zeros = net.Constant(ElementType::kInt8, {6}, std::vector<std::int8_t>(6, 0));
    const TensorId out = net.Tensor(ElementType::kInt8, {1, 6, 5, 5});
    const OpId window = net.Run(
        "QLinearConv", {in, one(0.05F), zero, filters, scales, zeros, one(2.0F), zero}, out);
    net.Border({in}, out);
    const RegionPlan plan = {{window}, {{1, {1, 4}}}};
    if (channels == 1) {
      EXPECT_NE(WhyNot(net.graph, plan), "");
      continue;
    }
    ExpectTiles(net.graph, plan, execute::Kernels::kOnnx);
    const auto tiles = *TilesOf(net.main(), plan);
    for (const std::size_t input : {3U, 4U, 5U}) {
      EXPECT_EQ(tiles[1].steps.front().weights.at(input)[0], (ops::Interval{1, 4}));
    }
  }
}

// A scale for each column of the second matrix is cut with it.
TEST(Columns, ScalesOfColumnsAreCut) {
  Drawn net("");
  const TensorId in = net.Tensor(ElementType::kInt8, {2, 4});
  const TensorId zero = net.Constant(ElementType::kInt8, {}, std::vector<std::int8_t>{1});
  const TensorId scale = net.Constant(ElementType::kFloat32, {}, std::vector<float>{0.1F});
  const TensorId matrix = net.Constant(ElementType::kInt8, {4, 6}, std::vector<std::int8_t>(24, 3));
  const TensorId scales = net.Constant(ElementType::kFloat32, {6}, std::vector<float>(6, 0.1F));
  const TensorId zeros = net.Constant(ElementType::kInt8, {6}, std::vector<std::int8_t>(6, 0));
  const TensorId out = net.Tensor(ElementType::kInt8, {2, 6});
  const OpId product =
      net.Run("QLinearMatMul", {in, scale, zero, matrix, scales, zeros, scale, zero}, out);
  net.Border({in}, out);
  const RegionPlan plan = {{product}, {{1, {2}}}};
  auto tiles = TilesOf(net.main(), plan);
  ASSERT_TRUE(tiles) << tiles.error().ToString();
  EXPECT_EQ(FindWrongTile(net.main(), plan, *tiles), "");
  auto& parts = (*tiles)[1].steps.front().weights;
  EXPECT_EQ(parts.at(3), (ops::Box{{0, 4}, {2, 6}}));
  EXPECT_EQ(parts.at(4), (ops::Box{{2, 6}}));
  parts.erase(4);
  EXPECT_NE(FindWrongTile(net.main(), plan, *tiles), "");
}

// Dequantised constants are no step: each tile has a DequantizeLinear of its part, and that of the
// whole is gone.
TEST(Columns, TilesDequantiseTheirPartOfTheWeights) {
  Drawn net("");
  const TensorId in = net.Tensor(ElementType::kInt8, {3, 4});
  const TensorId zero = net.Constant(ElementType::kInt8, {}, std::vector<std::int8_t>{1});
  const TensorId scale = net.Constant(ElementType::kFloat32, {}, std::vector<float>{0.1F});
  std::vector<std::int8_t> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<std::int8_t>(5 * i - 60));
  const TensorId weights = net.Constant(ElementType::kInt8, {4, 6}, values);
  const TensorId scales = net.Constant(ElementType::kFloat32, {6},
                                       std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F});
  const TensorId zeros = net.Constant(ElementType::kInt8, {6}, std::vector<std::int8_t>(6, 0));
  const TensorId x = net.Tensor(ElementType::kFloat32, {3, 4});
  const TensorId w = net.Tensor(ElementType::kFloat32, {4, 6});
  const TensorId y = net.Tensor(ElementType::kFloat32, {3, 6});
  const TensorId out = net.Tensor(ElementType::kInt8, {3, 6});
  net.Run("DequantizeLinear", {in, scale, zero}, x);
  const OpId folded =
      net.Run("DequantizeLinear", {weights, scales, zeros}, w, {{"axis", std::int64_t{1}}});
  net.main().ops[folded].folded = true;
  net.main().tensors[w].constant = true;
  const OpId product = net.Run("MatMul", {x, w}, y);
  const OpId last = net.Run("QuantizeLinear", {y, scale, zero}, out);
  net.Border({in}, out);
  const RegionPlan plan = {{product, last}, {{1, {2, 3}}}};
  ExpectTiles(net.graph, plan, execute::Kernels::kOnnx);
  const auto tiled = *Realise(net.graph, {plan});
  const auto& nodes = tiled.subgraphs[kMain].ops;
  EXPECT_EQ(std::count_if(nodes.begin(), nodes.end(), [](const Op& op) { return op.folded; }), 3);
  // Without the operator that quantises, ONNX Runtime may compute with floats.
  net.main().ops[last].type = "Cast";
  net.main().ops[last].kind = {};
  EXPECT_NE(WhyNot(net.graph, plan), "");
}

// The groups of a convolution of integers go with its channels.
TEST(Columns, GroupsAreCutBetween) {
  for (const bool floats : {false, true}) {
    Drawn net("");
    const auto type = floats ? ElementType::kFloat32 : ElementType::kInt8;
    const TensorId in = net.Tensor(type, {1, 4, 5, 5});
    const TensorId out = net.Tensor(type, {1, 8, 5, 5});
    const TensorId zero = net.Constant(ElementType::kInt8, {}, std::vector<std::int8_t>{1});
    const TensorId scale = net.Constant(ElementType::kFloat32, {}, std::vector<float>{0.1F});
    std::vector<std::int8_t> values;
    for (int i = 0; i < 72; ++i) values.push_back(static_cast<std::int8_t>(i - 30));
    const TensorId filters = net.Constant(ElementType::kInt8, {8, 1, 3, 3}, values);
    const std::map<std::string, graph::Attribute> attributes = {
        {"group", std::int64_t{4}}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
    const OpId window =
        floats ? net.Run("Conv", {in, net.Floats({8, 1, 3, 3})}, out, attributes)
               : net.Run("QLinearConv", {in, scale, zero, filters, scale, zero, scale, zero}, out,
                         attributes);
    net.Border({in}, out);
    EXPECT_NE(WhyNot(net.graph, {{window}, {{1, {3}}}}), "");
    const RegionPlan between = {{window}, {{1, {2, 6}}}};
    if (floats) {
      EXPECT_NE(WhyNot(net.graph, between), "");
    } else {
      ExpectTiles(net.graph, between, execute::Kernels::kOnnx);
    }
  }
}

// A product of every row and the mean of all rows: no band of rows reaches the mean.
TEST(Columns, TheSearchFindsThem) {
  Drawn net("tflite");
  const TensorId in = net.Tensor(ElementType::kFloat32, {32, 6});
  const TensorId wide = net.Tensor(ElementType::kFloat32, {32, 128});
  const TensorId out = net.Tensor(ElementType::kFloat32, {1, 128});
  const TensorId axes = net.Constant(ElementType::kInt32, {1}, std::vector<std::int32_t>{0});
  const OpId product = net.Run("FULLY_CONNECTED", {in, net.Floats({128, 6})}, wide,
                               {{"keep_num_dims", std::int64_t{1}}});
  net.Run("MEAN", {wide, axes}, out, {{"keep_dims", std::int64_t{1}}});
  net.Border({in}, out);
  // Those with the product, along its columns.
  const auto cut = [&](plan::Runtime runtime, std::int64_t* saved) {
    const auto found = FindPlan(net.graph, QuickOptions(runtime));
    EXPECT_TRUE(found) << found.error().ToString();
    const Proposal& best = found->front[found->chosen];
    *saved = found->uncut.arena_bytes - best.arena_bytes;
    return std::any_of(best.regions.begin(), best.regions.end(), [&](const RegionPlan& region) {
      return region.ops.front() == product && region.splits[0].axis == 1;
    });
  };
  std::int64_t saved = 0;
  EXPECT_TRUE(cut(plan::Runtime::kTflm, &saved));
  EXPECT_GT(saved, 32 * 128 * 4 / 2);
  EXPECT_FALSE(cut(plan::Runtime::kLitert, &saved));
}

TEST(Columns, GridsHaveTheLastAxis) {
  Drawn net("tflite");
  const TensorId in = net.Tensor(ElementType::kFloat32, {1, 6});
  const OpId op = net.Run("RELU", {in}, in);
  using Axes = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(GridAxesOf(net.main().ops[op], {1, 6}), (Axes{{1}}));
  EXPECT_EQ(GridAxesOf(net.main().ops[op], {4, 6}), (Axes{{0}, {1}}));
  EXPECT_EQ(GridAxesOf(net.main().ops[op], {1, 4, 6}), (Axes{{1}, {2}}));
}

// ---- padding that repeats the input

// Every pair of cuts, for all modes, through a window behind it.
TEST(RepeatedPadding, PadOfOnnxIsCutAnywhere) {
  int cut = 0;
  for (const std::string mode : {"edge", "reflect", "wrap"}) {
    for (const std::int64_t before : {0, 1, 3}) {
      for (const std::int64_t after : {0, 2}) {
        Drawn net("");
        const std::int64_t size = 6 + before + after;
        const TensorId in = net.Tensor(ElementType::kFloat32, {1, 2, 6, 3});
        const TensorId padded = net.Tensor(ElementType::kFloat32, {1, 2, size, 3});
        const TensorId out = net.Tensor(ElementType::kFloat32, {1, 2, size - 2, 3});
        const TensorId pads = net.Constant(
            ElementType::kInt64, {8}, std::vector<std::int64_t>{0, 0, before, 0, 0, 0, after, 0});
        const OpId pad = net.Run("Pad", {in, pads}, padded, {{"mode", mode}});
        const OpId pool = net.Run("MaxPool", {padded}, out,
                                  {{"kernel_shape", std::vector<std::int64_t>{3, 1}},
                                   {"strides", std::vector<std::int64_t>{1, 1}}});
        net.Border({in}, out);
        for (std::int64_t first = 1; first < size - 3; ++first) {
          for (std::int64_t second = first + 1; second < size - 2; ++second) {
            SCOPED_TRACE(mode + " " + std::to_string(before) + " " + std::to_string(after));
            ExpectTiles(net.graph, {{pad, pool}, {{2, {first, second}}}}, execute::Kernels::kOnnx);
            ++cut;
          }
        }
      }
    }
  }
  EXPECT_GT(cut, 200);
}

// Tiles inside the image need no padding, and those at its borders only theirs.
TEST(RepeatedPadding, TilesPadAtTheirBorder) {
  Drawn net("");
  const TensorId in = net.Tensor(ElementType::kFloat32, {1, 2, 12, 3});
  const TensorId padded = net.Tensor(ElementType::kFloat32, {1, 2, 16, 3});
  const TensorId pads =
      net.Constant(ElementType::kInt64, {8}, std::vector<std::int64_t>{0, 0, 2, 0, 0, 0, 2, 0});
  const OpId pad = net.Run("Pad", {in, pads}, padded, {{"mode", std::string("reflect")}});
  net.Border({in}, padded);
  const RegionPlan plan = {{pad}, {{2, {5, 11}}}};
  auto tiles = TilesOf(net.main(), plan);
  ASSERT_TRUE(tiles) << tiles.error().ToString();
  const auto pads_of = [](const Tile& tile) {
    const auto step = std::find_if(tile.steps.begin(), tile.steps.end(),
                                   [](const TileStep& one) { return one.op.valid(); });
    return step->constants.at(1);
  };
  EXPECT_EQ(pads_of((*tiles)[0]), (std::vector<std::int64_t>{0, 0, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(pads_of((*tiles)[1]), (std::vector<std::int64_t>(8, 0)));
  EXPECT_EQ(pads_of((*tiles)[2]), (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 2, 0}));
  EXPECT_EQ(FindWrongTile(net.main(), plan, *tiles), "");
  // Another mode reads the same rows in another order.
  for (TileStep& step : (*tiles)[0].steps) {
    if (step.op.valid()) step.attributes.emplace_back("mode", std::string("edge"));
  }
  EXPECT_NE(FindWrongTile(net.main(), plan, *tiles), "");
}

TEST(RepeatedPadding, MirrorPadIsCutAnywhere) {
  int cut = 0;
  for (const std::int64_t mode : {0, 1}) {
    for (const std::int32_t before : {0, 1, 3}) {
      for (const std::int32_t after : {0, 2}) {
        Drawn net("tflite");
        const std::int64_t size = 7 + before + after;
        const TensorId in = net.Tensor(ElementType::kFloat32, {1, 7, 3, 2});
        const TensorId wide = net.Tensor(ElementType::kFloat32, {1, 7, 3, 2});
        const TensorId out = net.Tensor(ElementType::kFloat32, {1, size, 3, 2});
        const TensorId pads =
            net.Constant(ElementType::kInt32, {4, 2},
                         std::vector<std::int32_t>{0, 0, before, after, 0, 0, 0, 0});
        const OpId pool = net.Run("MAX_POOL_2D", {in}, wide,
                                  {{"filter_height", std::int64_t{3}},
                                   {"filter_width", std::int64_t{1}},
                                   {"stride_h", std::int64_t{1}},
                                   {"stride_w", std::int64_t{1}},
                                   {"padding", std::int64_t{0}}});
        const OpId pad = net.Run("MIRROR_PAD", {wide, pads}, out, {{"mode", mode}});
        net.Border({in}, out);
        for (std::int64_t first = 1; first < size - 1; ++first) {
          for (std::int64_t second = first + 1; second < size; ++second) {
            SCOPED_TRACE(std::to_string(mode) + " " + std::to_string(before) + " " +
                         std::to_string(after) + " " + std::to_string(first));
            ExpectTiles(net.graph, {{pool, pad}, {{1, {first, second}}}}, execute::Kernels::kTflm);
            ++cut;
          }
        }
      }
    }
  }
  EXPECT_GT(cut, 200);
}

}  // namespace
}  // namespace neap::cascade
