// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "neap/formats/tflite/control_dependencies.h"
#include "neap/formats/tflite/test_model.h"

namespace neap::formats::tflite {
namespace {

using graph::OpId;
using graph::SubgraphId;
using test::Code;
using test::LoadModel;
using test::TestModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Orders = IdVector<SubgraphId, std::vector<OpId>>;

std::vector<OpId> Order(std::initializer_list<int> ids) {
  std::vector<OpId> order;
  for (const int id : ids) order.push_back(OpId(id));
  return order;
}

std::vector<std::size_t> Differences(const std::vector<std::byte>& a,
                                     const std::vector<std::byte>& b) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) places.push_back(i);
  }
  return places;
}

std::vector<std::string> Types(const SourceModel& model, int subgraph) {
  std::vector<std::string> types;
  for (const auto& op : model.graph.subgraphs[SubgraphId(subgraph)].ops) types.push_back(op.type);
  return types;
}

std::string ErrorOf(const TestModel& source, const Orders& order) {
  const auto model = LoadModel(source.Build());
  if (!model) return "not read: " + model.error().ToString();
  const auto written = WriteReordered(*model, order);
  return written ? "no error" : written.error().ToString();
}

TEST(WriteTflite, ChangesOnlyTheWordsOfTheOperatorsThatMove) {
  const auto bytes = test::Diamond().Build();
  const auto model = LoadModel(bytes);
  ASSERT_TRUE(model);
  const auto written = WriteReordered(*model, {Order({0, 3, 1, 2, 4})});
  ASSERT_TRUE(written) << written.error().ToString();
  ASSERT_EQ(written->size(), bytes.size());

  const auto* file = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto* operators = schema::GetModel(file)->subgraphs()->Get(0)->operators();
  const auto list = static_cast<std::size_t>(operators->Data() - file);
  const auto places = Differences(bytes, *written);
  EXPECT_FALSE(places.empty());
  for (const std::size_t place : places) {
    EXPECT_GE(place, list + 4);  // the first operator stays
    EXPECT_LT(place, list + 16);
  }
  const auto again = LoadModel(*written);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_THAT(Types(*again, 0), ElementsAre("RELU", "TANH", "CONV_2D", "LOGISTIC", "ADD"));

  // There and back again.
  EXPECT_EQ(WriteReordered(*again, {Order({0, 2, 3, 1, 4})}).value(), bytes);
}

TEST(WriteTflite, LeavesTheFileAloneWhenNothingMoves) {
  std::vector<std::byte> bytes = test::Diamond().Build();
  bytes.resize(bytes.size() + 100, std::byte{'Z'});  // as an appended ZIP
  const auto model = LoadModel(bytes);
  ASSERT_TRUE(model);
  EXPECT_EQ(WriteReordered(*model, {}).value(), bytes);
  EXPECT_EQ(WriteReordered(*model, {std::vector<OpId>()}).value(), bytes);
  EXPECT_EQ(WriteReordered(*model, {Order({0, 1, 2, 3, 4})}).value(), bytes);
}

TEST(WriteTflite, ReordersBodies) {
  TestModel source = test::Diamond();
  source.subgraphs.push_back(source.subgraphs[0]);
  source.subgraphs[0].ops[0] = {Code::IF, {0}, {1}, {1, 1}};
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model);
  const auto written = WriteReordered(*model, {{}, Order({0, 3, 1, 2, 4})});
  ASSERT_TRUE(written) << written.error().ToString();
  const auto again = LoadModel(*written);
  ASSERT_TRUE(again);
  EXPECT_THAT(Types(*again, 0), ElementsAre("IF", "CONV_2D", "LOGISTIC", "TANH", "ADD"));
  EXPECT_THAT(Types(*again, 1), ElementsAre("RELU", "TANH", "CONV_2D", "LOGISTIC", "ADD"));
}

TEST(WriteTflite, RenumbersControlDependencies) {
  TestModel source = test::Diamond();
  source.buffers.push_back({{1, 1, 2, 2 * 0, 2 * 1, 2 * 1, 2 * 3}});
  source.metadata = {{kControlDependenciesKey, 1}};
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model);
  const auto written = WriteReordered(*model, {Order({0, 1, 3, 2, 4})});
  ASSERT_TRUE(written) << written.error().ToString();
  const auto again = LoadModel(*written);
  ASSERT_TRUE(again);
  const auto& edges = again->graph.subgraphs[SubgraphId(0)].control_edges;
  ASSERT_EQ(edges.size(), 2U);
  EXPECT_EQ(edges[0].before, OpId(0));
  EXPECT_EQ(edges[0].after, OpId(1));
  EXPECT_EQ(edges[1].before, OpId(1));
  EXPECT_EQ(edges[1].after, OpId(2));
  EXPECT_THAT(ErrorOf(source, {Order({0, 3, 1, 2, 4})}),
              HasSubstr("runs it before an operator that it"));

  source.subgraphs[0].tensors[0].buffer = 1;
  EXPECT_THAT(ErrorOf(source, {Order({0, 1, 3, 2, 4})}),
              HasSubstr("contains the control dependencies and other data"));
}

// One operator that 99 others could go before; numbers above 63 take two bytes.
TestModel Wide(std::vector<std::uint8_t> dependencies) {
  test::TestSubgraph graph;
  graph.tensors.push_back({"in"});
  graph.inputs = {0};
  for (int i = 0; i < 100; ++i) {
    graph.tensors.push_back({"t"});
    graph.ops.push_back({Code::RELU, {0}, {i + 1}});
    graph.outputs.push_back(i + 1);
  }
  TestModel model = {{graph}};
  model.buffers.push_back({std::move(dependencies)});
  model.metadata = {{kControlDependenciesKey, 1}};
  return model;
}

std::vector<OpId> Rotated(int by) {
  std::vector<OpId> order;
  for (int i = 0; i < 100; ++i) order.push_back(OpId((i + by) % 100));
  return order;
}

TEST(WriteTflite, KeepsTheLengthOfControlDependencies) {
  // 98 -> 99 becomes 0 -> 1: two numbers that need a byte less each.
  const auto model = LoadModel(Wide({1, 1, 1, 0x80 | 68, 1, 0x80 | 70, 1}).Build());
  ASSERT_TRUE(model) << model.error().ToString();
  const auto written = WriteReordered(*model, {Rotated(98)});
  ASSERT_TRUE(written) << written.error().ToString();
  const auto again = LoadModel(*written);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ(again->graph.subgraphs[SubgraphId(0)].control_edges[0].after, OpId(1));
  // Where the longer numbers do not fit, no file is written.
  EXPECT_THAT(ErrorOf(Wide({1, 1, 1, 0, 2}), {Rotated(2)}), HasSubstr("do not fit"));
}

TEST(WriteTflite, RefusesTwoOrdersOfOneSharedList) {
  TestModel source = test::Diamond();
  source.subgraphs.push_back(source.subgraphs[0]);
  source.subgraphs[1].same_operators_as = 0;
  const auto moved = Order({0, 3, 1, 2, 4});
  EXPECT_THAT(ErrorOf(source, {moved}), HasSubstr("share one list of operators"));
  EXPECT_THAT(ErrorOf(source, {{}, moved}), HasSubstr("share one list of operators"));
  EXPECT_EQ(ErrorOf(source, {moved, moved}), "no error");
  EXPECT_EQ(ErrorOf(source, {Order({0, 1, 2, 3, 4}), {}}), "no error");
}

TEST(WriteTflite, RefusesWhatIsNoOrder) {
  const TestModel source = test::Diamond();
  EXPECT_THAT(ErrorOf(source, {Order({0, 1})}), HasSubstr("has 2 operators, expected 5"));
  EXPECT_THAT(ErrorOf(source, {Order({0, 1, 1, 3, 4})}), HasSubstr("not a permutation"));
  EXPECT_THAT(ErrorOf(source, {Order({0, 1, 7, 3, 4})}), HasSubstr("not a permutation"));
  EXPECT_THAT(ErrorOf(source, {Order({1, 0, 2, 3, 4})}),
              HasSubstr("operator #1 'CONV_2D': the new order runs it before"));
  EXPECT_THAT(ErrorOf(source, {{}, {}}), HasSubstr("another file"));
  TestModel stateful = test::Diamond();
  stateful.subgraphs[0].ops[1].mutating = {1};
  stateful.subgraphs[0].ops[3].mutating = {1};
  EXPECT_THAT(ErrorOf(stateful, {Order({0, 3, 1, 2, 4})}), HasSubstr("#3 'TANH'"));
}

}  // namespace
}  // namespace neap::formats::tflite
