// SPDX-License-Identifier: Apache-2.0
//
// Results of TVM's cascader, as numbers: propagation, counts of stripes, buffers, ways to cut.
#include "testing/stripes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "neap/base/random.h"
#include "neap/ops/dependence.h"
#include "testing/cases.h"
#include "testing/tile_networks.h"

namespace neap::cascade {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using Numbers = std::vector<std::int64_t>;
using Counts = std::map<Numbers, std::int64_t>;

std::vector<Fraction> Whole(const Numbers& numbers) {
  std::vector<Fraction> fractions;
  for (const std::int64_t number : numbers) fractions.push_back({number, 1});
  return fractions;
}

StripeConfig Config(const Numbers& shape, const Numbers& extent, const Numbers& strides,
                    const Numbers& order, const Numbers& count, const Numbers& offset) {
  return {shape, extent, Whole(strides), order, count, offset};
}

Propagator Matrix(const std::vector<Numbers>& rows, const Numbers& offset) {
  Propagator propagator;
  for (const Numbers& row : rows) propagator.matrix.push_back(Whole(row));
  propagator.offset = offset;
  return propagator;
}

TEST(Propagate, StridesAndConstants) {
  const Propagator p =
      Matrix({{2, 0, 0, 4}, {0, 1, 0, 2}, {0, 0, 0, 8}, {0, 0, 0, 1}}, {-2, -1, 0});
  const auto in =
      p.Propagate(Config({4, 6, 32}, {48, 60, 64}, {4, 6, 32}, {1, 2, 3}, {12, 10, 2}, {0, 0, 0}));
  ASSERT_TRUE(in);
  EXPECT_EQ(*in, Config({12, 8, 8}, {100, 62, 8}, {8, 6, 0}, {1, 2, 0}, {12, 10, 1}, {-2, -1, 0}));
}

TEST(Propagate, HalvesStayFractions) {
  Propagator p = Matrix({{0, 0, 0}, {0, 0, 0}, {0, 0, 1}}, {0, 0});
  p.matrix[0][0] = p.matrix[1][1] = {1, 2};
  const auto in = p.Propagate(Config({3, 5}, {27, 50}, {3, 5}, {1, 2}, {9, 10}, {0, 0}));
  ASSERT_TRUE(in);
  EXPECT_EQ(in->shape, (Numbers{2, 3}));
  EXPECT_EQ(in->extent, (Numbers{14, 25}));
  EXPECT_EQ(in->strides, (std::vector<Fraction>{{3, 2}, {5, 2}}));
}

TEST(Propagate, BricksOfSixteenChannels) {
  Propagator p = Matrix({{1, 0, 0, 0, 0},
                         {0, 1, 0, 0, 0},
                         {0, 0, 0, 0, 0},
                         {0, 0, 1, 0, 0},
                         {0, 0, 0, 0, 16},
                         {0, 0, 0, 0, 1}},
                        {0, 0, 0, 0, 0});
  p.matrix[2][3] = {1, 16};
  const auto in = p.Propagate(Config({1, 12, 14, 36}, {1, 24, 18, 72}, {1, 12, 14, 36},
                                     {1, 2, 3, 4}, {1, 2, 2, 2}, {0, 0, 0, 0}));
  ASSERT_TRUE(in);
  EXPECT_EQ(in->shape, (Numbers{1, 12, 3, 14, 16}));
  EXPECT_EQ(in->extent, (Numbers{1, 24, 5, 18, 16}));
  EXPECT_EQ(in->strides, (std::vector<Fraction>{{1, 1}, {12, 1}, {9, 4}, {14, 1}, {0, 1}}));
  EXPECT_EQ(in->order, (Numbers{1, 2, 4, 3, 0}));
}

TEST(CountStripes, ClippedAtBorders) {
  EXPECT_EQ(CountStripes(Config({3, 3}, {10, 10}, {2, 2}, {1, 2}, {5, 5}, {0, 0}), false),
            (Counts{{{3, 3}, 16}, {{2, 3}, 4}, {{3, 2}, 4}, {{2, 2}, 1}}));
  EXPECT_EQ(CountStripes(Config({5, 5}, {8, 8}, {5, 5}, {1, 2}, {2, 2}, {-1, -2}), false),
            (Counts{{{4, 3}, 2}, {{4, 5}, 2}}));
  EXPECT_EQ(CountStripes(Config({13, 7}, {128, 73}, {13, 7}, {1, 2}, {11, 12}, {-10, -5}), false),
            (Counts{{{3, 1}, 1},
                    {{3, 2}, 1},
                    {{8, 7}, 10},
                    {{8, 2}, 1},
                    {{13, 7}, 90},
                    {{13, 1}, 9},
                    {{8, 1}, 1},
                    {{3, 7}, 10},
                    {{13, 2}, 9}}));
}

TEST(CountStripes, SlidingWindowsCountWhatIsNew) {
  EXPECT_EQ(CountStripes(Config({4, 4}, {16, 16}, {2, 2}, {1, 2}, {7, 7}, {0, 0}), true),
            (Counts{{{4, 4}, 1}, {{2, 4}, 6}, {{4, 2}, 6}, {{2, 2}, 36}}));
  EXPECT_EQ(CountStripes(Config({4, 4}, {8, 8}, {2, 2}, {1, 2}, {6, 3}, {-5, 0}), true),
            (Counts{{{1, 4}, 2}, {{2, 4}, 3}, {{2, 2}, 6}, {{1, 2}, 4}}));
}

TEST(BufferBytes, RollingAndRecompute) {
  const StripeConfig rolling =
      Config({9, 4, 7}, {9, 16, 21}, {9, 4, 7}, {1, 3, 2}, {1, 3, 3}, {0, 0, 0});
  EXPECT_EQ(BufferBytes(rolling, {9, 16, 21}, 4, Buffering::kRolling, {1, 2}), 2016);
  const StripeConfig recompute =
      Config({4, 5, 7}, {4, 15, 21}, {4, 5, 7}, {1, 2, 3}, {1, 3, 3}, {0, 0, 0});
  EXPECT_EQ(BufferBytes(recompute, {4, 15, 21}, 4, Buffering::kRecompute, {1, 2}), 280);
  EXPECT_EQ(BufferBytes(recompute, {4, 15, 21}, 4, Buffering::kDouble, {1, 2}), 560);
  EXPECT_EQ(BufferBytes(recompute, {4, 15, 21}, 4, Buffering::kFull), 4 * 15 * 21 * 4);
}

TEST(GenerateStripes, NumberOfWays) {
  const Propagator twice = Matrix({{2, 0, 0}, {0, 2, 0}, {0, 0, 1}}, {0, 0});
  StripeOptions options;
  options.factors = 3;
  const auto single = GenerateStripes({400, 400}, {twice}, options);
  std::vector<Numbers> shapes;
  for (const StripeConfig& config : single) shapes.push_back(config.shape);
  EXPECT_EQ(shapes.size(), 5U);
  for (const Numbers& shape : {Numbers{400, 1}, {400, 200}, {1, 400}, {200, 400}, {400, 400}}) {
    EXPECT_NE(std::find(shapes.begin(), shapes.end(), shape), shapes.end());
  }
  options.several_axes = true;
  EXPECT_EQ(GenerateStripes({400, 400}, {twice}, options).size(), 13U);
  const Propagator constant = Matrix({{2, 0, 0}, {0, 0, 400}, {0, 0, 1}}, {0, 0});
  EXPECT_EQ(GenerateStripes({400, 400}, {constant}, options).size(), 3U);
  options.striping = false;
  EXPECT_EQ(GenerateStripes({400, 400}, {twice}, options).size(), 1U);
}

// ---- operators

TensorId Add(Subgraph* subgraph, const Shape& shape) {
  graph::Tensor tensor;
  tensor.type = ElementType::kInt8;
  tensor.shape = shape;
  return subgraph->tensors.push_back(std::move(tensor));
}

OpId Conv(Subgraph* subgraph, TensorId in, TensorId out, std::int64_t kernel, std::int64_t stride,
          std::int64_t padding) {
  const Shape& from = *subgraph->tensors[in].shape;
  const Shape& to = *subgraph->tensors[out].shape;
  Op op;
  op.type = "CONV_2D";
  op.domain = "tflite";
  op.inputs = {in, Add(subgraph, {to[3], kernel, kernel, from[3]})};
  subgraph->tensors[op.inputs[1]].constant = true;
  op.outputs = {out};
  op.attributes = {{"padding", padding}, {"stride_h", stride}, {"stride_w", stride}};
  return subgraph->ops.push_back(std::move(op));
}

TEST(PropagatorOf, TheExampleOfTheRfc) {
  Subgraph subgraph;
  const TensorId in = Add(&subgraph, {1, 12, 12, 8});
  const TensorId out = Add(&subgraph, {1, 10, 10, 16});
  const OpId conv = Conv(&subgraph, in, out, 3, 1, 1);
  const auto p = PropagatorOf(subgraph, subgraph.ops[conv], 0);
  ASSERT_TRUE(p);
  EXPECT_EQ(
      p->matrix,
      Matrix({{1, 0, 0, 0, 0}, {0, 1, 0, 0, 2}, {0, 0, 1, 0, 2}, {0, 0, 0, 0, 8}, {0, 0, 0, 0, 1}},
             {})
          .matrix);
  const auto stripes = p->Propagate(Config({1, 3, 3, 4}, {1, 10, 10, 16}, {1, 3, 3, 4},
                                           {1, 2, 3, 4}, {1, 4, 4, 4}, {0, 0, 0, 0}));
  ASSERT_TRUE(stripes);
  EXPECT_EQ(stripes->shape, (Numbers{1, 5, 5, 8}));
  // Channels of the output are axes of the weights: they may be cut, too.
  const auto weights = PropagatorOf(subgraph, subgraph.ops[conv], 1);
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->matrix[0], Whole({0, 0, 0, 1, 0}));
  const auto cut = GenerateStripes({1, 10, 10, 16}, {*p, *weights}, {});
  EXPECT_TRUE(std::any_of(cut.begin(), cut.end(),
                          [](const StripeConfig& config) { return config.shape[3] < 16; }));
}

TEST(PropagatorOf, PaddingIsANegativeOffset) {
  Subgraph subgraph;
  const TensorId in = Add(&subgraph, {1, 9, 9, 8});
  const TensorId out = Add(&subgraph, {1, 5, 5, 16});
  const OpId conv = Conv(&subgraph, in, out, 3, 2, 0);
  const auto p = PropagatorOf(subgraph, subgraph.ops[conv], 0);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->offset, (Numbers{0, -1, -1, 0}));
  EXPECT_EQ(p->matrix[1], Whole({0, 2, 0, 0, 1}));
}

TEST(PropagatorOf, SeveralOperatorsAreOnePart) {
  Subgraph subgraph;
  const TensorId a = Add(&subgraph, {1, 16, 16, 4});
  const TensorId b = Add(&subgraph, {1, 8, 8, 4});
  const TensorId c = Add(&subgraph, {1, 8, 8, 4});
  const OpId first = Conv(&subgraph, a, b, 3, 2, 0);
  const OpId second = Conv(&subgraph, b, c, 3, 1, 0);
  const auto both = Compose(*PropagatorOf(subgraph, subgraph.ops[first], 0),
                            *PropagatorOf(subgraph, subgraph.ops[second], 0));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->matrix[1], Whole({0, 2, 0, 0, 5}));
  EXPECT_EQ(both->offset[1], -2);
}

TEST(CascadeGroups, ChainsAndOperatorsThatNeedAll) {
  Subgraph chain;
  const TensorId a = Add(&chain, {1, 8, 8, 4});
  const TensorId b = Add(&chain, {1, 8, 8, 4});
  const TensorId c = Add(&chain, {1, 8, 8, 4});
  Conv(&chain, a, b, 3, 1, 0);
  Conv(&chain, b, c, 3, 1, 0);
  EXPECT_EQ(CascadeGroups(chain, 10).size(), 3U);

  Subgraph opaque;
  const TensorId x = Add(&opaque, {1, 8, 8, 4});
  const TensorId y = Add(&opaque, {1, 8, 8, 4});
  const TensorId z = Add(&opaque, {1, 6, 8, 4});
  const TensorId w = Add(&opaque, {1, 6, 8, 4});
  Conv(&opaque, x, y, 3, 1, 0);
  Op slice;
  slice.type = "SLICE";
  slice.domain = "tflite";
  slice.inputs = {y};
  slice.outputs = {z};
  opaque.ops.push_back(slice);
  Conv(&opaque, z, w, 3, 1, 0);
  EXPECT_EQ(CascadeGroups(opaque, 10).size(), 4U);
}

TEST(Fractions, WhatDoesNotFitIsRefused) {
  const std::int64_t huge = std::int64_t{1} << 61;
  const Propagator p = Matrix({{huge, 0}, {0, 1}}, {0});
  EXPECT_FALSE(p.Propagate(Config({huge}, {huge}, {huge}, {1}, {1}, {0})));
  EXPECT_FALSE(MakeFraction(1, 0));
  EXPECT_EQ(MakeFraction(6, -4), (Fraction{-3, 2}));
}

// ---- the affine form as an oracle of the dependence maps

Numbers SizesOf(const ops::Box& box) {
  Numbers sizes;
  for (const ops::Interval& interval : box) sizes.push_back(interval.size());
  return sizes;
}

ops::Box RandomBox(const Shape& shape, Random* random) {
  ops::Box box;
  for (const std::int64_t size : shape) {
    const auto begin = static_cast<std::int64_t>(random->Below(static_cast<std::uint64_t>(size)));
    const auto more =
        static_cast<std::int64_t>(random->Below(static_cast<std::uint64_t>(size - begin)));
    box.push_back({begin, begin + 1 + more});
  }
  return box;
}

// Fractional scales: the matrix is exact for boxes that begin at a multiple of the denominator;
// another begin may need one index more.
bool IsWhole(const std::vector<Fraction>& row) {
  return std::all_of(row.begin(), row.end() - 1,
                     [](const Fraction& scale) { return scale.denominator == 1; });
}

bool FollowsAnAxis(const std::vector<Fraction>& row) {
  return std::any_of(row.begin(), row.end() - 1,
                     [](const Fraction& scale) { return scale.numerator != 0; });
}

// Before it is clipped, a box needs as many indices along each axis that follows an axis of the
// output as the matrix has, and no more than the whole along the others.
void CompareWithMatrix(const Subgraph& subgraph, const Op& op, std::size_t input, Random* random,
                       int* compared) {
  const auto propagator = PropagatorOf(subgraph, op, input);
  const Shape& out = *subgraph.tensors[op.outputs[0]].shape;
  const ops::Box box = RandomBox(out, random);
  const auto need = ops::NeedOf(subgraph, op, input, box);
  if (!propagator || !need) return;
  const Numbers sizes = SizesOf(box);
  const Numbers zeros(out.size(), 0);
  const auto predicted = propagator->Propagate({sizes, out, Whole(sizes), zeros, zeros, zeros});
  ASSERT_TRUE(predicted) << op.type;
  for (std::size_t axis = 0; axis < need->box.size(); ++axis) {
    const ops::Need::Padding& padding = need->padding[axis];
    const std::int64_t reach = need->box[axis].size() + padding.before + padding.after;
    const auto& row = propagator->matrix[axis];
    if (FollowsAnAxis(row)) {
      const std::int64_t more = reach - predicted->shape[axis];
      EXPECT_TRUE(more == 0 || (more == 1 && !IsWhole(row)))
          << op.type << ", input " << input << ", axis " << axis << ": " << reach << " and "
          << predicted->shape[axis];
      ++*compared;
    } else {
      EXPECT_GE(predicted->shape[axis], need->box[axis].size()) << op.type << ", axis " << axis;
    }
  }
}

TEST(PropagatorOf, AgreesWithTheDependenceMaps) {
  Random random(28);
  int compared = 0;
  for (int i = 0; i < Cases(300); ++i) {
    const bool onnx = random.Chance(1, 3);
    const Network network = onnx ? RandomOnnx(&random) : RandomTflite(&random, random.Chance(1, 2));
    const Subgraph& subgraph = network.graph.subgraphs[graph::SubgraphId(0)];
    for (const OpId id : network.ops) {
      const Op& op = subgraph.ops[id];
      for (std::size_t input = 0; input < op.inputs.size(); ++input) {
        if (!op.inputs[input].valid() || subgraph.tensors[op.inputs[input]].constant) continue;
        CompareWithMatrix(subgraph, op, input, &random, &compared);
      }
    }
  }
  EXPECT_GT(compared, Cases(2000));
}

}  // namespace
}  // namespace neap::cascade
