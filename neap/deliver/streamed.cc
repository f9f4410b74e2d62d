// SPDX-License-Identifier: Apache-2.0
//
// Steps of Deliver(): plans of the model as given and of the rewritten one with parts streamed.
#include <utility>

#include "neap/deliver/found.h"
#include "neap/transform/stream/entries.h"

namespace neap::deliver {

Status PlanStreamed(const Job& job, Found* found) {
  if (IsInterrupted(job, found)) return {};
  Delivery candidate;
  candidate.options = job.options;
  const WorkScope work = ShareOfWork(*found);
  candidate.options.limits = TakeShareOfTime(job, found);
  const graph::Graph& graph = job.source.graph;
  const stream::Settings& settings = job.request.streaming.settings;
  auto compiled = found->layers ? stream::StreamEntries(graph, *std::move(found->layers),
                                                        candidate.options, settings)
                                : stream::CompileStreamed(graph, candidate.options, settings);
  found->layers.reset();
  if (!compiled) return NotePlanError(std::move(compiled).error(), found);
  found->file_order = compiled->file_order;
  // Inputs outside the arena are another matter: the plan of a resident one may be smaller.
  found->as_given_tried = job.request.streaming.settings.input == plan::StreamInput::kResident;
  const bool streamed = plan::LargestEntry(compiled->plan).stream.has_value();
  candidate.kind = streamed ? Kind::kStreamed : Kind::kAsGiven;
  candidate.compiled = std::move(*compiled);
  Offer(job, std::move(candidate), found);
  return {};
}

Status PlanRewrittenStreamed(const Job& job, Found* found) {
  if (IsInterrupted(job, found)) return {};
  Job rewritten = job;
  rewritten.base = &*found->rewritten;
  Delivery candidate;
  candidate.options = job.options;
  const WorkScope work = ShareOfWork(*found);
  candidate.options.limits = TakeShareOfTime(job, found);
  auto compiled = stream::CompileStreamed(rewritten.Planned().graph, candidate.options,
                                          job.request.streaming.settings);
  // Without a stream it is the plan that the step "rewrite" has made.
  if (!compiled || !plan::LargestEntry(compiled->plan).stream) return {};
  candidate.kind = Kind::kStreamed;
  candidate.compiled = std::move(*compiled);
  Offer(rewritten, std::move(candidate), found);
  return {};
}

}  // namespace neap::deliver
