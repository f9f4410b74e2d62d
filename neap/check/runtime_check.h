// SPDX-License-Identifier: Apache-2.0
//
// Whether the stock runtime of a profile has kernels for every operator of a graph, by the table of
// neap/ops/stock_kernels.h.
#pragma once

#include <optional>
#include <string>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/ops/stock_kernels.h"
#include "neap/plan/profile.h"

namespace neap::check {

// The stock runtime that runs models planned under a profile; kNone: Neap's executor, or any.
ops::StockRuntime StockRuntimeOf(plan::Runtime runtime);

// An operator that the runtime refuses. Unknown operators are not refused.
struct Refusal {
  graph::SubgraphId subgraph;
  graph::OpId op;
  std::string why;  // "there is no kernel for uint8"
};
// The first one, in the order of subgraphs and operators.
std::optional<Refusal> FindRefusal(const graph::Graph& graph, plan::Runtime runtime);

// Of operators that an edit of `given` added or changed, the first that the runtime refuses
// although it refuses no operator of that type in `given`, or that is in no form of its .onnx
// version. An edit may not make a model that a runtime ran into one that it does not.
std::optional<Refusal> FindNewRefusal(const graph::Graph& given, const graph::Graph& edited,
                                      plan::Runtime runtime);

// Fails with kBadInput, naming the operator, where FindNewRefusal() finds one.
Status RequireKernels(const graph::Graph& given, const graph::Graph& edited, plan::Runtime runtime);

}  // namespace neap::check
