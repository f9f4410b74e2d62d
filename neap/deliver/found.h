// SPDX-License-Identifier: Apache-2.0
//
// State that the steps of Deliver() share: the job, which does not change, and their results so
// far.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/work.h"
#include "neap/deliver/deliver.h"

namespace neap::deliver {

struct Job {
  const formats::SourceModel& source;  // with the interface of the request
  const Request& request;
  compile::Options options;  // of every plan; each kind has a share of its limits
  Extras extras;             // which `options` have, beside those of the request
  // Planned in place of `source`, and its edits: the rewritten model; nullptr: `source` itself.
  const Rewritten* base = nullptr;
  // As requested, but never kIfNeeded without a budget.
  Use streams = Use::kNever;
  Use tiles = Use::kNever;

  const formats::SourceModel& Planned() const { return base == nullptr ? source : base->model; }
};
Job JobOf(const formats::SourceModel& source, const Request& request);

struct Found {
  std::optional<Delivery> best;
  Measure best_measure;
  std::vector<Tried> tried;
  bool as_given_tried = false;
  std::optional<compile::FileOrder> file_order;  // of the model as given
  // The rewritten model with the best plan, better or not: other features combine with it, too.
  std::optional<Rewritten> rewritten;
  Measure rewritten_measure;
  // The plan of the model as given, neither streamed nor in tiles, while a step may stream it.
  std::optional<compile::Compiled> layers;
  // Of the model as given; final where no other kind of plan can succeed either.
  std::optional<Diagnostic> error;
  bool error_is_final = false;
  std::optional<cascade::SearchOutcome> tiles;
  std::optional<compile::Repetitions> repetitions;  // of the model as given; without sequences
  bool interrupted = false;  // an interrupt ended a search or left a kind of plan untried
  int kinds_left = 1;        // that share the limits
  std::vector<StepTime> steps;
  std::vector<std::string> notes;
};

// Adds the seconds of its life to the step of that name.
class StepTimer {
 public:
  StepTimer(std::string_view name, Found* found) : name_(name), found_(found) {}
  ~StepTimer();
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

 private:
  std::string_view name_;
  Found* found_;
  Limits::Clock::time_point start_ = LimitNow();
};

// Of the work for one of the kinds that are left: two thirds, and all of it for the last.
WorkScope ShareOfWork(const Found& found);
// Of the time: an equal share for each of the kinds that are left. The caller's is taken.
Limits TakeShareOfTime(const Job& job, Found* found);

// Whether a plan within the budgets is still missing, and possible.
bool Misses(const Found& found);
// Whether an interrupt ends the search here, with the best plan found.
bool IsInterrupted(const Job& job, Found* found);
// Keeps the candidate if it is the best so far. Its kind is about the job's source: if the job has
// another base, the edits that lead to that are added, and to the kind. Builds with
// NEAP_VERIFY_STEPS check graph and plan.
void Offer(const Job& job, Delivery candidate, Found* found);
// Whether a plan of at least this many bytes is above a budget.
bool Exceeds(const Budgets& budgets, std::int64_t bytes);
// Of the main subgraph: no order, placement, overlap or move needs less.
std::int64_t LargestTensor(const graph::Graph& graph);
// The model as given cannot be planned. Fails where no other kind can be.
Status NotePlanError(Diagnostic error, Found* found);

// The kinds of plans, one step each. Those with a base need Found::rewritten.
Status PlanWhole(const Job& job, Found* found);  // rewritten and as given
Status PlanStreamed(const Job& job, Found* found);
Status PlanRewrittenStreamed(const Job& job, Found* found);
Status PlanTiled(const Job& job, Found* found);
// Whether the rewritten model, if there is one, is a file, which tiles edit.
bool CanBeTiledRewritten(const Job& job, const Found& found);
// Operators that run again, of the model as given and of the rewritten one.
Status PlanRepeated(const Job& job, Found* found);
Status PlanRewrittenTiled(const Job& job, Found* found);

// Extras (extras.cc). Without tiles, of the model as given and of the rewritten one.
bool OverlapIsDue(const Job& job, const Found& found);
Status PlanOverlapped(const Job& job, Found* found);
bool MovesAreDue(const Job& job, const Found& found);
Status PlanMoved(const Job& job, Found* found);
// Tiles with overlap, with shared bodies.
bool OverlappedTilesAreDue(const Job& job, const Found& found);
Status PlanOverlappedTiles(const Job& job, Found* found);
bool SharedBodiesAreDue(const Job& job, const Found& found);
Status PlanSharedBodies(const Job& job, Found* found);

}  // namespace neap::deliver
