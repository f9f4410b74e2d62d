// SPDX-License-Identifier: Apache-2.0
#include "tools/emitting.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/emit/emit.h"
#include "neap/show/report/report.h"
#include "tools/delivering.h"

namespace neap::tools {
namespace {

// Others are refused after they have been planned.
bool HasValuesOf8Bits(const graph::Graph& graph) {
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Op& op : subgraph.ops) {
      for (const graph::TensorId output : op.outputs) {
        if (output.valid() && graph::BitsOf(subgraph.tensors[output].type) != 8) return false;
      }
    }
  }
  return true;
}

}  // namespace

void SetEmitDefaults(deliver::Words* words) {
  if (!words->Has("runtime")) words->runtime = "neap";
  const bool streams = words->runtime == "neap" && words->stream.empty() &&
                       words->cascade != "auto" && !words->keep_inputs && words->memories.empty() &&
                       words->moves == "none" && !words->Has("order-only");
  if (streams) words->stream = "auto";
}

void SetReceivedDefaults(deliver::Words* words) {
  if (!words->Has("runtime")) words->runtime = "neap";
  words->rewrite = "none";
  words->cascade = "off";
  words->stream = "off";
}

Result<PlannedForC> PlanForC(const formats::SourceModel& source, const deliver::Words& words,
                             const formats::LoadOptions& load, bool shows_progress,
                             const CodeKernels& kernels) {
  std::optional<WorkScope> work;
  if (const std::int64_t limit = deliver::DefaultWorkOf(words)) work.emplace(limit);
  NEAP_TRY(deliver::Request request, deliver::RequestOf(words, source, load));
  // Not in `words`, where it would request a plan with one memory.
  if (!words.Has("max-macs") && words.max_macs_permille == 0 && words.stream == "auto") {
    request.streaming.settings.max_macs_permille = 1000;
  }
  request.rewriting.sums_in_place = false;  // accumulators have no kernels in neap_rt
  if (request.compile.runtime == plan::Runtime::kNeap &&
      request.compile.kernels == ops::KernelLibrary::kNone) {
    request.compile.kernels = kernels.library;
  }
  request.streaming.settings.processor = kernels.processor;
  if (kernels.max_cycles_permille != 0) {
    stream::Settings& settings = request.streaming.settings;
    if (settings.fast_bytes > 0) {
      return Fail(
          UsageError("--max-slowdown requires a plan with one memory, for example with "
                     "--input resident"));
    }
    settings.max_cycles_permille = kernels.max_cycles_permille;
    // Rows may be computed again as far as the instructions allow it.
    if (!words.Has("max-macs")) settings.max_macs_permille = kernels.max_cycles_permille;
  }
  PlannedForC planned;
  if (const std::int64_t fast = request.streaming.settings.fast_bytes; fast > 0) {
    planned.fast_bytes = fast;
    request.streaming.settings.fast_bytes = std::max<std::int64_t>(
        fast / emit::kArenaAlignment * emit::kArenaAlignment - emit::kStateBytes, 1);
    request.budgets.arena_bytes = request.streaming.settings.fast_bytes;
  }
  NEAP_TRY(deliver::Delivery delivery, DeliverWithProgress(source, shows_progress, &request));
  planned.plan = std::move(delivery.compiled.plan);
  planned.source = delivery.Planned(source);
  const auto& stream = planned.plan.entries[0].stream;
  const auto& limit = request.budgets.slow_bytes;
  if (limit && stream && stream->slow && stream->slow->bytes > *limit) {
    return Fail(OverBudget("over budget: slow memory required " + FormatBytes(stream->slow->bytes) +
                           ", available " + FormatBytes(*limit)));
  }
  return planned;
}

Status FinishForC(PlannedForC* planned) {
  const auto violations = check::CheckPlan(planned->source.graph, planned->plan);
  if (!violations.empty()) {
    return Fail(BadInput("the plan is not valid: " + violations.front()));
  }
  return emit::InlineCalls(&planned->source.graph, &planned->plan);
}

std::optional<report::CodeNeed> NeedOfCode(const std::string& path, formats::LoadOptions load,
                                           double time_limit_seconds, bool shows_progress) {
  load.weights = true;
  auto source = formats::Load(path, load);
  if (!source || !HasValuesOf8Bits(source->graph)) return std::nullopt;
  report::CodeNeed need;
  need.weights_bytes = report::FlashOf(source->graph, 0).weights_bytes;
  deliver::Words words;
  words.time_limit_seconds = time_limit_seconds;
  SetEmitDefaults(&words);
  auto planned = PlanForC(*source, words, load, shows_progress);
  if (!planned || !FinishForC(&*planned)) return std::nullopt;
  const auto emitted = emit::Emit(planned->source.graph, planned->plan, {});
  if (!emitted) return std::nullopt;
  need.arena_bytes = emitted->arena_bytes;
  need.stack_bytes = emitted->stack_bytes;
  return need;
}

}  // namespace neap::tools
