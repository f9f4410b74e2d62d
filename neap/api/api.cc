// SPDX-License-Identifier: Apache-2.0
//
// Models and plans for C. Each function translates, and calls the one function of the library that
// does the work.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "neap/api/handles.h"
#include "neap/api/neap_c.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/compile/headline.h"
#include "neap/compile/peak_question.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/dims.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/options.h"
#include "neap/deliver/written_model.h"
#include "neap/execute/inline_calls.h"
#include "neap/execute/run.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan_json.h"

struct neap_model {  // NOLINT(readability-identifier-naming): C's
  neap::formats::SourceModel source;
  neap::formats::LoadOptions load;
};

struct neap_options {  // NOLINT(readability-identifier-naming): C's
  neap::deliver::Words words;
};

struct neap_plan {  // NOLINT(readability-identifier-naming): C's
  neap::plan::Plan plan;
  bool placed = true;
  // Of a plan that was made here; not of one that was parsed.
  std::optional<neap::deliver::Delivery> delivery;
  int fits = 1;
  std::string kind;
};

namespace neap::api {
namespace {

using graph::SubgraphId;

Result<neap_model*> ModelOf(Result<formats::SourceModel> source, formats::LoadOptions load) {
  if (!source) return Fail(std::move(source).error());
  return new neap_model{std::move(*source), std::move(load)};
}

Result<formats::LoadOptions> LoadOptionsOf(const char* const* dims, std::size_t num_dims) {
  formats::LoadOptions load;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < num_dims; ++i) words.emplace_back(dims[i]);
  NEAP_TRY(load.dims, deliver::DimsOf(words, ""));
  return load;
}

std::shared_ptr<const std::vector<std::byte>> CopyOf(const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  return std::make_shared<const std::vector<std::byte>>(bytes, bytes + size);
}

const deliver::Words& WordsOf(const neap_options* options) {
  static const deliver::Words kDefaults;
  return options == nullptr ? kDefaults : options->words;
}

// 1, 0, or -1 where what is needed is not known.
int FitsOf(const deliver::Delivery& delivery, const deliver::Request& request) {
  using Fit = deliver::Verdict::Fit;
  const Fit fit = deliver::VerdictOf(delivery.compiled, request.compile.place, request.budgets).fit;
  return fit == Fit::kUnknown ? -1 : static_cast<int>(fit != Fit::kExceeds);
}

Result<neap_plan*> MakePlan(const neap_model& model, const deliver::Words& words) {
  NEAP_TRY(const deliver::Request request, deliver::RequestOf(words, model.source, model.load));
  std::optional<WorkScope> work;
  if (deliver::HasDefaultWork(words)) work.emplace(deliver::kDefaultWork);
  auto delivery = deliver::Deliver(model.source, request);
  if (!delivery) {
    Diagnostic diagnostic =
        deliver::WithAllSymbols(std::move(delivery).error(), model.source.graph, "");
    if (diagnostic.file.empty()) diagnostic.file = model.source.path;
    return Fail(std::move(diagnostic));
  }
  auto plan = std::make_unique<neap_plan>();
  plan->plan = delivery->compiled.plan;
  plan->placed = request.compile.place;
  plan->fits = FitsOf(*delivery, request);
  plan->kind = deliver::NameOf(delivery->kind);
  plan->delivery = std::move(*delivery);
  return plan.release();
}

Status RequireModel(const neap_model& model, const plan::Plan& plan) {
  if (plan.model_sha256 == model.source.sha256) return {};
  Diagnostic diagnostic = BadInput("the plan is for a model with SHA-256 " + plan.model_sha256 +
                                   ", this one has " + model.source.sha256);
  diagnostic.file = model.source.path;
  return Fail(std::move(diagnostic));
}

// The model that the plan orders and places. `weights`: with the bytes of all constants.
Result<formats::SourceModel> PlannedModel(const neap_model& model, const plan::Plan& plan,
                                          bool weights) {
  formats::LoadOptions load = model.load;
  load.weights = weights || !plan.rewritten_sha256.empty();
  NEAP_TRY(formats::SourceModel source,
           formats::LoadBytes(model.source.bytes, model.source.path, load));
  NEAP_TRY(deliver::Replayed replayed, deliver::ReplayEdits(std::move(source), plan, load));
  return replayed.edited ? *std::move(replayed.edited) : std::move(replayed.interfaced);
}

neap_code Check(const neap_model& model, const plan::Plan& plan, neap_error** error) {
  if (const Status same = RequireModel(model, plan); !same) {
    return Refuse(NEAP_WRONG_PLAN, same.error().ToString(), error);
  }
  const auto planned = PlannedModel(model, plan, false);
  if (!planned) return Refuse(planned.error(), error);
  const std::vector<std::string> violations = check::CheckPlan(planned->graph, plan);
  if (violations.empty()) return NEAP_OK;
  Diagnostic diagnostic = BadInput(violations.front());
  diagnostic.file = model.source.path;
  return Refuse(NEAP_WRONG_PLAN, diagnostic.ToString(), error);
}

Result<std::string> WrittenModelOf(const neap_model& model, const neap_plan& plan) {
  if (!plan.delivery) {
    return Fail(UsageError("a parsed plan has no model to write: plan the model again"));
  }
  if (model.source.format == formats::Format::kGraphJson) {
    return Fail(UsageError("graph JSON cannot be written as a model"));
  }
  if (!plan.plan.memories.empty() || plan::LargestEntry(plan.plan).stream) {
    return Fail(UsageError("no model file can contain streams or several memories"));
  }
  NEAP_CHECK_OK(RequireModel(model, plan.plan));
  const formats::SourceModel& planned = plan.delivery->Planned(model.source);
  if (deliver::NeedsExecutor(planned.graph)) {
    return Fail(
        UsageError("no model file can contain operators of Neap's executor: plan without them"));
  }
  std::vector<std::string> notes;
  NEAP_TRY(const auto bytes, deliver::WrittenModel(planned, plan.delivery->compiled,
                                                   model.source.path, model.load, &notes));
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Result<std::vector<execute::Value>> ValuesOf(const graph::Subgraph& subgraph,
                                             std::span<const neap_span> inputs) {
  if (inputs.size() != subgraph.inputs.size()) {
    return Fail(UsageError("there are " + std::to_string(inputs.size()) +
                           " inputs, the model has " + std::to_string(subgraph.inputs.size())));
  }
  std::vector<execute::Value> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::Tensor& tensor = subgraph.tensors[subgraph.inputs[i]];
    const std::int64_t bytes = graph::TensorBytes(tensor).value_or(-1);
    if (bytes != static_cast<std::int64_t>(inputs[i].size)) {
      return Fail(UsageError("input '" + tensor.name + "' has " + std::to_string(inputs[i].size) +
                             " bytes, expected " + std::to_string(bytes)));
    }
    const auto* const data = static_cast<const std::byte*>(inputs[i].data);
    values.push_back({tensor.type, tensor.shape.value_or(graph::Shape()),
                      std::vector<std::byte>(data, data + inputs[i].size)});
  }
  return values;
}

execute::Kernels KernelsOf(const formats::SourceModel& model) {
  return model.format == formats::Format::kOnnx ? execute::Kernels::kOnnx : execute::Kernels::kTflm;
}

Result<execute::RunResult> RunPlan(const neap_model& model, const plan::Plan& plan,
                                   std::span<const neap_span> inputs) {
  NEAP_CHECK_OK(RequireModel(model, plan));
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

neap_code Run(const neap_model& model, const plan::Plan& plan, std::span<const neap_span> inputs,
              std::span<neap_bytes*> outputs, neap_error** error) {
  const auto result = RunPlan(model, plan, inputs);
  if (!result) return Refuse(result.error(), error);
  if (!result->violations.empty()) {
    return Refuse(NEAP_WRONG_PLAN, result->violations.front(), error);
  }
  if (result->outputs.size() != outputs.size()) {
    return Refuse(UsageError("found buffers for " + std::to_string(outputs.size()) +
                             " outputs, the model has " + std::to_string(result->outputs.size())),
                  error);
  }
  std::vector<std::unique_ptr<neap_bytes>> made;
  for (const execute::Value& value : result->outputs) {
    const auto* const data = reinterpret_cast<const char*>(value.bytes.data());
    made.push_back(std::make_unique<neap_bytes>(neap_bytes{std::string(data, value.bytes.size())}));
  }
  for (std::size_t i = 0; i < made.size(); ++i) outputs[i] = made[i].release();
  return NEAP_OK;
}

Result<int> Fits(const neap_model& model, std::int64_t budget_bytes, const deliver::Words& words) {
  NEAP_TRY(const deliver::Request request, deliver::RequestOf(words, model.source, model.load));
  std::optional<WorkScope> work;
  if (deliver::HasDefaultWork(words)) work.emplace(deliver::kDefaultWork);
  if (budget_bytes < 0) return 0;
  const std::int64_t below =
      budget_bytes == std::numeric_limits<std::int64_t>::max() ? budget_bytes : budget_bytes + 1;
  auto peak = compile::FindPeakBelow(model.source.graph, request.compile, false, below);
  if (!peak) {
    Diagnostic diagnostic =
        deliver::WithAllSymbols(std::move(peak).error(), model.source.graph, "");
    if (diagnostic.file.empty()) diagnostic.file = model.source.path;
    return Fail(std::move(diagnostic));
  }
  if (peak->peak_bytes <= budget_bytes) return 1;
  return peak->lower_bound_bytes > budget_bytes ? 0 : -1;
}

// Runs `make`, which returns a Result of a handle; nullptr where it fails.
template <typename Handle, typename Make>
Handle* Made(neap_error** error, const Make& make) noexcept {
  Handle* handle = nullptr;
  static_cast<void>(Guarded(error, [&]() -> neap_code {
    const Result<Handle*> made = make();
    if (!made) return Refuse(made.error(), error);
    handle = *made;
    return NEAP_OK;
  }));
  return handle;
}

}  // namespace
}  // namespace neap::api

using neap::api::Guarded;
using neap::api::Made;
using neap::api::Refuse;

// NOLINTBEGIN(readability-identifier-naming,modernize-redundant-void-arg): the names of C
extern "C" {

const char* neap_bytes_data(const neap_bytes* bytes) { return bytes->data.c_str(); }
size_t neap_bytes_size(const neap_bytes* bytes) { return bytes->data.size(); }
void neap_bytes_free(neap_bytes* bytes) { delete bytes; }

neap_model* neap_model_read(const char* path, const char* const* dims, size_t num_dims,
                            neap_error** error) {
  return Made<neap_model>(error, [&]() -> neap::Result<neap_model*> {
    NEAP_TRY(auto load, neap::api::LoadOptionsOf(dims, num_dims));
    return neap::api::ModelOf(neap::formats::Load(path, load), load);
  });
}

neap_model* neap_model_parse(const void* data, size_t size, const char* name,
                             const char* const* dims, size_t num_dims, neap_error** error) {
  return Made<neap_model>(error, [&]() -> neap::Result<neap_model*> {
    NEAP_TRY(auto load, neap::api::LoadOptionsOf(dims, num_dims));
    return neap::api::ModelOf(neap::formats::LoadBytes(neap::api::CopyOf(data, size), name, load),
                              load);
  });
}

size_t neap_model_num_operators(const neap_model* model) {
  return model->source.graph.subgraphs[neap::graph::SubgraphId(0)].ops.size();
}
void neap_model_free(neap_model* model) { delete model; }

neap_options* neap_options_new(void) { return new (std::nothrow) neap_options(); }

neap_code neap_options_set(neap_options* options, const char* name, const char* value,
                           neap_error** error) {
  return Guarded(error, [&]() -> neap_code {
    const neap::Status status = neap::deliver::Set(name, value, &options->words);
    return status ? NEAP_OK : Refuse(status.error(), error);
  });
}
void neap_options_free(neap_options* options) { delete options; }

const char* neap_option_name(size_t index) {
  const auto& options = neap::deliver::Options();
  return index < options.size() ? options[index].name.data() : nullptr;
}
const char* neap_option_value(size_t index) {
  const auto& options = neap::deliver::Options();
  return index < options.size() ? options[index].value.c_str() : nullptr;
}
const char* neap_option_help(size_t index) {
  const auto& options = neap::deliver::Options();
  return index < options.size() ? options[index].help.c_str() : nullptr;
}

neap_plan* neap_plan_make(const neap_model* model, const neap_options* options,
                          neap_error** error) {
  return Made<neap_plan>(error,
                         [&] { return neap::api::MakePlan(*model, neap::api::WordsOf(options)); });
}

neap_plan* neap_plan_parse(const char* json, size_t size, neap_error** error) {
  return Made<neap_plan>(error, [&]() -> neap::Result<neap_plan*> {
    NEAP_TRY(auto parsed, neap::plan::FromJson(std::string_view(json, size)));
    auto plan = std::make_unique<neap_plan>();
    plan->placed = neap::plan::LargestEntry(parsed).arena_bytes > 0;
    plan->plan = std::move(parsed);
    return plan.release();
  });
}
void neap_plan_free(neap_plan* plan) { delete plan; }

int64_t neap_plan_arena_bytes(const neap_plan* plan) {
  if (plan->delivery) return neap::compile::HeadlineBytes(plan->delivery->compiled, plan->placed);
  const neap::plan::EntryPlan& entry = neap::plan::LargestEntry(plan->plan);
  return plan->placed ? entry.arena_bytes : entry.peak_bytes;
}
int64_t neap_plan_lower_bound_bytes(const neap_plan* plan) {
  const neap::plan::EntryPlan& entry = neap::plan::LargestEntry(plan->plan);
  return plan->placed ? entry.arena_lower_bound_bytes : entry.peak_lower_bound_bytes;
}
int64_t neap_plan_peak_bytes(const neap_plan* plan) {
  return neap::plan::LargestEntry(plan->plan).peak_bytes;
}
int neap_plan_is_optimal(const neap_plan* plan) {
  const auto& entries = plan->plan.entries;
  return std::all_of(entries.begin(), entries.end(), [&](const neap::plan::EntryPlan& entry) {
    return entry.order_status == neap::plan::BoundStatus::kOptimal &&
           (!plan->placed || entry.arena_status == neap::plan::BoundStatus::kOptimal);
  });
}
int64_t neap_plan_file_order_arena_bytes(const neap_plan* plan) {
  return plan->delivery && plan->placed ? plan->delivery->compiled.file_order.arena_bytes : -1;
}
int64_t neap_plan_total_arena_bytes(const neap_plan* plan) {
  if (!plan->delivery || plan->delivery->compiled.totals.empty()) return -1;
  return plan->delivery->compiled.totals.front().total_arena_bytes;
}
int neap_plan_fits(const neap_plan* plan) { return plan->fits; }
const char* neap_plan_kind(const neap_plan* plan) { return plan->kind.c_str(); }

neap_bytes* neap_plan_json(const neap_plan* plan, neap_error** error) {
  return Made<neap_bytes>(error, [&]() -> neap::Result<neap_bytes*> {
    return new neap_bytes{neap::plan::ToJson(plan->plan)};
  });
}

neap_code neap_check(const neap_model* model, const neap_plan* plan, neap_error** error) {
  return Guarded(error, [&] { return neap::api::Check(*model, plan->plan, error); });
}

neap_bytes* neap_write_model(const neap_model* model, const neap_plan* plan, neap_error** error) {
  return Made<neap_bytes>(error, [&]() -> neap::Result<neap_bytes*> {
    NEAP_TRY(std::string bytes, neap::api::WrittenModelOf(*model, *plan));
    return new neap_bytes{std::move(bytes)};
  });
}

neap_code neap_run(const neap_model* model, const neap_plan* plan, const neap_span* inputs,
                   size_t num_inputs, neap_bytes** outputs, size_t num_outputs,
                   neap_error** error) {
  return Guarded(error, [&] {
    return neap::api::Run(*model, plan->plan, {inputs, num_inputs}, {outputs, num_outputs}, error);
  });
}

int neap_fits(const neap_model* model, int64_t budget_bytes, const neap_options* options,
              neap_error** error) {
  constexpr int kFailed = -2;
  int fits = kFailed;
  static_cast<void>(Guarded(error, [&]() -> neap_code {
    const auto answer = neap::api::Fits(*model, budget_bytes, neap::api::WordsOf(options));
    if (!answer) return Refuse(answer.error(), error);
    fits = *answer;
    return NEAP_OK;
  }));
  return fits;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,modernize-redundant-void-arg)
