// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/lowering.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "neap/emit/quantization.h"
#include "neap/emit/runtime_files.h"

namespace neap::emit {
namespace {

using graph::ElementType;
using graph::Shape;
using graph::TensorId;

graph::Tensor TensorOf(ElementType type, Shape shape) {
  graph::Tensor tensor;
  tensor.name = "t";
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.quantization = graph::Quantization{{0.5F}, {3}};
  return tensor;
}

struct OneImage {
  OneImage() { subgraph.tensors.push_back(TensorOf(ElementType::kInt8, {1, 4, 5, 6})); }
  graph::Subgraph subgraph;
};

TEST(Lowering, WholeTensorsTakeOtherForms) {
  const OneImage one;
  Lowering lowering(one.subgraph, "net");
  EXPECT_FALSE(lowering.ImageOf(TensorId(0)).has_value());  // no address
  lowering.SetPlace(TensorId(0), {{{100, 20}}, 1});
  const auto image = lowering.ImageOf(TensorId(0));
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->height, 4);
  EXPECT_EQ(image->pixel_bytes, 6);
  EXPECT_EQ(image->memory, 1);
  const auto form = lowering.FormOf(TensorId(0), {2, 1, 30, 60});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->rings[0].offset, 160);
  EXPECT_EQ(form->rings[0].pixels, 2);
  EXPECT_FALSE(lowering.FormOf(TensorId(0), {2, 1, 30, 61}).has_value());  // beyond its end
}

TEST(Lowering, RingsHaveNoOtherForm) {
  const OneImage one;
  Lowering lowering(one.subgraph, "net");
  lowering.SetPlace(TensorId(0), {{{100, 19}}, 0});
  EXPECT_TRUE(lowering.ImageOf(TensorId(0)).has_value());
  EXPECT_FALSE(lowering.FormOf(TensorId(0), {20, 1, 6}).has_value());
  EXPECT_FALSE(lowering.IsSamePlace(TensorId(0), TensorId(0)));
  lowering.ClearPlaces();
  EXPECT_EQ(lowering.PlaceOf(TensorId(0)), nullptr);
}

TEST(Lowering, EqualConstantsAreStoredOnce) {
  const OneImage one;
  Lowering lowering(one.subgraph, "net");
  EXPECT_EQ(lowering.Add("a", "int8_t", {1, 2}), "net_a");
  EXPECT_EQ(lowering.Add("b", "int8_t", {1, 2}), "net_a");
  EXPECT_EQ(lowering.Add("c", "int32_t", {1, 2}), "net_c");
  EXPECT_EQ(lowering.Filled(-3, 4), "net_pixel_m3");
  EXPECT_EQ(lowering.Filled(-3, 9), "net_pixel_m3");
  const auto constants = lowering.TakeConstants();
  ASSERT_EQ(constants.size(), 3U);
  EXPECT_EQ(constants[2].values, std::vector<std::int64_t>(9, -3));
}

TEST(Lowering, IntegersOfConstants) {
  graph::Tensor tensor = TensorOf(ElementType::kInt32, {2});
  EXPECT_FALSE(Int32sOf(tensor).has_value());
  const std::array<std::byte, 8> bytes = {std::byte{0xFE}, std::byte{0xFF}, std::byte{0xFF},
                                          std::byte{0xFF}, std::byte{1},    std::byte{2},
                                          std::byte{0},    std::byte{0}};
  tensor.constant = true;
  tensor.data = graph::ConstantData{nullptr, bytes};
  EXPECT_EQ(*Int32sOf(tensor), (std::vector<std::int64_t>{-2, 513}));
  EXPECT_EQ(SignedByte(std::byte{0x80}), -128);
}

TEST(Quantization, OneScaleInRange) {
  graph::Tensor tensor = TensorOf(ElementType::kUint8, {4});
  ASSERT_TRUE(QuantOf(tensor).has_value());
  EXPECT_EQ(QuantOf(tensor)->zero, 3);
  tensor.quantization->zero_points = {-1};  // not a uint8
  EXPECT_FALSE(QuantOf(tensor).has_value());
  tensor.quantization->zero_points = {};
  tensor.quantization->scales = {0.5F, 0.25F};
  EXPECT_FALSE(QuantOf(tensor).has_value());
  EXPECT_EQ(ChannelScales(tensor, 2)->size(), 2U);
  EXPECT_FALSE(ChannelScales(tensor, 3).has_value());
  EXPECT_FALSE(QuantOf(TensorOf(ElementType::kFloat32, {4})).has_value());
}

TEST(Quantization, FusedActivationsLimitTheRange) {
  const graph::Tensor tensor = TensorOf(ElementType::kInt8, {4});  // 0.5 * (integer - 3)
  graph::Op op;
  const auto range = [&](std::int64_t activation) {
    op.attributes["fused_activation_function"] = activation;
    const auto found = OutputRange(op, tensor);
    return found ? std::pair(found->low, found->high) : std::pair(0, 0);
  };
  EXPECT_EQ(range(0), std::pair(-128, 127));
  EXPECT_EQ(range(1), std::pair(3, 127));  // RELU
  EXPECT_EQ(range(2), std::pair(1, 5));    // RELU_N1_TO_1
  EXPECT_EQ(range(3), std::pair(3, 15));   // RELU6
  EXPECT_EQ(range(4), std::pair(0, 0));    // TANH: refused
}

TEST(RuntimeFiles, OnlyThoseThatAreUsed) {
  const auto files = RuntimeFilesOf({"neap_drive_window", "neap_conv_u8"});
  EXPECT_TRUE(files.contains("neap_rt.h"));
  EXPECT_TRUE(files.contains("neap_conv_s8.c"));  // included by the form for uint8
  EXPECT_FALSE(files.contains("neap_softmax_s8.c"));
}

TEST(RuntimeFiles, ASingleFileHasNamesOfItsOwn) {
  const std::string text = SingleFile("/* tables */\n#include \"neap_rt/neap_rt.h\"\nneap_op x;\n",
                                      RuntimeFilesOf({"neap_lookup"}), "net", true);
  EXPECT_NE(text.find("net_rt_op x;"), std::string::npos);
  EXPECT_NE(text.find("void net_rt_lookup("), std::string::npos);
  EXPECT_EQ(text.find("#include \"neap"), std::string::npos);
  EXPECT_NE(text.find("#define NET_RT_LITTLE_FLASH\n"), std::string::npos);
}

}  // namespace
}  // namespace neap::emit
