// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/found.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "neap/base/check.h"
#include "neap/check/check.h"

namespace neap::deliver {
namespace {

#ifdef NEAP_VERIFY_STEPS
constexpr bool kVerifySteps = true;
#else
constexpr bool kVerifySteps = false;
#endif

void Verify(const graph::Graph& graph, const compile::Compiled& compiled) {
  const Status verified = graph::Verify(graph);
  NEAP_CHECK(verified, "a step breaks the graph: " + verified.error().message);
  const std::vector<std::string> violations = check::CheckPlan(graph, compiled.plan);
  NEAP_CHECK(violations.empty(), "a step breaks the plan: " + violations.front());
}

// With the cost of computing pixels more than once.
Tried TriedOf(const Delivery& candidate, const Measure& measure, const Found& found) {
  Tried tried{candidate.kind, measure};
  if (candidate.kind == Kind::kTiles && found.tiles) {
    tried.macs = found.tiles->front[found.tiles->chosen].macs;
    tried.whole_macs = found.tiles->macs;
  }
  const auto& stream = plan::LargestEntry(candidate.compiled.plan).stream;
  if (candidate.kind == Kind::kStreamed && stream) {
    tried.macs = stream->macs;
    tried.whole_macs = stream->layerwise_macs;
  }
  return tried;
}

}  // namespace

Job JobOf(const formats::SourceModel& source, const Request& request) {
  Job job{source, request, request.compile, request.streams, request.tiles};
  job.options.budget_bytes = request.budgets.arena_bytes.value_or(0);
  if (!request.budgets.Any()) {
    if (job.streams == Use::kIfNeeded) job.streams = Use::kNever;
    if (job.tiles == Use::kIfNeeded) job.tiles = Use::kNever;
  }
  return job;
}

StepTimer::~StepTimer() {
  AddSeconds(name_, std::chrono::duration<double>(LimitNow() - start_).count(), &found_->steps);
}

WorkScope ShareOfWork(const Found& found) {
  return found.kinds_left > 1 ? WorkScope(2, 3) : WorkScope(1, 1);
}

Limits TakeShareOfTime(const Job& job, Found* found) {
  Limits limits = job.options.limits;
  if (found->kinds_left > 1) limits = WithShareOfTime(limits, 1, found->kinds_left);
  found->kinds_left = std::max(found->kinds_left - 1, 1);
  return limits;
}

bool Misses(const Found& found) {
  return !(found.best && found.best_measure.fits) && !found.error_is_final;
}

bool IsInterrupted(const Job& job, Found* found) {
  if (!found->best || !job.options.limits.Interrupted()) return false;
  found->interrupted = true;
  return true;
}

void Offer(const Job& job, Delivery candidate, Found* found) {
  found->interrupted = found->interrupted || candidate.compiled.interrupted;
  const graph::Graph& graph = candidate.edited ? candidate.edited->graph : job.source.graph;
  if (kVerifySteps) Verify(graph, candidate.compiled);
  const Measure measure =
      MeasureOf(graph, candidate.compiled, job.options.place, job.request.budgets);
  const auto known = std::find_if(found->tried.begin(), found->tried.end(),
                                  [&](const Tried& tried) { return tried.kind == candidate.kind; });
  if (known == found->tried.end()) {
    found->tried.push_back(TriedOf(candidate, measure, *found));
  } else if (IsBetter(measure, known->measure)) {
    *known = TriedOf(candidate, measure, *found);
  }
  const bool better =
      !found->best || IsBetter(measure, found->best_measure) ||
      (!IsBetter(found->best_measure, measure) && candidate.kind < found->best->kind);
  if (!better) return;
  found->best = std::move(candidate);
  found->best_measure = measure;
}

Status NotePlanError(Diagnostic error, Found* found) {
  found->error = std::move(error);
  // Without sizes no kind is planned; the memories may hold another kind.
  found->error_is_final = found->error->code != ErrorCode::kOverBudget;
  if (!found->best && found->error_is_final) return Fail(*found->error);
  return {};
}

}  // namespace neap::deliver
