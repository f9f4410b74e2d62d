// SPDX-License-Identifier: Apache-2.0
//
// All applications of rules to a graph, for the tests of this module.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/check.h"
#include "neap/transform/rewrite/compose.h"
#include "neap/transform/rewrite/rewrite.h"
#include "neap/transform/rewrite/rule.h"

namespace neap::rewrite {

// Every rule wherever it fits, as the search has it when everything is on; `pick` may leave out.
template <typename Pick>
std::vector<plan::Rewrite> AllApplications(const graph::Graph& graph, const Settings& settings,
                                           const Pick& pick) {
  std::vector<plan::Rewrite> applications;
  const Facts facts(graph);
  Draft draft(facts, settings, Purpose::kGraph);
  for (const graph::OpId id : RunnableOrder(graph.subgraphs[graph::SubgraphId(0)])) {
    const Rule* fits = nullptr;
    std::optional<plan::Exactness> exactness;
    for (const Rule& rule : AllRules()) {
      exactness = draft.IsPlain(id) ? rule.match(draft, id) : std::nullopt;
      if (!exactness || !pick(rule, *exactness)) continue;
      fits = &rule;
      break;
    }
    if (fits == nullptr) {
      draft.Keep(id);
      continue;
    }
    plan::Rewrite rewrite;
    rewrite.rule = std::string(fits->info.name);
    rewrite.op = id;
    if (fits->variants != nullptr) rewrite.parameters = fits->variants(draft, id).back();
    rewrite.exactness = *exactness;
    NEAP_CHECK(fits->apply(&draft, id, rewrite.parameters), "a rule refuses its own parameters");
    applications.push_back(std::move(rewrite));
  }
  return applications;
}

}  // namespace neap::rewrite
