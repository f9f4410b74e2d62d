// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace neap::ops {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SubgraphId kMain(0);

TensorId AddTensor(Subgraph* s) { return s->tensors.push_back(graph::Tensor()); }

OpId AddOp(Subgraph* s, const std::string& type, std::vector<TensorId> inputs,
           std::vector<TensorId> outputs = {}, const std::string& domain = "tflite") {
  Op op;
  op.domain = domain;
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.stateful = true;
  return s->ops.push_back(op);
}

TensorId AddHandle(Subgraph* s, const std::string& name, const std::string& container = "") {
  const TensorId handle = AddTensor(s);
  Op& op = s->ops[AddOp(s, "VAR_HANDLE", {}, {handle})];
  op.attributes["container"] = container;
  op.attributes["shared_name"] = name;
  return handle;
}

OpId Read(Subgraph* s, TensorId handle) {
  return AddOp(s, "READ_VARIABLE", {handle}, {AddTensor(s)});
}
OpId Assign(Subgraph* s, TensorId handle) {
  return AddOp(s, "ASSIGN_VARIABLE", {handle, AddTensor(s)});
}

std::vector<std::pair<int, int>> EdgesOf(const std::vector<Subgraph>& subgraphs) {
  Graph graph;
  for (const Subgraph& subgraph : subgraphs) graph.subgraphs.push_back(subgraph);
  std::vector<std::pair<int, int>> pairs;
  for (const auto& edge : StateTrace(graph).EdgesOf(graph.subgraphs[kMain], kMain)) {
    pairs.emplace_back(edge.before.value(), edge.after.value());
  }
  return pairs;
}

TEST(StateTrace, OrdersWritesOfOneVariableAmongItsReads) {
  Subgraph s;
  const TensorId handle = AddHandle(&s, "a");  // 0
  Read(&s, handle);                            // 1
  Read(&s, handle);                            // 2
  Assign(&s, handle);                          // 3
  Read(&s, AddHandle(&s, "a"));                // 4, 5: another handle of the same variable
  Assign(&s, handle);                          // 6
  using P = std::pair<int, int>;
  EXPECT_THAT(EdgesOf({s}), ElementsAre(P(1, 3), P(2, 3), P(3, 5), P(5, 6)));
}

TEST(StateTrace, LeavesOtherVariablesAlone) {
  Subgraph s;
  Assign(&s, AddHandle(&s, "a"));
  Assign(&s, AddHandle(&s, "b"));
  Assign(&s, AddHandle(&s, "b", "box"));  // "b" is now ambiguous: both may be any variable
  const auto ambiguous = EdgesOf({s});
  EXPECT_EQ(ambiguous.size(), 4U);  // a chain over all but the handle of "a"
  s.ops[OpId(2)].attributes["container"] = std::string("chest");
  EXPECT_THAT(EdgesOf({s}), IsEmpty());
}

TEST(StateTrace, FollowsHandlesIntoBodies) {
  for (const std::string call : {"IF", "WHILE"}) {
    Subgraph body;
    body.inputs = {AddTensor(&body), AddTensor(&body)};
    Assign(&body, body.inputs[0]);
    body.outputs = body.inputs;
    Subgraph s;
    const TensorId a = AddHandle(&s, "a");  // 0
    const TensorId b = AddHandle(&s, "b");  // 1
    std::vector<TensorId> inputs = {a, b};
    if (call == "IF") inputs.insert(inputs.begin(), AddTensor(&s));
    const std::vector<TensorId> outputs = {AddTensor(&s), AddTensor(&s)};
    s.ops[AddOp(&s, call, inputs, outputs)].bodies = {SubgraphId(1), SubgraphId(1)};  // 2
    Read(&s, a);                                                                      // 3
    Read(&s, b);                                                                      // 4
    Assign(&s, outputs[1]);                                                           // 5: is b
    using P = std::pair<int, int>;
    EXPECT_THAT(EdgesOf({s, body}), ElementsAre(P(2, 3), P(4, 5))) << call;
    // A body that anybody may call gets handles of anything.
    Graph graph;
    for (const Subgraph& subgraph : {s, body}) graph.subgraphs.push_back(subgraph);
    graph.signatures = {{"body", SubgraphId(1)}};
    EXPECT_EQ(StateTrace(graph).UsesOf(kMain, OpId(2)).has_value(), false) << call;
  }
}

TEST(StateTrace, CountsWhatIsCalledOnce) {
  Subgraph init;
  Assign(&init, AddHandle(&init, "a"));
  Subgraph s;
  s.ops[AddOp(&s, "CALL_ONCE", {})].bodies = {SubgraphId(1)};  // 0
  Read(&s, AddHandle(&s, "b"));                                // 1, 2
  Read(&s, AddHandle(&s, "a"));                                // 3, 4
  using P = std::pair<int, int>;
  EXPECT_THAT(EdgesOf({s, init}), ElementsAre(P(0, 4)));
}

TEST(StateTrace, KeepsWhatItDoesNotKnowAmongAllState) {
  using P = std::pair<int, int>;
  for (const auto& [type, domain] : std::vector<std::pair<std::string, std::string>>{
           {"Anything", "custom"}, {"BUILTIN_999", "tflite"}, {"ADD", "tflite"}}) {
    Subgraph s;
    Read(&s, AddHandle(&s, "a"));         // 0, 1
    AddOp(&s, type, {}, {}, domain);      // 2
    Assign(&s, AddHandle(&s, "b"));       // 3, 4
    AddOp(&s, "RANDOM_UNIFORM", {}, {});  // 5
    AddOp(&s, type, {}, {}, domain);      // 6
    EXPECT_THAT(EdgesOf({s}), ElementsAre(P(1, 2), P(2, 4), P(2, 5), P(4, 6), P(5, 6))) << type;
  }
  Subgraph s;
  Assign(&s, AddHandle(&s, "a"));
  Assign(&s, AddTensor(&s));  // a handle that nothing makes
  EXPECT_THAT(EdgesOf({s}), ElementsAre(P(1, 2)));
}

TEST(StateTrace, OrdersRandomNumbersAndTablesApart) {
  using P = std::pair<int, int>;
  Subgraph s;
  AddOp(&s, "RandomNormal", {}, {}, "");  // 0
  AddOp(&s, "HASHTABLE_FIND", {}, {});    // 1
  AddOp(&s, "HASHTABLE_SIZE", {}, {});    // 2
  AddOp(&s, "Bernoulli", {}, {}, "");     // 3
  AddOp(&s, "HASHTABLE_IMPORT", {}, {});  // 4
  Assign(&s, AddHandle(&s, "a"));         // 5, 6
  EXPECT_THAT(EdgesOf({s}), ElementsAre(P(0, 3), P(1, 4), P(2, 4)));
}

TEST(StateTrace, OrdersUsersOfAVariableTensor) {
  using P = std::pair<int, int>;
  Subgraph s;
  const TensorId a = AddTensor(&s);
  const TensorId b = AddTensor(&s);
  s.tensors[a].variable = s.tensors[b].variable = true;
  AddOp(&s, "SVDF", {a});  // 0
  AddOp(&s, "ADD", {a});   // 1
  AddOp(&s, "MUL", {a});   // 2
  AddOp(&s, "SVDF", {b});  // 3
  AddOp(&s, "LSTM", {a});  // 4
  EXPECT_THAT(EdgesOf({s}), ElementsAre(P(0, 1), P(0, 2), P(1, 4), P(2, 4)));
}

// Random numbers inside a body of ONNX, whose reader marks only the operator itself.
TEST(StateTrace, LooksIntoBodiesOfOnnx) {
  Subgraph body;
  AddOp(&body, "RandomNormal", {}, {}, "");
  Subgraph s;
  AddOp(&s, "RandomNormal", {}, {}, "");
  const OpId loop = AddOp(&s, "Loop", {}, {}, "");
  s.ops[loop].bodies = {SubgraphId(1)};
  s.ops[loop].stateful = false;
  EXPECT_THAT(EdgesOf({s, body}), ElementsAre(std::pair(0, 1)));
}

// .onnx lists operators in any order: the second draws its numbers first.
TEST(StateTrace, RepairsTheOrderOfTheFile) {
  Subgraph s;
  const TensorId between = AddTensor(&s);
  AddOp(&s, "RandomNormalLike", {between}, {}, "");
  AddOp(&s, "RandomNormal", {}, {between}, "");
  EXPECT_THAT(EdgesOf({s}), ElementsAre(std::pair(1, 0)));
}

TEST(StateTrace, SaysWhatAnOperatorTouches) {
  Subgraph s;
  const TensorId handle = AddHandle(&s, "a");
  Assign(&s, handle);
  AddOp(&s, "MULTINOMIAL", {});
  s.ops[OpId(2)].folded = true;
  Graph graph;
  graph.subgraphs.push_back(s);
  const StateTrace trace(graph);
  ASSERT_EQ(trace.UsesOf(kMain, OpId(0))->size(), 1U);
  EXPECT_EQ(trace.UsesOf(kMain, OpId(0))->front().access, StateAccess::kHandle);
  EXPECT_EQ(trace.UsesOf(kMain, OpId(1))->front().access, StateAccess::kWrite);
  EXPECT_TRUE(trace.UsesOf(kMain, OpId(2))->empty());
}

}  // namespace
}  // namespace neap::ops
