// SPDX-License-Identifier: Apache-2.0
//
// A step of Deliver(): the plan of the model with some operators in tiles.
#include <algorithm>
#include <utility>

#include "neap/deliver/edits.h"
#include "neap/deliver/found.h"

namespace neap::deliver {
namespace {

cascade::SearchOptions TileOptions(const Job& job, Found* found) {
  const Request& request = job.request;
  cascade::SearchOptions options;
  options.compile = job.options;
  options.compile.limits = TakeShareOfTime(job, found);
  options.device = request.device;
  options.bodies = request.bodies;
  options.grids = request.grids;
  const Budgets& budgets = request.budgets;
  options.budget_bytes = budgets.arena_bytes.value_or(0);
  options.budget_total_bytes = budgets.total_bytes.value_or(0);
  if (budgets.memory_bytes) {
    const bool tflm = job.options.runtime == plan::Runtime::kTflm;
    std::int64_t* const budget = tflm ? &options.budget_total_bytes : &options.budget_bytes;
    *budget = *budget == 0 ? *budgets.memory_bytes : std::min(*budget, *budgets.memory_bytes);
    *budget = std::max<std::int64_t>(*budget, 1);  // 0: none
  }
  // The chosen tiles are compiled again, and come to the same order only by a limit of states.
  if (options.compile.limits.max_states == 0) {
    options.compile.limits.max_states = kStatesForAFewSeconds;
  }
  options.observer = request.tiles_observer;
  return options;
}

// Reported only where tiles were requested.
void NoteNotTiled(const Job& job, const std::string& why, Found* found) {
  if (job.tiles == Use::kAlways) found->notes.push_back("no operators are cut into tiles: " + why);
}

// The search for tiles has planned the model without any.
void OfferUncut(const Job& job, const cascade::SearchOptions& options, Found* found) {
  if (found->as_given_tried) return;
  found->as_given_tried = true;
  Delivery uncut;
  uncut.options = cascade::OptionsFor(options, found->tiles->uncut);
  found->file_order = found->tiles->compiled.file_order;
  uncut.compiled = found->tiles->compiled;
  if (job.streams != Use::kNever) found->layers = uncut.compiled;
  Offer(job, std::move(uncut), found);
}

Status OfferTiled(const Job& job, const cascade::SearchOptions& options,
                  const cascade::Proposal& chosen, Found* found) {
  Delivery candidate;
  candidate.kind = Kind::kTiles;
  candidate.options = cascade::OptionsFor(options, chosen);
  candidate.options.limits.deadline.reset();
  candidate.options.limits.observer = job.options.limits.observer;
  NEAP_TRY(const graph::Graph edited, cascade::GraphOf(job.source.graph, chosen));
  auto model = formats::WriteEdited(job.source, edited, job.request.load);
  if (!model) {
    NoteNotTiled(job, model.error().message, found);
    return {};
  }
  NEAP_TRY(candidate.compiled, compile::Compile(model->graph, candidate.options));
  RecordTiles(chosen, &candidate.compiled.plan);
  candidate.edited = std::move(*model);
  Offer(job, std::move(candidate), found);
  return {};
}

}  // namespace

Status PlanTiled(const Job& job, Found* found) {
  if (IsInterrupted(job, found)) return {};
  const StepTimer timer("tiles", found);
  if (!HasOperators(job.source.graph)) {
    NoteNotTiled(job, "the model has no operators", found);
    return {};
  }
  const WorkScope work = ShareOfWork(*found);
  const cascade::SearchOptions options = TileOptions(job, found);
  auto outcome = cascade::FindPlan(job.source.graph, options);
  if (!outcome) {
    // Whatever the model as given lacks is reported of that.
    NoteNotTiled(job, outcome.error().message, found);
    return {};
  }
  found->tiles = std::move(*outcome);
  if (found->tiles->cut_short) {
    found->interrupted = found->interrupted || job.options.limits.Interrupted();
    found->notes.emplace_back(
        "a limit ended the search before all tiles were tried: another plan may need less memory");
  }
  if (job.tiles == Use::kAlways && !found->tiles->note.empty()) {
    found->notes.push_back(found->tiles->note);
  }
  OfferUncut(job, options, found);
  const cascade::Proposal& chosen = found->tiles->front[found->tiles->chosen];
  if (chosen.regions.empty()) return {};
  return OfferTiled(job, options, chosen, found);
}

}  // namespace neap::deliver
