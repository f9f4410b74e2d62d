// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "neap/formats/tflite/test_model.h"
#include "neap/formats/tflite/tflite.h"
#include "neap/ops/op_table.h"

namespace neap::formats::tflite {
namespace {

// The bytes of a model with one operator whose options have `fields` set as 32-bit integers.
struct Slot {
  std::uint16_t slot;
  std::int32_t value;
};
std::vector<std::byte> ModelWithOptions(schema::BuiltinOperator code, std::uint8_t kind,
                                        const std::vector<Slot>& bytes,
                                        const std::vector<Slot>& integers) {
  flatbuffers::FlatBufferBuilder builder;
  const auto start = builder.StartTable();
  for (const Slot& field : integers) {
    builder.AddElement<std::int32_t>(static_cast<flatbuffers::voffset_t>(4 + 2 * field.slot),
                                     field.value);
  }
  for (const Slot& field : bytes) {
    builder.AddElement<std::int8_t>(static_cast<flatbuffers::voffset_t>(4 + 2 * field.slot),
                                    static_cast<std::int8_t>(field.value));
  }
  const flatbuffers::Offset<schema::OperatorOptions> options(builder.EndTable(start));
  const std::vector<std::int32_t> in = {0};
  const std::vector<std::int32_t> out = {1};
  const std::vector<std::int32_t> shape = {1, 4};
  const std::vector<float> scales = {0.5F, 0.25F, 2.0F, 1.0F};
  const std::vector<std::int64_t> zeros = {-3, 7, 0, 1};
  const auto quantization = schema::CreateQuantizationParameters(
      builder, 0, 0, builder.CreateVector(scales), builder.CreateVector(zeros),
      schema::QuantizationDetails::NONE, 0, 1);
  const std::vector<flatbuffers::Offset<schema::Tensor>> tensors = {
      schema::CreateTensor(builder, builder.CreateVector(shape), schema::TensorType::INT8, 0,
                           builder.CreateString("in"), quantization),
      schema::CreateTensor(builder, builder.CreateVector(shape), schema::TensorType::INT8, 0,
                           builder.CreateString("out"))};
  const auto op =
      schema::CreateOperator(builder, 0, builder.CreateVector(in), builder.CreateVector(out),
                             static_cast<schema::OptionsKind>(kind), options);
  const auto subgraph = schema::CreateSubGraph(
      builder, builder.CreateVector(tensors), builder.CreateVector(in), builder.CreateVector(out),
      builder.CreateVector(std::vector<flatbuffers::Offset<schema::Operator>>{op}));
  const auto entry = schema::CreateOperatorCode(builder, 0, 0, 1, code);
  const auto buffer = schema::CreateBuffer(builder);
  const auto codes =
      builder.CreateVector(std::vector<flatbuffers::Offset<schema::OperatorCode>>{entry});
  const auto subgraphs =
      builder.CreateVector(std::vector<flatbuffers::Offset<schema::SubGraph>>{subgraph});
  const auto buffers =
      builder.CreateVector(std::vector<flatbuffers::Offset<schema::Buffer>>{buffer});
  builder.Finish(schema::CreateModel(builder, 3, codes, subgraphs, 0, buffers), "TFL3");
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {data, data + builder.GetSize()};
}

Result<graph::Graph> ReadBytes(std::vector<std::byte> bytes) {
  SourceModel model;
  return Read(std::make_shared<const std::vector<std::byte>>(std::move(bytes)), "m.tflite", {},
              &model);
}

std::int64_t Integer(const graph::Op& op, const std::string& name) {
  return std::get<std::int64_t>(op.attributes.at(name));
}

TEST(OptionsTest, FieldsBecomeAttributesAndAbsentOnesHaveTheirDefaults) {
  const auto graph = ReadBytes(ModelWithOptions(schema::BuiltinOperator::CONV_2D, 1,
                                                {{0, 1}, {3, 3}}, {{1, 2}, {2, 4}, {4, 6}}));
  ASSERT_TRUE(graph) << graph.error().ToString();
  const graph::Op& op = graph->subgraphs[graph::SubgraphId(0)].ops[graph::OpId(0)];
  EXPECT_EQ(Integer(op, "padding"), 1);
  EXPECT_EQ(Integer(op, "stride_w"), 2);
  EXPECT_EQ(Integer(op, "stride_h"), 4);
  EXPECT_EQ(Integer(op, "fused_activation_function"), 3);
  EXPECT_EQ(Integer(op, "dilation_w_factor"), 6);
  EXPECT_EQ(Integer(op, "dilation_h_factor"), 1);
}

TEST(OptionsTest, QuantizationIsRead) {
  const auto graph = ReadBytes(ModelWithOptions(schema::BuiltinOperator::RELU, 0, {}, {}));
  ASSERT_TRUE(graph) << graph.error().ToString();
  const auto& tensors = graph->subgraphs[graph::SubgraphId(0)].tensors;
  const auto& quantization = tensors[graph::TensorId(0)].quantization;
  ASSERT_TRUE(quantization);
  EXPECT_EQ(quantization->scales, (std::vector<float>{0.5F, 0.25F, 2.0F, 1.0F}));
  EXPECT_EQ(quantization->zero_points, (std::vector<std::int64_t>{-3, 7, 0, 1}));
  EXPECT_EQ(quantization->axis, 1);
  EXPECT_FALSE(tensors[graph::TensorId(1)].quantization);
}

// Options that were cut short or point elsewhere are an error, never a read outside the file.
TEST(OptionsTest, DamagedOptionsAreRefused) {
  const std::vector<std::byte> good = ModelWithOptions(schema::BuiltinOperator::RESHAPE, 17, {},
                                                       {{0, 1 << 20}});  // a list far away
  const auto graph = ReadBytes(good);
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().ToString().find("its option 'new_shape' is damaged"), std::string::npos)
      << graph.error().ToString();
}

TEST(OptionsTest, EveryKindOfATypeIsOneByteOfTheFormat) {
  std::set<std::uint8_t> kinds;
  for (int code = 0; code <= 209; ++code) {
    const auto* name = schema::EnumNameBuiltinOperator(static_cast<schema::BuiltinOperator>(code));
    kinds.insert(OptionsKindOf(ops::KindNamed(ops::Dialect::kTflite, name)));
  }
  // All tables are reached by some operator, and nothing but them and options without fields.
  for (int kind = 1; kind < 256; ++kind) {
    const auto* table = OptionTableOf(static_cast<std::uint8_t>(kind));
    if (table == nullptr) continue;
    EXPECT_TRUE(kinds.contains(static_cast<std::uint8_t>(kind))) << kind;
    for (std::size_t i = 1; i < table->fields.size(); ++i) {
      EXPECT_LT(table->fields[i - 1].slot, table->fields[i].slot) << kind;
    }
  }
  EXPECT_EQ(OptionsKindOf(ops::OpKind::kConv2d), 1);
  EXPECT_EQ(OptionsKindOf(ops::OpKind::kGelu), 116);
  EXPECT_EQ(OptionsKindOf(ops::OpKind::kWhile), 0);
  EXPECT_EQ(OptionsKindOf(ops::OpKind::kUnknown), 0);
}

// The table of operators has those of the format, and no others.
TEST(OptionsTest, EveryOperatorOfTheFormatHasARow) {
  std::size_t names = 0;
  for (const auto code : schema::EnumValuesBuiltinOperator()) {
    const char* const name = schema::EnumNameBuiltinOperator(code);
    EXPECT_NE(ops::KindNamed(ops::Dialect::kTflite, name), ops::OpKind::kUnknown) << name;
    ++names;
  }
  EXPECT_EQ(names, ops::RowsOf(ops::Dialect::kTflite).size());
}

}  // namespace
}  // namespace neap::formats::tflite
