// SPDX-License-Identifier: Apache-2.0
//
// The models are written here field by field, so that the field numbers of the schema are tested
// too.
#include "neap/formats/onnx/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"

namespace neap::formats {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using testing::HasSubstr;
using Names = std::vector<std::string>;
using Ints = std::vector<std::int64_t>;

// A message of the wire format.
class Wire {
 public:
  Wire& Number(int field, std::int64_t value) {
    Varint(static_cast<std::uint64_t>(field) << 3U);
    Varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Wire& Bytes(int field, const std::string& value) {
    Varint((static_cast<std::uint64_t>(field) << 3U) | 2U);
    Varint(value.size());
    text_ += value;
    return *this;
  }
  Wire& Message(int field, const Wire& value) { return Bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) text_ += static_cast<char>((value & 127U) | 128U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

// Dimensions: "8" is a size, "batch" a symbol, "" open.
Wire ValueInfo(const std::string& name, const Names& dims, int type = 1) {
  Wire shape;
  for (const std::string& dim : dims) {
    Wire one;
    if (!dim.empty() && dim[0] >= '0' && dim[0] <= '9')
      one.Number(1, std::stoll(dim));
    else if (!dim.empty())
      one.Bytes(2, dim);
    shape.Message(1, one);
  }
  const Wire tensor = Wire().Number(1, type).Message(2, shape);
  return Wire().Bytes(1, name).Message(2, Wire().Message(1, tensor));
}

Wire RawTensor(const std::string& name, const Ints& dims, int type, const std::string& raw) {
  Wire out;
  for (const std::int64_t dim : dims) out.Number(1, dim);
  return out.Number(2, type).Bytes(8, name).Bytes(9, raw);
}

Wire Int64s(const std::string& name, const Ints& values) {
  std::string raw(values.size() * 8, '\0');
  if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
  return RawTensor(name, {static_cast<std::int64_t>(values.size())}, 7, raw);
}

Wire Int(const std::string& name, std::int64_t value) {
  return Wire().Bytes(1, name).Number(3, value).Number(20, 2);
}
Wire Body(const std::string& name, const Wire& graph) {
  return Wire().Bytes(1, name).Message(6, graph).Number(20, 5);
}
Wire Value(const Wire& tensor) { return Wire().Bytes(1, "value").Message(5, tensor).Number(20, 4); }

Wire Node(const std::string& type, const Names& inputs, const Names& outputs,
          const std::vector<Wire>& attributes = {}, const std::string& domain = "") {
  Wire out;
  for (const std::string& input : inputs) out.Bytes(1, input);
  for (const std::string& output : outputs) out.Bytes(2, output);
  out.Bytes(3, "n_" + (outputs.empty() ? type : outputs[0])).Bytes(4, type);
  for (const Wire& attribute : attributes) out.Message(5, attribute);
  if (!domain.empty()) out.Bytes(7, domain);
  return out;
}

struct Parts {
  std::vector<Wire> nodes;
  std::vector<Wire> constants;
  std::vector<Wire> inputs;
  std::vector<Wire> outputs;
  std::vector<Wire> infos;
};

Wire GraphOf(const Parts& parts) {
  Wire out;
  for (const Wire& node : parts.nodes) out.Message(1, node);
  out.Bytes(2, "g");
  for (const Wire& constant : parts.constants) out.Message(5, constant);
  for (const Wire& input : parts.inputs) out.Message(11, input);
  for (const Wire& output : parts.outputs) out.Message(12, output);
  for (const Wire& info : parts.infos) out.Message(13, info);
  return out;
}

std::string Model(const Parts& parts, bool opset = true) {
  Wire out = Wire().Number(1, 8).Message(7, GraphOf(parts));
  if (opset) out.Message(8, Wire().Number(2, 17));
  return out.text();
}

std::shared_ptr<const std::vector<std::byte>> ToBytes(const std::string& text) {
  auto bytes = std::make_shared<std::vector<std::byte>>(text.size());
  if (!text.empty()) std::memcpy(bytes->data(), text.data(), text.size());
  return bytes;
}

struct Loaded {
  Result<graph::Graph> graph = Fail(BadInput("not read"));
  Names notes;
  std::string error;
};

Loaded ReadText(const std::string& text, const LoadOptions& options = {},
                const std::string& path = "m.onnx") {
  Loaded out;
  out.graph = onnx::Read(ToBytes(text), path, options, &out.notes);
  if (out.graph) {
    const Status status = graph::Verify(*out.graph);
    if (!status) out.graph = Fail(status.error());
  }
  if (!out.graph) out.error = out.graph.error().ToString();
  return out;
}

const Tensor& Find(const Subgraph& subgraph, const std::string& name) {
  for (const Tensor& tensor : subgraph.tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no tensor " << name;
  static const Tensor kNone;
  return kNone;
}

// x [batch,4] -> a = Relu, b = Sigmoid(x), c = Add(a, b), with a reshape by x's own shape.
Parts Branches() {
  Parts parts;
  parts.inputs = {ValueInfo("x", {"batch", "4"})};
  parts.nodes = {Node("Relu", {"x"}, {"a"}), Node("Sigmoid", {"x"}, {"b"}),
                 Node("Shape", {"b"}, {"s"}), Node("Add", {"a", "b"}, {"c"}),
                 Node("Reshape", {"c", "s"}, {"d"})};
  parts.outputs = {ValueInfo("d", {"batch", "4"})};
  return parts;
}

TEST(OnnxRead, ReadsOperatorsTensorsAndSymbols) {
  LoadOptions options;
  options.dims["batch"] = 3;
  const Loaded loaded = ReadText(Model(Branches()), options);
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(main.name, "g");
  EXPECT_EQ(main.ops.size(), 5U);
  EXPECT_EQ(main.ops[OpId(3)].type, "Add");
  EXPECT_EQ(main.ops[OpId(3)].name, "n_c");
  EXPECT_EQ(main.ops[OpId(3)].source_index, 3);
  EXPECT_EQ(Find(main, "c").shape, (Shape{3, 4}));
  EXPECT_EQ(Find(main, "c").type, ElementType::kFloat32);
  EXPECT_EQ(Find(main, "x").symbols, (Names{"batch", ""}));
  EXPECT_EQ(main.inputs.size(), 1U);
  EXPECT_EQ(main.outputs.size(), 1U);
  EXPECT_THAT(loaded.notes, testing::IsEmpty());
}

TEST(OnnxRead, OpenDimensionsStayOpenAndAreNamed) {
  const Loaded loaded = ReadText(Model(Branches()));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  const auto bytes = graph::TensorBytes(Find(main, "x"));
  ASSERT_FALSE(bytes.has_value());
  EXPECT_THAT(bytes.error().ToString(), HasSubstr("bind the dimension 'batch' to a number"));
  ASSERT_EQ(loaded.notes.size(), 1U);
  EXPECT_THAT(loaded.notes[0], HasSubstr("no size"));

  Parts parts = Branches();
  parts.inputs = {ValueInfo("x", {"", "4"})};
  parts.outputs = {ValueInfo("d", {"", "4"})};
  LoadOptions options;
  options.dims["x.0"] = 2;
  const Loaded named = ReadText(Model(parts), options);
  ASSERT_TRUE(named.graph.has_value()) << named.error;
  EXPECT_EQ(Find(named.graph->subgraphs[SubgraphId(0)], "d").shape, (Shape{2, 4}));
}

TEST(OnnxRead, RefusesDimensionsThatTheModelDoesNotHave) {
  LoadOptions options;
  options.dims["bach"] = 3;
  EXPECT_THAT(ReadText(Model(Branches()), options).error, HasSubstr("it has batch"));
  options.dims = {{"batch", -3}};
  EXPECT_THAT(ReadText(Model(Branches()), options).error, HasSubstr("-3"));
}

TEST(OnnxRead, FoldedOperatorsKeepTheFileInOrder) {
  LoadOptions options;
  options.dims["batch"] = 3;
  const Loaded loaded = ReadText(Model(Branches()), options);
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  EXPECT_TRUE(main.ops[OpId(2)].folded);
  EXPECT_TRUE(Find(main, "s").constant);
  // Shape reads what Sigmoid makes, and Reshape reads the shape.
  ASSERT_EQ(main.control_edges.size(), 1U);
  EXPECT_EQ(main.control_edges[0].before, OpId(1));
  EXPECT_EQ(main.control_edges[0].after, OpId(4));
}

TEST(OnnxRead, InitializersAreNoInputs) {
  Parts parts;
  parts.inputs = {ValueInfo("x", {"2"}, 7), ValueInfo("w", {"2"}, 7)};
  parts.constants = {Int64s("w", {5, 6})};
  parts.nodes = {Node("Constant", {}, {"k"}, {Value(Int64s("", {1, 2, 3}))}),
                 Node("Add", {"x", "w"}, {"y"}), Node("Clip", {"y", "", ""}, {"z", ""})};
  parts.outputs = {ValueInfo("z", {"2"}, 7)};
  const Loaded loaded = ReadText(Model(parts));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(main.inputs.size(), 1U);
  EXPECT_TRUE(Find(main, "w").constant);
  ASSERT_TRUE(Find(main, "w").data.has_value());
  EXPECT_EQ(Find(main, "w").data->bytes[8], std::byte{6});
  EXPECT_TRUE(main.ops[OpId(0)].folded);
  EXPECT_TRUE(Find(main, "k").constant);
  EXPECT_EQ(Find(main, "k").shape, (Shape{3}));
  EXPECT_FALSE(main.ops[OpId(2)].inputs[1].valid());
  EXPECT_FALSE(main.ops[OpId(2)].outputs[1].valid());
}

TEST(OnnxRead, ElementTypes) {
  Parts parts;
  parts.inputs = {ValueInfo("a", {"3"}, 22), ValueInfo("b", {"3"}, 23), ValueInfo("c", {"3"}, 17),
                  ValueInfo("d", {"3"}, 8), ValueInfo("e", {"3"}, 99)};
  // A sequence of tensors.
  const Wire element = Wire().Message(1, Wire().Number(1, 1));
  parts.inputs.push_back(
      Wire().Bytes(1, "f").Message(2, Wire().Message(4, Wire().Message(1, element))));
  const Loaded loaded = ReadText(Model(parts));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(Find(main, "a").type, ElementType::kInt4);
  EXPECT_EQ(Find(main, "b").type, ElementType::kFloat4);
  EXPECT_EQ(Find(main, "c").type, ElementType::kFloat8);
  EXPECT_EQ(Find(main, "d").type, ElementType::kString);
  EXPECT_EQ(Find(main, "e").type, ElementType::kUnknown);
  EXPECT_EQ(Find(main, "f").type, ElementType::kResource);
}

TEST(OnnxRead, RefusesBrokenGraphs) {
  const auto error = [](auto&& change) {
    Parts parts = Branches();
    change(&parts);
    return ReadText(Model(parts)).error;
  };
  const std::string twice = error([](Parts* p) { p->nodes.push_back(Node("Relu", {"x"}, {"a"})); });
  EXPECT_THAT(twice, HasSubstr("m.onnx: tensor 'a'"));
  EXPECT_THAT(twice, HasSubstr("#5 'Relu'"));
  EXPECT_THAT(twice, HasSubstr("#0 'Relu'"));
  const std::string missing =
      error([](Parts* p) { p->nodes.push_back(Node("Relu", {"nowhere"}, {"e"})); });
  EXPECT_THAT(missing, HasSubstr("operator #5 'Relu' (n_e): tensor 'nowhere'"));
  EXPECT_THAT(error([](Parts* p) { p->outputs.push_back(ValueInfo("gone", {})); }),
              HasSubstr("'gone'"));
  EXPECT_THAT(error([](Parts* p) {
                p->nodes.push_back(Node("Add", {"x", "q"}, {"q"}));
              }),
              HasSubstr("cycle"));
  EXPECT_THAT(error([](Parts* p) { p->constants = {RawTensor("w", {4}, 7, "abc")}; }),
              HasSubstr("found 3 bytes of data, expected 32"));
  EXPECT_THAT(error([](Parts* p) { p->constants = {RawTensor("w", {-4}, 7, "")}; }),
              HasSubstr("-4"));
  EXPECT_THAT(ReadText("").error, HasSubstr("no graph"));
  EXPECT_THAT(ReadText("\x3a\x05zzz").error, HasSubstr("does not parse"));
}

TEST(OnnxRead, TheLastOfRepeatedConstantsCounts) {
  Parts parts;
  parts.inputs = {ValueInfo("x", {"2", "6"})};
  parts.nodes = {Node("Constant", {}, {"s"}, {Value(Int64s("", {4, 3}))}),
                 Node("Reshape", {"x", "s"}, {"y"}),
                 Node("Constant", {}, {"s"}, {Value(Int64s("", {12}))})};
  parts.outputs = {ValueInfo("y", {"12"})};
  const Loaded loaded = ReadText(Model(parts));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  EXPECT_EQ(Find(loaded.graph->subgraphs[SubgraphId(0)], "y").shape, (Shape{12}));
  EXPECT_THAT(loaded.notes, testing::ElementsAre(HasSubstr("more than once")));
}

TEST(OnnxRead, StrangersAreOpaqueAndRandomIsState) {
  Parts parts;
  parts.inputs = {ValueInfo("x", {"2"})};
  parts.nodes = {Node("Magic", {"x"}, {"y"}, {Int("k", 3)}, "my.domain"),
                 Node("RandomNormalLike", {"x"}, {"z"})};
  parts.outputs = {ValueInfo("y", {"9"})};
  const Loaded loaded = ReadText(Model(parts, false));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(main.ops[OpId(0)].domain, "my.domain");
  EXPECT_FALSE(main.ops[OpId(0)].stateful);
  EXPECT_TRUE(main.ops[OpId(1)].stateful);
  EXPECT_EQ(graph::TensorBytes(Find(main, "y")).value(), 36);
  EXPECT_THAT(loaded.notes, testing::ElementsAre(HasSubstr("operator set")));
}

// if (c) then Relu(Neg-of-x from outside, constant w) else the nested one.
Parts Conditional() {
  Parts inner;
  inner.nodes = {Node("Add", {"h", "w"}, {"deep"})};
  inner.outputs = {ValueInfo("deep", {})};
  Parts then_branch;
  then_branch.nodes = {Node("Relu", {"h"}, {"t0"}), Node("Sigmoid", {"h"}, {"t1"}),
                       Node("Add", {"t0", "t1"}, {"t"})};
  then_branch.outputs = {ValueInfo("t", {})};
  Parts else_branch;
  else_branch.nodes = {
      Node("If", {"c"}, {"e"},
           {Body("then_branch", GraphOf(inner)), Body("else_branch", GraphOf(inner))})};
  else_branch.outputs = {ValueInfo("e", {})};
  Parts parts;
  parts.inputs = {ValueInfo("x", {"2", "3"}), ValueInfo("c", {}, 9)};
  parts.constants = {RawTensor("w", {1}, 1, std::string(4, '\0'))};
  parts.nodes = {
      Node("Neg", {"x"}, {"h"}),
      Node("If", {"c"}, {"y"},
           {Body("then_branch", GraphOf(then_branch)), Body("else_branch", GraphOf(else_branch))}),
      Node("Exp", {"y"}, {"z"})};
  parts.outputs = {Wire().Bytes(1, "z")};
  return parts;
}

// The declared scalars of the bodies' outputs have no effect: leave them out.
TEST(OnnxRead, BodiesCaptureTheirScope) {
  const Loaded loaded = ReadText(Model(Conditional()));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const graph::Graph& graph = *loaded.graph;
  ASSERT_EQ(graph.subgraphs.size(), 5U);
  const Subgraph& main = graph.subgraphs[SubgraphId(0)];
  const Op& branch = main.ops[OpId(1)];
  EXPECT_EQ(branch.bodies, (std::vector{SubgraphId(1), SubgraphId(2)}));
  // h, and c for the inner If; w is stored in the file and always there.
  Names captured;
  for (const TensorId id : branch.captures) captured.push_back(main.tensors[id].name);
  EXPECT_THAT(captured, testing::UnorderedElementsAre("h", "c"));
  const Subgraph& inner = graph.subgraphs[SubgraphId(3)];
  EXPECT_TRUE(Find(inner, "h").constant);
  EXPECT_FALSE(Find(inner, "h").data.has_value());
  EXPECT_EQ(Find(inner, "h").shape, (Shape{2, 3}));
  EXPECT_TRUE(Find(inner, "w").data.has_value());
  // A tensor that represents an outer activation is not folded.
  EXPECT_FALSE(inner.ops[OpId(0)].folded);
  EXPECT_EQ(graph::EntrySubgraphs(graph), std::vector{SubgraphId(0)});
}

TEST(OnnxRead, BranchShapesReachTheOuterGraph) {
  Parts then_branch;
  then_branch.nodes = {Node("Relu", {"x"}, {"t"})};
  then_branch.outputs = {Wire().Bytes(1, "t")};
  Parts else_branch;
  else_branch.nodes = {Node("Concat", {"x", "x"}, {"e"}, {Int("axis", 1)})};
  else_branch.outputs = {Wire().Bytes(1, "e")};
  Parts parts;
  parts.inputs = {ValueInfo("x", {"2", "3"}), ValueInfo("c", {}, 9)};
  parts.nodes = {
      Node("If", {"c"}, {"y"},
           {Body("then_branch", GraphOf(then_branch)), Body("else_branch", GraphOf(else_branch))}),
      Node("Exp", {"y"}, {"z"})};
  parts.outputs = {Wire().Bytes(1, "z")};
  const Loaded open = ReadText(Model(parts));
  ASSERT_TRUE(open.graph.has_value()) << open.error;
  EXPECT_EQ(Find(open.graph->subgraphs[SubgraphId(0)], "z").shape, (Shape{2, -1}));
  // A condition that is known takes one branch.
  parts.inputs.pop_back();
  parts.constants = {RawTensor("c", {}, 9, std::string(1, '\0'))};
  const Loaded known = ReadText(Model(parts));
  ASSERT_TRUE(known.graph.has_value()) << known.error;
  EXPECT_EQ(Find(known.graph->subgraphs[SubgraphId(0)], "z").shape, (Shape{2, 6}));
}

TEST(OnnxRead, LoopsKeepWhatTheirBodyKeeps) {
  Parts body;
  body.inputs = {Wire().Bytes(1, "i"), Wire().Bytes(1, "go"), Wire().Bytes(1, "s"),
                 Wire().Bytes(1, "grow")};
  body.nodes = {Node("Identity", {"go"}, {"go_on"}), Node("Add", {"s", "x"}, {"s2"}),
                Node("Concat", {"grow", "x"}, {"grow2"}, {Int("axis", 0)}),
                Node("Relu", {"s2"}, {"slice"})};
  body.outputs = {Wire().Bytes(1, "go_on"), Wire().Bytes(1, "s2"), Wire().Bytes(1, "grow2"),
                  Wire().Bytes(1, "slice")};
  Parts parts;
  parts.inputs = {ValueInfo("x", {"2", "3"})};
  parts.constants = {RawTensor("m", {}, 7, std::string("\x05\0\0\0\0\0\0\0", 8)),
                     RawTensor("true", {}, 9, "\x01")};
  parts.nodes = {Node("Loop", {"m", "true", "x", "x"}, {"last", "grown", "slices"},
                      {Body("body", GraphOf(body))})};
  parts.outputs = {Wire().Bytes(1, "last"), Wire().Bytes(1, "grown"), Wire().Bytes(1, "slices")};
  const Loaded loaded = ReadText(Model(parts));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(Find(main, "last").shape, (Shape{2, 3}));
  EXPECT_EQ(Find(main, "grown").shape, (Shape{-1, 3}));
  EXPECT_EQ(Find(main, "slices").shape, (Shape{5, 2, 3}));
}

TEST(OnnxRead, ScansSlice) {
  Parts body;
  body.inputs = {Wire().Bytes(1, "s"), Wire().Bytes(1, "row")};
  body.nodes = {Node("Add", {"s", "row"}, {"s2"}), Node("Relu", {"s2"}, {"out"})};
  body.outputs = {Wire().Bytes(1, "s2"), Wire().Bytes(1, "out")};
  Parts parts;
  parts.inputs = {ValueInfo("s0", {"3"}), ValueInfo("rows", {"7", "3"})};
  parts.nodes = {Node("Scan", {"s0", "rows"}, {"end", "all"},
                      {Body("body", GraphOf(body)), Int("num_scan_inputs", 1)})};
  parts.outputs = {Wire().Bytes(1, "end"), Wire().Bytes(1, "all")};
  const Loaded loaded = ReadText(Model(parts));
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  const Subgraph& main = loaded.graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(Find(main, "end").shape, (Shape{3}));
  EXPECT_EQ(Find(main, "all").shape, (Shape{7, 3}));
}

TEST(OnnxRead, RefusesBodiesNestedWithoutEnd) {
  Parts body;
  body.nodes = {Node("Relu", {"x"}, {"b"})};
  body.outputs = {Wire().Bytes(1, "b")};
  Parts parts;
  parts.inputs = {ValueInfo("x", {"1"}), ValueInfo("c", {}, 9)};
  const auto nested = [&](int depth) {
    Wire graph = GraphOf(body);
    for (int i = 1; i < depth; ++i) {
      Parts outer;
      outer.nodes = {Node("If", {"c"}, {"b"}, {Body("then_branch", graph)})};
      outer.outputs = {Wire().Bytes(1, "b")};
      graph = GraphOf(outer);
    }
    parts.nodes = {Node("If", {"c"}, {"b"}, {Body("then_branch", graph)})};
    return ReadText(Model(parts));
  };
  EXPECT_TRUE(nested(16).graph.has_value()) << nested(16).error;
  EXPECT_THAT(nested(17).error, HasSubstr("nested more than 16 deep"));
  EXPECT_THAT(nested(400).error, HasSubstr("does not parse"));
}

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("neap_onnx_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "model");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // x [2,6] reshaped by a shape of two values at `location`.
  Loaded LoadFrom(const std::string& location) {
    const auto entry = [](const std::string& key, const std::string& value) {
      return Wire().Bytes(1, key).Bytes(2, value);
    };
    const Wire shape = Wire()
                           .Number(1, 2)
                           .Number(2, 7)
                           .Bytes(8, "s")
                           .Message(13, entry("location", location))
                           .Message(13, entry("offset", "8"))
                           .Message(13, entry("length", "16"))
                           .Number(14, 1);
    Parts parts;
    parts.inputs = {ValueInfo("x", {"2", "6"})};
    parts.constants = {shape};
    parts.nodes = {Node("Reshape", {"x", "s"}, {"y"})};
    parts.outputs = {Wire().Bytes(1, "y")};
    return ReadText(Model(parts), {}, folder_ / "model" / "m.onnx");
  }
  void WriteData(const std::filesystem::path& path) {
    const std::array<std::int64_t, 3> values = {99, 4, 3};
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), sizeof(values));
  }

  std::filesystem::path folder_;
};

TEST_F(ExternalDataTest, IsReadBesideTheModel) {
  WriteData(folder_ / "model" / "w.bin");
  const Loaded loaded = LoadFrom("w.bin");
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  EXPECT_EQ(Find(loaded.graph->subgraphs[SubgraphId(0)], "y").shape, (Shape{4, 3}));
}

TEST_F(ExternalDataTest, IsNotReadOutside) {
  WriteData(folder_ / "w.bin");
  EXPECT_THAT(LoadFrom("../w.bin").error, HasSubstr("inside the model's folder"));
  EXPECT_THAT(LoadFrom((folder_ / "w.bin").string()).error, HasSubstr("inside the model's"));
  EXPECT_THAT(LoadFrom("").error, HasSubstr("inside the model's"));
  std::filesystem::create_symlink(folder_ / "w.bin", folder_ / "model" / "link.bin");
  const Loaded link = LoadFrom("link.bin");
  ASSERT_TRUE(link.graph.has_value()) << link.error;
  EXPECT_EQ(Find(link.graph->subgraphs[SubgraphId(0)], "y").shape, (Shape{-1, -1}));
}

TEST_F(ExternalDataTest, MayBeMissing) {
  const Loaded loaded = LoadFrom("gone.bin");
  ASSERT_TRUE(loaded.graph.has_value()) << loaded.error;
  EXPECT_THAT(loaded.notes, testing::Contains(HasSubstr("'gone.bin' is missing")));
}

// ---- writing ----

SourceModel Source(const std::string& text, const LoadOptions& options = {}) {
  SourceModel model;
  model.path = "m.onnx";
  model.format = Format::kOnnx;
  model.bytes = ToBytes(text);
  Loaded loaded = ReadText(text, options);
  EXPECT_TRUE(loaded.graph.has_value()) << loaded.error;
  if (loaded.graph) model.graph = *loaded.graph;
  return model;
}

std::string ToText(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using Order = IdVector<SubgraphId, std::vector<OpId>>;

Names OutputNames(const Subgraph& subgraph) {
  Names names;
  for (const Op& op : subgraph.ops) names.push_back(subgraph.tensors[op.outputs[0]].name);
  return names;
}

TEST(OnnxWrite, TheSameOrderIsTheSameFile) {
  // Fields that the schema does not know, in the model and in a node.
  Parts parts = Branches();
  parts.nodes[0].Bytes(77, "node extra");
  const std::string text = Model(parts) + Wire().Bytes(99, "model extra").text();
  LoadOptions options;
  options.dims["batch"] = 3;
  const SourceModel model = Source(text, options);
  Order order(1);
  for (const int id : {0, 1, 2, 3, 4}) order[SubgraphId(0)].push_back(OpId(id));
  EXPECT_EQ(ToText(onnx::WriteReordered(model, order).value()), text);
  EXPECT_EQ(ToText(onnx::WriteReordered(model, Order(1)).value()), text);
}

TEST(OnnxWrite, FoldedOperatorsGoWhereTheirInputsAreReady) {
  Parts parts = Branches();
  parts.nodes[0].Bytes(77, "node extra");
  const std::string text = Model(parts) + Wire().Bytes(99, "model extra").text();
  LoadOptions options;
  options.dims["batch"] = 3;
  const SourceModel model = Source(text, options);
  Order order(1);
  for (const int id : {1, 0, 3, 4}) order[SubgraphId(0)].push_back(OpId(id));
  const auto written = onnx::WriteReordered(model, order);
  ASSERT_TRUE(written.has_value()) << written.error().ToString();
  EXPECT_EQ(written->size(), text.size());
  EXPECT_THAT(ToText(*written), HasSubstr("node extra"));
  EXPECT_THAT(ToText(*written), HasSubstr("model extra"));
  const Loaded again = ReadText(ToText(*written), options);
  ASSERT_TRUE(again.graph.has_value()) << again.error;
  const Subgraph& main = again.graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(OutputNames(main), (Names{"b", "s", "a", "c", "d"}));
  EXPECT_EQ(main.ops[OpId(3)].inputs.size(), 2U);
}

TEST(OnnxWrite, ReordersBodiesToo) {
  const SourceModel model = Source(Model(Conditional()));
  Order order(5);
  for (const int id : {1, 0, 2}) order[SubgraphId(1)].push_back(OpId(id));
  const auto written = onnx::WriteReordered(model, order);
  ASSERT_TRUE(written.has_value()) << written.error().ToString();
  const Loaded again = ReadText(ToText(*written));
  ASSERT_TRUE(again.graph.has_value()) << again.error;
  EXPECT_EQ(OutputNames(again.graph->subgraphs[SubgraphId(1)]), (Names{"t1", "t0", "t"}));
  EXPECT_EQ(OutputNames(again.graph->subgraphs[SubgraphId(0)]), (Names{"h", "y", "z"}));
}

TEST(OnnxWrite, RefusesWhatIsNoOrder) {
  LoadOptions options;
  options.dims["batch"] = 3;
  const SourceModel model = Source(Model(Branches()), options);
  const auto error = [&model](const std::vector<int>& ids) {
    Order order(1);
    for (const int id : ids) order[SubgraphId(0)].push_back(OpId(id));
    const auto written = onnx::WriteReordered(model, order);
    return written ? std::string("written") : written.error().ToString();
  };
  EXPECT_THAT(error({1, 0, 3}), HasSubstr("missing"));
  EXPECT_THAT(error({1, 0, 0, 3, 4}), HasSubstr("twice"));
  EXPECT_THAT(error({1, 0, 3, 9}), HasSubstr("9"));
  EXPECT_THAT(error({3, 1, 0, 4}), HasSubstr("before a producer of its inputs"));
  EXPECT_EQ(error({1, 2, 0, 3, 4}), "written");
}

// ---- hostile bytes ----

TEST(OnnxRead, SurvivesDamage) {
  const std::string whole = Model(Conditional());
  for (std::size_t size = 0; size < whole.size(); ++size) ReadText(whole.substr(0, size));
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (int changes = 0; changes < 3; ++changes) {
      text[random.Below(text.size())] = static_cast<char>(random.Below(256));
    }
    const Loaded loaded = ReadText(text);
    if (!loaded.graph) {
      EXPECT_EQ(loaded.error.find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace neap::formats
