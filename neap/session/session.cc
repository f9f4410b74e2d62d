// SPDX-License-Identifier: Apache-2.0
#include "neap/session/session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/compile/headline.h"
#include "neap/compile/peak_question.h"
#include "neap/deliver/dims.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/measure.h"
#include "neap/deliver/written_model.h"
#include "neap/execute/inline_calls.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan_json.h"

namespace neap::session {
namespace {

Result<formats::LoadOptions> LoadOptionsOf(const std::vector<std::string>& dims) {
  formats::LoadOptions load;
  NEAP_TRY(load.dims, deliver::DimsOf(dims, ""));
  return load;
}

Result<Model> ModelOf(Result<formats::SourceModel> source, formats::LoadOptions load) {
  if (!source) return Fail(std::move(source).error());
  return Model{std::move(*source), std::move(load)};
}

Diagnostic InModel(Diagnostic diagnostic, const Model& model) {
  diagnostic = deliver::WithAllSymbols(std::move(diagnostic), model.source.graph, "");
  if (diagnostic.file.empty()) diagnostic.file = model.source.path;
  return diagnostic;
}

void Attach(const Hooks& hooks, deliver::Request* request) {
  request->compile.limits.stop = hooks.stop;
  request->compile.limits.observer = hooks.observer;
  request->tiling.observer = hooks.tiles_observer;
}

Status RequireModel(const Model& model, const plan::Plan& plan) {
  if (plan.model_sha256 == model.source.sha256) return {};
  Diagnostic diagnostic = BadInput("the plan is for a model with SHA-256 " + plan.model_sha256 +
                                   ", this one has " + model.source.sha256);
  diagnostic.file = model.source.path;
  return Fail(std::move(diagnostic));
}

Result<std::vector<execute::Value>> ValuesOf(const graph::Subgraph& subgraph,
                                             std::span<const std::string_view> inputs) {
  if (inputs.size() != subgraph.inputs.size()) {
    return Fail(UsageError("there are " + std::to_string(inputs.size()) +
                           " inputs, the model has " + std::to_string(subgraph.inputs.size())));
  }
  std::vector<execute::Value> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::Tensor& tensor = subgraph.tensors[subgraph.inputs[i]];
    const std::int64_t bytes = graph::TensorBytes(tensor).value_or(-1);
    if (bytes != static_cast<std::int64_t>(inputs[i].size())) {
      return Fail(UsageError("input '" + tensor.name + "' has " + std::to_string(inputs[i].size()) +
                             " bytes, expected " + std::to_string(bytes)));
    }
    const auto* const data = reinterpret_cast<const std::byte*>(inputs[i].data());
    values.push_back({tensor.type, tensor.shape.value_or(graph::Shape()),
                      std::vector<std::byte>(data, data + inputs[i].size())});
  }
  return values;
}

execute::Kernels KernelsOf(const formats::SourceModel& model) {
  return model.format == formats::Format::kOnnx ? execute::Kernels::kOnnx : execute::Kernels::kTflm;
}

}  // namespace

Result<Model> ReadModel(const std::string& path, const std::vector<std::string>& dims) {
  NEAP_TRY(formats::LoadOptions load, LoadOptionsOf(dims));
  return ModelOf(formats::Load(path, load), load);
}

Result<Model> ParseModel(std::shared_ptr<const std::vector<std::byte>> bytes,
                         const std::string& name, const std::vector<std::string>& dims) {
  NEAP_TRY(formats::LoadOptions load, LoadOptionsOf(dims));
  return ModelOf(formats::LoadBytes(std::move(bytes), name, load), load);
}

std::optional<bool> Planned::Fits() const {
  using Fit = deliver::Verdict::Fit;
  if (verdict.fit == Fit::kUnknown) return std::nullopt;
  return verdict.fit != Fit::kExceeds;
}

Status Planned::RequireFit() const {
  const std::optional<bool> fits = Fits();
  if (fits == true) return {};
  const std::string what = verdict.of_weights ? "weights"
                           : verdict.of_total ? "total arena"
                           : placed           ? "arena"
                                              : "peak";
  if (!fits) {
    return Fail(OverBudget("it is unknown whether the " + what + " fits: " + verdict.unknown));
  }
  return Fail(OverBudget("over budget: " + what + " required " +
                         FormatBytes(verdict.required_bytes) + ", available " +
                         FormatBytes(verdict.available_bytes)));
}

std::int64_t Planned::ArenaBytes() const {
  if (delivery) return compile::HeadlineBytes(delivery->compiled, placed);
  return placed ? plan::LargestEntry(plan).arena_bytes : PeakBytes();
}

std::int64_t Planned::LowerBoundBytes() const {
  const plan::EntryPlan& entry = plan::LargestEntry(plan);
  return placed ? entry.arena_lower_bound_bytes : entry.peak_lower_bound_bytes;
}

std::int64_t Planned::PeakBytes() const { return plan::LargestEntry(plan).peak_bytes; }

bool Planned::IsOptimal() const { return compile::IsProven(plan, placed); }

std::optional<std::int64_t> Planned::FileOrderArenaBytes() const {
  if (!delivery || !placed) return std::nullopt;
  const std::int64_t bytes = delivery->compiled.file_order.arena_bytes;
  return bytes < 0 ? std::nullopt : std::optional(bytes);
}

std::optional<std::int64_t> Planned::TotalArenaBytes() const {
  if (!delivery || delivery->compiled.totals.empty()) return std::nullopt;
  const std::int64_t bytes = delivery->compiled.totals.front().total_arena_bytes;
  return bytes < 0 ? std::nullopt : std::optional(bytes);
}

std::string_view Planned::Kind() const { return delivery ? deliver::NameOf(delivery->kind) : ""; }

bool Planned::IsInterrupted() const { return delivery && delivery->compiled.interrupted; }

Result<Planned> MakePlan(const Model& model, const deliver::Words& words, const Hooks& hooks) {
  NEAP_TRY(deliver::Request request, deliver::RequestOf(words, model.source, model.load));
  Attach(hooks, &request);
  std::optional<WorkScope> work;
  if (const std::int64_t limit = deliver::DefaultWorkOf(words)) work.emplace(limit);
  auto delivery = deliver::Deliver(model.source, request);
  if (!delivery) return Fail(InModel(std::move(delivery).error(), model));
  Planned planned;
  planned.plan = delivery->compiled.plan;
  planned.placed = request.compile.place;
  planned.budget_bytes = request.budgets.arena_bytes;
  planned.verdict = deliver::VerdictOf(delivery->compiled, request.compile.place, request.budgets);
  planned.delivery = std::move(*delivery);
  // The caller's flag and functions may be gone when the plan is used.
  planned.delivery->options.limits.stop = nullptr;
  planned.delivery->options.limits.observer = nullptr;
  return planned;
}

Result<Planned> ParsePlan(std::string_view json) {
  Planned planned;
  NEAP_TRY(planned.plan, plan::FromJson(json));
  planned.placed = plan::LargestEntry(planned.plan).arena_bytes > 0;
  return planned;
}

Result<compile::PeakOfOrder> FindPeakWithin(const Model& model, std::int64_t budget_bytes,
                                            const deliver::Words& words, const Hooks& hooks) {
  NEAP_TRY(deliver::Request request, deliver::RequestOf(words, model.source, model.load));
  Attach(hooks, &request);
  std::optional<WorkScope> work;
  if (const std::int64_t limit = deliver::DefaultWorkOf(words)) work.emplace(limit);
  // Below 1 byte there is no query: no order has a negative peak.
  const std::int64_t below = budget_bytes == std::numeric_limits<std::int64_t>::max()
                                 ? budget_bytes
                                 : std::max<std::int64_t>(budget_bytes + 1, 1);
  std::optional<formats::SourceModel> seen;
  if (!deliver::IsSeenBy(model.source, request.compile.runtime)) {
    NEAP_TRY(seen, deliver::AsSeenBy(model.source, request.compile.runtime, model.load));
  }
  const graph::Graph& graph = seen ? seen->graph : model.source.graph;
  auto peak = compile::FindPeakBelow(graph, request.compile, false, below);
  if (!peak) return Fail(InModel(std::move(peak).error(), model));
  return peak;
}

Result<formats::SourceModel> PlannedModel(const Model& model, const plan::Plan& plan,
                                          bool weights) {
  NEAP_CHECK_OK(RequireModel(model, plan));
  formats::LoadOptions load = model.load;
  load.weights = weights || !plan.rewritten_sha256.empty();
  NEAP_TRY(formats::SourceModel source,
           formats::LoadBytes(model.source.bytes, model.source.path, load));
  NEAP_TRY(deliver::Replayed replayed, deliver::ReplayEdits(std::move(source), plan, load));
  return replayed.edited ? *std::move(replayed.edited) : std::move(replayed.interfaced);
}

Result<std::vector<std::string>> Violations(const Model& model, const plan::Plan& plan) {
  if (const Status same = RequireModel(model, plan); !same) {
    return std::vector{same.error().message};
  }
  NEAP_TRY(const formats::SourceModel planned, PlannedModel(model, plan, false));
  return check::CheckPlan(planned.graph, plan);
}

Result<std::string> WrittenModel(const Model& model, const Planned& planned) {
  if (!planned.delivery) {
    return Fail(UsageError("a parsed plan has no model to write: plan the model again"));
  }
  if (model.source.format == formats::Format::kGraphJson) {
    return Fail(UsageError("graph JSON cannot be written as a model"));
  }
  if (!planned.plan.memories.empty() || plan::LargestEntry(planned.plan).stream) {
    return Fail(UsageError("no model file can contain streams or several memories"));
  }
  NEAP_CHECK_OK(RequireModel(model, planned.plan));
  const formats::SourceModel& source = planned.delivery->Planned(model.source);
  if (deliver::NeedsExecutor(source.graph)) {
    return Fail(
        UsageError("no model file can contain operators of Neap's executor: plan without them"));
  }
  std::vector<std::string> notes;
  NEAP_TRY(const auto bytes, deliver::WrittenModel(source, planned.delivery->compiled,
                                                   model.source.path, model.load, &notes));
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Result<execute::RunResult> RunPlan(const Model& model, const plan::Plan& plan,
                                   std::span<const std::string_view> inputs) {
  NEAP_TRY(formats::SourceModel planned, PlannedModel(model, plan, true));
  const plan::EntryPlan* entry = &plan::LargestEntry(plan);
  NEAP_TRY(const auto values, ValuesOf(planned.graph.subgraphs[entry->subgraph], inputs));
  std::optional<plan::EntryPlan> flat;
  if (!entry->stream && execute::HasKnownCalls(planned.graph, entry->subgraph)) {
    NEAP_TRY(flat, execute::InlineCalls(planned.graph, *entry));
    planned.graph = execute::InlineCalls(planned.graph, entry->subgraph);
    entry = &*flat;
  }
  execute::RunOptions options;
  options.kernels = KernelsOf(planned);
  return execute::Run(planned.graph, *entry, values, options);
}

Result<emit::Emitted> EmittedC(const Model& model, const plan::Plan& plan, emit::Options options) {
  if (options.prefix.empty()) options.prefix = emit::PrefixOf(model.source.path);
  if (!emit::IsPrefix(options.prefix)) {
    return Fail(UsageError("prefix '" + options.prefix +
                           "': expected a C identifier of lower-case letters, digits and '_'"));
  }
  plan::Plan inlined = plan;
  NEAP_TRY(formats::SourceModel planned, PlannedModel(model, plan, true));
  const auto violations = check::CheckPlan(planned.graph, inlined);
  if (!violations.empty()) {
    return Fail(BadInput("the plan is not valid: " + violations.front()));
  }
  NEAP_CHECK_OK(emit::InlineCalls(&planned.graph, &inlined));
  return emit::Emit(planned.graph, inlined, options);
}

}  // namespace neap::session
