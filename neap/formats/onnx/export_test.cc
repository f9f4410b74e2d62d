// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/formats/onnx/onnx.h"

namespace neap::formats::onnx {
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

// One message of the protobuf wire format, read without the library that wrote it.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {
    while (!rest_.empty()) {
      const std::uint64_t tag = Varint();
      Field field{static_cast<int>(tag >> 3U), 0, {}};
      switch (tag & 7U) {
        case 0:
          field.number = Varint();
          break;
        case 2:
          field.bytes = Take(Varint());
          break;
        case 5:
          field.bytes = Take(4);
          break;
        default:
          ADD_FAILURE() << "wire type " << (tag & 7U);
          return;
      }
      fields_.push_back(field);
    }
  }

  std::vector<Message> Messages(int id) const {
    std::vector<Message> messages;
    for (const std::string_view bytes : Strings(id)) messages.emplace_back(bytes);
    return messages;
  }
  std::vector<std::string_view> Strings(int id) const {
    std::vector<std::string_view> strings;
    for (const Field& field : fields_) {
      if (field.id == id) strings.push_back(field.bytes);
    }
    return strings;
  }
  std::vector<std::uint64_t> Numbers(int id) const {
    std::vector<std::uint64_t> numbers;
    for (const Field& field : fields_) {
      if (field.id == id) numbers.push_back(field.number);
    }
    return numbers;
  }
  std::string_view String(int id) const { return Strings(id).at(0); }
  std::uint64_t Number(int id) const { return Numbers(id).at(0); }
  Message Child(int id) const { return Message(String(id)); }

 private:
  struct Field {
    int id;
    std::uint64_t number;
    std::string_view bytes;
  };

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) break;
    }
    return value;
  }
  std::string_view Take(std::uint64_t size) {
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  std::vector<Field> fields_;
};

Tensor MakeTensor(std::string name, ElementType type, Shape shape) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  return tensor;
}

// in -> Gemm(weight) -> mid -> LeakyRelu -> out
Graph TwoOps() {
  Graph graph;
  Subgraph main;
  main.tensors.push_back(MakeTensor("in", ElementType::kFloat32, {1, 2}));
  Tensor weight = MakeTensor("weight", ElementType::kFloat32, {2, 2});
  weight.constant = true;
  const auto values = std::make_shared<const std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  weight.data = graph::ConstantData{values, std::as_bytes(std::span<const float>(*values))};
  main.tensors.push_back(weight);
  main.tensors.push_back(MakeTensor("mid", ElementType::kFloat32, {1, 2}));
  main.tensors.push_back(MakeTensor("out", ElementType::kFloat32, {1, -1}));
  main.tensors.back().symbols = {"", "features"};
  Op gemm;
  gemm.type = "Gemm";
  gemm.name = "fc";
  gemm.inputs = {TensorId(0), TensorId(1), TensorId()};
  gemm.outputs = {TensorId(2)};
  gemm.attributes = {{"transB", std::int64_t{1}}, {"alpha", 0.5}};
  Op relu;
  relu.type = "Mystery";
  relu.domain = "org.example";
  relu.inputs = {TensorId(2)};
  relu.outputs = {TensorId(3)};
  relu.attributes = {{"floats", std::vector<double>{1, 2}},
                     {"ints", std::vector<std::int64_t>{3, -1}},
                     {"mode", std::string("fast")},
                     {"names", std::vector<std::string>{"a", "b"}}};
  main.ops.push_back(gemm);
  main.ops.push_back(relu);
  main.inputs = {TensorId(0)};
  main.outputs = {TensorId(3)};
  graph.subgraphs.push_back(main);
  return graph;
}

std::string ExportText(const Graph& graph) {
  const auto bytes = Export(graph, "tiny");
  if (!bytes) {
    ADD_FAILURE() << bytes.error().ToString();
    return {};
  }
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

TEST(Export, WritesTheModelHeader) {
  const std::string text = ExportText(TwoOps());
  const Message model(text);
  EXPECT_EQ(model.Number(1), 8U);
  EXPECT_EQ(model.String(2), "neap");
  const auto opsets = model.Messages(8);
  ASSERT_EQ(opsets.size(), 2U);
  EXPECT_EQ(opsets[0].String(1), "");
  EXPECT_EQ(opsets[0].Number(2), 17U);
  EXPECT_EQ(opsets[1].String(1), "org.example");
  EXPECT_EQ(model.Child(7).String(2), "tiny");
}

TEST(Export, WritesNodesInOrderWithTheirAttributes) {
  const std::string text = ExportText(TwoOps());
  const auto nodes = Message(text).Child(7).Messages(1);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].String(4), "Gemm");
  EXPECT_EQ(nodes[0].String(3), "fc");
  EXPECT_EQ(nodes[0].Strings(1), (std::vector<std::string_view>{"in", "weight", ""}));
  EXPECT_EQ(nodes[0].Strings(2), std::vector<std::string_view>{"mid"});
  const auto scalars = nodes[0].Messages(5);
  ASSERT_EQ(scalars.size(), 2U);
  EXPECT_EQ(scalars[0].String(1), "alpha");
  EXPECT_EQ(scalars[0].Number(20), 1U);
  float alpha = 0;
  std::memcpy(&alpha, scalars[0].String(2).data(), sizeof(alpha));
  EXPECT_EQ(alpha, 0.5F);
  EXPECT_EQ(scalars[1].String(1), "transB");
  EXPECT_EQ(scalars[1].Number(20), 2U);
  EXPECT_EQ(scalars[1].Number(3), 1U);
  EXPECT_EQ(nodes[1].String(7), "org.example");
  const auto lists = nodes[1].Messages(5);
  ASSERT_EQ(lists.size(), 4U);
  EXPECT_EQ(lists[0].Number(20), 6U);
  EXPECT_EQ(lists[0].Strings(7).size(), 2U);
  EXPECT_EQ(lists[1].Number(20), 7U);
  EXPECT_EQ(lists[1].Numbers(8), (std::vector<std::uint64_t>{3, ~std::uint64_t{0}}));
  EXPECT_EQ(lists[2].Number(20), 3U);
  EXPECT_EQ(lists[2].String(4), "fast");
  EXPECT_EQ(lists[3].Number(20), 8U);
  EXPECT_EQ(lists[3].Strings(9), (std::vector<std::string_view>{"a", "b"}));
}

TEST(Export, WritesEveryTensorOnce) {
  const std::string text = ExportText(TwoOps());
  const Message graph = Message(text).Child(7);
  const auto initializers = graph.Messages(5);
  ASSERT_EQ(initializers.size(), 1U);
  EXPECT_EQ(initializers[0].String(8), "weight");
  EXPECT_EQ(initializers[0].Number(2), 1U);
  EXPECT_EQ(initializers[0].Numbers(1), (std::vector<std::uint64_t>{2, 2}));
  std::vector<float> values(4);
  ASSERT_EQ(initializers[0].String(9).size(), values.size() * sizeof(float));
  std::memcpy(values.data(), initializers[0].String(9).data(), values.size() * sizeof(float));
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4}));
  const std::pair<int, std::string_view> places[] = {{11, "in"}, {13, "mid"}, {12, "out"}};
  for (const auto& [id, name] : places) {
    const auto infos = graph.Messages(id);
    ASSERT_EQ(infos.size(), 1U);
    EXPECT_EQ(infos[0].String(1), name);
    const Message type = infos[0].Child(2).Child(1);
    EXPECT_EQ(type.Number(1), 1U);
    const auto dimensions = type.Child(2).Messages(1);
    ASSERT_EQ(dimensions.size(), 2U);
    EXPECT_EQ(dimensions[0].Number(1), 1U);
    if (name == "out") {
      EXPECT_EQ(dimensions[1].String(2), "features");
    } else {
      EXPECT_EQ(dimensions[1].Number(1), 2U);
    }
  }
}

TEST(Export, GivesEveryTensorANameOfItsOwn) {
  Graph graph = TwoOps();
  auto& tensors = graph.subgraphs[SubgraphId(0)].tensors;
  tensors[TensorId(2)].name = "in";
  tensors[TensorId(3)].name = "";
  const std::string text = ExportText(graph);
  const auto nodes = Message(text).Child(7).Messages(1);
  EXPECT_EQ(nodes[0].String(2), "in#2");
  EXPECT_EQ(nodes[1].String(1), "in#2");
  EXPECT_EQ(nodes[1].String(2), "#3");
}

TEST(Export, IsDeterministic) { EXPECT_EQ(ExportText(TwoOps()), ExportText(TwoOps())); }

TEST(Export, RefusesWhatOnnxCannotHold) {
  const auto refusal = [](const std::function<void(Subgraph*)>& change) {
    Graph graph = TwoOps();
    change(&graph.subgraphs[SubgraphId(0)]);
    const auto bytes = Export(graph, "tiny");
    return bytes ? std::string("written") : bytes.error().ToString();
  };
  const auto has = [&](std::string_view part, const std::function<void(Subgraph*)>& change) {
    const std::string text = refusal(change);
    return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                : testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(has("without its data", [](Subgraph* s) { s->tensors[TensorId(1)].data.reset(); }));
  EXPECT_TRUE(has("has 16 bytes, expected 24", [](Subgraph* s) {
    s->tensors[TensorId(1)].shape = Shape{2, 3};
  }));
  EXPECT_TRUE(has("element type int4",
                  [](Subgraph* s) { s->tensors[TensorId(2)].type = ElementType::kInt4; }));
  EXPECT_TRUE(has("read before it is written",
                  [](Subgraph* s) { std::swap(s->ops[OpId(0)], s->ops[OpId(1)]); }));
  EXPECT_TRUE(has("without a producer", [](Subgraph* s) {
    s->tensors.push_back(MakeTensor("lost", ElementType::kFloat32, {1}));
    s->outputs.push_back(TensorId(4));
  }));
  EXPECT_TRUE(has("control flow", [](Subgraph* s) { s->ops[OpId(0)].captures = {TensorId(0)}; }));
  EXPECT_TRUE(has("attribute 'value'", [](Subgraph* s) {
    s->ops[OpId(0)].attributes["value"] = graph::ConstantData{};
  }));
  EXPECT_FALSE(Export(Graph{}, "empty").has_value());
}

}  // namespace
}  // namespace neap::formats::onnx
