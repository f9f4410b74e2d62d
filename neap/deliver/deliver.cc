// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/deliver.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "neap/base/version.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/found.h"

namespace neap::deliver {
namespace {

// --- the steps ---

// Tiles cost computation: with a budget they are the last resort.
bool TilesComeFirst(const Job& job, const Found& /*found*/) {
  return job.tiles == Use::kAlways && !job.request.budgets.Any();
}

bool StreamsAreRequested(const Job& job, const Found& /*found*/) {
  return job.streams == Use::kAlways;
}

// Plans with two memories are streams.
bool HasOneMemory(const Job& job, const Found& /*found*/) {
  return job.request.streaming.settings.fast_bytes == 0;
}

bool RepetitionsAreRequested(const Job& job, const Found& /*found*/) {
  return job.request.max_cost_permille > 0;
}

bool TilesComeLast(const Job& job, const Found& found) {
  return job.tiles != Use::kNever && !TilesComeFirst(job, found) && Misses(found);
}

bool TilesAreNotNeeded(const Job& job, const Found& found) {
  return job.tiles == Use::kAlways && !TilesComeFirst(job, found) && !Misses(found);
}

bool StreamsAreNeeded(const Job& job, const Found& found) {
  return job.streams == Use::kIfNeeded && Misses(found);
}

// Also where tiles of the model as given are within the budget: rewritten, they may cost less.
bool RewrittenTilesAreDue(const Job& job, const Found& found) {
  if (job.tiles == Use::kNever || !CanBeTiledRewritten(job, found)) return false;
  return !job.request.budgets.Any() || Misses(found) || (found.best && HasTiles(found.best->kind));
}

bool RewrittenStreamsAreDue(const Job& job, const Found& found) {
  if (job.streams == Use::kNever || !found.rewritten) return false;
  return job.streams == Use::kAlways || Misses(found) ||
         (found.best && IsStreamed(found.best->kind));
}

bool FileOrderIsUnknown(const Job& /*job*/, const Found& found) {
  return found.best && !found.file_order;
}

Status NoteNotNeeded(const Job& /*job*/, Found* found) {
  found->notes.emplace_back(
      "no operators are cut into tiles: a plan without tiles is within the budget");
  return {};
}

// The numbers of the file order are those of the model as given.
Status MeasureFileOrder(const Job& job, Found* found) {
  compile::Options options = job.options;
  options.placement_states /= 10;
  NEAP_TRY(const compile::Compiled given, PlanFileOrder(job.source.graph, options));
  found->file_order = given.file_order;
  return {};
}

struct Step {
  // The name of its seconds, by which a request leaves it out. "": a step whose parts have names,
  // or that takes no time.
  std::string_view name;
  bool (*is_due)(const Job& job, const Found& found);
  Status (*run)(const Job& job, Found* found);
};

// In the order in which they run: with a budget, by their price. The searches for tiles and streams
// plan the model as given, too.
constexpr std::array<Step, 14> kSteps = {{
    {"tiles", &TilesComeFirst, &PlanTiled},
    {"stream", &StreamsAreRequested, &PlanStreamed},
    {"", &HasOneMemory, &PlanWhole},
    {"recompute", &RepetitionsAreRequested, &PlanRepeated},
    {"overlap", &OverlapIsDue, &PlanOverlapped},
    {"moves", &MovesAreDue, &PlanMoved},
    {"", &TilesAreNotNeeded, &NoteNotNeeded},
    {"tiles", &TilesComeLast, &PlanTiled},
    {"rewritten and tiles", &RewrittenTilesAreDue, &PlanRewrittenTiled},
    {"overlap", &OverlappedTilesAreDue, &PlanOverlappedTiles},
    {"shared bodies", &SharedBodiesAreDue, &PlanSharedBodies},
    {"stream", &StreamsAreNeeded, &PlanStreamed},
    {"rewritten and streamed", &RewrittenStreamsAreDue, &PlanRewrittenStreamed},
    {"file order", &FileOrderIsUnknown, &MeasureFileOrder},
}};

bool LeavesOut(const Request& request, std::string_view step) {
  const auto& skipped = request.skipped;
  return std::find(skipped.begin(), skipped.end(), step) != skipped.end();
}

// Searches that may follow the plans without tiles and streams, which share the limits with them.
int KindsOf(const Job& job) {
  const bool rewrites = job.request.rewriting.any;
  const auto count = [](bool any) { return any ? 1 : 0; };
  const bool tiles = job.tiles != Use::kNever;
  const bool streams = job.streams != Use::kNever;
  return 1 + count(tiles) + count(streams) + count(tiles && rewrites) + count(streams && rewrites) +
         count(job.request.max_cost_permille > 0);
}

Delivery BestOf(const Job& job, Found found) {
  Delivery best = std::move(*found.best);
  best.compiled.file_order = *found.file_order;
  best.compiled.interrupted = found.interrupted;
  if (best.edited) {
    best.edited->path = job.source.path;
    best.edited->sha256 = job.source.sha256;
  }
  std::stable_sort(found.tried.begin(), found.tried.end(),
                   [](const Tried& a, const Tried& b) { return a.kind < b.kind; });
  best.options.limits.observer = nullptr;
  if (!best.tiles) best.tiles = std::move(found.tiles);
  if (!best.repetitions) best.repetitions = std::move(found.repetitions);
  best.tried = std::move(found.tried);
  best.steps = std::move(found.steps);
  best.notes = std::move(found.notes);
  if (HasTiles(best.kind)) {
    // Of the model as given.
    std::erase_if(best.notes, [](const std::string& note) {
      return note.starts_with("no operators are cut into tiles");
    });
  }
  return best;
}

Result<Delivery> FindBest(const Job& job) {
  Found found;
  found.kinds_left = KindsOf(job);
  for (const Step& step : kSteps) {
    if (LeavesOut(job.request, step.name) || !step.is_due(job, found)) continue;
    std::optional<StepTimer> timer;
    if (!step.name.empty()) timer.emplace(step.name, &found);
    NEAP_CHECK_OK(step.run(job, &found));
  }
  if (!found.best) return Fail(std::move(*found.error));
  return BestOf(job, std::move(found));
}

std::string FileNameOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// The subject of the plan.
void NameModel(const formats::SourceModel& given, const Request& request, Delivery* delivery) {
  plan::Plan& plan = delivery->compiled.plan;
  plan.neap_version = Version();
  plan.model = FileNameOf(given.path);
  plan.model_sha256 = given.sha256;
  plan.caller_ops = delivery->caller_ops;
  plan.dims.clear();
  for (const auto& [name, value] : request.load.dims) {
    plan.dims.push_back(name + "=" + std::to_string(value));
  }
}

}  // namespace

plan::Runtime DefaultRuntime(formats::Format format) {
  return format == formats::Format::kTflite ? plan::Runtime::kTflm : plan::Runtime::kIdeal;
}

Result<compile::Compiled> PlanFileOrder(const graph::Graph& graph, compile::Options options) {
  options.order = compile::kFileOrder;
  options.kernels = ops::KernelLibrary::kNone;
  options.moves = compile::MoveStrategy::kNone;
  options.memories.clear();
  options.budget_bytes = 0;
  options.limits.observer = nullptr;
  return compile::Compile(graph, options);
}

std::string LabelOf(const Tried& tried) {
  std::string label(NameOf(tried.kind));
  std::string_view joint = " with ";
  const auto add = [&](const std::string& extra) {
    label.append(joint).append(extra);
    joint = " and ";
  };
  if (tried.extras.shared_bodies) add("shared bodies");
  if (tried.extras.kernels != ops::KernelLibrary::kNone) {
    add("overlap " + ops::NameOf(tried.extras.kernels));
  }
  if (tried.extras.moves != compile::MoveStrategy::kNone) add("moves");
  return label;
}

bool HasOperators(const graph::Graph& graph) {
  const auto& ops = graph.subgraphs[graph::SubgraphId(0)].ops;
  return std::any_of(ops.begin(), ops.end(), [](const graph::Op& op) { return !op.folded; });
}

Result<Delivery> Deliver(const formats::SourceModel& source, const Request& request) {
  std::optional<Interfaced> interfaced;
  const plan::Runtime runtime = request.compile.runtime;
  if (!IsSeenBy(source, runtime)) {
    NEAP_TRY(interfaced.emplace().model, AsSeenBy(source, runtime, request.load));
  }
  if (request.integer_io != IntegerIo::kNone) {
    NEAP_TRY(interfaced, WithIntegerIo(interfaced ? interfaced->model : source, request.integer_io,
                                       request.load));
  }
  const formats::SourceModel& model = interfaced ? interfaced->model : source;
  NEAP_TRY(Delivery delivery, FindBest(JobOf(model, request)));
  if (interfaced) {
    delivery.interfaced = std::move(interfaced->model);
    delivery.caller_ops = std::move(interfaced->caller_ops);
  }
  NameModel(source, request, &delivery);
  return delivery;
}

}  // namespace neap::deliver
