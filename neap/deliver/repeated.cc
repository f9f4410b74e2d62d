// SPDX-License-Identifier: Apache-2.0
//
// A step of Deliver(): plans in which operators run again, of the model as given and of the
// rewritten one.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "neap/compile/repetition.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/found.h"
#include "neap/transform/duplicate/duplicate.h"

namespace neap::deliver {
namespace {

// Sequences that are planned. Of equal peaks in the model of the search one may have the lower
// arena, and the order of the duplicated operators is searched again.
constexpr std::size_t kMaxPlanned = 4;

void NoteNotRepeated(const Job& job, const std::string& why, Found* found) {
  if (job.base != nullptr) return;
  const std::string note = "no operators run again: " + why;
  if (std::find(found->notes.begin(), found->notes.end(), note) == found->notes.end()) {
    found->notes.push_back(note);
  }
}

// Indices of the points to plan, in this order. Within a budget the cheapest ones that may be
// within it come first, otherwise those of the smallest peaks.
std::vector<std::size_t> PointsToPlan(const Job& job, const compile::Repetitions& found) {
  std::vector<std::size_t> points;
  const std::size_t count = found.points.size();
  if (job.request.budgets.Any()) {
    for (std::size_t at = 1; at < count && points.size() + 1 < kMaxPlanned; ++at) {
      if (!Exceeds(job.request.budgets, found.points[at].peak_bytes)) points.push_back(at);
    }
    if (count > 1 && (points.empty() || points.back() != count - 1)) points.push_back(count - 1);
    return points;
  }
  for (std::size_t at = count; at-- > 1 && points.size() < kMaxPlanned;) points.push_back(at);
  return points;
}

// Of the job's base.
Status PlanBaseRepeated(const Job& job, Found* found) {
  const formats::SourceModel& base = job.Planned();
  const auto repeatable = duplicate::Repeatable(base.graph);
  auto repetitions = [&] {
    const WorkScope work(1, 2);
    return compile::FindRepetitions(base.graph, job.options, repeatable,
                                    job.request.max_cost_permille);
  }();
  // What the model as given lacks is reported of that.
  if (!repetitions) return {};
  const std::vector<std::size_t> points = PointsToPlan(job, *repetitions);
  if (points.empty()) {
    NoteNotRepeated(job, "no sequence that was found at this cost has a smaller peak", found);
  }
  std::vector<std::vector<graph::OpId>> sequences;
  sequences.reserve(points.size());
  for (const std::size_t at : points) {
    sequences.push_back(std::move(repetitions->points[at].sequence));
  }
  for (compile::Repetition& point : repetitions->points) point.sequence.clear();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (IsInterrupted(job, found)) return {};
    const auto model = RepeatedModel(base, sequences[i], job.request.load);
    if (!model) {
      NoteNotRepeated(job, model.error().message, found);
      continue;
    }
    const WorkScope work(1, static_cast<std::int64_t>(sequences.size() - i));
    Delivery candidate;
    candidate.kind = Kind::kRepeated;
    candidate.options = job.options;
    auto compiled = compile::Compile(model->graph, candidate.options);
    if (!compiled) {
      // The memories may hold another plan.
      if (compiled.error().code == ErrorCode::kOverBudget) continue;
      return Fail(std::move(compiled).error());
    }
    candidate.compiled = std::move(*compiled);
    candidate.compiled.plan.repeated_order = std::move(sequences[i]);
    candidate.edited = *model;
    candidate.repetitions = *repetitions;
    Offer(job, std::move(candidate), found);
    if (job.request.budgets.Any() && !Misses(*found)) break;
  }
  if (job.base == nullptr) found->repetitions = std::move(*repetitions);
  return {};
}

}  // namespace

Status PlanRepeated(const Job& job, Found* found) {
  if (IsInterrupted(job, found) || !HasOperators(job.source.graph)) return {};
  if (job.request.budgets.Any() && !Misses(*found)) {
    NoteNotRepeated(job, "a plan without repetitions is within the budget", found);
    return {};
  }
  const WorkScope work = ShareOfWork(*found);
  Job own = job;
  own.options.limits = TakeShareOfTime(job, found);
  const bool both = CanBeTiledRewritten(job, *found);
  {
    const WorkScope share(1, both ? 2 : 1);
    NEAP_CHECK_OK(PlanBaseRepeated(own, found));
  }
  if (!both || IsInterrupted(job, found)) return {};
  if (job.request.budgets.Any() && !Misses(*found)) return {};
  own.base = &*found->rewritten;
  return PlanBaseRepeated(own, found);
}

}  // namespace neap::deliver
