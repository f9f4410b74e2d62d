// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/structure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "neap/batch/memo.h"

namespace neap::batch {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

Graph Sample(const std::string& domain) {
  Graph graph;
  Subgraph subgraph;
  for (int i = 0; i < 4; ++i) {
    Tensor tensor;
    tensor.name = "t" + std::to_string(i);
    tensor.type = graph::ElementType::kUint8;
    tensor.shape = graph::Shape{10 + i};
    subgraph.tensors.push_back(tensor);
  }
  for (int i = 0; i < 3; ++i) {
    Op op;
    op.domain = domain;
    op.type = "Relu";
    op.name = "o" + std::to_string(i);
    op.inputs = {TensorId(std::int32_t{i})};
    op.outputs = {TensorId(std::int32_t{i + 1})};
    op.attributes["axis"] = std::int64_t{1};
    subgraph.ops.push_back(op);
  }
  subgraph.inputs = {TensorId(0)};
  subgraph.outputs = {TensorId(3)};
  graph.subgraphs.push_back(subgraph);
  return graph;
}

std::string KeyOf(const Graph& graph) { return StructureKey(graph, plan::Runtime::kIdeal); }

TEST(StructureKey, KnowsNoNames) {
  Graph renamed = Sample("");
  Subgraph& subgraph = renamed.subgraphs[SubgraphId(0)];
  subgraph.name = "main";
  for (Tensor& tensor : subgraph.tensors) tensor.name += "x";
  for (Op& op : subgraph.ops) op.name += "x";
  EXPECT_EQ(KeyOf(renamed), KeyOf(Sample("")));
}

TEST(StructureKey, TakesTypesForNamesInGraphJsonOnly) {
  for (const std::string domain : {"json", "", "tflite", "custom"}) {
    Graph renamed = Sample(domain);
    renamed.subgraphs[SubgraphId(0)].ops[OpId(1)].type = "Conv";
    EXPECT_EQ(KeyOf(renamed) == KeyOf(Sample(domain)), domain == "json") << domain;
  }
}

TEST(StructureKey, SeesEverythingElse) {
  using Change = std::function<void(Subgraph*)>;
  const std::vector<Change> changes = {
      [](Subgraph*) {},
      [](Subgraph* s) { s->tensors[TensorId(1)].shape = graph::Shape{12}; },
      [](Subgraph* s) {
        s->tensors[TensorId(1)].shape = graph::Shape{11, 1};
      },
      [](Subgraph* s) { s->tensors[TensorId(1)].shape.reset(); },
      [](Subgraph* s) { s->tensors[TensorId(1)].type = graph::ElementType::kInt8; },
      [](Subgraph* s) { s->tensors[TensorId(0)].constant = true; },
      [](Subgraph* s) { s->tensors[TensorId(0)].variable = true; },
      [](Subgraph* s) { s->tensors[TensorId(0)].compressed = true; },
      [](Subgraph* s) { s->tensors.push_back(s->tensors[TensorId(0)]); },
      [](Subgraph* s) { s->ops[OpId(2)].inputs = {TensorId(1)}; },
      [](Subgraph* s) {
        s->ops[OpId(2)].inputs = {TensorId(2), TensorId(1)};
      },
      [](Subgraph* s) {
        s->ops[OpId(2)].inputs = {TensorId(1), TensorId(2)};
      },
      [](Subgraph* s) { s->ops[OpId(2)].captures = {TensorId(1)}; },
      [](Subgraph* s) { s->ops[OpId(2)].bodies = {SubgraphId(0)}; },
      [](Subgraph* s) { s->ops[OpId(2)].scratch_bytes = 1; },
      [](Subgraph* s) { s->ops[OpId(2)].stateful = true; },
      [](Subgraph* s) { s->ops[OpId(2)].folded = true; },
      [](Subgraph* s) { s->ops[OpId(2)].domain = "tflite"; },
      [](Subgraph* s) { s->ops[OpId(2)].attributes["axis"] = std::int64_t{2}; },
      [](Subgraph* s) { s->ops[OpId(2)].attributes["axis"] = 1.0; },
      [](Subgraph* s) { s->ops[OpId(2)].attributes["axis"] = std::vector<std::int64_t>{1}; },
      [](Subgraph* s) { s->ops[OpId(2)].attributes.clear(); },
      [](Subgraph* s) { s->inputs.clear(); },
      [](Subgraph* s) {
        s->outputs = {TensorId(3), TensorId(2)};
      },
      [](Subgraph* s) {
        s->control_edges = {{OpId(0), OpId(2)}};
      },
  };
  std::set<std::string> keys;
  for (const Change& change : changes) {
    Graph graph = Sample("");
    change(&graph.subgraphs[SubgraphId(0)]);
    keys.insert(KeyOf(graph));
  }
  EXPECT_EQ(keys.size(), changes.size());
  EXPECT_NE(KeyOf(Sample("")), StructureKey(Sample(""), plan::Runtime::kTflm));
  Graph signed_graph = Sample("");
  signed_graph.signatures = {{"serve", SubgraphId(0)}};
  EXPECT_EQ(keys.count(KeyOf(signed_graph)), 0U);
}

// Options of a custom operator decide on its scratch (TFLite_Detection_PostProcess).
TEST(StructureKey, SeesTheOptionsOfCustomOperators) {
  const std::vector<std::byte> few{std::byte{1}, std::byte{2}};
  const std::vector<std::byte> many{std::byte{1}, std::byte{3}};
  const auto key = [&](const std::string& domain, const std::vector<std::byte>& options) {
    Graph graph = Sample(domain);
    Op& op = graph.subgraphs[SubgraphId(0)].ops[OpId(1)];
    op.attributes["custom_options"] = graph::ConstantData{nullptr, options};
    return KeyOf(graph);
  };
  EXPECT_NE(key("custom", few), key("custom", many));
  EXPECT_EQ(key("", few), key("", many)) << "values of constants move no tensor";
}

Result<Numbers> Get(Memo* memo, const std::string& key, int* computed) {
  bool repeated = false;
  const int before = *computed;
  auto numbers = memo->Get(
      key,
      [&]() -> Result<Numbers> {
        ++*computed;
        return Numbers{static_cast<std::int64_t>(key.size()), 0, {}, {}};
      },
      &repeated);
  EXPECT_EQ(repeated, *computed == before);
  return numbers;
}

TEST(Memo, RemembersWhatWasAskedForLast) {
  Memo memo(2);
  int computed = 0;
  EXPECT_EQ(Get(&memo, "a", &computed)->peak_bytes, 1);
  EXPECT_EQ(Get(&memo, "bb", &computed)->peak_bytes, 2);
  EXPECT_EQ(Get(&memo, "a", &computed)->peak_bytes, 1);
  EXPECT_EQ(computed, 2);
  Get(&memo, "ccc", &computed);  // forgets bb
  EXPECT_EQ(computed, 3);
  Get(&memo, "a", &computed);
  EXPECT_EQ(computed, 3);
  Get(&memo, "bb", &computed);
  EXPECT_EQ(computed, 4);
}

TEST(Memo, RemembersNoFailure) {
  Memo memo(2);
  bool repeated = false;
  EXPECT_FALSE(memo.Get(
      "a", [] { return Result<Numbers>(Fail(BadInput("x"))); }, &repeated));
  EXPECT_THROW(static_cast<void>(memo.Get(
                   "a", []() -> Result<Numbers> { throw std::runtime_error("x"); }, &repeated)),
               std::runtime_error);
  int computed = 0;
  EXPECT_TRUE(Get(&memo, "a", &computed));
  EXPECT_EQ(computed, 1);
}

TEST(Memo, ComputesOnceForAllThreads) {
  Memo memo(100);
  std::atomic<int> computed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        bool repeated = false;
        const auto numbers = memo.Get(
            std::to_string(k),
            [&]() -> Result<Numbers> {
              ++computed;
              std::this_thread::yield();
              return Numbers{k, k, {}, {}};
            },
            &repeated);
        EXPECT_EQ(numbers->peak_bytes, k);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(computed.load(), 50);
}

}  // namespace
}  // namespace neap::batch
