// SPDX-License-Identifier: Apache-2.0
#include "tools/emitting.h"

#include <optional>
#include <utility>

#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/execute/inline_calls.h"
#include "tools/delivering.h"

namespace neap::tools {

void SetEmitDefaults(deliver::Words* words) {
  if (!words->Has("runtime")) words->runtime = "neap";
  const bool streams = words->runtime == "neap" && words->stream.empty() &&
                       words->cascade != "auto" && !words->keep_inputs && words->memories.empty() &&
                       words->moves == "none" && !words->Has("order-only");
  if (streams) words->stream = "auto";
  if (words->max_macs_permille == 0 && words->stream == "auto" && !words->Has("max-macs")) {
    words->max_macs_permille = 1000;
  }
}

Result<PlannedForC> PlanForC(formats::SourceModel source, const deliver::Words& words,
                             const formats::LoadOptions& load, bool shows_progress) {
  std::optional<WorkScope> work;
  if (deliver::HasDefaultWork(words)) work.emplace(deliver::kDefaultWork);
  NEAP_TRY(deliver::Request request, deliver::RequestOf(words, source, load));
  request.sums_in_place = false;  // accumulators have no kernels in neap_rt
  NEAP_TRY(deliver::Delivery delivery, DeliverWithProgress(source, shows_progress, &request));
  PlannedForC planned;
  planned.plan = std::move(delivery.compiled.plan);
  planned.source = delivery.Planned(source);
  return planned;
}

Status FinishForC(PlannedForC* planned) {
  const auto violations = check::CheckPlan(planned->source.graph, planned->plan);
  if (!violations.empty()) {
    return Fail(BadInput("the plan is not valid: " + violations.front()));
  }
  const graph::SubgraphId main(0);
  if (!execute::HasKnownCalls(planned->source.graph, main)) return {};
  for (plan::EntryPlan& entry : planned->plan.entries) {
    if (entry.subgraph != main || entry.stream) continue;
    NEAP_TRY(entry, execute::InlineCalls(planned->source.graph, entry));
  }
  planned->source.graph = execute::InlineCalls(planned->source.graph, main);
  return {};
}

}  // namespace neap::tools
