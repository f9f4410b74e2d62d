// SPDX-License-Identifier: Apache-2.0
//
// Figures that the wheel tflite-micro 0.dev20261023182759 requested.
#include "neap/ops/tflm_scratch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace neap::ops {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using Bytes = std::vector<std::int64_t>;

class TflmScratchTest : public ::testing::Test {
 protected:
  graph::TensorId Add(ElementType type, Shape shape) {
    graph::Tensor tensor;
    tensor.type = type;
    tensor.shape = std::move(shape);
    return subgraph_.tensors.push_back(tensor);
  }
  Op Of(std::string type, std::vector<graph::TensorId> inputs,
        std::vector<graph::TensorId> outputs) const {
    Op op;
    op.type = std::move(type);
    op.domain = "tflite";
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    return op;
  }
  std::optional<Bytes> Requests(const Op& op) const {
    return TflmScratchRequests(subgraph_, op, target::DefaultTarget());
  }

  Subgraph subgraph_;
};

TEST_F(TflmScratchTest, Reductions) {
  const auto integers = Add(ElementType::kInt8, {1, 4, 6, 8});
  const auto floats = Add(ElementType::kFloat32, {1, 4, 6, 8});
  const auto axes = Add(ElementType::kInt32, {2});
  const auto out = Add(ElementType::kInt8, {1, 8});
  EXPECT_EQ(Requests(Of("MEAN", {integers, axes}, {out})), (Bytes{32, 16, 8}));
  EXPECT_EQ(Requests(Of("SUM", {floats, axes}, {out})), (Bytes{16, 8}));
  EXPECT_EQ(Requests(Of("REDUCE_MAX", {integers, axes}, {out})), (Bytes{16, 8}));
  EXPECT_EQ(
      TflmScratchBytes(subgraph_, Of("MEAN", {integers, axes}, {out}), target::DefaultTarget()),
      64);
  EXPECT_EQ(Requests(Of("MEAN", {integers}, {out})), std::nullopt);
}

TEST_F(TflmScratchTest, Convolutions) {
  const auto in = Add(ElementType::kInt8, {1, 4, 6, 8});
  const auto wide_in = Add(ElementType::kInt16, {1, 4, 6, 8});
  const auto weights = Add(ElementType::kInt8, {5, 3, 3, 8});
  const auto packed = Add(ElementType::kInt4, {5, 3, 3, 8});
  const auto bias = Add(ElementType::kInt16, {5});
  const auto out = Add(ElementType::kInt8, {1, 8, 12, 5});
  EXPECT_EQ(Requests(Of("CONV_2D", {in, weights}, {out})), Bytes{});
  EXPECT_EQ(Requests(Of("CONV_2D", {in, packed}, {out})), Bytes{360});
  EXPECT_EQ(Requests(Of("TRANSPOSE_CONV", {in, weights, in}, {out})), Bytes{1920});
  EXPECT_EQ(Requests(Of("TRANSPOSE_CONV", {in, weights, wide_in}, {out})), Bytes{3840});
  EXPECT_EQ(Requests(Of("TRANSPOSE_CONV", {in, weights, wide_in, bias}, {out})), (Bytes{3840, 40}));
  EXPECT_EQ(Requests(Of("TRANSPOSE_CONV", {in, weights}, {out})), std::nullopt);
}

TEST_F(TflmScratchTest, Recurrent) {
  const auto in = Add(ElementType::kInt8, {2, 9});
  const auto filters = Add(ElementType::kInt8, {8, 9});
  const auto out = Add(ElementType::kInt8, {2, 4});
  const auto float_in = Add(ElementType::kFloat32, {2, 9});
  EXPECT_EQ(Requests(Of("SVDF", {in, filters}, {out})), (Bytes{64, 32}));
  EXPECT_EQ(Requests(Of("SVDF", {float_in, filters}, {out})), Bytes{64});
  std::vector<graph::TensorId> inputs(24);
  inputs[0] = Add(ElementType::kInt8, {2, 4, 3});
  inputs[19] = Add(ElementType::kInt16, {2, 5});
  EXPECT_EQ(Requests(Of("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, {out})), (Bytes{20, 20, 20, 20}));
  inputs[0] = Add(ElementType::kFloat32, {2, 4, 3});
  EXPECT_EQ(Requests(Of("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, {out})), (Bytes{40, 40, 40, 40}));
}

TEST_F(TflmScratchTest, Customs) {
  Op rfft = Of("SignalRfft", {}, {Add(ElementType::kInt16, {3, 514})});
  rfft.domain = "custom";
  EXPECT_EQ(Requests(rfft), Bytes{1024});
  Op detection =
      Of("TFLite_Detection_PostProcess",
         {Add(ElementType::kFloat32, {1, 30, 4}), Add(ElementType::kFloat32, {1, 30, 5})}, {});
  detection.domain = "custom";
  EXPECT_EQ(Requests(detection), std::nullopt);  // without its options
  Op own = Of("MyOperator", {}, {});
  own.domain = "custom";
  EXPECT_EQ(Requests(own), std::nullopt);
  own.domain = "json";
  EXPECT_EQ(Requests(own), Bytes{});
  own.domain = "";
  EXPECT_EQ(Requests(own), std::nullopt);
  own.scratch_bytes = 100;
  EXPECT_EQ(TflmScratchOrStated(subgraph_, own, target::DefaultTarget()), 100);
}

TEST_F(TflmScratchTest, Others) {
  const auto in = Add(ElementType::kInt8, {1, 4, 6, 8});
  EXPECT_EQ(Requests(Of("MIRROR_PAD", {in}, {in})), (Bytes{16, 16}));
  EXPECT_EQ(Requests(Of("ADD_N", {in, in, in}, {in})), Bytes{12}) << "pointers of four bytes";
  EXPECT_EQ(Requests(Of("ADD", {in, in}, {in})), Bytes{});
  EXPECT_EQ(Requests(Of("POW", {in, in}, {in})), std::nullopt);
}

// The weights may be of a kernel that requests nothing else: unpacked, they are scratch.
TEST_F(TflmScratchTest, CompressedInputsGiveNoNumber) {
  const auto in = Add(ElementType::kInt8, {1, 4, 6, 8});
  const auto weights = Add(ElementType::kInt8, {5, 3, 3, 8});
  const Op conv = Of("CONV_2D", {in, weights}, {in});
  const Op add = Of("ADD", {in, weights}, {in});
  const Op other = Of("RELU", {in}, {in});
  EXPECT_EQ(Requests(conv), Bytes{});
  subgraph_.tensors[weights].compressed = true;
  for (const Op& op : {conv, add}) {
    EXPECT_EQ(Requests(op), std::nullopt);
    EXPECT_EQ(TflmScratchOrStated(subgraph_, op, target::DefaultTarget()), 0);
    EXPECT_EQ(WhyScratchUnknown(subgraph_, op, target::DefaultTarget()),
              "its input #1 is compressed");
  }
  EXPECT_EQ(Requests(other), Bytes{});
  EXPECT_EQ(WhyScratchUnknown(subgraph_, other, target::DefaultTarget()), "");
}

}  // namespace
}  // namespace neap::ops
