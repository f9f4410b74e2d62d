// SPDX-License-Identifier: Apache-2.0
//
// plan.json: refused, or the same after writing and reading again; and the checker has a word on
// any plan, with any ids, for a graph that it was not made for.
#include <string_view>

#include "neap/check/check.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan_json.h"
#include "tests/fuzz/require.h"

namespace {

using neap::graph::TensorId;

// in -> a -> b -> out, 16 bytes each.
neap::graph::Graph Chain() {
  neap::graph::Graph graph;
  neap::graph::Subgraph chain;
  for (const char* name : {"in", "a", "b", "out"}) {
    neap::graph::Tensor tensor;
    tensor.name = name;
    tensor.type = neap::graph::ElementType::kUint8;
    tensor.shape = neap::graph::Shape{16};
    chain.tensors.push_back(tensor);
  }
  for (std::int32_t i = 0; i < 3; ++i) {
    neap::graph::Op op;
    op.type = "Relu";
    op.inputs = {TensorId(i)};
    op.outputs = {TensorId(i + 1)};
    op.source_index = i;
    chain.ops.push_back(op);
  }
  chain.inputs = {TensorId(0)};
  chain.outputs = {TensorId(3)};
  graph.subgraphs.push_back(chain);
  return graph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = neap::plan::FromJson(text);
  if (!plan) return 0;
  static const neap::graph::Graph kGraph = Chain();
  neap::fuzz::Require(neap::check::CheckPlan(kGraph, *plan).size() <= 20, "at most 20 lines");
  const std::string written = neap::plan::ToJson(*plan);
  const auto again = neap::plan::FromJson(written);
  neap::fuzz::Require(again.has_value(), "what was written can be read");
  neap::fuzz::Require(neap::plan::ToJson(*again) == written, "reading and writing lose nothing");
  return 0;
}
