// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "neap/base/check.h"

namespace neap::zoo {
namespace {

using graph::Shape;
using graph::SubgraphId;
using graph::TensorId;

const graph::Subgraph& Main(const Network& network) {
  return network.graph.subgraphs[SubgraphId(0)];
}

std::vector<float> Floats(const graph::Tensor& tensor) {
  std::vector<float> values(tensor.data->bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data->bytes.data(), tensor.data->bytes.size());
  return values;
}

TEST(Builder, ComputesShapes) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 8, 15, 14});
  EXPECT_EQ(b.ShapeOf(b.Conv("a", in, {.channels = 5, .kernel = 3, .stride = 2})),
            (Shape{1, 5, 8, 7}));
  EXPECT_EQ(b.ShapeOf(b.Conv("b", in, {.channels = 5, .stride = 2})), (Shape{1, 5, 8, 7}));
  EXPECT_EQ(b.ShapeOf(b.DepthwiseConv("c", in, {.kernel = 3, .dilation = 2})),
            (Shape{1, 8, 15, 14}));
  EXPECT_EQ(b.ShapeOf(b.MaxPool("d", in, {.kernel = 3, .stride = 2})), (Shape{1, 8, 8, 7}));
  EXPECT_EQ(b.ShapeOf(b.AveragePool("e", in, {.kernel = 3})), (Shape{1, 8, 15, 14}));
  EXPECT_EQ(b.ShapeOf(b.Concat("f", {in, in, in})), (Shape{1, 24, 15, 14}));
  EXPECT_EQ(b.ShapeOf(b.Crop("g", in, 1)), (Shape{1, 8, 14, 13}));
  const TensorId flat = b.Flatten("h", in);
  EXPECT_EQ(b.ShapeOf(flat), (Shape{1, 1680}));
  EXPECT_EQ(b.ShapeOf(b.Gemm("i", flat, 10)), (Shape{1, 10}));
  EXPECT_EQ(b.ShapeOf(b.GlobalAveragePool("j", in)), (Shape{1, 8, 1, 1}));
}

TEST(Builder, PadsAsRequested) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 2, 9, 8});
  const auto conv = [&](const char* name, Padding padding, std::int64_t width) {
    return b.ShapeOf(b.Conv(
        name, in,
        {.channels = 3, .kernel = 4, .stride = 2, .padding = padding, .kernel_width = width}));
  };
  EXPECT_EQ(conv("same", Padding::kSame, 0), (Shape{1, 3, 5, 4}));
  EXPECT_EQ(conv("valid", Padding::kValid, 0), (Shape{1, 3, 3, 3}));
  EXPECT_EQ(conv("tall", Padding::kValid, 1), (Shape{1, 3, 3, 4}));
  EXPECT_THROW(conv("half", Padding::kHalf, 0), InternalError);
  EXPECT_EQ(b.ShapeOf(b.UpConv("up", in, 5)), (Shape{1, 5, 18, 16}));
  const Network network = b.Finish();
  const auto& pads = Main(network).ops[graph::OpId(0)].attributes.at("pads");
  // Nine rows: (5 - 1) * 2 + 4 - 9 = 3 rows of zeros, the odd one below; eight columns: 2.
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(pads), (std::vector<std::int64_t>{1, 1, 2, 1}));
}

TEST(Builder, MovesData) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 4, 6, 8});
  EXPECT_EQ(b.ShapeOf(b.CenterCrop("a", in, 4)), (Shape{1, 4, 4, 4}));
  EXPECT_EQ(b.ShapeOf(b.Slice("b", in, 1, 1, 3)), (Shape{1, 2, 6, 8}));
  EXPECT_EQ(b.ShapeOf(b.PadOne("c", in)), (Shape{1, 4, 7, 9}));
  EXPECT_EQ(b.ShapeOf(b.SplitWhole("d", in)), (Shape{1, 4, 6, 8}));
  const TensorId flat = b.Reshape("e", in, {1, 24, 8});
  const TensorId turned = b.Transpose("f", flat, {0, 2, 1});
  EXPECT_EQ(b.ShapeOf(turned), (Shape{1, 8, 24}));
  EXPECT_EQ(b.ShapeOf(b.MatMul("g", flat, turned)), (Shape{1, 24, 24}));
  EXPECT_EQ(b.ShapeOf(b.Linear("h", flat, 3)), (Shape{1, 24, 3}));
  EXPECT_THROW(b.MatMul("i", flat, flat), InternalError);
  EXPECT_THROW(b.Reshape("j", in, {1, 5}), InternalError);
  EXPECT_THROW(b.Slice("k", in, 1, 3, 5), InternalError);
}

TEST(Builder, CountsNormalisationsAsTheirSourcesDo) {
  Builder b("net", 0);
  TensorId x = b.Input("in", {1, 4, 6, 6});
  x = b.Conv("conv", x, {.channels = 10, .batch_norm = true, .bias = true});
  x = b.Conv("unscaled", x, {.channels = 10, .batch_norm = true, .unscaled = true});
  x = b.BatchNorm("norm", x);
  b.Output(b.LayerNorm("layer", x));
  const Facts facts = b.Finish().facts;
  // Weights; biases of folded ones; all four vectors of one that stays; two of the layer's.
  EXPECT_EQ(facts.parameters, (40 + 10) + (100 + 10) + 4 * 10 + 2 * 6);
  EXPECT_EQ(facts.published_parameters, (40 + 10 + 20) + (100 + 10) + 20 + 12);
  EXPECT_EQ(facts.statistics, 3 * 20);
}

// in - conv - norm - relu - add, and the classifier that does not count.
TEST(Builder, CountsTheLayersOfTheDefinition) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 4, 6, 6});
  TensorId x = b.Conv("conv", in, {.channels = 4, .batch_norm = true, .extra_layers = 1});
  x = b.Add("add", b.Relu("relu", x), in);
  b.EndBody(x);
  b.Output(b.Relu("head", x));
  const Body body = b.Finish().facts.body;
  EXPECT_EQ(body.layers, 6);
  EXPECT_EQ(body.depth, 6);
  EXPECT_EQ(body.degree, 2);
  EXPECT_EQ(body.parameters, 16 + 4 * 4);
  EXPECT_EQ(body.multiply_accumulates, 16 * 36);
}

TEST(Builder, LeavesOutDataWhereWeightsAreNotWanted) {
  Builder b("net", 0, false);
  b.Output(b.Conv("conv", b.Input("in", {1, 3, 2, 2}), {.channels = 1}));
  const Network network = b.Finish();
  EXPECT_TRUE(Main(network).tensors[TensorId(1)].constant);
  EXPECT_FALSE(Main(network).tensors[TensorId(1)].data.has_value());
  EXPECT_EQ(network.facts.parameters, 3);
}

TEST(Builder, CountsWhatWasBuilt) {
  Builder b("net", 0);
  TensorId x = b.Input("in", {1, 4, 6, 6});
  x = b.DepthwiseConv("dw", x, {.kernel = 3, .stride = 2});
  x = b.Conv("pw", x, {.channels = 10, .batch_norm = true});
  x = b.Gate("gate", x);
  x = b.Scale("half", x, 0.5F);
  b.Output(b.Gemm("fc", b.Flatten("flat", x), 7));
  const Network network = b.Finish();
  EXPECT_EQ(network.facts.parameters, 36 + (40 + 10) + 1 + (90 * 7 + 7));
  EXPECT_EQ(network.facts.published_parameters, network.facts.parameters + 10);
  EXPECT_EQ(network.facts.multiply_accumulates, 9 * 36 + 9 * 40 + 630);
  EXPECT_TRUE(graph::Verify(network.graph).has_value());
  EXPECT_EQ(Main(network).ops.size(), 6U);
}

TEST(Builder, WeightsHaveTheScaleOfHeAfterRelu) {
  Builder b("net", 9);
  const TensorId relu = b.Relu("relu", b.Input("in", {1, 64, 4, 4}));
  b.Output(b.Conv("conv", relu, {.channels = 64, .kernel = 3}));
  const Network network = b.Finish();
  const graph::Tensor& weight = Main(network).tensors[TensorId(2)];
  ASSERT_EQ(weight.name, "conv/weight");
  double sum = 0;
  double squares = 0;
  const std::vector<float> values = Floats(weight);
  ASSERT_EQ(values.size(), 64U * 64 * 9);
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(values.size());
  const double he = 2.0 / (64 * 9);
  EXPECT_NEAR(squares / count, he, 0.03 * he);
  EXPECT_NEAR(sum / count, 0, 0.02 * std::sqrt(he));
}

TEST(Builder, DividesOutWhatASumHasAdded) {
  const auto spread = [](int terms) {
    Builder b("net", 9);
    const TensorId in = b.Input("in", {1, 8, 4, 4});
    const TensorId x =
        terms == 1 ? in : b.Sum("sum", std::vector<TensorId>(static_cast<std::size_t>(terms), in));
    b.Output(b.Conv("conv", x, {.channels = 8}));
    const Network network = b.Finish();
    for (const graph::Tensor& tensor : Main(network).tensors) {
      if (tensor.name == "conv/weight") return Floats(tensor)[0];
    }
    return 0.0F;
  };
  EXPECT_NE(spread(1), 0);
  EXPECT_FLOAT_EQ(spread(4), spread(1) / 2);
}

// A shortcut behind a ReLU keeps its size in the next one, or deep residual networks would grow.
TEST(Builder, KeepsWhatHasBeenRectified) {
  const auto spread = [](bool rectified) {
    Builder b("net", 9);
    TensorId x = b.Input("in", {1, 8, 4, 4});
    if (rectified) x = b.Relu("first", x);
    b.Output(b.Conv("conv", b.Relu("second", x), {.channels = 8}));
    const Network network = b.Finish();
    for (const graph::Tensor& tensor : Main(network).tensors) {
      if (tensor.name == "conv/weight") return Floats(tensor)[0];
    }
    return 0.0F;
  };
  EXPECT_NE(spread(true), 0);
  EXPECT_EQ(spread(true), spread(false));
}

TEST(Builder, DrawsTheSameBitsEverywhere) {
  Builder b("net", 1);
  b.Output(b.Conv("conv", b.Input("in", {1, 3, 2, 2}), {.channels = 1}));
  const Network network = b.Finish();
  // (draw - 2^23) * sqrt(3 * (1 / 3)) / 2^23, of the top 24 bits of splitmix64 from seed 1.
  Random random(1);
  const std::vector<float> values = Floats(Main(network).tensors[TensorId(1)]);
  ASSERT_EQ(values.size(), 3U);
  for (const float value : values) {
    const auto draw = static_cast<std::int64_t>(random.Next() >> 40U) - (1 << 23);
    EXPECT_EQ(value, static_cast<float>(draw) * 0x1p-23F);
  }
}

TEST(Builder, RefusesWhatDoesNotFit) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 8, 4, 4});
  const TensorId half = b.MaxPool("pool", in, {.kernel = 3, .stride = 2});
  EXPECT_THROW(b.Add("add", in, half), InternalError);
  EXPECT_THROW(b.Concat("concat", {in, half}), InternalError);
  EXPECT_THROW(b.Sum("sum", {in}), InternalError);
  EXPECT_THROW(b.Relu("pool", in), InternalError);
}

}  // namespace
}  // namespace neap::zoo
