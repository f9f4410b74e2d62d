// SPDX-License-Identifier: Apache-2.0
//
// Runs a model without a plan: every tensor has memory of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/value.h"
#include "neap/graph/graph.h"

namespace neap::execute {

struct EvaluateOptions {
  Kernels kernels = Kernels::kLitert;
  // Limit of the bytes of all tensors at a time, and of the bytes computed from constants. One
  // tensor may have an eighth of it.
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;
  TensorObserver observer;  // may be empty
};

// The outputs of `subgraph`, in its order, from its inputs, in its order. `graph` has passed
// graph::Verify(). Operators run in topological order, earlier ones of the file first. Fails with
// the name of the operator before anything runs when one has no kernel or types that its kernel
// does not support; when types, shapes or bytes of the inputs are not those of the graph; and when
// the data is invalid for an operator (an index out of range). Thread-safe.
Result<std::vector<Value>> Evaluate(const graph::Graph& graph, graph::SubgraphId subgraph,
                                    std::span<const Value> inputs, const EvaluateOptions& options);

}  // namespace neap::execute
