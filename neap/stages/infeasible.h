// SPDX-License-Identifier: Apache-2.0
//
// Why no assignment can keep a limit: a proof, not a search that found nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/base/diagnostic.h"
#include "neap/graph/graph.h"
#include "neap/stages/lower.h"

namespace neap::stages {

struct Infeasible {
  enum class Limit : std::uint8_t { kParameters, kActivations, kBoth };
  Limit limit = Limit::kBoth;
  // The operator that exceeds the limit in every stage; not valid where all assignments
  // were ruled out by an exhausted search whose certificate was checked.
  graph::OpId op;
  // With the operators that have to be in its stage, whose parameters count as well.
  std::int64_t operators = 1;
  std::int64_t needed_bytes = 0;  // where there is such an operator
  std::int64_t limit_bytes = 0;   // likewise
};

// "parameters", "activations", "parameters and activations".
const char* NameOf(Infeasible::Limit limit);

// The first operator, in the order of the file, that needs more than a limit (-1: none) allows for
// a stage: the parameters of its group; or its own activations: inputs, outputs and scratch, each
// once, all of which are live while it runs. O(size).
std::optional<Infeasible> FindTooLarge(const graph::Graph& graph, const Lowered& lowered,
                                       const Accelerator& accelerator,
                                       std::int64_t activation_limit_bytes);

// The same for people: kOverBudget.
Diagnostic DiagnosticOf(const graph::Graph& graph, const Infeasible& infeasible);

}  // namespace neap::stages
