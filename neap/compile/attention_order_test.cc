// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/attention_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "testing/random_network.h"

namespace neap::compile {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

bool CanBeRun(const Subgraph& subgraph, const std::vector<OpId>& order) {
  const auto producers = graph::Producers(subgraph);
  IdVector<OpId, bool> done(subgraph.ops.size(), false);
  for (const OpId id : order) {
    if (done[id]) return false;
    for (const TensorId input : subgraph.ops[id].inputs) {
      if (input.valid() && producers[input].valid() && !done[producers[input]]) return false;
    }
    done[id] = true;
  }
  return order.size() == subgraph.ops.size();
}

// x -> queries -> scores -> softmax; values are computed after them, and wanted before.
TEST(AttentionOrder, ValuesComeBeforeScores) {
  Random random(1);
  property::Network network(&random);
  const TensorId x = network.TakeShaped(ElementType::kFloat32, {6, 4});
  const auto add = [&](const char* type, std::vector<TensorId> inputs, const graph::Shape& shape) {
    const TensorId out = network.Out(ElementType::kFloat32, shape);
    network.Add("", type, std::move(inputs), {out});
    return out;
  };
  const TensorId queries = add("Relu", {x}, {6, 4});
  const TensorId keys = add("Transpose", {x}, {4, 6});
  const TensorId scores = add("MatMul", {queries, keys}, {6, 6});
  const TensorId weights = add("Softmax", {scores}, {6, 6});
  const TensorId values = add("Tanh", {x}, {6, 4});
  add("MatMul", {weights, values}, {6, 4});
  graph::Graph graph = network.Finish();
  Subgraph& main = graph.subgraphs[SubgraphId(0)];
  main.control_edges.clear();
  const std::vector<OpId> file = {OpId(0), OpId(1), OpId(2), OpId(3), OpId(4), OpId(5)};
  EXPECT_THAT(SecondMatricesFirst(main, file),
              testing::ElementsAre(OpId(4), OpId(1), OpId(0), OpId(2), OpId(3), OpId(5)));
  main.control_edges.push_back({OpId(0), OpId(4)});
  EXPECT_EQ(SecondMatricesFirst(main, file), file);
}

TEST(AttentionOrder, AnyOrderCanBeRun) {
  Random random(2);
  int changed = 0;
  for (int round = 0; round < 500; ++round) {
    property::Network network(&random);
    for (int n = 0; n < 12; ++n) {
      const std::vector<property::OperatorCase>& cases = property::OnnxCases();
      const std::size_t at = random.Chance(1, 3) ? 0 : random.Below(cases.size());
      const auto product = std::find_if(cases.begin(), cases.end(),
                                        [](const auto& one) { return one.type == "MatMul"; });
      const property::OperatorCase& one = at == 0 ? *product : cases[at];
      one.add(network, one, one.types.front());
    }
    graph::Graph graph = network.Finish();
    Subgraph& main = graph.subgraphs[SubgraphId(0)];
    main.control_edges.clear();
    std::vector<OpId> file;
    for (const OpId id : main.ops.Ids()) file.push_back(id);
    const std::vector<OpId> order = SecondMatricesFirst(main, file);
    ASSERT_TRUE(CanBeRun(main, order)) << "round " << round;
    changed += order != file ? 1 : 0;
  }
  EXPECT_GT(changed, 20);
}

}  // namespace
}  // namespace neap::compile
