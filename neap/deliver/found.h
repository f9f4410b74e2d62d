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
  // As requested, but never kIfNeeded without a budget.
  Use streams = Use::kNever;
  Use tiles = Use::kNever;
};
Job JobOf(const formats::SourceModel& source, const Request& request);

struct Found {
  std::optional<Delivery> best;
  Measure best_measure;
  std::vector<Tried> tried;
  bool as_given_tried = false;
  std::optional<compile::FileOrder> file_order;  // of the model as given
  // The plan of the model as given, neither streamed nor in tiles, while a step may stream it.
  std::optional<compile::Compiled> layers;
  // Of the model as given; final where no other kind of plan can succeed either.
  std::optional<Diagnostic> error;
  bool error_is_final = false;
  std::optional<cascade::SearchOutcome> tiles;
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
// Keeps the candidate if it is the best so far. Builds with NEAP_VERIFY_STEPS check its graph and
// plan.
void Offer(const Job& job, Delivery candidate, Found* found);
// The model as given cannot be planned. Fails where no other kind can be.
Status NotePlanError(Diagnostic error, Found* found);

// The kinds of plans, one step each.
Status PlanWhole(const Job& job, Found* found);  // rewritten and as given
Status PlanStreamed(const Job& job, Found* found);
Status PlanTiled(const Job& job, Found* found);

}  // namespace neap::deliver
