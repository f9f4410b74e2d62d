// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "neap/formats/tflite/op_version.h"
#include "neap/formats/tflite/options.h"
#include "neap/formats/tflite/test_model.h"
#include "neap/formats/tflite/tflite.h"
#include "neap/ops/op_table.h"

namespace neap::formats::tflite {
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

template <typename T>
graph::ConstantData Data(const std::vector<T>& values) {
  const auto owner = std::make_shared<const std::vector<T>>(values);
  return {owner, std::as_bytes(std::span<const T>(*owner))};
}

std::string Text(const graph::ConstantData& data) {
  return {reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size()};
}

TensorId AddTensor(Subgraph* subgraph, const std::string& name, ElementType type, Shape shape) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = std::move(shape);
  return subgraph->tensors.push_back(std::move(tensor));
}

template <typename T>
TensorId AddConstant(Subgraph* subgraph, const std::string& name, ElementType type, Shape shape,
                     const std::vector<T>& values) {
  const TensorId id = AddTensor(subgraph, name, type, std::move(shape));
  subgraph->tensors[id].constant = true;
  subgraph->tensors[id].data = Data(values);
  return id;
}

void AddOp(Subgraph* subgraph, const std::string& type, std::vector<TensorId> inputs,
           std::vector<TensorId> outputs, std::map<std::string, graph::Attribute> attributes = {}) {
  Op op;
  op.type = type;
  op.domain = "tflite";
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.attributes = std::move(attributes);
  subgraph->ops.push_back(std::move(op));
}

bool SameAttribute(const graph::Attribute& a, const graph::Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, graph::ConstantData>) {
          return Text(value) == Text(std::get<T>(b));
        } else {
          return value == std::get<T>(b);
        }
      },
      a);
}

// Every attribute that `a` has; `b` may have defaults beside.
void ExpectSameOp(const Op& a, const Op& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.domain, b.domain);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.bodies, b.bodies);
  for (const auto& [name, value] : a.attributes) {
    const auto found = b.attributes.find(name);
    ASSERT_NE(found, b.attributes.end()) << a.type << " " << name;
    EXPECT_TRUE(SameAttribute(value, found->second)) << a.type << " " << name;
  }
}

void ExpectSameTensor(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.type, b.type) << a.name;
  EXPECT_EQ(a.shape, b.shape) << a.name;
  EXPECT_EQ(a.constant, b.constant) << a.name;
  EXPECT_EQ(a.variable, b.variable) << a.name;
  ASSERT_EQ(a.data.has_value(), b.data.has_value()) << a.name;
  if (a.data) {
    EXPECT_EQ(Text(*a.data), Text(*b.data)) << a.name;
  }
  ASSERT_EQ(a.quantization.has_value(), b.quantization.has_value()) << a.name;
  if (!a.quantization) return;
  EXPECT_EQ(a.quantization->scales, b.quantization->scales) << a.name;
  EXPECT_EQ(a.quantization->zero_points, b.quantization->zero_points) << a.name;
  EXPECT_EQ(a.quantization->axis, b.quantization->axis) << a.name;
}

void ExpectSameGraph(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.subgraphs.size(), b.subgraphs.size());
  for (const SubgraphId s : a.subgraphs.Ids()) {
    const Subgraph& left = a.subgraphs[s];
    const Subgraph& right = b.subgraphs[s];
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.inputs, right.inputs);
    EXPECT_EQ(left.outputs, right.outputs);
    ASSERT_EQ(left.tensors.size(), right.tensors.size());
    for (const TensorId id : left.tensors.Ids()) {
      ExpectSameTensor(left.tensors[id], right.tensors[id]);
    }
    ASSERT_EQ(left.ops.size(), right.ops.size());
    for (const OpId id : left.ops.Ids()) ExpectSameOp(left.ops[id], right.ops[id]);
    ASSERT_EQ(left.control_edges.size(), right.control_edges.size());
    for (std::size_t i = 0; i < left.control_edges.size(); ++i) {
      EXPECT_EQ(left.control_edges[i].before, right.control_edges[i].before);
      EXPECT_EQ(left.control_edges[i].after, right.control_edges[i].after);
    }
  }
  ASSERT_EQ(a.signatures.size(), b.signatures.size());
  for (std::size_t i = 0; i < a.signatures.size(); ++i) {
    EXPECT_EQ(a.signatures[i].key, b.signatures[i].key);
    EXPECT_EQ(a.signatures[i].subgraph, b.signatures[i].subgraph);
  }
}

std::vector<std::byte> Written(const Graph& graph) {
  auto bytes = ExportTflite(graph, "test");
  EXPECT_TRUE(bytes) << bytes.error().ToString();
  return bytes.value_or(std::vector<std::byte>());
}

void ExpectRoundTrip(const Graph& graph) {
  const auto again = test::LoadModel(Written(graph));
  ASSERT_TRUE(again) << again.error().ToString();
  ExpectSameGraph(graph, again->graph);
}

// Quantised, with an absent bias, shared and empty constants, a variable, a scalar, a custom
// operator, control edges and a signature.
Graph Everything() {
  Subgraph s;
  s.name = "main";
  const TensorId in = AddTensor(&s, "in", ElementType::kInt8, {1, 4, 4, 2});
  s.tensors[in].quantization = graph::Quantization{{0.5F}, {-3}, 0};
  const TensorId weights =
      AddConstant<std::int8_t>(&s, "w", ElementType::kInt8, {2, 1, 1, 2}, {1, 2, 3, 4});
  s.tensors[weights].quantization = graph::Quantization{{0.25F, 0.125F}, {0, 0}, 0};
  const TensorId twin = AddTensor(&s, "twin", ElementType::kInt8, {2, 1, 1, 2});
  s.tensors[twin].constant = true;
  s.tensors[twin].data = s.tensors[weights].data;
  const TensorId y = AddTensor(&s, "y", ElementType::kInt8, {1, 2, 2, 2});
  const TensorId z = AddTensor(&s, "z", ElementType::kInt8, {1, 2, 2, 2});
  const TensorId state = AddTensor(&s, "state", ElementType::kFloat32, {1, 7});
  s.tensors[state].variable = true;
  const TensorId scalar = AddConstant<std::int32_t>(&s, "scalar", ElementType::kInt32, {}, {7});
  const TensorId nothing = AddConstant<std::int32_t>(&s, "nothing", ElementType::kInt32, {0}, {});
  const TensorId out = AddTensor(&s, "out", ElementType::kInt8, {1, 8});
  const std::map<std::string, graph::Attribute> conv = {
      {"padding", std::int64_t{1}},
      {"stride_w", std::int64_t{2}},
      {"stride_h", std::int64_t{2}},
      {"fused_activation_function", std::int64_t{3}}};
  AddOp(&s, "CONV_2D", {in, weights, TensorId()}, {y}, conv);
  AddOp(&s, "CONV_2D", {in, twin, TensorId()}, {z}, conv);
  AddOp(&s, "Mine", {y, z, state, scalar, nothing}, {out},
        {{kCustomOptions, Data<std::uint8_t>({1, 2, 3})}});
  s.ops.back().domain = "custom";
  s.control_edges = {{OpId(1), OpId(2)}, {OpId(0), OpId(2)}};
  s.inputs = {in};
  s.outputs = {out};
  Graph graph;
  graph.subgraphs.push_back(std::move(s));
  graph.signatures = {{"serving_default", SubgraphId(0)}};
  return graph;
}

TEST(TfliteExport, ReadsBackTheSame) { ExpectRoundTrip(Everything()); }

TEST(TfliteExport, SameBytesEveryTime) { EXPECT_EQ(Written(Everything()), Written(Everything())); }

TEST(TfliteExport, BuffersAreSharedAlignedAndTheFirstIsEmpty) {
  const auto bytes = Written(Everything());
  const schema::Model* model = OpenModel(bytes).value();
  EXPECT_EQ(model->version(), 3U);
  EXPECT_EQ(TextOf(model->description()), "test");
  // Empty, weights (of both), scalar, control edges.
  ASSERT_EQ(model->buffers()->size(), 4U);
  EXPECT_EQ(SizeOf(model->buffers()->Get(0)->data()), 0U);
  for (std::uint32_t i = 1; i < model->buffers()->size(); ++i) {
    const auto* data = model->buffers()->Get(i)->data();
    ASSERT_NE(data, nullptr);
    EXPECT_EQ((reinterpret_cast<const std::byte*>(data->data()) - bytes.data()) % 16, 0);
  }
  // One code for both convolutions.
  ASSERT_EQ(model->operator_codes()->size(), 2U);
  EXPECT_EQ(model->operator_codes()->Get(0)->version(), 3);
  const auto* signature = model->signature_defs()->Get(0);
  EXPECT_EQ(TextOf(signature->inputs()->Get(0)->name()), "in");
  EXPECT_EQ(TextOf(signature->outputs()->Get(0)->name()), "out");
}

Graph Unary(const std::string& type, std::map<std::string, graph::Attribute> attributes) {
  Subgraph s;
  s.inputs = {AddTensor(&s, "in", ElementType::kFloat32, {1, 4})};
  s.outputs = {AddTensor(&s, "out", ElementType::kFloat32, {1, 4})};
  AddOp(&s, type, s.inputs, s.outputs, std::move(attributes));
  Graph graph;
  graph.subgraphs.push_back(std::move(s));
  return graph;
}

graph::Attribute SomeValue(const OptionField& field, int draw) {
  switch (field.type) {
    case OptionType::kBool:
      return std::int64_t{draw % 2};
    case OptionType::kByte:
      return std::int64_t{draw % 100};
    case OptionType::kInt:
      return std::int64_t{-1000000} * draw;
    case OptionType::kLong:
      return std::int64_t{1} << (40 + draw % 20);
    case OptionType::kFloat:
      return static_cast<double>(draw) / 4;
    case OptionType::kInts:
      return std::vector<std::int64_t>(static_cast<std::size_t>(draw % 5), draw);
    case OptionType::kFloats:
      return std::vector<double>(static_cast<std::size_t>(draw % 5), draw / 8.0);
    case OptionType::kText:
      return "text" + std::to_string(draw);
  }
  return {};
}

// Every option of every operator is read back; resource operators are tested below.
TEST(TfliteExport, EveryOptionOfEveryOperator) {
  int fields = 0;
  for (const auto code : schema::EnumValuesBuiltinOperator()) {
    const std::string type = schema::EnumNameBuiltinOperator(code);
    const OptionTable* table =
        OptionTableOf(OptionsKindOf(ops::KindNamed(ops::Dialect::kTflite, type)));
    if (table == nullptr || type == "VAR_HANDLE" || type.starts_with("HASHTABLE")) continue;
    for (int draw = 0; draw < 6; ++draw) {
      std::map<std::string, graph::Attribute> attributes;
      for (const OptionField& field : table->fields) {
        attributes[std::string(field.name)] = SomeValue(field, draw + ++fields);
      }
      ExpectRoundTrip(Unary(type, attributes));
    }
    ExpectRoundTrip(Unary(type, {}));
  }
  EXPECT_GT(fields, 500);
}

TEST(TfliteExport, VariablesBehindHandles) {
  Subgraph s;
  const TensorId in = AddTensor(&s, "in", ElementType::kFloat32, {1, 4});
  const TensorId handle = AddTensor(&s, "handle", ElementType::kInt32, {0});
  const TensorId out = AddTensor(&s, "out", ElementType::kFloat32, {1, 4});
  AddOp(&s, "VAR_HANDLE", {}, {handle},
        {{"container", std::string("a")}, {"shared_name", std::string("b")}});
  AddOp(&s, "ASSIGN_VARIABLE", {handle, in}, {});
  AddOp(&s, "READ_VARIABLE", {handle}, {out});
  s.inputs = {in};
  s.outputs = {out};
  Graph graph;
  graph.subgraphs.push_back(std::move(s));
  ExpectRoundTrip(graph);
  const auto bytes = Written(graph);
  const auto* tensors = OpenModel(bytes).value()->subgraphs()->Get(0)->tensors();
  EXPECT_EQ(tensors->Get(1)->type(), schema::TensorType::RESOURCE);
  EXPECT_EQ(SizeOf(tensors->Get(1)->shape()), 0U);
}

Graph Calling(const std::string& type, std::size_t bodies) {
  Graph graph = Unary(type, {});
  for (std::size_t i = 0; i < bodies; ++i) {
    graph.subgraphs[SubgraphId(0)].ops[OpId(0)].bodies.push_back(SubgraphId(i + 1));
    Graph body = Unary("NEG", {});
    body.subgraphs[SubgraphId(0)].name = "body" + std::to_string(i);
    graph.subgraphs.push_back(body.subgraphs[SubgraphId(0)]);
  }
  return graph;
}

TEST(TfliteExport, Bodies) {
  ExpectRoundTrip(Calling("IF", 2));
  ExpectRoundTrip(Calling("WHILE", 2));
  ExpectRoundTrip(Calling("CALL", 1));
  ExpectRoundTrip(Calling("CALL_ONCE", 1));
}

std::string WhyNot(const Graph& graph) {
  const auto bytes = ExportTflite(graph, "test");
  EXPECT_FALSE(bytes);
  return bytes ? "" : bytes.error().ToString();
}

std::string WhyNot(const std::function<void(Subgraph*)>& spoil) {
  Graph graph = Everything();
  spoil(&graph.subgraphs[SubgraphId(0)]);
  return WhyNot(graph);
}

bool Says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TfliteExport, RefusesWhatTheFormatCannotSay) {
  EXPECT_TRUE(Says(WhyNot(Graph()), "no subgraph"));
  EXPECT_TRUE(Says(WhyNot(Unary("Conv", {})), "no built-in operator of this type"));
  EXPECT_TRUE(Says(WhyNot(Unary("CUSTOM", {})), "no built-in operator of this type"));
  EXPECT_TRUE(Says(WhyNot(Unary("STABLEHLO_ADD", {})), "StableHLO"));
  EXPECT_TRUE(Says(WhyNot(Unary("ADD", {{"axis", std::int64_t{1}}})), "'axis' is not an option"));
  EXPECT_TRUE(Says(WhyNot(Unary("SOFTMAX", {{"beta", std::int64_t{1}}})), "'beta' is not"));
  EXPECT_TRUE(Says(WhyNot(Unary("GATHER", {{"axis", std::int64_t{1} << 40}})), "'axis' is not"));
  EXPECT_TRUE(Says(WhyNot(Unary("RESHAPE", {{"new_shape", std::int64_t{1}}})), "'new_shape'"));
  EXPECT_TRUE(
      Says(WhyNot(Unary("ADD", {{kCustomOptions, Data<std::uint8_t>({1})}})), "'custom_options'"));
  EXPECT_TRUE(Says(WhyNot(Unary("IF", {})), "0 bodies, expected 2"));
  EXPECT_TRUE(Says(WhyNot(Calling("NEG", 1)), "1 bodies, expected 0"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) { s->ops[OpId(0)].domain = ""; }), "domain ''"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) { s->ops[OpId(0)].folded = true; }), "folded"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) { s->ops[OpId(0)].outputs[0] = TensorId(); }),
                   "overwrites a graph input"));
  EXPECT_TRUE(
      Says(WhyNot([](Subgraph* s) { std::swap(s->ops[OpId(0)], s->ops[OpId(2)]); }), "cycle"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) { s->tensors[TensorId(1)].data.reset(); }),
                   "'w': is a constant without its data"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) { s->tensors[TensorId(1)].shape = Shape{3}; }),
                   "has 4 bytes, expected 3"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) { s->tensors[TensorId(3)].type = ElementType::kFloat8; }),
                   "element type"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) { s->tensors[TensorId(3)].shape = Shape{1L << 31}; }),
                   "dimension"));
  EXPECT_TRUE(
      Says(WhyNot([](Subgraph* s) { s->tensors[TensorId(0)].quantization->scales.clear(); }),
           "0 scales and 1 zero points"));
  EXPECT_TRUE(Says(WhyNot([](Subgraph* s) {
                     s->control_edges.clear();
                     std::swap(s->ops[OpId(0)], s->ops[OpId(2)]);
                   }),
                   "is read before it is written"));
  Graph lost = Everything();
  lost.signatures[0].subgraph = SubgraphId(4);
  EXPECT_TRUE(Says(WhyNot(lost), "'serving_default' refers to a subgraph out of range"));
}

// Without touching the data, of which there are 3 GiB.
TEST(TfliteExport, RefusesMoreThanTwoGibibytes) {
  Graph graph = Unary("NEG", {});
  Subgraph& s = graph.subgraphs[SubgraphId(0)];
  static const std::byte kByte{0};
  const TensorId large = AddTensor(&s, "large", ElementType::kInt8, {3L << 30});
  s.tensors[large].constant = true;
  s.tensors[large].data = graph::ConstantData{nullptr, {&kByte, std::size_t{3} << 30}};
  EXPECT_TRUE(Says(WhyNot(graph), "2 GiB"));
}

TEST(TfliteExport, VersionsFollowTheTypes) {
  const auto version = [](Graph graph, ElementType type) {
    Subgraph& s = graph.subgraphs[SubgraphId(0)];
    for (Tensor& tensor : s.tensors) tensor.type = type;
    return OpVersion(s, s.ops[OpId(0)]);
  };
  const auto of = [&](const char* name, ElementType type) {
    return version(Unary(name, {}), type);
  };
  EXPECT_EQ(of("ADD", ElementType::kFloat32), 1);
  EXPECT_EQ(of("ADD", ElementType::kInt8), 2);
  EXPECT_EQ(of("CONV_2D", ElementType::kFloat32), 1);
  EXPECT_EQ(of("CONV_2D", ElementType::kInt8), 3);
  EXPECT_EQ(of("SOFTMAX", ElementType::kInt8), 2);
  EXPECT_EQ(of("RESHAPE", ElementType::kInt8), 1);
  EXPECT_EQ(of("AVERAGE_POOL_2D", ElementType::kInt16), 3);
  EXPECT_EQ(version(Unary("DEPTHWISE_CONV_2D", {{"dilation_w_factor", std::int64_t{2}}}),
                    ElementType::kFloat32),
            2);
}

namespace fs = std::filesystem;

// Public models, where there are any: read, serialised, read again: the same graph. Refusals are
// counted by reason.
TEST(TfliteExport, PublicModelsComeBack) {
  const char* shared = std::getenv("NEAP_SHARED");
  const char* source = std::getenv("NEAP_SOURCE_DIR");
  const fs::path folder =
      (shared != nullptr ? fs::path(shared)
                         : fs::path(source == nullptr ? "." : source) / "../shared") /
      "models";
  std::error_code error;
  int written = 0;
  std::map<std::string, int> refused;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".tflite") continue;
    const auto model = Load(at->path().string(), {});
    if (!model) continue;
    const auto bytes = ExportTflite(model->graph, "again");
    if (!bytes) {
      ++refused[bytes.error().message];
      continue;
    }
    ++written;
    const auto again = test::LoadModel(*bytes);
    ASSERT_TRUE(again) << at->path() << again.error().ToString();
    ExpectSameGraph(model->graph, again->graph);
    ASSERT_FALSE(testing::Test::HasFailure()) << at->path();
  }
  if (error) GTEST_SKIP() << "no folder shared/models";
  for (const auto& [why, count] : refused) std::printf("  %d refused: %s\n", count, why.c_str());
  std::printf("%d written anew\n", written);
  EXPECT_GT(written, 50);
}

}  // namespace
}  // namespace neap::formats::tflite
