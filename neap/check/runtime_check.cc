// SPDX-License-Identifier: Apache-2.0
#include "neap/check/runtime_check.h"

#include <set>
#include <utility>

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;

// The result is the same for all operators of one type on one element type.
using RefusedKind = std::pair<std::string, graph::ElementType>;
RefusedKind RefusedKindOf(const Subgraph& subgraph, const Op& op) {
  const graph::Tensor* const data = graph::Operand(subgraph, op.inputs, 0);
  return {op.type, data == nullptr ? graph::ElementType::kUnknown : data->type};
}

}  // namespace

ops::StockRuntime StockRuntimeOf(plan::Runtime runtime) {
  switch (runtime) {
    case plan::Runtime::kTflm:
      return ops::StockRuntime::kTflm;
    case plan::Runtime::kLitert:
      return ops::StockRuntime::kLitert;
    case plan::Runtime::kOnnxRuntime:
      return ops::StockRuntime::kOnnxRuntime;
    default:
      return ops::StockRuntime::kNone;
  }
}

std::optional<Refusal> FindRefusal(const graph::Graph& graph, plan::Runtime runtime) {
  const ops::StockRuntime stock = StockRuntimeOf(runtime);
  for (const SubgraphId s : graph.subgraphs.Ids()) {
    const Subgraph& subgraph = graph.subgraphs[s];
    for (const OpId id : subgraph.ops.Ids()) {
      std::string why;
      if (ops::KernelSupport(subgraph, subgraph.ops[id], stock, &why) == ops::Support::kRefuses) {
        return Refusal{s, id, std::move(why)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> FindNewRefusal(const graph::Graph& given, const graph::Graph& edited,
                                      plan::Runtime runtime) {
  const ops::StockRuntime stock = StockRuntimeOf(runtime);
  std::set<RefusedKind> refused;
  for (const Subgraph& subgraph : given.subgraphs) {
    for (const Op& op : subgraph.ops) {
      if (ops::KernelSupport(subgraph, op, stock) == ops::Support::kRefuses ||
          !ops::WrongOnnxForm(subgraph, op).empty()) {
        refused.insert(RefusedKindOf(subgraph, op));
      }
    }
  }
  for (const SubgraphId s : edited.subgraphs.Ids()) {
    const Subgraph& subgraph = edited.subgraphs[s];
    for (const OpId id : subgraph.ops.Ids()) {
      const Op& op = subgraph.ops[id];
      if (refused.contains(RefusedKindOf(subgraph, op))) continue;
      std::string why;
      if (ops::KernelSupport(subgraph, op, stock, &why) == ops::Support::kRefuses) {
        return Refusal{s, id, std::move(why)};
      }
      if (op.version == 0) continue;  // not from a file
      why = ops::WrongOnnxForm(subgraph, op);
      if (!why.empty()) return Refusal{s, id, std::move(why)};
    }
  }
  return std::nullopt;
}

Status RequireKernels(const graph::Graph& given, const graph::Graph& edited,
                      plan::Runtime runtime) {
  const auto refusal = FindNewRefusal(given, edited, runtime);
  if (!refusal) return {};
  Diagnostic error =
      BadInput("is required by the edit of the model, but " + std::string(ProfileOf(runtime).name) +
               " does not execute it: " + refusal->why);
  const Op& op = edited.subgraphs[refusal->subgraph].ops[refusal->op];
  return Fail(graph::AtOp(std::move(error), refusal->op, op));
}

}  // namespace neap::check
