// SPDX-License-Identifier: Apache-2.0
//
// Steps of Deliver(): plans with some operators in tiles, of the model as given and of the
// rewritten one.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "neap/deliver/edits.h"
#include "neap/deliver/found.h"

namespace neap::deliver {
namespace {

constexpr std::size_t kMaxOfMemories = 16;  // proposals that are planned for several memories

// Several memories and moves are for the chosen tiles: the search counts one arena.
bool HasOneArena(const compile::Options& options) {
  return options.memories.empty() && options.moves == compile::MoveStrategy::kNone;
}

cascade::SearchOptions TileOptions(const Job& job, Found* found) {
  const Request& request = job.request;
  cascade::SearchOptions options;
  options.compile = job.options;
  options.compile.limits = TakeShareOfTime(job, found);
  options.compile.memories.clear();
  options.compile.moves = compile::MoveStrategy::kNone;
  options.device = request.tiling.device;
  options.bodies = job.extras.shared_bodies ? cascade::TileBodies::kShared : request.tiling.bodies;
  options.grids = request.tiling.grids;
  const Budgets& budgets = request.budgets;
  options.budget_bytes = budgets.arena_bytes.value_or(0);
  options.budget_total_bytes = budgets.total_bytes.value_or(0);
  options.total_may_be_unknown = !budgets.total_bytes;
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
  options.observer = request.tiling.observer;
  return options;
}

// Reported only where tiles were requested.
void NoteNotTiled(const Job& job, const std::string& why, Found* found) {
  if (job.tiles == Use::kAlways && job.base == nullptr && job.extras == Extras()) {
    found->notes.push_back("no operators are cut into tiles: " + why);
  }
}

// The search for tiles has planned the model without any.
void OfferUncut(const Job& job, const cascade::SearchOptions& options,
                const cascade::SearchOutcome& outcome, Found* found) {
  if (found->as_given_tried || job.base != nullptr || !HasOneArena(job.options)) return;
  found->as_given_tried = true;
  Delivery uncut;
  uncut.options = cascade::OptionsFor(options, outcome.uncut);
  found->file_order = outcome.compiled.file_order;
  uncut.compiled = outcome.compiled;
  if (job.streams != Use::kNever) found->layers = uncut.compiled;
  Offer(job, std::move(uncut), found);
}

// Options of the chosen tiles' own plans: several memories or, beside the plan of the search,
// moves.
std::vector<compile::Options> FinalOptions(const Job& job, const cascade::SearchOptions& options,
                                           const cascade::Proposal& chosen) {
  compile::Options searched = cascade::OptionsFor(options, chosen);
  searched.limits.deadline.reset();
  searched.limits.observer = job.options.limits.observer;
  searched.proves_file_order = true;
  std::vector<compile::Options> all;
  if (job.options.memories.empty()) all.push_back(searched);
  if (HasOneArena(job.options)) return all;
  compile::Options own = searched;
  own.memories = job.options.memories;
  own.moves = job.options.moves;
  own.kernels = job.options.kernels;
  all.push_back(std::move(own));
  return all;
}

// `outcome`: with the proposal that is planned as the chosen one. `base`: the planned model, with
// its weights.
Status OfferTiled(const Job& job, const formats::SourceModel& base,
                  const cascade::SearchOptions& options, const cascade::SearchOutcome& outcome,
                  Found* found) {
  const cascade::Proposal& chosen = outcome.front[outcome.chosen];
  NEAP_TRY(const graph::Graph edited, cascade::GraphOf(base.graph, chosen));
  formats::LoadOptions load = job.request.load;
  load.weights = true;
  const auto model = formats::WriteEdited(base, edited, load);
  if (!model) {
    NoteNotTiled(job, model.error().message, found);
    return {};
  }
  for (const compile::Options& with : FinalOptions(job, options, chosen)) {
    Delivery candidate;
    candidate.kind = Kind::kTiles;
    candidate.options = with;
    auto compiled = compile::Compile(model->graph, with);
    if (!compiled) {
      // The memories may hold another plan.
      if (compiled.error().code == ErrorCode::kOverBudget) continue;
      return Fail(std::move(compiled).error());
    }
    candidate.compiled = std::move(*compiled);
    RecordTiles(chosen, &candidate.compiled.plan);
    candidate.edited = *model;
    candidate.tiles = outcome;
    Offer(job, std::move(candidate), found);
  }
  return {};
}

// Bodies that do not help are the tiles that were tried before.
bool IsCut(const Job& job, const cascade::Proposal& proposal) {
  return !proposal.regions.empty() &&
         (!job.extras.shared_bodies || proposal.bodies == cascade::TileBodies::kShared);
}

// The proposals of the front to be planned, the chosen one first. The search counts one arena: of
// several memories, the shortest access time may be that of other tiles.
std::vector<std::size_t> ToPlan(const Job& job, const cascade::SearchOutcome& outcome) {
  std::vector<std::size_t> planned;
  if (IsCut(job, outcome.front[outcome.chosen])) planned.push_back(outcome.chosen);
  if (job.options.memories.empty()) return planned;
  // The smallest arenas are last.
  for (std::size_t p = outcome.front.size(); p-- > 0 && planned.size() < kMaxOfMemories;) {
    if (p != outcome.chosen && IsCut(job, outcome.front[p])) planned.push_back(p);
  }
  return planned;
}

// Of the job's base, with bodies of one kind.
Status PlanTilesWith(const Job& job, const cascade::SearchOptions& options, Found* found) {
  // Tiles may have parts of constants.
  NEAP_TRY(const formats::SourceModel base, WithWeights(job.Planned(), job.request.load));
  auto outcome = cascade::FindPlan(base.graph, options);
  if (!outcome) {
    // A requirement that the model as given lacks is reported of that model.
    NoteNotTiled(job, outcome.error().message, found);
    return {};
  }
  if (outcome->cut_short) {
    found->interrupted = found->interrupted || job.options.limits.Interrupted();
    const std::string note =
        "a limit ended the search before all tiles were tried: another plan may need less memory";
    if (std::find(found->notes.begin(), found->notes.end(), note) == found->notes.end()) {
      found->notes.push_back(note);
    }
  }
  const bool requested = job.tiles == Use::kAlways && job.base == nullptr && job.extras == Extras();
  if (requested && !found->tiles && !outcome->note.empty()) found->notes.push_back(outcome->note);
  OfferUncut(job, options, *outcome, found);
  const std::size_t chosen = outcome->chosen;
  for (const std::size_t proposal : ToPlan(job, *outcome)) {
    outcome->chosen = proposal;
    NEAP_CHECK_OK(OfferTiled(job, base, options, *outcome, found));
    if (IsInterrupted(job, found)) break;
  }
  outcome->chosen = chosen;
  const bool uncut_is_unknown = outcome->uncut.total_arena_bytes < 0;
  if (job.base == nullptr && job.extras == Extras() && !found->tiles) {
    found->tiles = std::move(*outcome);
  }
  // A search for a total that begins at an unknown one has little to go by: the smallest arena may
  // have a smaller total.
  if (options.budget_total_bytes > 0 && uncut_is_unknown && Misses(*found)) {
    cascade::SearchOptions for_arena = options;
    for_arena.budget_total_bytes = 0;
    for_arena.total_may_be_unknown = true;
    return PlanTilesWith(job, for_arena, found);
  }
  return {};
}

// Of the job's base.
Status PlanTiles(const Job& job, Found* found) {
  cascade::SearchOptions options = TileOptions(job, found);
  // A search with shared bodies decides on other tiles, which may need more than clones. Where
  // shared bodies are an extra, the clones have been planned.
  if (options.bodies != cascade::TileBodies::kShared || job.extras.shared_bodies) {
    return PlanTilesWith(job, options, found);
  }
  const Limits limits = options.compile.limits;
  {
    const WorkScope work(1, 2);
    options.compile.limits = WithShareOfTime(limits, 1, 2);
    NEAP_CHECK_OK(PlanTilesWith(job, options, found));
  }
  if (IsInterrupted(job, found)) return {};
  options.compile.limits = limits;
  options.bodies = cascade::TileBodies::kClones;
  return PlanTilesWith(job, options, found);
}

// Tiles with more features than the request's, of the model as given and of the rewritten one.
Status PlanTilesOfBoth(const Job& job, Found* found) {
  {
    const WorkScope work(1, found->rewritten ? 2 : 1);
    NEAP_CHECK_OK(PlanTiles(job, found));
  }
  if (!CanBeTiledRewritten(job, *found) || IsInterrupted(job, found)) return {};
  Job rewritten = job;
  rewritten.base = &*found->rewritten;
  return PlanTiles(rewritten, found);
}

}  // namespace

bool CanBeTiledRewritten(const Job& job, const Found& found) {
  return found.rewritten && !found.rewritten->rewritten_sha256.empty() &&
         HasOperators(job.source.graph);
}

Status PlanTiled(const Job& job, Found* found) {
  if (IsInterrupted(job, found)) return {};
  if (!HasOperators(job.source.graph)) {
    NoteNotTiled(job, "the model has no operators", found);
    return {};
  }
  const WorkScope work = ShareOfWork(*found);
  return PlanTiles(job, found);
}

Status PlanRewrittenTiled(const Job& job, Found* found) {
  if (IsInterrupted(job, found)) return {};
  const WorkScope work = ShareOfWork(*found);
  Job rewritten = job;
  rewritten.base = &*found->rewritten;
  return PlanTiles(rewritten, found);
}

Status PlanOverlappedTiles(const Job& job, Found* found) {
  if (IsInterrupted(job, found)) return {};
  const WorkScope work = ShareOfWork(*found);
  Job overlapped = job;
  overlapped.extras.kernels = job.request.extras.kernels;
  overlapped.options.kernels = job.request.extras.kernels;
  return PlanTilesOfBoth(overlapped, found);
}

Status PlanSharedBodies(const Job& job, Found* found) {
  if (IsInterrupted(job, found)) return {};
  const WorkScope work = ShareOfWork(*found);
  Job shared = job;
  shared.extras.shared_bodies = true;
  return PlanTilesOfBoth(shared, found);
}

}  // namespace neap::deliver
