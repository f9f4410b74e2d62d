// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neap/formats/formats.h"

namespace neap::formats {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

constexpr SubgraphId kMain(0);

TensorId AddTensor(Subgraph* subgraph, const std::string& name) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = ElementType::kFloat32;
  tensor.shape = Shape{2, 3};
  return subgraph->tensors.push_back(std::move(tensor));
}

TensorId AddConstant(Subgraph* subgraph, const std::string& name, const std::vector<float>& data) {
  const TensorId id = AddTensor(subgraph, name);
  const auto owner = std::make_shared<const std::vector<float>>(data);
  subgraph->tensors[id].shape = Shape{static_cast<std::int64_t>(data.size())};
  subgraph->tensors[id].constant = true;
  subgraph->tensors[id].data = {owner, std::as_bytes(std::span<const float>(*owner))};
  return id;
}

void AddOp(Subgraph* subgraph, bool tflite, const std::string& type, std::vector<TensorId> inputs,
           TensorId output) {
  Op op;
  op.domain = tflite ? "tflite" : "";
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = {output};
  subgraph->ops.push_back(std::move(op));
}

// x -> relu -> r; r + first -> a; a + second -> out; r and out are outputs.
SourceModel Source(bool tflite) {
  Subgraph main;
  main.name = "main";
  const TensorId x = AddTensor(&main, "x");
  const TensorId first = AddConstant(&main, "first", {1, 2, 3});
  const TensorId second = AddConstant(&main, "second", std::vector<float>(3, 7));
  const TensorId r = AddTensor(&main, "r");
  const TensorId a = AddTensor(&main, "a");
  const TensorId out = AddTensor(&main, "out");
  AddOp(&main, tflite, tflite ? "RELU" : "Relu", {x}, r);
  AddOp(&main, tflite, tflite ? "ADD" : "Add", {r, first}, a);
  AddOp(&main, tflite, tflite ? "ADD" : "Add", {a, second}, out);
  main.inputs = {x};
  main.outputs = {r, out};
  Graph graph;
  graph.subgraphs.push_back(std::move(main));
  if (tflite) graph.signatures.push_back({"serving_default", kMain});
  auto bytes = tflite ? ExportTflite(graph, "chain") : ExportOnnx(graph, "chain");
  EXPECT_TRUE(bytes) << bytes.error().message;
  auto model = LoadBytes(std::make_shared<const std::vector<std::byte>>(std::move(*bytes)),
                         tflite ? "chain.tflite" : "chain.onnx", {.dims = {}, .weights = true});
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

TensorId Named(const SourceModel& model, const std::string& name) {
  const Subgraph& main = model.graph.subgraphs[kMain];
  for (const TensorId id : main.tensors.Ids()) {
    if (main.tensors[id].name == name) return id;
  }
  return TensorId();
}

std::vector<std::string> Names(const Subgraph& subgraph, const std::vector<TensorId>& ids) {
  std::vector<std::string> names;
  for (const TensorId id : ids) names.push_back(subgraph.tensors[id].name);
  return names;
}

class WritePartOf : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Formats, WritePartOf, testing::Bool(),
                         [](const auto& format) { return format.param ? "Tflite" : "Onnx"; });

TEST_P(WritePartOf, HoldsThePartAndNothingElse) {
  const SourceModel model = Source(GetParam());
  const ModelPart part = {{OpId(1), OpId(2)}, {Named(model, "r")}, {Named(model, "out")}};
  const auto bytes = WritePart(model, part);
  ASSERT_TRUE(bytes) << bytes.error().ToString();
  const auto written = LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes), model.path,
                                 {.dims = {}, .weights = true});
  ASSERT_TRUE(written);
  const Subgraph& main = written->graph.subgraphs[kMain];
  ASSERT_EQ(main.ops.size(), 2U);
  EXPECT_EQ(main.ops[OpId(0)].type, model.graph.subgraphs[kMain].ops[OpId(1)].type);
  EXPECT_EQ(Names(main, main.inputs), (std::vector<std::string>{"r"}));
  EXPECT_EQ(Names(main, main.outputs), (std::vector<std::string>{"out"}));
  EXPECT_EQ(Named(*written, "x"), TensorId());
  const Tensor& second = main.tensors[Named(*written, "second")];
  ASSERT_TRUE(second.data);
  EXPECT_EQ(second.data->bytes.size(), 12U);
  EXPECT_EQ(main.tensors[main.inputs[0]].shape, (Shape{2, 3}));
  EXPECT_EQ(*WritePart(model, part), *bytes);
}

TEST_P(WritePartOf, LeavesOutConstantsOfOtherParts) {
  const SourceModel model = Source(GetParam());
  const auto bytes = WritePart(
      model, {{OpId(0), OpId(1)}, {Named(model, "x")}, {Named(model, "r"), Named(model, "a")}});
  ASSERT_TRUE(bytes) << bytes.error().ToString();
  const auto written =
      LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes), model.path, {});
  ASSERT_TRUE(written);
  EXPECT_TRUE(Named(*written, "first").valid());
  EXPECT_FALSE(Named(*written, "second").valid());
  const Subgraph& main = written->graph.subgraphs[kMain];
  EXPECT_EQ(Names(main, main.outputs), (std::vector<std::string>{"r", "a"}));
}

TEST(WritePart, RefusesGraphJson) {
  SourceModel model;
  model.format = Format::kGraphJson;
  const auto bytes = WritePart(model, {});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace neap::formats
