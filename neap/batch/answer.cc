// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/answer.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "neap/base/work.h"
#include "neap/batch/structure.h"
#include "neap/compile/compile.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/dims.h"
#include "neap/formats/formats.h"

namespace neap::batch {
namespace {

Result<formats::SourceModel> LoadModel(const Request& request, const Options& options) {
  if (request.graph) {
    const auto* data = reinterpret_cast<const std::byte*>(request.graph->data());
    return formats::LoadBytes(
        std::make_shared<const std::vector<std::byte>>(data, data + request.graph->size()), "graph",
        {});
  }
  // A pipe or a device would block the batch, or never end.
  std::error_code error;
  const auto status = std::filesystem::status(*request.path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    Diagnostic diagnostic = IoError("is not a regular file");
    diagnostic.file = *request.path;
    return Fail(std::move(diagnostic));
  }
  // "-" is a file of that name here.
  return formats::Load(*request.path == "-" ? "./-" : *request.path, {options.dims});
}

compile::Options CompileOptions(plan::Runtime runtime, const Options& options) {
  compile::Options compile_options;
  compile_options.runtime = runtime;
  compile_options.limits = options.limits;
  // A line's time is that of all its searches.
  if (options.limits.max_seconds > 0) {
    compile_options.limits.deadline = options.limits.EndOfSearch(LimitNow());
    compile_options.limits.max_seconds = 0;
  }
  compile_options.limits.observer = nullptr;
  compile_options.limits.stop = nullptr;
  compile_options.placement_states = options.placement_states;
  compile_options.place_file_order = false;
  compile_options.place = options.place;
  return compile_options;
}

Numbers NumbersOf(const compile::Compiled& compiled, const Options& options) {
  Numbers numbers;
  if (options.place) numbers.arena_bytes = 0;
  for (const plan::EntryPlan& entry : compiled.plan.entries) {
    numbers.peak_bytes = std::max(numbers.peak_bytes, entry.peak_bytes);
    numbers.peak_lower_bound_bytes =
        std::max(numbers.peak_lower_bound_bytes, entry.peak_lower_bound_bytes);
    if (options.place) numbers.arena_bytes = std::max(*numbers.arena_bytes, entry.arena_bytes);
  }
  if (compiled.delivered_arena_bytes >= 0) {
    numbers.delivered_arena_bytes = compiled.delivered_arena_bytes;
  }
  return numbers;
}

Result<Numbers> Compute(const formats::SourceModel& model, plan::Runtime runtime,
                        const Options& options) {
  deliver::Request request;
  request.compile = CompileOptions(runtime, options);
  request.rewriting.any = false;
  if (options.rewrite) {
    request.rewriting = *options.rewrite;
    request.rewriting.sums_in_place = runtime == plan::Runtime::kNeap;
  }
  request.load.dims = options.dims;
  NEAP_TRY(const deliver::Delivery delivery, deliver::Deliver(model, request));
  return NumbersOf(delivery.compiled, options);
}

Result<Numbers> NumbersFor(const formats::SourceModel& model, plan::Runtime runtime,
                           const Options& options, Memo* memo, Store* store, bool* repeated) {
  const auto compute = [&] { return Compute(model, runtime, options); };
  const auto stored = [&](const std::string& subject) {
    return store == nullptr ? compute() : store->Get(StoreKey(options, subject), compute, repeated);
  };
  const std::string structure = StructureKey(model.graph, runtime);
  // Rewriting also depends on constants.
  if (options.rewrite) return stored(structure + model.sha256);
  return memo->Get(
      structure, [&] { return stored(structure); }, repeated);
}

Status Fill(std::string_view line, const Options& options, Memo* memo, Store* store, Answer* answer,
            bool* repeated) {
  Request request;
  const Status read = ParseRequest(line, &request);
  answer->id = request.id;
  NEAP_CHECK_OK(read);
  NEAP_TRY(const formats::SourceModel model, LoadModel(request, options));
  const plan::Runtime runtime = options.runtime.value_or(deliver::DefaultRuntime(model.format));
  auto numbers = NumbersFor(model, runtime, options, memo, store, repeated);
  if (!numbers) {
    Diagnostic diagnostic =
        deliver::WithAllSymbols(std::move(numbers).error(), model.graph, options.option_prefix);
    if (diagnostic.file.empty()) diagnostic.file = model.path;
    return Fail(std::move(diagnostic));
  }
  answer->peak_bytes = numbers->peak_bytes;
  answer->peak_lower_bound_bytes = numbers->peak_lower_bound_bytes;
  answer->arena_bytes = numbers->arena_bytes;
  answer->delivered_arena_bytes = numbers->delivered_arena_bytes;
  return {};
}

}  // namespace

Answer AnswerOf(std::string_view line, const Options& options, Memo* memo, Store* store,
                bool* repeated) {
  Answer answer;
  try {
    const Status status = Fill(line, options, memo, store, &answer, repeated);
    if (!status) answer.error = status.error().ToString();
  } catch (const std::bad_alloc&) {
    answer.error = "out of memory";
  } catch (const std::exception& error) {
    // One bad line does not stop the rest, even where the defect is ours.
    answer.error = std::string("internal error, please report it with the graph: ") + error.what();
  }
  return answer;
}

std::string AnswerLine(std::string_view line, const Options& options) {
  Memo memo(1);
  bool repeated = false;
  return ToJson(AnswerOf(line, options, &memo, nullptr, &repeated));
}

}  // namespace neap::batch
