// SPDX-License-Identifier: Apache-2.0
//
// From choices to a graph. Private to neap/rewrite.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/draft.h"
#include "neap/transform/rewrite/rule.h"

namespace neap::rewrite {

// The choice for one operator; a rule that does not match when it is applied leaves the operator
// unchanged.
struct Choice {
  const Rule* rule = nullptr;
  Parameters parameters;
  bool relaxed = false;  // neither decided for nor against: a bound (Rule::relax)
};
using Choices = std::map<graph::OpId, Choice>;

struct Composed {
  graph::Graph graph;
  std::vector<graph::OpId> applied;
  std::map<graph::OpId, plan::Exactness> exactness;       // of those, by their rules
  std::map<graph::OpId, std::vector<Draft::Term>> terms;  // Draft::NoteTerms()
  // A limit of the runtime binds (Draft::NoteLimit()). The graph of relaxed choices has none: it
  // bounds nothing then, since what is flattened need not be there whole as well.
  bool limited = false;
  std::optional<graph::OpId> refused;  // its parameters were none; there is no graph then
};

// `order`: RunnableOrder() of the main subgraph. O(graph + bytes cut).
Composed Compose(const Facts& facts, const std::vector<graph::OpId>& order, const Choices& choices,
                 const Settings& settings, Purpose purpose);

// Drops applications without effect: those of a concatenation that `result` contains as `given`
// did, and whose consumers read it whole. `order`: as Compose() had it. O(graph).
void DropIdle(const graph::Graph& given, const std::vector<graph::OpId>& order,
              const graph::Graph& result, Choices* choices);

std::vector<graph::OpId> RunnableOrder(const graph::Subgraph& subgraph);

}  // namespace neap::rewrite
