// SPDX-License-Identifier: Apache-2.0
//
// Models and plans for C. Each function translates, and calls the one function of the library that
// does the work.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/api/handles.h"
#include "neap/api/neap_c.h"
#include "neap/deliver/options.h"
#include "neap/emit/emit.h"
#include "neap/execute/run.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/plan_json.h"
#include "neap/session/session.h"

struct neap_model {  // NOLINT(readability-identifier-naming): C's
  neap::session::Model model;
};

struct neap_options {  // NOLINT(readability-identifier-naming): C's
  neap::deliver::Words words;
};

struct neap_plan {  // NOLINT(readability-identifier-naming): C's
  neap::session::Planned planned;
  std::string kind;
};

struct neap_sources {  // NOLINT(readability-identifier-naming): C's
  neap::emit::Emitted emitted;
};

namespace neap::api {
namespace {

std::vector<std::string> TextsOf(const char* const* dims, std::size_t num_dims) {
  return {dims, dims + num_dims};
}

std::shared_ptr<const std::vector<std::byte>> CopyOf(const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  return std::make_shared<const std::vector<std::byte>>(bytes, bytes + size);
}

const deliver::Words& WordsOf(const neap_options* options) {
  static const deliver::Words kDefaults;
  return options == nullptr ? kDefaults : options->words;
}

Result<neap_model*> Handle(Result<session::Model> model) {
  if (!model) return Fail(std::move(model).error());
  return new neap_model{std::move(*model)};
}

Result<neap_plan*> Handle(Result<session::Planned> planned) {
  if (!planned) return Fail(std::move(planned).error());
  std::string kind(planned->Kind());
  return new neap_plan{std::move(*planned), std::move(kind)};
}

neap_code Check(const neap_model& model, const plan::Plan& plan, neap_error** error) {
  const auto violations = session::Violations(model.model, plan);
  if (!violations) return Refuse(violations.error(), error);
  if (violations->empty()) return NEAP_OK;
  Diagnostic diagnostic = BadInput(violations->front());
  diagnostic.file = model.model.source.path;
  return Refuse(NEAP_WRONG_PLAN, diagnostic.ToString(), error);
}

neap_code Run(const neap_model& model, const plan::Plan& plan, std::span<const neap_span> inputs,
              std::span<neap_bytes*> outputs, neap_error** error) {
  std::vector<std::string_view> texts;
  for (const neap_span& input : inputs) {
    texts.emplace_back(static_cast<const char*>(input.data), input.size);
  }
  const auto result = session::RunPlan(model.model, plan, texts);
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
  NEAP_TRY(const auto peak, session::FindPeakWithin(model.model, budget_bytes, words));
  if (peak.peak_bytes <= budget_bytes) return 1;
  return peak.lower_bound_bytes > budget_bytes ? 0 : -1;
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
    return neap::api::Handle(neap::session::ReadModel(path, neap::api::TextsOf(dims, num_dims)));
  });
}

neap_model* neap_model_parse(const void* data, size_t size, const char* name,
                             const char* const* dims, size_t num_dims, neap_error** error) {
  return Made<neap_model>(error, [&]() -> neap::Result<neap_model*> {
    return neap::api::Handle(neap::session::ParseModel(neap::api::CopyOf(data, size), name,
                                                       neap::api::TextsOf(dims, num_dims)));
  });
}

size_t neap_model_num_operators(const neap_model* model) {
  return model->model.source.graph.subgraphs[neap::graph::SubgraphId(0)].ops.size();
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
  return Made<neap_plan>(error, [&] {
    return neap::api::Handle(neap::session::MakePlan(model->model, neap::api::WordsOf(options)));
  });
}

neap_plan* neap_plan_parse(const char* json, size_t size, neap_error** error) {
  return Made<neap_plan>(error, [&] {
    return neap::api::Handle(neap::session::ParsePlan(std::string_view(json, size)));
  });
}
void neap_plan_free(neap_plan* plan) { delete plan; }

int64_t neap_plan_arena_bytes(const neap_plan* plan) { return plan->planned.ArenaBytes(); }
int64_t neap_plan_lower_bound_bytes(const neap_plan* plan) {
  return plan->planned.LowerBoundBytes();
}
int64_t neap_plan_peak_bytes(const neap_plan* plan) { return plan->planned.PeakBytes(); }
int neap_plan_is_optimal(const neap_plan* plan) {
  return static_cast<int>(plan->planned.IsOptimal());
}
int64_t neap_plan_file_order_arena_bytes(const neap_plan* plan) {
  return plan->planned.FileOrderArenaBytes().value_or(-1);
}
int64_t neap_plan_total_arena_bytes(const neap_plan* plan) {
  return plan->planned.TotalArenaBytes().value_or(-1);
}
int neap_plan_fits(const neap_plan* plan) {
  const auto fits = plan->planned.Fits();
  return fits ? static_cast<int>(*fits) : -1;
}
const char* neap_plan_kind(const neap_plan* plan) { return plan->kind.c_str(); }

neap_bytes* neap_plan_json(const neap_plan* plan, neap_error** error) {
  return Made<neap_bytes>(error, [&]() -> neap::Result<neap_bytes*> {
    return new neap_bytes{neap::plan::ToJson(plan->planned.plan)};
  });
}

neap_code neap_check(const neap_model* model, const neap_plan* plan, neap_error** error) {
  return Guarded(error, [&] { return neap::api::Check(*model, plan->planned.plan, error); });
}

neap_bytes* neap_write_model(const neap_model* model, const neap_plan* plan, neap_error** error) {
  return Made<neap_bytes>(error, [&]() -> neap::Result<neap_bytes*> {
    NEAP_TRY(std::string bytes, neap::session::WrittenModel(model->model, plan->planned));
    return new neap_bytes{std::move(bytes)};
  });
}

neap_code neap_run(const neap_model* model, const neap_plan* plan, const neap_span* inputs,
                   size_t num_inputs, neap_bytes** outputs, size_t num_outputs,
                   neap_error** error) {
  return Guarded(error, [&] {
    return neap::api::Run(*model, plan->planned.plan, {inputs, num_inputs}, {outputs, num_outputs},
                          error);
  });
}

neap_sources* neap_emit_c(const neap_model* model, const neap_plan* plan, const char* prefix,
                          int single_file, neap_error** error) {
  return Made<neap_sources>(error, [&]() -> neap::Result<neap_sources*> {
    neap::emit::Options options;
    options.prefix = prefix == nullptr ? "" : prefix;
    options.single_file = single_file != 0;
    NEAP_TRY(auto emitted,
             neap::session::EmittedC(model->model, plan->planned.plan, std::move(options)));
    return new neap_sources{std::move(emitted)};
  });
}
size_t neap_sources_count(const neap_sources* sources) { return sources->emitted.files.size(); }
const char* neap_sources_name(const neap_sources* sources, size_t index) {
  const auto& files = sources->emitted.files;
  return index < files.size() ? files[index].name.c_str() : nullptr;
}
const char* neap_sources_text(const neap_sources* sources, size_t index) {
  const auto& files = sources->emitted.files;
  return index < files.size() ? files[index].bytes.c_str() : nullptr;
}
int64_t neap_sources_arena_bytes(const neap_sources* sources) {
  return sources->emitted.arena_bytes;
}
int64_t neap_sources_stack_bytes(const neap_sources* sources) {
  return sources->emitted.stack_bytes;
}
void neap_sources_free(neap_sources* sources) { delete sources; }

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
