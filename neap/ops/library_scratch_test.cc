// SPDX-License-Identifier: Apache-2.0
//
// Which sizes of the libraries an operator leads to. The sizes themselves are compared with the
// libraries in tests/conformance/test_kernel_libraries.py.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "neap/ops/tflm_scratch.h"

namespace neap::ops {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using Bytes = std::vector<std::int64_t>;

class LibraryScratchTest : public ::testing::Test {
 protected:
  graph::TensorId Add(ElementType type, Shape shape, bool constant = false) {
    graph::Tensor tensor;
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.constant = constant;
    return subgraph_.tensors.push_back(tensor);
  }
  graph::TensorId Weights(Shape shape) { return Add(ElementType::kInt8, std::move(shape), true); }
  // With strides of 1.
  Op Of(std::string type, std::vector<graph::TensorId> inputs, graph::TensorId output) const {
    Op op;
    op.type = std::move(type);
    op.domain = "tflite";
    op.inputs = std::move(inputs);
    op.outputs = {output};
    for (const char* name : {"stride_h", "stride_w"}) op.attributes[name] = std::int64_t{1};
    return op;
  }
  std::optional<Bytes> On(const char* target, const Op& op) const {
    return TflmScratchRequests(subgraph_, op, *target::TargetNamed(target));
  }

  Subgraph subgraph_;
};

constexpr const char* kM0 = "cortex-m0+cmsis-nn";
constexpr const char* kM4 = "cortex-m4+cmsis-nn";
constexpr const char* kM55 = "cortex-m55+cmsis-nn";
constexpr const char* kS3 = "esp32s3+esp-nn";

TEST_F(LibraryScratchTest, Convolutions) {
  const auto in = Add(ElementType::kInt8, {1, 8, 8, 3});
  const auto out = Add(ElementType::kInt8, {1, 8, 8, 5});
  const Op op = Of("CONV_2D", {in, Weights({5, 3, 3, 3})}, out);
  EXPECT_EQ(On(kM4, op), Bytes{112});
  EXPECT_EQ(On(kM0, op), Bytes{112});
  EXPECT_EQ(On(kM55, op), Bytes{128});
  EXPECT_EQ(On(kS3, op), Bytes{4 * 5 + 16 + 5 * 32 + 16 + 32 + 64});
  EXPECT_EQ(On("cortex-m4+reference", op), Bytes{});

  const auto floats = Add(ElementType::kFloat32, {1, 8, 8, 3});
  EXPECT_EQ(On(kM55, Of("CONV_2D", {floats, Weights({5, 3, 3, 3})}, out)), Bytes{});
  EXPECT_EQ(On(kS3, Of("CONV_2D", {floats, Weights({5, 3, 3, 3})}, out)), Bytes{});

  const auto wide = Add(ElementType::kInt16, {1, 8, 8, 3});
  const auto long_bias = Add(ElementType::kInt64, {5}, true);
  const auto bias = Add(ElementType::kInt32, {5}, true);
  EXPECT_EQ(On(kM4, Of("CONV_2D", {wide, Weights({5, 3, 3, 3}), long_bias}, out)), Bytes{108});
  EXPECT_EQ(On(kM4, Of("CONV_2D", {wide, Weights({5, 3, 3, 3}), bias}, out)), Bytes{});

  const auto unknown = Add(ElementType::kInt8, {1, -1, 8, 3});
  const Op dynamic = Of("CONV_2D", {unknown, Weights({5, 3, 3, 3})}, out);
  EXPECT_EQ(On(kM4, dynamic), std::nullopt);
  EXPECT_EQ(WhyScratchUnknown(subgraph_, dynamic, *target::TargetNamed(kM4)),
            "its shapes, types or options are not supported by the kernel");
}

TEST_F(LibraryScratchTest, DepthwiseConvolutions) {
  const auto in = Add(ElementType::kInt8, {1, 9, 9, 8});
  const auto out = Add(ElementType::kInt8, {1, 9, 9, 8});
  const Op op = Of("DEPTHWISE_CONV_2D", {in, Weights({1, 3, 3, 8})}, out);
  EXPECT_EQ(On(kM4, op), Bytes{}) << "3x3 has a kernel of its own";
  EXPECT_EQ(On(kM55, op), Bytes{4464});
  EXPECT_EQ(On(kS3, op), Bytes{2 * (72 + 648) + 32});
  const Op large = Of("DEPTHWISE_CONV_2D", {in, Weights({1, 5, 5, 8})}, out);
  EXPECT_EQ(On(kM4, large), Bytes{400});
  EXPECT_EQ(On(kM0, large), Bytes{});
  const auto packed = Add(ElementType::kInt4, {1, 3, 3, 8}, true);
  EXPECT_EQ(On(kM4, Of("DEPTHWISE_CONV_2D", {in, packed}, out)), Bytes{144});
  EXPECT_EQ(On(kS3, Of("DEPTHWISE_CONV_2D", {in, packed}, out)), (Bytes{72, 1472}))
      << "unpacked weights first";
}

TEST_F(LibraryScratchTest, FullyConnected) {
  const auto in = Add(ElementType::kInt8, {1, 64});
  const auto out = Add(ElementType::kInt8, {1, 10});
  const auto computed = Add(ElementType::kInt8, {10, 64});
  EXPECT_EQ(On(kM55, Of("FULLY_CONNECTED", {in, Weights({10, 64})}, out)), Bytes{})
      << "kept, not scratch";
  EXPECT_EQ(On(kM55, Of("FULLY_CONNECTED", {in, computed}, out)), Bytes{40});
  EXPECT_EQ(On(kM4, Of("FULLY_CONNECTED", {in, computed}, out)), Bytes{});
  const auto rows = Add(ElementType::kInt8, {1, 7, 10});
  EXPECT_EQ(On(kM4, Of("FULLY_CONNECTED", {in, Weights({10, 64})}, rows)), Bytes{80});
  EXPECT_EQ(On(kM4, Of("FULLY_CONNECTED", {in, Weights({10, 63})}, rows)), Bytes{});
  const auto each = Weights({10, 64});
  subgraph_.tensors[each].quantization.emplace();
  subgraph_.tensors[each].quantization->scales.assign(10, 1.0F);
  EXPECT_EQ(On(kM4, Of("FULLY_CONNECTED", {in, each}, rows)), Bytes{});
}

TEST_F(LibraryScratchTest, Others) {
  const auto in = Add(ElementType::kInt8, {1, 6, 6, 20});
  const auto out = Add(ElementType::kInt8, {1, 1, 1, 20});
  EXPECT_EQ(On(kM4, Of("AVERAGE_POOL_2D", {in}, out)), Bytes{80});
  EXPECT_EQ(On(kM55, Of("AVERAGE_POOL_2D", {in}, out)), Bytes{});
  EXPECT_EQ(On(kM4, Of("MAX_POOL_2D", {in}, out)), Bytes{});
  const auto row = Add(ElementType::kInt8, {1, 12});
  EXPECT_EQ(On(kS3, Of("SOFTMAX", {row}, row)), Bytes{48});
  EXPECT_EQ(On(kM55, Of("SOFTMAX", {row}, row)), Bytes{});
  const auto weights = Weights({8, 3, 3, 20});
  const Op transposed = Of("TRANSPOSE_CONV", {row, weights, in}, out);
  EXPECT_EQ(On(kM4, transposed), (Bytes{2 * 2 * 180, 180 * 8}));
  EXPECT_EQ(On(kS3, transposed), (Bytes{4 * 20})) << "the reference kernel's";
  const auto matrix = Add(ElementType::kInt8, {4, 12});
  EXPECT_EQ(On(kM55, Of("BATCH_MATMUL", {matrix, matrix}, matrix)), Bytes{48});

  const Op lstm = Of("UNIDIRECTIONAL_SEQUENCE_LSTM", {in}, out);
  EXPECT_EQ(On(kM4, lstm), std::nullopt);
  EXPECT_EQ(WhyScratchUnknown(subgraph_, lstm, *target::TargetNamed(kM4)),
            "what CMSIS-NN's kernel of this operator requests is not modelled");
}

}  // namespace
}  // namespace neap::ops
