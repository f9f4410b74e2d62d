// SPDX-License-Identifier: Apache-2.0
#include "neap/zoo/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
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
