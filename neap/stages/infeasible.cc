// SPDX-License-Identifier: Apache-2.0
#include "neap/stages/infeasible.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/index.h"

namespace neap::stages {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using partition::OpIndex;

// Live bytes while an operator runs, as the profile `ideal` counts; unknown sizes count nothing.
std::int64_t OwnBytes(const Subgraph& main, const graph::Op& op, const Accelerator& accelerator) {
  std::set<TensorId> tensors;
  for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
    for (const TensorId id : *list) {
      if (id.valid()) tensors.insert(id);
    }
  }
  std::int64_t bytes = op.scratch_bytes;
  for (const TensorId id : tensors) {
    const graph::Tensor& tensor = main.tensors[id];
    if (tensor.constant || tensor.variable) continue;
    const auto size = BytesOn(accelerator, tensor);
    if (size) bytes = std::min(CheckedAdd(bytes, *size).value_or(kMaxBytes), kMaxBytes);
  }
  return bytes;
}

// Of every group of operators that must be in one stage.
struct Groups {
  explicit Groups(const partition::Problem& problem) : classes(partition::ClassesOf(problem)) {
    const partition::Problem merged = partition::Merged(problem, classes.class_of, classes.count);
    parameter_bytes = merged.parameter_bytes;
    for (const partition::SharedParameters& shared : merged.shared) {
      for (const OpIndex user : shared.users) parameter_bytes[At(user)] += shared.bytes;
    }
    operators.assign(parameter_bytes.size(), 0);
    for (const OpIndex group : classes.class_of) ++operators[At(group)];
  }

  partition::Classes classes;
  std::vector<std::int64_t> parameter_bytes;
  std::vector<std::int64_t> operators;
};

}  // namespace

const char* NameOf(Infeasible::Limit limit) {
  switch (limit) {
    case Infeasible::Limit::kParameters:
      return "parameters";
    case Infeasible::Limit::kActivations:
      return "activations";
    case Infeasible::Limit::kBoth:
      return "parameters and activations";
  }
  return "";
}

std::optional<Infeasible> FindTooLarge(const graph::Graph& graph, const Lowered& lowered,
                                       const Accelerator& accelerator,
                                       std::int64_t activation_limit_bytes) {
  const Subgraph& main = graph.subgraphs[SubgraphId(0)];
  const std::int64_t parameter_limit = lowered.problem.machine.parameter_limit_bytes;
  std::optional<Groups> groups;
  if (parameter_limit >= 0) groups.emplace(lowered.problem);
  for (std::size_t i = 0; i < lowered.ops.size(); ++i) {
    const OpId op = lowered.ops[i];
    if (groups) {
      const std::size_t group = At(groups->classes.class_of[i]);
      const std::int64_t needed = groups->parameter_bytes[group];
      if (needed > parameter_limit) {
        return Infeasible{Infeasible::Limit::kParameters, op, groups->operators[group], needed,
                          parameter_limit};
      }
    }
    if (activation_limit_bytes < 0) continue;
    const std::int64_t needed = OwnBytes(main, main.ops[op], accelerator);
    if (needed > activation_limit_bytes) {
      return Infeasible{Infeasible::Limit::kActivations, op, 1, needed, activation_limit_bytes};
    }
  }
  return std::nullopt;
}

Diagnostic DiagnosticOf(const graph::Graph& graph, const Infeasible& infeasible) {
  const bool both = infeasible.limit == Infeasible::Limit::kBoth;
  std::string text = std::string("no assignment is within the limit") + (both ? "s" : "") + " of " +
                     NameOf(infeasible.limit);
  if (!infeasible.op.valid()) {
    return OverBudget(text + ": all were excluded, and the certificate was checked");
  }
  const std::string others = std::to_string(infeasible.operators - 1);
  text += infeasible.operators == 1
              ? ": the operator alone needs "
              : ": the operator and " + others + " that must be in its stage need ";
  text += FormatBytes(infeasible.needed_bytes) + ", " + FormatBytes(infeasible.limit_bytes) +
          " are allowed";
  Diagnostic diagnostic = OverBudget(std::move(text));
  diagnostic.op = graph::Describe(infeasible.op, graph.subgraphs[SubgraphId(0)].ops[infeasible.op]);
  return diagnostic;
}

}  // namespace neap::stages
