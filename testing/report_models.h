// SPDX-License-Identifier: Apache-2.0
//
// Small values for the tests of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::report::testing {

inline graph::Tensor Bytes(std::string name, std::int64_t bytes) {
  graph::Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = graph::ElementType::kUint8;
  tensor.shape = graph::Shape{bytes};
  return tensor;
}

inline graph::Op MakeOp(std::string type, std::vector<std::int32_t> inputs,
                        std::vector<std::int32_t> outputs) {
  graph::Op op;
  op.type = std::move(type);
  for (const std::int32_t id : inputs) op.inputs.emplace_back(id);
  for (const std::int32_t id : outputs) op.outputs.emplace_back(id);
  return op;
}

// x -> CONV_2D -> y -> RELU -> z, and a weight w of CONV_2D.
inline graph::Graph TwoOperators() {
  graph::Subgraph main;
  main.name = "main";
  main.tensors = {Bytes("x", 150528), Bytes("y", 150528), Bytes("z", 1000), Bytes("w", 64)};
  main.tensors[graph::TensorId(3)].constant = true;
  main.ops = {MakeOp("CONV_2D", {0, 3}, {1}), MakeOp("RELU", {1}, {2})};
  main.inputs = {graph::TensorId(0)};
  main.outputs = {graph::TensorId(2)};
  graph::Graph graph;
  graph.subgraphs.push_back(std::move(main));
  return graph;
}

inline compile::PeakCause PeakOfTwoOperators() {
  const graph::SubgraphId main(0);
  return {main,
          graph::OpId(0),
          {{main, graph::TensorId(0), 150528}, {main, graph::TensorId(1), 150528}},
          0};
}

// A plan of TwoOperators() whose order and arena are optimal.
inline compile::Compiled PlanOfTwoOperators() {
  compile::Compiled out;
  out.plan.neap_version = "0.1.0";
  out.plan.model = "model.tflite";
  out.plan.model_sha256 = "abcd";
  out.plan.order_strategy = "exact";
  plan::EntryPlan entry;
  entry.subgraph = graph::SubgraphId(0);
  entry.steps = {{graph::SubgraphId(0), graph::OpId(0)}, {graph::SubgraphId(0), graph::OpId(1)}};
  entry.peak_bytes = entry.peak_lower_bound_bytes = 301056;
  entry.arena_bytes = entry.arena_lower_bound_bytes = 301056;
  entry.arena_given_order_lower_bound_bytes = 301056;
  entry.order_status = entry.arena_status = plan::BoundStatus::kOptimal;
  entry.states = 1234;
  out.plan.entries.push_back(std::move(entry));
  out.file_order = {340000, 351232};
  out.peak_at = PeakOfTwoOperators();
  out.steps = {{"order", 0.25}, {"place", 0.125}};
  return out;
}

}  // namespace neap::report::testing
