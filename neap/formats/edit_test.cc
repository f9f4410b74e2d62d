// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/formats/edit_check.h"
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

graph::ConstantData Data(const std::vector<float>& values) {
  const auto owner = std::make_shared<const std::vector<float>>(values);
  return {owner, std::as_bytes(std::span<const float>(*owner))};
}

TensorId AddTensor(Subgraph* subgraph, const std::string& name, Shape shape) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = ElementType::kFloat32;
  tensor.shape = std::move(shape);
  return subgraph->tensors.push_back(std::move(tensor));
}

TensorId AddConstant(Subgraph* subgraph, const std::string& name, const std::vector<float>& data) {
  const TensorId id = AddTensor(subgraph, name, {static_cast<std::int64_t>(data.size())});
  subgraph->tensors[id].constant = true;
  subgraph->tensors[id].data = Data(data);
  return id;
}

Op MakeOp(const std::string& domain, const std::string& type, std::vector<TensorId> inputs,
          std::vector<TensorId> outputs) {
  Op op;
  op.domain = domain;
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return op;
}

// x -> relu -> (+ bias) -> out, and relu -> tanh -> side.
Graph Chain(const std::string& domain) {
  const bool tflite = domain == "tflite";
  Graph graph;
  Subgraph subgraph;
  subgraph.name = "main";
  const TensorId x = AddTensor(&subgraph, "x", {2, 3});
  const TensorId bias = AddConstant(&subgraph, "bias", {1, 2, 3});
  const TensorId r = AddTensor(&subgraph, "r", {2, 3});
  const TensorId out = AddTensor(&subgraph, "out", {2, 3});
  const TensorId side = AddTensor(&subgraph, "side", {2, 3});
  subgraph.ops.push_back(MakeOp(domain, tflite ? "RELU" : "Relu", {x}, {r}));
  subgraph.ops.push_back(MakeOp(domain, tflite ? "ADD" : "Add", {r, bias}, {out}));
  subgraph.ops.push_back(MakeOp(domain, tflite ? "TANH" : "Tanh", {r}, {side}));
  subgraph.inputs = {x};
  subgraph.outputs = {out, side};
  graph.subgraphs.push_back(std::move(subgraph));
  if (tflite) graph.signatures.push_back({"serving_default", kMain});
  return graph;
}

SourceModel Source(const std::string& domain) {
  const Graph graph = Chain(domain);
  auto bytes = domain == "tflite" ? ExportTflite(graph, "chain") : ExportOnnx(graph, "chain");
  EXPECT_TRUE(bytes) << bytes.error().message;
  auto model =
      LoadBytes(std::make_shared<const std::vector<std::byte>>(std::move(*bytes)),
                domain == "tflite" ? "chain.tflite" : "chain.onnx", {.dims = {}, .weights = true});
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

const LoadOptions kWithWeights = {.dims = {}, .weights = true};

TensorId Named(const Subgraph& subgraph, const std::string& name) {
  for (const TensorId id : subgraph.tensors.Ids()) {
    if (subgraph.tensors[id].name == name) return id;
  }
  return TensorId();
}

void Erase(Subgraph* subgraph, std::size_t at) {
  IdVector<OpId, Op> kept;
  for (const OpId id : subgraph->ops.Ids()) {
    if (id.index() != at) kept.push_back(subgraph->ops[id]);
  }
  subgraph->ops = std::move(kept);
}

class EditTest : public testing::TestWithParam<const char*> {
 protected:
  bool tflite() const { return std::string(GetParam()) == "tflite"; }
};

TEST_P(EditTest, NothingChangedReadsAsTheSameGraph) {
  const SourceModel source = Source(GetParam());
  const auto written = WriteEdited(source, source.graph, kWithWeights);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(FindDifference(source, source.graph, written->graph), "");
}

TEST_P(EditTest, OtherTensorsTakeThePlaceOfInputsAndOutputs) {
  const SourceModel source = Source(GetParam());
  Graph edited = source.graph;
  Subgraph& subgraph = edited.subgraphs[kMain];
  const TensorId x = Named(subgraph, "x");
  const TensorId r = Named(subgraph, "r");
  Erase(&subgraph, 0);
  subgraph.inputs = {r};
  const auto written = WriteEdited(source, edited, kWithWeights);
  ASSERT_TRUE(written) << written.error().message;
  const Subgraph& found = written->graph.subgraphs[kMain];
  ASSERT_EQ(found.inputs.size(), 1U);
  EXPECT_EQ(found.tensors[found.inputs[0]].name, "r");
  EXPECT_EQ(found.tensors[found.inputs[0]].shape, (Shape{2, 3}));
  EXPECT_EQ(written->graph.signatures.size(), source.graph.signatures.size());

  // Outputs: the sum is left out, its terms are outputs instead.
  edited = source.graph;
  Erase(&edited.subgraphs[kMain], 1);
  std::replace(edited.subgraphs[kMain].outputs.begin(), edited.subgraphs[kMain].outputs.end(),
               Named(subgraph, "out"), r);
  const auto shown = WriteEdited(source, edited, kWithWeights);
  ASSERT_TRUE(shown) << shown.error().message;
  const Subgraph& other = shown->graph.subgraphs[kMain];
  EXPECT_EQ(other.tensors[other.outputs[0]].name, "r");
  EXPECT_EQ(other.tensors[other.outputs[1]].name, "side");

  // An input that is computed, an output that is not, and another number of them are no edits.
  for (int wrong = 0; wrong < 3; ++wrong) {
    edited = source.graph;
    Subgraph& main = edited.subgraphs[kMain];
    if (wrong == 0) main.inputs = {r};
    if (wrong == 1) main.outputs[0] = x;
    if (wrong == 2) main.outputs.pop_back();
    EXPECT_FALSE(WriteEdited(source, edited, kWithWeights)) << wrong;
  }
}

TEST_P(EditTest, AnOperatorIsTakenOutAndItsReadersReadItsInput) {
  const SourceModel source = Source(GetParam());
  Graph edited = source.graph;
  Subgraph& subgraph = edited.subgraphs[kMain];
  const TensorId x = Named(subgraph, "x");
  const TensorId r = Named(subgraph, "r");
  for (Op& op : subgraph.ops) std::replace(op.inputs.begin(), op.inputs.end(), r, x);
  Erase(&subgraph, 0);
  const auto written = WriteEdited(source, edited, kWithWeights);
  ASSERT_TRUE(written) << written.error().message;
  const Subgraph& found = written->graph.subgraphs[kMain];
  ASSERT_EQ(found.ops.size(), 2U);
  EXPECT_EQ(found.tensors[found.ops[OpId(0)].inputs[0]].name, "x");
  EXPECT_EQ(found.tensors[found.ops[OpId(1)].inputs[0]].name, "x");
  const TensorId left = Named(found, "r");
  if (tflite()) {
    ASSERT_TRUE(left.valid());
    EXPECT_EQ(found.tensors[left].shape, Shape{0});
    EXPECT_EQ(written->graph.signatures.size(), 1U);
  } else {
    EXPECT_FALSE(left.valid());
  }
}

TEST_P(EditTest, NewOperatorsTensorsAndConstantsAreSplicedIn) {
  const SourceModel source = Source(GetParam());
  Graph edited = source.graph;
  Subgraph& subgraph = edited.subgraphs[kMain];
  const TensorId r = Named(subgraph, "r");
  const TensorId out = Named(subgraph, "out");
  const TensorId scale = AddConstant(&subgraph, "scale", {2, 4, 8});
  const TensorId scaled = AddTensor(&subgraph, "scaled", {2, 3});
  Op mul = MakeOp(GetParam(), tflite() ? "MUL" : "Mul", {r, scale}, {scaled});
  if (!tflite()) mul.name = "r/scaled";
  IdVector<OpId, Op> ops;
  ops.push_back(subgraph.ops[OpId(0)]);
  ops.push_back(std::move(mul));
  ops.push_back(subgraph.ops[OpId(2)]);  // before the other one now
  ops.push_back(subgraph.ops[OpId(1)]);
  for (Op& op : ops) {
    if (op.outputs == std::vector{out}) op.inputs[0] = scaled;
  }
  subgraph.ops = std::move(ops);
  const auto written = WriteEdited(source, edited, kWithWeights);
  ASSERT_TRUE(written) << written.error().message;
  const Subgraph& found = written->graph.subgraphs[kMain];
  ASSERT_EQ(found.ops.size(), 4U);
  const Op& made = found.ops[OpId(1)];
  EXPECT_EQ(made.type, tflite() ? "MUL" : "Mul");
  const Tensor& constant = found.tensors[made.inputs[1]];
  EXPECT_TRUE(constant.constant);
  ASSERT_TRUE(constant.data);
  EXPECT_EQ(constant.data->bytes.size(), 12U);
  EXPECT_EQ(found.tensors[found.ops[OpId(3)].inputs[0]].name, "scaled");
  EXPECT_EQ(found.tensors[found.ops[OpId(3)].inputs[1]].name, "bias");
}

// The second output by a body that adds the same bias as the operator before the first.
Graph WithBody(const SourceModel& source) {
  Graph edited = source.graph;
  Subgraph& subgraph = edited.subgraphs[kMain];
  Subgraph body;
  body.name = "body";
  const TensorId in = AddTensor(&body, "in", {2, 3});
  const TensorId bias = body.tensors.push_back(subgraph.tensors[Named(subgraph, "bias")]);
  const TensorId sum = AddTensor(&body, "sum", {2, 3});
  body.ops.push_back(MakeOp("tflite", "ADD", {in, bias}, {sum}));
  body.inputs = {in};
  body.outputs = {sum};
  const TensorId truth = AddTensor(&subgraph, "true", {1});
  subgraph.tensors[truth].type = ElementType::kBool;
  subgraph.tensors[truth].constant = true;
  const auto owner = std::make_shared<const std::vector<std::byte>>(1, std::byte{1});
  subgraph.tensors[truth].data = {owner, *owner};
  Op call = MakeOp("tflite", "IF", {truth, Named(subgraph, "r")}, subgraph.ops[OpId(2)].outputs);
  call.bodies.assign(2, SubgraphId(edited.subgraphs.size()));
  subgraph.ops[OpId(2)] = std::move(call);
  edited.subgraphs.push_back(std::move(body));
  return edited;
}

TEST(EditBodies, ANewOperatorCallsANewSubgraph) {
  const SourceModel source = Source("tflite");
  const Graph edited = WithBody(source);
  const auto written = WriteEdited(source, edited, kWithWeights);
  ASSERT_TRUE(written) << written.error().message;
  ASSERT_EQ(written->graph.subgraphs.size(), 2U);
  const Op& call = written->graph.subgraphs[kMain].ops[OpId(2)];
  EXPECT_EQ(call.type, "IF");
  EXPECT_EQ(call.bodies, (std::vector{SubgraphId(1), SubgraphId(1)}));
  const Subgraph& body = written->graph.subgraphs[SubgraphId(1)];
  EXPECT_EQ(body.name, "body");
  ASSERT_EQ(body.ops.size(), 1U);
  // The bias is stored once.
  const Tensor& inside = body.tensors[body.ops[OpId(0)].inputs[1]];
  const Tensor& outside = written->graph.subgraphs[kMain].tensors[TensorId(1)];
  ASSERT_TRUE(inside.data && outside.data);
  EXPECT_EQ(inside.data->bytes.data(), outside.data->bytes.data());
  // A plan is about the tensors of both.
  graph::TensorOffsets offsets;
  for (const Subgraph& subgraph : written->graph.subgraphs) {
    offsets.push_back(IdVector<TensorId, std::int32_t>(subgraph.tensors.size(), graph::kNoOffset));
  }
  offsets[SubgraphId(1)][TensorId(2)] = 64;
  const auto planned = WritePlanned(*written, {}, offsets, "");
  if (planned) {
    const auto read = LoadBytes(std::make_shared<const std::vector<std::byte>>(*planned),
                                "planned.tflite", kWithWeights);
    ASSERT_TRUE(read);
    ASSERT_TRUE(read->carried_plan);
    EXPECT_EQ(read->carried_plan->problem, "");
    EXPECT_EQ(read->carried_plan->offsets[SubgraphId(1)][TensorId(2)], 64);
  }
  // The edit of the edit keeps the body.
  Graph again = written->graph;
  const auto rewritten = WriteEdited(*written, again, kWithWeights);
  ASSERT_TRUE(rewritten) << rewritten.error().message;
  EXPECT_EQ(FindDifference(*written, again, rewritten->graph), "");
}

TEST(EditBodies, OtherBodiesAreSeen) {
  const SourceModel source = Source("tflite");
  const Graph edited = WithBody(source);
  Graph other = edited;
  other.subgraphs.push_back(other.subgraphs[SubgraphId(1)]);
  Graph swapped = other;
  swapped.subgraphs[kMain].ops[OpId(2)].bodies[1] = SubgraphId(2);
  EXPECT_NE(FindDifference(source, other, swapped), "");
  EXPECT_EQ(FindDifference(source, other, other), "");
  // One that runs in no order, and one without a subgraph.
  Graph circle = edited;
  std::swap(circle.subgraphs[SubgraphId(1)].ops[OpId(0)].inputs[0],
            circle.subgraphs[SubgraphId(1)].ops[OpId(0)].outputs[0]);
  EXPECT_FALSE(WriteEdited(source, circle, kWithWeights));
  Graph nowhere = edited;
  nowhere.subgraphs[kMain].ops[OpId(2)].bodies[0] = SubgraphId(7);
  EXPECT_FALSE(WriteEdited(source, nowhere, kWithWeights));
}

TEST_P(EditTest, AnEditOfAnEditIsWritten) {
  SourceModel source = Source(GetParam());
  for (int round = 0; round < 4; ++round) {
    Graph edited = source.graph;
    Subgraph& subgraph = edited.subgraphs[kMain];
    const TensorId made =
        AddTensor(&subgraph, "extra" + std::to_string(round), *subgraph.tensors[TensorId(0)].shape);
    const OpId last(subgraph.ops.size() - 1);
    const TensorId read = subgraph.ops[last].inputs[0];
    IdVector<OpId, Op> ops;
    for (const OpId id : subgraph.ops.Ids()) {
      if (id == last) ops.push_back(MakeOp(GetParam(), tflite() ? "ABS" : "Abs", {read}, {made}));
      ops.push_back(subgraph.ops[id]);
    }
    ops.back().inputs[0] = made;
    subgraph.ops = std::move(ops);
    auto written = WriteEdited(source, edited, kWithWeights);
    ASSERT_TRUE(written) << written.error().message;
    source = std::move(*written);
  }
  EXPECT_EQ(source.graph.subgraphs[kMain].ops.size(), 7U);
}

TEST_P(EditTest, WhatIsNoEditIsRefused) {
  const SourceModel source = Source(GetParam());
  const auto refused = [&](auto change) {
    Graph edited = source.graph;
    change(&edited.subgraphs[kMain]);
    const auto written = WriteEdited(source, edited, kWithWeights);
    return !written && written.error().file == source.path;
  };
  EXPECT_TRUE(refused([](Subgraph* s) { s->outputs.pop_back(); }));
  EXPECT_TRUE(refused([](Subgraph* s) { s->ops[OpId(1)].type = "Nonsense"; }));
  EXPECT_TRUE(refused([](Subgraph* s) { s->ops[OpId(1)].source_index = 0; }));
  EXPECT_TRUE(refused([](Subgraph* s) { s->ops[OpId(1)].source_index = 7; }));
  EXPECT_TRUE(refused([](Subgraph* s) { std::swap(s->ops[OpId(0)], s->ops[OpId(1)]); }));
  EXPECT_TRUE(refused([](Subgraph* s) { Erase(s, 0); }) == !tflite()) << "nothing writes r";
  EXPECT_TRUE(refused([&](Subgraph* s) {
    const TensorId lost = AddConstant(s, "lost", {1});
    s->tensors[lost].data.reset();
    s->ops[OpId(1)].inputs[1] = lost;
  }));
  if (!tflite()) {
    EXPECT_TRUE(refused([&](Subgraph* s) {
      s->ops[OpId(1)].inputs[1] = AddConstant(s, "bias", {4, 5, 6});
    })) << "the name is taken";
  }
}

// The comparison protects the user from a wrong writer: it has to find every difference.
TEST_P(EditTest, TheComparisonSeesEveryDifference) {
  const SourceModel source = Source(GetParam());
  const auto differs = [&](auto change) {
    Graph other = source.graph;
    change(&other.subgraphs[kMain]);
    return !FindDifference(source, source.graph, other).empty();
  };
  EXPECT_FALSE(differs([](Subgraph*) {}));
  EXPECT_TRUE(differs([](Subgraph* s) { s->ops[OpId(0)].type = "ABS"; }));
  EXPECT_TRUE(differs([](Subgraph* s) { Erase(s, 2); }));
  EXPECT_TRUE(differs([](Subgraph* s) { std::swap(s->ops[OpId(1)], s->ops[OpId(2)]); }));
  EXPECT_TRUE(differs([](Subgraph* s) { s->ops[OpId(2)].inputs[0] = Named(*s, "x"); }));
  EXPECT_TRUE(differs([](Subgraph* s) { s->ops[OpId(1)].attributes["more"] = std::int64_t{1}; }));
  EXPECT_TRUE(differs([](Subgraph* s) { s->tensors[Named(*s, "r")].shape = Shape{3, 2}; }));
  EXPECT_TRUE(
      differs([](Subgraph* s) { s->tensors[Named(*s, "r")].type = ElementType::kFloat16; }));
  EXPECT_TRUE(differs([](Subgraph* s) { s->tensors[Named(*s, "bias")].data = Data({1, 2, 4}); }));
  EXPECT_TRUE(differs([](Subgraph* s) { s->tensors[Named(*s, "bias")].constant = false; }));
  EXPECT_TRUE(differs([](Subgraph* s) {
    s->tensors[Named(*s, "r")].quantization = graph::Quantization{{1.0F}, {0}, 0};
  }));
  EXPECT_TRUE(differs([](Subgraph* s) { std::swap(s->outputs[0], s->outputs[1]); }));
}

INSTANTIATE_TEST_SUITE_P(Formats, EditTest, testing::Values("tflite", ""), [](const auto& param) {
  return std::string(param.param).empty() ? "Onnx" : "Tflite";
});

// Every public model: the same graph again with all operators moved to new tables' lists, and with
// an operator put in front of the first reader of every input.
TEST(EditModelsTest, PublicModelsSurviveAnEdit) {
  const char* given = std::getenv("NEAP_SHARED");
  const char* tree = std::getenv("NEAP_SOURCE_DIR");
  const std::filesystem::path shared =
      given != nullptr ? given : std::filesystem::path(tree == nullptr ? "." : tree) / "../shared";
  if (!std::filesystem::is_directory(shared / "models")) GTEST_SKIP() << "no public models here";
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared / "models")) {
    const std::string path = entry.path().string();
    const bool model = path.ends_with(".tflite") || path.ends_with(".onnx");
    if (model && path.find("/bad/") == std::string::npos && entry.file_size() < 20'000'000) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  int edited_models = 0;
  for (const std::string& path : paths) {
    const auto source = Load(path, {});
    if (!source || source->format == Format::kGraphJson) continue;
    const bool tflite = source->format == Format::kTflite;
    Graph edited = source->graph;
    Subgraph& subgraph = edited.subgraphs[kMain];
    const bool plain = subgraph.control_edges.empty() && !subgraph.inputs.empty() &&
                       subgraph.tensors[subgraph.inputs[0]].type == ElementType::kFloat32;
    if (plain) {
      const TensorId input = subgraph.inputs[0];
      Tensor copy = subgraph.tensors[input];
      copy.name = "neap_edit_test_copy";
      const TensorId made = subgraph.tensors.push_back(std::move(copy));
      IdVector<OpId, Op> ops;
      Op abs = MakeOp(tflite ? "tflite" : "", tflite ? "ABS" : "Abs", {input}, {made});
      ops.push_back(std::move(abs));
      for (const Op& op : subgraph.ops) {
        ops.push_back(op);
        if (op.stateful || !op.bodies.empty()) continue;
        std::replace(ops.back().inputs.begin(), ops.back().inputs.end(), input, made);
      }
      subgraph.ops = std::move(ops);
    }
    const auto written = WriteEdited(*source, edited, {});
    if (!written) {
      // Files that no runtime could run in their order.
      EXPECT_NE(written.error().message.find("reads a tensor that is written later"),
                std::string::npos)
          << path << ": " << written.error().ToString();
      continue;
    }
    ++edited_models;
  }
  RecordProperty("models", edited_models);
  EXPECT_GT(edited_models, 20);
}

}  // namespace
}  // namespace neap::formats
