// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neap/formats/tflite/test_model.h"

namespace neap::formats::tflite {
namespace {

using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;
using test::Code;
using test::LoadModel;
using test::TestModel;
using test::Type;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr SubgraphId kMain(0);

std::string ErrorOf(const TestModel& model, const LoadOptions& options = {}) {
  const auto loaded = LoadModel(model.Build(), options);
  return loaded ? "no error" : loaded.error().ToString();
}

// One subgraph of `copies` chains: body of control flow.
test::TestSubgraph Body() { return {{{"a"}, {"b"}}, {{Code::RELU, {0}, {1}}}, {0}, {1}}; }

TEST(ReadTflite, ReadsAGraph) {
  TestModel source = test::Diamond();
  source.signatures = {{"serve", 0}};
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model) << model.error().ToString();
  EXPECT_EQ(model->format, Format::kTflite);
  EXPECT_EQ(model->sha256.size(), 64U);
  EXPECT_THAT(model->notes, IsEmpty());
  const graph::Subgraph& graph = model->graph.subgraphs[kMain];
  ASSERT_EQ(graph.ops.size(), 5U);
  EXPECT_EQ(graph.ops[OpId(1)].type, "CONV_2D");
  EXPECT_EQ(graph.ops[OpId(1)].domain, "tflite");
  EXPECT_EQ(graph.ops[OpId(1)].source_index, 1);
  EXPECT_FALSE(graph.ops[OpId(1)].stateful);
  EXPECT_THAT(graph.ops[OpId(4)].inputs, ElementsAre(TensorId(3), TensorId(4)));
  EXPECT_EQ(graph.tensors[TensorId(2)].name, "left");
  EXPECT_EQ(graph.tensors[TensorId(2)].shape, (graph::Shape{1, 4}));
  EXPECT_EQ(graph.tensors[TensorId(2)].type, graph::ElementType::kInt8);
  EXPECT_THAT(graph.inputs, ElementsAre(TensorId(0)));
  EXPECT_THAT(graph.outputs, ElementsAre(TensorId(5)));
  ASSERT_EQ(model->graph.signatures.size(), 1U);
  EXPECT_EQ(model->graph.signatures[0].key, "serve");
}

TEST(ReadTflite, KnowsConstantsByTheirBuffers) {
  TestModel source = test::Diamond();
  auto& graph = source.subgraphs[0];
  graph.tensors.push_back({"inside", {{4}}});
  graph.tensors.push_back({"outside", {{4}}});
  graph.tensors.push_back({"elsewhere", {{4}}});
  graph.tensors.push_back({"no_elements", {{2, 0}}});
  graph.tensors.push_back({"wrong_size", {{5}}});
  graph.tensors.push_back({"scalar", std::nullopt});
  graph.tensors.push_back({"scratch", {{9}}});
  graph.ops[1].inputs = {1, -1, 6, 7, 8, 9, 10, 11, 12};
  source.buffers = {{}, {{1, 2, 3, 4}}, {{}, 0, 4}, {{5}}};
  graph.tensors[6].buffer = 1;
  graph.tensors[7].buffer = 2;
  graph.tensors[8].external_buffer = 77;
  graph.tensors[10].buffer = 1;
  graph.tensors[11].buffer = 3;
  // The data by file offset are after the FlatBuffer, where others append a ZIP.
  source.buffers[2].offset = 2;
  source.buffers[2].offset = source.Build().size() + 3;
  std::vector<std::byte> bytes = source.Build();
  for (const int value : {0, 0, 0, 9, 8, 7, 6, 5}) bytes.push_back(static_cast<std::byte>(value));
  const auto model = LoadModel(bytes);
  ASSERT_TRUE(model) << model.error().ToString();
  const graph::Subgraph& read = model->graph.subgraphs[kMain];
  EXPECT_FALSE(read.tensors[TensorId(0)].constant);
  const auto first = [&](int tensor) -> int {
    const auto& data = read.tensors[TensorId(tensor)].data;
    return data && !data->bytes.empty() ? std::to_integer<int>(data->bytes[0]) : -1;
  };
  for (int tensor = 6; tensor <= 11; ++tensor) {
    EXPECT_TRUE(read.tensors[TensorId(tensor)].constant) << tensor;
  }
  EXPECT_EQ(first(6), 1);
  EXPECT_EQ(first(7), 9);
  EXPECT_FALSE(read.tensors[TensorId(8)].data);
  EXPECT_TRUE(read.tensors[TensorId(9)].data);
  EXPECT_FALSE(read.tensors[TensorId(10)].data);
  EXPECT_EQ(read.tensors[TensorId(11)].shape, graph::Shape());
  EXPECT_EQ(first(11), 5);
  EXPECT_FALSE(read.tensors[TensorId(12)].constant);
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("has 4 bytes of data, expected by its shape: 5"),
                                        HasSubstr("'scratch' is read, but has no producer")));
  EXPECT_EQ(read.ops[OpId(1)].inputs[1], TensorId());
}

TEST(ReadTflite, MapsTypes) {
  const auto size_of = [](Type type) {
    TestModel source = test::Diamond();
    source.subgraphs[0].tensors[1].type = type;
    const auto model = LoadModel(source.Build());
    const auto bytes = graph::TensorBytes(model->graph.subgraphs[kMain].tensors[TensorId(1)]);
    return bytes ? *bytes : -1;
  };
  EXPECT_EQ(size_of(Type::FLOAT32), 16);
  EXPECT_EQ(size_of(Type::BFLOAT16), 8);
  EXPECT_EQ(size_of(Type::INT4), 2);
  EXPECT_EQ(size_of(Type::UINT4), 2);
  EXPECT_EQ(size_of(Type::INT2), 1);
  EXPECT_EQ(size_of(Type::COMPLEX128), 64);
  EXPECT_EQ(size_of(Type::RESOURCE), 16);
  EXPECT_EQ(size_of(Type::STRING), -1);
  EXPECT_EQ(size_of(Type::VARIANT), -1);
  EXPECT_EQ(size_of(static_cast<Type>(99)), -1);
}

// TensorFlow Lite Micro reports an arena without them (tests/conformance:
// resource_vars_calibrated).
TEST(ReadTflite, HandlesOfVariablesTakeNoBytes) {
  TestModel source = test::Diamond();
  source.subgraphs[0].tensors[1].type = Type::RESOURCE;
  source.subgraphs[0].ops[0].code = Code::VAR_HANDLE;
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model.has_value());
  const graph::Subgraph& main = model->graph.subgraphs[kMain];
  ASSERT_EQ(main.ops[OpId(0)].outputs, std::vector{TensorId(1)});
  EXPECT_EQ(*graph::TensorBytes(main.tensors[TensorId(1)]), 0);
}

TEST(ReadTflite, NamesCustomAndUnknownOperators) {
  TestModel source = test::Diamond();
  source.subgraphs[0].ops[1].code = Code::CUSTOM;
  source.subgraphs[0].ops[1].custom_code = "MyOp";
  source.subgraphs[0].ops[2].code = static_cast<Code>(9999);
  source.subgraphs[0].ops[3].code = Code::GELU;
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model) << model.error().ToString();
  const auto& ops = model->graph.subgraphs[kMain].ops;
  EXPECT_EQ(ops[OpId(1)].domain, "custom");
  EXPECT_EQ(ops[OpId(1)].type, "MyOp");
  EXPECT_EQ(ops[OpId(2)].type, "BUILTIN_9999");
  EXPECT_EQ(ops[OpId(3)].type, "GELU");
}

TEST(ReadTflite, FollowsControlFlow) {
  TestModel source = test::Diamond();
  source.subgraphs[0].ops[0] = {Code::IF, {0}, {1}, {1, 2}};
  source.subgraphs[0].ops[1] = {Code::WHILE, {1}, {2}, {3, 4}};
  source.subgraphs[0].ops[2] = {Code::STABLEHLO_COMPOSITE, {2}, {3}, {5}};
  source.subgraphs[0].ops[3] = {Code::STABLEHLO_COMPOSITE, {1}, {4}, {-1}};
  for (int i = 0; i < 5; ++i) source.subgraphs.push_back(Body());
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model) << model.error().ToString();
  const auto& ops = model->graph.subgraphs[kMain].ops;
  EXPECT_THAT(ops[OpId(0)].bodies, ElementsAre(SubgraphId(1), SubgraphId(2)));
  EXPECT_THAT(ops[OpId(1)].bodies, ElementsAre(SubgraphId(3), SubgraphId(4)));
  EXPECT_THAT(ops[OpId(2)].bodies, ElementsAre(SubgraphId(5)));
  EXPECT_THAT(ops[OpId(3)].bodies, IsEmpty());
  EXPECT_THAT(graph::EntrySubgraphs(model->graph), ElementsAre(kMain));
  EXPECT_FALSE(ops[OpId(0)].stateful);

  source.subgraphs[0].ops[0].bodies = {1, 99};
  EXPECT_THAT(ErrorOf(source), HasSubstr("calls subgraph 99"));
  source.subgraphs[0].ops[0].bodies = {1, 0};
  EXPECT_THAT(ErrorOf(source), HasSubstr("contains this operator"));
  source.subgraphs[0].ops[0].bodies = {};
  EXPECT_THAT(ErrorOf(source), HasSubstr("names no subgraph to call"));
}

TEST(ReadTflite, MarksWhatTouchesStateThroughAllLevels) {
  TestModel source = test::Diamond();
  source.subgraphs[0].ops[1] = {Code::WHILE, {1}, {2}, {1, 2}};
  source.subgraphs.push_back(Body());
  source.subgraphs.push_back(Body());
  source.subgraphs[2].ops[0] = {Code::IF, {0}, {1}, {3, 3}};
  source.subgraphs.push_back(Body());
  source.subgraphs[3].tensors.push_back({"state"});
  source.subgraphs[3].tensors[2].variable = true;
  source.subgraphs[3].ops[0].inputs = {0, 2};
  source.subgraphs[0].ops[3].mutating = {1};
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model) << model.error().ToString();
  std::string stateful;
  for (const auto& subgraph : model->graph.subgraphs) {
    for (const auto& op : subgraph.ops) stateful += op.stateful ? '1' : '0';
    stateful += ' ';
  }
  EXPECT_EQ(stateful, "01010 0 1 1 ");
  EXPECT_TRUE(model->graph.subgraphs[SubgraphId(3)].tensors[TensorId(2)].variable);
}

TEST(ReadTflite, ReadsControlDependencies) {
  TestModel source = test::Diamond();
  source.buffers.push_back({{1, 1, 1, 2 * 2, 2 * 3}});
  source.metadata = {{"min_runtime_version", 0}, {"model_control_dependencies", 1}};
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model) << model.error().ToString();
  const auto& edges = model->graph.subgraphs[kMain].control_edges;
  ASSERT_EQ(edges.size(), 1U);
  EXPECT_EQ(edges[0].before, OpId(2));
  EXPECT_EQ(edges[0].after, OpId(3));

  source.buffers[1] = {{1, 1, 1, 2 * 2, 2 * 5}};
  EXPECT_THAT(ErrorOf(source), HasSubstr("2 -> 5 of subgraph 0 is out of range"));
  source.buffers[1] = {{1, 2, 0, 0}};
  EXPECT_THAT(ErrorOf(source), HasSubstr("about 2 subgraphs, but there are 1"));
  source.buffers[1] = {{7}};
  EXPECT_THAT(ErrorOf(source), HasSubstr("cannot be read"));
  source.buffers[1] = {{1, 1, 0}};
  source.metadata[0].name = "model_control_dependencies";
  EXPECT_THAT(ErrorOf(source), HasSubstr("twice"));
}

TEST(ReadTflite, DistinguishesScalarsFromUnknownShapes) {
  TestModel source = test::Diamond();
  auto& tensors = source.subgraphs[0].tensors;
  for (auto& tensor : tensors) tensor.shape = std::nullopt;
  tensors[2].has_rank = true;
  source.subgraphs[0].ops[0].code = Code::DEQUANTIZE;
  source.subgraphs[0].ops[3].code = Code::GATHER;
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model) << model.error().ToString();
  const auto& read = model->graph.subgraphs[kMain].tensors;
  EXPECT_EQ(read[TensorId(0)].shape, graph::Shape());  // a graph input
  EXPECT_EQ(read[TensorId(1)].shape, graph::Shape());  // DEQUANTIZE of a scalar
  EXPECT_EQ(read[TensorId(2)].shape, graph::Shape());  // has_rank
  EXPECT_EQ(read[TensorId(4)].shape, std::nullopt);    // GATHER might be anything's
}

TEST(ReadTflite, PlansDynamicDimensionsAsStored) {
  TestModel source = test::Diamond();
  source.subgraphs[0].tensors[0].signature = {-1, 4};
  const auto batch_alone = LoadModel(source.Build());
  ASSERT_TRUE(batch_alone);
  EXPECT_THAT(batch_alone->notes, ElementsAre());
  source.subgraphs[0].tensors[0].signature = {-1, -1};
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model);
  EXPECT_THAT(model->notes, ElementsAre("dimension 0 of input #0 'in' is dynamic, planned as 1",
                                        "dimension 1 of input #0 'in' is dynamic, planned as 4"));

  const LoadOptions options = {{{"batch", 2}}};
  const auto refused = LoadModel(source.Build(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("no symbolic dimension 'batch'"));

  source.subgraphs[0].tensors[0].shape = {{-1, 4}};
  EXPECT_FALSE(
      graph::TensorBytes(LoadModel(source.Build())->graph.subgraphs[kMain].tensors[TensorId(0)]));
  source.subgraphs[0].tensors[0].shape = {{-2, 4}};
  EXPECT_THAT(ErrorOf(source), HasSubstr("#0 'in': dimension 0 is -2"));
}

TEST(ReadTflite, NotesAnOrderThatCannotRun) {
  TestModel source = test::Diamond();
  std::swap(source.subgraphs[0].ops[1], source.subgraphs[0].ops[2]);
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model);
  EXPECT_THAT(model->notes, Contains(HasSubstr("reads what a later operator writes")));
}

TEST(ReadTflite, RefusesWhatIsBroken) {
  const auto broken = [](auto&& change) {
    TestModel source = test::Diamond();
    change(source);
    return ErrorOf(source);
  };
  EXPECT_EQ(broken([](TestModel&) {}), "no error");
  EXPECT_THAT(broken([](TestModel& m) { m.subgraphs.clear(); }), HasSubstr("has no subgraph"));
  EXPECT_THAT(broken([](TestModel& m) { m.version = 2; }), HasSubstr("schema version 2"));
  EXPECT_THAT(broken([](TestModel& m) { m.subgraphs[0].tensors[0].buffer = 9; }),
              HasSubstr("test.tflite: tensor #0 'in': refers to buffer 9, but there are 1"));
  EXPECT_THAT(broken([](TestModel& m) { m.subgraphs[0].ops[0].inputs = {99}; }),
              HasSubstr("refers to tensor 99, but there are 6"));
  EXPECT_THAT(broken([](TestModel& m) { m.subgraphs[0].ops[0].inputs = {-2}; }),
              HasSubstr("#0 of subgraph 0: refers to tensor -2"));
  EXPECT_THAT(broken([](TestModel& m) { m.subgraphs[0].inputs = {-1}; }), HasSubstr("tensor -1"));
  EXPECT_THAT(broken([](TestModel& m) { m.subgraphs[0].ops[2].outputs = {1}; }),
              HasSubstr("is an output here and already of"));
  EXPECT_THAT(broken([](TestModel& m) { m.subgraphs[0].ops[0].inputs = {5}; }), HasSubstr("cycle"));
  EXPECT_THAT(broken([](TestModel& m) {
                m.signatures = {{"x", 7}};
              }),
              HasSubstr("signature 'x' refers to a subgraph out of range"));
  EXPECT_THAT(broken([](TestModel& m) {
                m.buffers.push_back({{}, 8, 1U << 30U});
                m.subgraphs[0].tensors[0].buffer = 1;
              }),
              HasSubstr("buffer 1 has the bytes 8 to +1073741824 of a file of"));
  EXPECT_THAT(broken([](TestModel& m) {
                m.subgraphs[0].ops[0].large_options_offset = 8;
                m.subgraphs[0].ops[0].large_options_size = UINT64_MAX;
              }),
              HasSubstr("custom options are outside the file"));
}

}  // namespace
}  // namespace neap::formats::tflite
