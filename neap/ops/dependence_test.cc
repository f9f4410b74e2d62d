// SPDX-License-Identifier: Apache-2.0
//
// Dependence of single operators, by hand. neap/execute/dependence_test.cc compares the maps with
// kernels, in thousands of cases.
#include "neap/ops/dependence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "testing/sketch.h"

namespace neap::ops {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using Padding = Need::Padding;

TensorId Add(Subgraph* subgraph, const Shape& shape) {
  graph::Tensor tensor;
  tensor.type = ElementType::kInt8;
  tensor.shape = shape;
  return subgraph->tensors.push_back(std::move(tensor));
}

// An operator over tensors of these shapes, the last one its output.
struct Single {
  Subgraph subgraph;
  Op op;
};
Single Make(const std::string& domain, const std::string& type, const std::vector<Shape>& shapes) {
  Single single;
  single.op.domain = domain;
  single.op.type = type;
  for (const Shape& shape : shapes) single.op.inputs.push_back(Add(&single.subgraph, shape));
  single.op.outputs = {single.op.inputs.back()};
  single.op.inputs.pop_back();
  return single;
}

Single MakeFloat(const std::string& type, const std::vector<Shape>& shapes) {
  Single single = Make("tflite", type, shapes);
  for (graph::Tensor& tensor : single.subgraph.tensors) tensor.type = ElementType::kFloat32;
  return single;
}

TEST(Dependence, ConvolutionOfStrideTwoWithOnePaddedRow) {
  // SAME of 8 rows by stride 2 and 3 taps: no row above, one below.
  Single conv = Make("tflite", "CONV_2D", {{1, 8, 8, 3}, {5, 3, 3, 3}, {5}, {1, 4, 4, 5}});
  conv.op.attributes = {
      {"padding", std::int64_t{0}}, {"stride_h", std::int64_t{2}}, {"stride_w", std::int64_t{2}}};
  const auto first = NeedOf(conv.subgraph, conv.op, 0, {{0, 1}, {0, 2}, {0, 4}, {0, 5}});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->box, (Box{{0, 1}, {0, 5}, {0, 8}, {0, 3}}));
  EXPECT_EQ(first->padding, (std::vector<Padding>{{}, {0, 0}, {0, 1}, {}}));
  const auto last = NeedOf(conv.subgraph, conv.op, 0, {{0, 1}, {3, 4}, {1, 2}, {2, 3}});
  ASSERT_TRUE(last);
  EXPECT_EQ(last->box, (Box{{0, 1}, {6, 8}, {2, 5}, {0, 3}}));
  EXPECT_EQ(last->padding[1], (Padding{0, 1}));
  const auto weights = NeedOf(conv.subgraph, conv.op, 1, {{0, 1}, {3, 4}, {1, 2}, {2, 3}});
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->box, (Box{{2, 3}, {0, 3}, {0, 3}, {0, 3}}));
}

// A convolution and an activation in one, of ONNX Runtime; the fourth input is added.
TEST(Dependence, FusedConvolutionsNeedThePartOfAConvolution) {
  const std::vector<Shape> shapes = {{1, 3, 8, 8}, {5, 3, 3, 3}, {5}, {1, 5, 4, 8}, {1, 5, 4, 8}};
  Single fused = Make("com.microsoft", "FusedConv", shapes);
  Single conv = Make("", "Conv", shapes);
  for (Single* const one : {&fused, &conv}) {
    one->op.attributes = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                          {"strides", std::vector<std::int64_t>{2, 1}}};
  }
  const Box part = {{0, 1}, {1, 4}, {1, 3}, {0, 5}};
  for (const std::size_t input : {0U, 1U, 2U}) {
    const auto need = NeedOf(fused.subgraph, fused.op, input, part);
    const auto plain = NeedOf(conv.subgraph, conv.op, input, part);
    ASSERT_TRUE(need && plain);
    EXPECT_EQ(need->box, plain->box);
    EXPECT_EQ(need->padding, plain->padding);
  }
  const auto added = NeedOf(fused.subgraph, fused.op, 3, part);
  ASSERT_TRUE(added);
  EXPECT_EQ(added->box, part);
}

// Float activations, integer weights: the kernel finds a scale for each image.
TEST(Dependence, HybridConvolutionsNeedTheWholeImage) {
  for (const auto type : {graph::ElementType::kInt8, graph::ElementType::kUint8}) {
    Single conv = MakeFloat("CONV_2D", {{2, 8, 8, 3}, {5, 3, 3, 3}, {5}, {2, 8, 8, 5}});
    conv.op.attributes = {
        {"padding", std::int64_t{0}}, {"stride_h", std::int64_t{1}}, {"stride_w", std::int64_t{1}}};
    const Box part = {{1, 2}, {0, 2}, {0, 8}, {0, 5}};
    const auto plain = NeedOf(conv.subgraph, conv.op, 0, part);
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->box, (Box{{1, 2}, {0, 3}, {0, 8}, {0, 3}}));
    EXPECT_TRUE(ComputesPart(conv.subgraph, conv.op, part));
    conv.subgraph.tensors[conv.op.inputs[1]].type = type;
    EXPECT_TRUE(IsHybrid(conv.subgraph, conv.op));
    const auto need = NeedOf(conv.subgraph, conv.op, 0, part);
    ASSERT_TRUE(need);
    EXPECT_EQ(need->box, (Box{{1, 2}, {0, 8}, {0, 8}, {0, 3}}));
    EXPECT_FALSE(ComputesPart(conv.subgraph, conv.op, part));
    EXPECT_TRUE(ComputesPart(conv.subgraph, conv.op, WholeBox({2, 8, 8, 5})));
  }
}

// Each row has a scale of its own; the matrices of BATCH_MATMUL are taken whole.
TEST(Dependence, HybridProducts) {
  Single rows = MakeFloat("FULLY_CONNECTED", {{6, 4}, {3, 4}, {3}, {6, 3}});
  rows.subgraph.tensors[rows.op.inputs[1]].type = graph::ElementType::kInt8;
  const auto row = NeedOf(rows.subgraph, rows.op, 0, {{2, 3}, {0, 3}});
  ASSERT_TRUE(row);
  EXPECT_EQ(row->box, (Box{{2, 3}, {0, 4}}));
  EXPECT_TRUE(ComputesPart(rows.subgraph, rows.op, {{2, 3}, {0, 3}}));
  Single product = MakeFloat("BATCH_MATMUL", {{2, 6, 4}, {2, 4, 3}, {2, 6, 3}});
  product.subgraph.tensors[product.op.inputs[1]].type = graph::ElementType::kInt8;
  const auto left = NeedOf(product.subgraph, product.op, 0, {{0, 1}, {0, 1}, {0, 3}});
  ASSERT_TRUE(left);
  EXPECT_EQ(left->box, (Box{{0, 2}, {0, 6}, {0, 4}}));
  EXPECT_FALSE(ComputesPart(product.subgraph, product.op, {{0, 1}, {0, 1}, {0, 3}}));
}

TEST(Dependence, NormalisationIsNotCutAlongItsAxis) {
  Single softmax = Make("", "Softmax", {{1, 4, 8}, {1, 4, 8}});
  softmax.op.version = 13;
  EXPECT_TRUE(ComputesPart(softmax.subgraph, softmax.op, {{0, 1}, {0, 2}, {0, 8}}));
  EXPECT_FALSE(ComputesPart(softmax.subgraph, softmax.op, {{0, 1}, {0, 4}, {0, 4}}));
  softmax.op.version = 12;  // all from axis 1 on
  EXPECT_FALSE(ComputesPart(softmax.subgraph, softmax.op, {{0, 1}, {0, 2}, {0, 8}}));
}

// Element-wise in name alone.
TEST(Dependence, BatchStatisticsAndMasksHaveNoMap) {
  const Box part = {{0, 1}, {0, 2}, {0, 1}, {0, 4}};
  Single norm = Make("", "BatchNormalization", {{1, 2, 4, 4}, {2}, {2}, {2}, {2}, {1, 2, 4, 4}});
  norm.op.version = 14;
  EXPECT_TRUE(NeedOf(norm.subgraph, norm.op, 0, part));
  norm.op.attributes["training_mode"] = std::int64_t{1};
  EXPECT_FALSE(NeedOf(norm.subgraph, norm.op, 0, part));
  norm.op.attributes.clear();
  norm.op.version = 6;
  EXPECT_FALSE(NeedOf(norm.subgraph, norm.op, 0, part));
  norm.op.attributes["is_test"] = std::int64_t{1};
  EXPECT_TRUE(NeedOf(norm.subgraph, norm.op, 0, part));
  Single old = Make("", "Add", {{1, 2, 4, 4}, {4}, {1, 2, 4, 4}});
  old.op.version = 6;
  old.op.attributes["axis"] = std::int64_t{2};  // of rows, not of columns as numpy has it
  EXPECT_FALSE(NeedOf(old.subgraph, old.op, 1, part));
}

TEST(Dependence, DepthwiseKeepsChannels) {
  Single conv =
      Make("tflite", "DEPTHWISE_CONV_2D", {{1, 5, 5, 4}, {1, 3, 3, 8}, {8}, {1, 5, 5, 8}});
  conv.op.attributes = {{"padding", std::int64_t{0}},
                        {"stride_h", std::int64_t{1}},
                        {"stride_w", std::int64_t{1}},
                        {"depth_multiplier", std::int64_t{2}}};
  const auto need = NeedOf(conv.subgraph, conv.op, 0, {{0, 1}, {0, 1}, {4, 5}, {3, 5}});
  ASSERT_TRUE(need);
  EXPECT_EQ(need->box, (Box{{0, 1}, {0, 2}, {3, 5}, {1, 3}}));
  EXPECT_EQ(need->padding, (std::vector<Padding>{{}, {1, 0}, {0, 1}, {}}));
}

TEST(Dependence, BroadcastingRepeats) {
  const Single add = Make("tflite", "ADD", {{1, 4, 4, 8}, {8}, {1, 4, 4, 8}});
  const Box box = {{0, 1}, {1, 2}, {2, 4}, {3, 6}};
  EXPECT_EQ(NeedOf(add.subgraph, add.op, 0, box)->box, box);
  EXPECT_EQ(NeedOf(add.subgraph, add.op, 1, box)->box, (Box{{3, 6}}));
  const Single scalar = Make("", "Mul", {{2, 3}, {}, {2, 3}});
  EXPECT_TRUE(NeedOf(scalar.subgraph, scalar.op, 1, {{0, 1}, {0, 1}})->box.empty());
}

TEST(Dependence, ReshapeIsHonest) {
  const Single merge = Make("tflite", "RESHAPE", {{1, 4, 6, 5}, {1, 24, 5}});
  // Within one row, and over the end of one.
  EXPECT_EQ(NeedOf(merge.subgraph, merge.op, 0, {{0, 1}, {7, 9}, {2, 3}})->box,
            (Box{{0, 1}, {1, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(NeedOf(merge.subgraph, merge.op, 0, {{0, 1}, {5, 7}, {0, 5}})->box,
            (Box{{0, 1}, {0, 2}, {0, 6}, {0, 5}}));
}

TEST(Dependence, ConcatenationNeedsTheInputsThatItTouches) {
  Single concat = Make("tflite", "CONCATENATION", {{1, 2, 3}, {1, 4, 3}, {1, 6, 3}});
  concat.op.attributes["axis"] = std::int64_t{1};
  EXPECT_TRUE(IsEmpty(NeedOf(concat.subgraph, concat.op, 0, {{0, 1}, {3, 5}, {0, 3}})->box));
  EXPECT_EQ(NeedOf(concat.subgraph, concat.op, 1, {{0, 1}, {1, 5}, {0, 3}})->box,
            (Box{{0, 1}, {0, 3}, {0, 3}}));
}

TEST(Dependence, WhatIsNotKnownHasNoMap) {
  const Single custom = Make("custom", "Mine", {{1, 4}, {1, 4}});
  EXPECT_FALSE(NeedOf(custom.subgraph, custom.op, 0, {{0, 1}, {0, 4}}));
  const Single conv = Make("tflite", "CONV_2D", {{1, 8, 8, 3}, {5, 3, 3, 3}, {5}, {1, 4, 4, 5}});
  EXPECT_FALSE(NeedOf(conv.subgraph, conv.op, 0, {{0, 1}, {0, 1}, {0, 1}, {0, 1}})) << "no strides";
  const Single slice = Make("tflite", "SLICE", {{8}, {1}, {1}, {2}});
  EXPECT_FALSE(NeedOf(slice.subgraph, slice.op, 0, {{0, 1}})) << "begin is not a constant";
  Single add = Make("tflite", "ADD", {{4}, {4}, {4}});
  EXPECT_FALSE(NeedOf(add.subgraph, add.op, 0, {{0, 5}})) << "outside of the output";
  add.subgraph.tensors[add.op.inputs[0]].shape = Shape{-1};
  EXPECT_FALSE(NeedOf(add.subgraph, add.op, 0, {{0, 1}})) << "shape not known";
}

TEST(Dependence, HugeShapesAndAttributesAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 62;
  Single conv = Make("", "Conv", {{1, 1, 8, 8}, {1, 1, 3, 3}, {1, 1, 8, 8}});
  conv.op.attributes = {{"strides", std::vector<std::int64_t>{huge, 1}},
                        {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  EXPECT_FALSE(NeedOf(conv.subgraph, conv.op, 0, {{0, 1}, {0, 1}, {0, 2}, {0, 2}}));
  conv.op.attributes = {{"pads", std::vector<std::int64_t>{-huge, huge, 1, 1}}};
  EXPECT_FALSE(NeedOf(conv.subgraph, conv.op, 0, {{0, 1}, {0, 1}, {0, 2}, {0, 2}}));
  const Single add = Make("tflite", "ADD", {{huge}, {huge}, {huge}});
  EXPECT_FALSE(NeedOf(add.subgraph, add.op, 0, {{0, 1}}));
}

TEST(Dependence, MeansOfAllPlaces) {
  Single pool = Make("tflite", "AVERAGE_POOL_2D", {{1, 6, 5, 3}, {1, 1, 1, 3}});
  pool.op.attributes = {{"padding", std::int64_t{1}},
                        {"stride_h", std::int64_t{1}},
                        {"stride_w", std::int64_t{1}},
                        {"filter_height", std::int64_t{6}},
                        {"filter_width", std::int64_t{5}}};
  EXPECT_TRUE(IsMeanOfPlaces(pool.subgraph, pool.op));
  pool.op.type = "MAX_POOL_2D";
  EXPECT_FALSE(IsMeanOfPlaces(pool.subgraph, pool.op));
  pool.op.type = "AVERAGE_POOL_2D";
  pool.subgraph.tensors[pool.op.inputs[0]].type = ElementType::kFloat32;
  pool.subgraph.tensors[pool.op.outputs[0]].type = ElementType::kFloat32;
  EXPECT_FALSE(IsMeanOfPlaces(pool.subgraph, pool.op));  // the order of a sum of floats matters
}

TEST(Dependence, MeansOverTimeBehindChannels) {
  Single mean = Make("", "ReduceMean", {{1, 6, 5}, {1, 6, 1}});
  for (graph::Tensor& tensor : mean.subgraph.tensors) tensor.type = ElementType::kFloat32;
  mean.op.attributes = {{"axes", std::vector<std::int64_t>{2}}};
  EXPECT_TRUE(IsMeanOfPlaces(mean.subgraph, mean.op, true));
  EXPECT_FALSE(IsMeanOfPlaces(mean.subgraph, mean.op, false));
}

TEST(Dependence, SlicesInStepsOfOneCopyBoxes) {
  for (const std::int64_t step : {1, 2, -1}) {
    Single slice = Make("", "Slice", {{6, 4}, {2, 4}});
    for (const std::int64_t value : {std::int64_t{3}, std::int64_t{-7}, std::int64_t{0}, step}) {
      slice.op.inputs.push_back(slice.subgraph.tensors.push_back(
          graph::ConstantOf(ElementType::kInt64, {1}, std::vector<std::int64_t>{value})));
    }
    EXPECT_EQ(CopiesBoxes(slice.subgraph, slice.op), step == 1) << step;
  }
  const Single add = Make("", "Add", {{6, 4}, {6, 4}, {6, 4}});
  EXPECT_FALSE(CopiesBoxes(add.subgraph, add.op));
}

TEST(Dependence, AveragesOfAPartAreNoMeansOfAllPlaces) {
  Single pool = Make("tflite", "AVERAGE_POOL_2D", {{1, 6, 5, 3}, {1, 1, 1, 3}});
  pool.op.attributes = {{"padding", std::int64_t{1}},
                        {"stride_h", std::int64_t{6}},
                        {"stride_w", std::int64_t{5}},
                        {"filter_height", std::int64_t{5}},
                        {"filter_width", std::int64_t{5}}};
  EXPECT_FALSE(IsMeanOfPlaces(pool.subgraph, pool.op));
}

}  // namespace
}  // namespace neap::ops
