// SPDX-License-Identifier: Apache-2.0
#include "neap/graph/graph.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace neap::graph {
namespace {

Tensor Bytes(std::string name, std::int64_t bytes) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = ElementType::kUint8;
  tensor.shape = Shape{bytes};
  return tensor;
}

// in -> a -> out
Graph Chain() {
  Graph graph;
  Subgraph subgraph;
  for (const char* name : {"in", "mid", "out"}) subgraph.tensors.push_back(Bytes(name, 4));
  for (int i = 0; i < 2; ++i) {
    Op op;
    op.type = "Copy";
    op.inputs = {TensorId(i)};
    op.outputs = {TensorId(i + 1)};
    subgraph.ops.push_back(op);
  }
  subgraph.inputs = {TensorId(0)};
  subgraph.outputs = {TensorId(2)};
  graph.subgraphs.push_back(subgraph);
  return graph;
}

TEST(TensorBytes, CountsSubByteElementsPacked) {
  Tensor tensor = Bytes("t", 5);
  EXPECT_EQ(TensorBytes(tensor).value(), 5);
  tensor.type = ElementType::kInt4;
  EXPECT_EQ(TensorBytes(tensor).value(), 3);
  tensor.type = ElementType::kInt2;
  EXPECT_EQ(TensorBytes(tensor).value(), 2);
  tensor.shape = Shape{};
  EXPECT_EQ(TensorBytes(tensor).value(), 1);
  tensor.shape = Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 0};
  EXPECT_EQ(TensorBytes(tensor).value(), 0);
}

TEST(TensorBytes, NamesWhatIsMissing) {
  Tensor tensor = Bytes("t", -1);
  tensor.symbols = {"batch"};
  const auto result = TensorBytes(tensor);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kMissingSize);
  EXPECT_NE(result.error().ToString().find("bind the dimension 'batch' to a number"),
            std::string::npos);
  tensor.shape = Shape{std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_EQ(TensorBytes(tensor).error().code, ErrorCode::kBadInput);
  tensor.type = ElementType::kString;
  EXPECT_EQ(TensorBytes(tensor).error().code, ErrorCode::kMissingSize);
}

TEST(Verify, AcceptsAChain) { EXPECT_TRUE(Verify(Chain()).has_value()); }

TEST(Verify, RefusesWhatIsBroken) {
  const SubgraphId main(0);
  const auto refused = [&](auto&& change) {
    Graph graph = Chain();
    change(graph.subgraphs[main]);
    return !Verify(graph).has_value();
  };
  EXPECT_TRUE(refused([](Subgraph& s) { s.ops[OpId(0)].inputs = {TensorId(9)}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.ops[OpId(1)].outputs = {TensorId(1)}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.ops[OpId(0)].inputs = {TensorId(2)}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.tensors[TensorId(1)].constant = true; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.inputs = {TensorId(1)}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.outputs = {TensorId(-2)}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.control_edges = {{OpId(1), OpId(0)}}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.control_edges = {{OpId(1), OpId(7)}}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.ops[OpId(0)].bodies = {SubgraphId(0)}; }));
  EXPECT_TRUE(refused([](Subgraph& s) { s.ops[OpId(0)].bodies = {SubgraphId(5)}; }));
  EXPECT_FALSE(refused([](Subgraph& s) { s.ops[OpId(0)].inputs.push_back(TensorId()); }));
}

TEST(EntrySubgraphs, LeavesOutBodies) {
  Graph graph = Chain();
  graph.subgraphs.push_back(Chain().subgraphs[SubgraphId(0)]);
  EXPECT_EQ(EntrySubgraphs(graph).size(), 2U);
  graph.subgraphs[SubgraphId(0)].ops[OpId(0)].bodies = {SubgraphId(1)};
  EXPECT_EQ(EntrySubgraphs(graph), std::vector<SubgraphId>{SubgraphId(0)});
  graph.signatures.push_back({"run", SubgraphId(1)});
  EXPECT_EQ(EntrySubgraphs(graph).size(), 2U);
}

}  // namespace
}  // namespace neap::graph
