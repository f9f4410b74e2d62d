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

// The base's edits.
void AddEdits(const Job& job, Delivery* candidate) {
  if (job.base == nullptr) return;
  candidate->kind = IsStreamed(candidate->kind)       ? Kind::kRewrittenStreamed
                    : HasTiles(candidate->kind)       ? Kind::kRewrittenTiles
                    : HasRepetitions(candidate->kind) ? Kind::kRewrittenRepeated
                                                      : Kind::kRewritten;
  plan::Plan& plan = candidate->compiled.plan;
  plan.rewrites = job.base->applications;
  plan.accumulator_bytes = job.base->accumulator_bytes;
  plan.rewritten_sha256 = job.base->rewritten_sha256;
  if (!candidate->edited) candidate->edited = job.base->model;
  Rewritten record = *job.base;
  record.model = {};
  candidate->rewriting = std::move(record);
}

// Under TFLM: "" when the application registers all operators that the plan adds, else one that it
// does not.
bool IsRegistered(const Request& request, const Price& price) {
  if (!request.registered || request.compile.runtime != plan::Runtime::kTflm) return true;
  return std::all_of(price.new_types.begin(), price.new_types.end(),
                     [&](const std::string& type) { return request.registered->contains(type); });
}

}  // namespace

Job JobOf(const formats::SourceModel& source, const Request& request) {
  Job job{source, request, request.compile, {}, nullptr, request.streaming.use, request.tiling.use};
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
  candidate.extras = job.extras;
  AddEdits(job, &candidate);
  const formats::SourceModel& planned = candidate.edited ? *candidate.edited : job.source;
  if (kVerifySteps) Verify(planned.graph, candidate.compiled);
  Tried tried{candidate.kind, candidate.extras,
              MeasureOf(planned.graph, candidate.compiled, job.options.place, job.request.budgets),
              PriceOf(job.source, planned, candidate.compiled),
              plan::LargestEntry(candidate.compiled.plan).peak_lower_bound_bytes};
  if (!IsRegistered(job.request, tried.price)) return;
  tried.measure.extra_macs = tried.price.macs - tried.price.model_macs;
  tried.measure.keeps_budget = job.request.budgets.Any() && tried.measure.fits;
  const Measure measure = tried.measure;
  const auto known =
      std::find_if(found->tried.begin(), found->tried.end(), [&](const Tried& other) {
        return other.kind == candidate.kind && other.extras == candidate.extras;
      });
  if (known == found->tried.end()) {
    found->tried.push_back(std::move(tried));
  } else if (IsBetter(measure, known->measure)) {
    *known = std::move(tried);
  }
  const bool better =
      !found->best || IsBetter(measure, found->best_measure) ||
      (!IsBetter(found->best_measure, measure) && candidate.kind < found->best->kind);
  if (!better) return;
  found->best = std::move(candidate);
  found->best_measure = measure;
}

bool Exceeds(const Budgets& budgets, std::int64_t bytes) {
  const auto exceeds = [&](const std::optional<std::int64_t>& budget) {
    return budget && bytes > *budget;
  };
  return exceeds(budgets.arena_bytes) || exceeds(budgets.total_bytes) ||
         exceeds(budgets.memory_bytes);
}

std::int64_t LargestTensor(const graph::Graph& graph) {
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  std::int64_t largest = 0;
  const auto count = [&](const std::vector<graph::TensorId>& tensors) {
    for (const graph::TensorId id : tensors) {
      if (!id.valid() || main.tensors[id].constant || main.tensors[id].variable) continue;
      largest = std::max(largest, graph::TensorBytes(main.tensors[id]).value_or(0));
    }
  };
  for (const graph::Op& op : main.ops) {
    if (op.folded) continue;
    count(op.inputs);
    count(op.outputs);
  }
  return largest;
}

Status NotePlanError(Diagnostic error, Found* found) {
  found->error = std::move(error);
  // Without sizes no kind is planned; the memories may hold another kind.
  found->error_is_final = found->error->code != ErrorCode::kOverBudget;
  if (!found->best && found->error_is_final) return Fail(*found->error);
  return {};
}

}  // namespace neap::deliver
