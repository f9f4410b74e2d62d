// SPDX-License-Identifier: Apache-2.0
//
// What goes with what, and the request that words come to.
#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "neap/base/limits.h"
#include "neap/deliver/options.h"
#include "neap/io/file.h"
#include "neap/plan/profile.h"
#include "neap/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

bool Rewrites(const Words& words) {
  return words.rewrite != "none" && (words.Has("rewrite") || words.Has("rules") ||
                                     words.Has("rewrite-work") || words.Has("accumulator-bytes"));
}

bool HasBudget(const Words& words) { return words.budget_bytes || words.budget_total_bytes; }

// Whether streams, or tiles, go with the other options at all.
bool MayStream(const Words& words) {
  return !words.order_only && !words.writes_model && !words.writes_header &&
         words.moves == "none" && words.memories.empty();
}
bool MayCut(const Words& words) {
  return !words.order_only && words.order == "exact" && !words.has_scratch &&
         words.memories.empty() && words.moves == "none";
}

// What does not go together. {NAME} is an option. An option of one kind of plan beside another kind
// would be ignored in silence.
struct Conflict {
  bool (*holds)(const Words& words);
  std::string_view text;
  std::string_view hint;
};

constexpr Conflict kConflicts[] = {
    // Addresses.
    {[](const Words& w) { return w.keep_inputs && w.overlap.empty(); },
     "{keep-inputs} belongs to {overlap}", ""},
    {[](const Words& w) { return w.moves != "none" && (w.order_only || !w.overlap.empty()); },
     "{moves} goes with neither {order-only} nor {overlap}: it is about addresses at which no two "
     "tensors lie",
     ""},
    {[](const Words& w) { return w.order_only && !w.overlap.empty(); },
     "{overlap} is about addresses, which {order-only} leaves out", ""},
    {[](const Words& w) { return !w.overlap.empty() && w.no_memory_plan; },
     "{overlap} is about addresses, which {no-memory-plan} leaves to TFLM", ""},
    {[](const Words& w) { return w.order_only && HasBudget(w); },
     "{budget} compares an arena, which {order-only} leaves out", ""},
    {[](const Words& w) { return w.order_only && w.writes_header; },
     "{emit-c} writes addresses, which {order-only} leaves out", ""},
    {[](const Words& w) { return !w.integer_io.empty() && w.has_scratch; },
     "{integer-io} does not go with {scratch}", ""},
    // Orders.
    {[](const Words& w) { return !w.forced.empty() && w.order != "best-first"; },
     "{forced} belongs to {order} best-first", ""},
    {[](const Words& w) { return w.Has("slack") && w.forced != "relaxed"; },
     "{slack} belongs to {forced} relaxed", ""},
    {[](const Words& w) { return w.step_states != 0 && w.order != "serenity"; },
     "{step-states} belongs to {order} serenity", ""},
    {[](const Words& w) { return w.soft_budget_bytes != 0 && w.order != "serenity"; },
     "{soft-budget} belongs to {order} serenity", ""},
    {[](const Words& w) { return w.soft_budget_bytes != 0 && w.step_states != 0; },
     "{step-states} ends the steps of a search that {soft-budget} replaces", ""},
    // Tiles.
    {[](const Words& w) { return w.cascade != "auto" && !w.device.empty(); },
     "{device} belongs to {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.cascade_bodies != "clones"; },
     "{cascade-bodies} belongs to {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("max-region-operators"); },
     "{max-region-operators} belongs to {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("max-region-tiles"); },
     "{max-region-tiles} belongs to {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("max-tile-aspect"); },
     "{max-tile-aspect} belongs to {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("tile-grids"); },
     "{tile-grids} belongs to {cascade} auto", ""},
    {[](const Words& w) { return w.cascade_bodies == "shared" && w.no_memory_plan; },
     "{cascade-bodies} shared rests on addresses, which {no-memory-plan} leaves to TFLM", ""},
    {[](const Words& w) { return w.cascade == "auto" && !MayCut(w); },
     "{cascade} auto goes with none of {order-only}, {order}, {scratch}, {memory}, {moves}", ""},
    // Rewriting. Where none was asked for, the graph just stays as it is.
    {[](const Words& w) { return Rewrites(w) && w.has_scratch; },
     "rewriting does not go with {scratch}, whose sizes are those of the given operators", ""},
    // Memories.
    {[](const Words& w) { return !w.memories.empty() && w.writes_model; },
     "stock runtimes have one arena: {memory} cannot be written into a model",
     "write the plan alone"},
    {[](const Words& w) {
       return !w.memories.empty() && (w.order_only || w.moves != "none" || w.budget_total_bytes);
     },
     "{memory} goes with none of {order-only}, {moves} and {budget-total}", ""},
    // Streams.
    {[](const Words& w) {
       return w.stream != "auto" &&
              (w.input != "resident" || w.max_macs_permille != 0 || w.block_columns != 0);
     },
     "{input}, {max-macs} and {block-columns} belong to {stream} auto", ""},
    {[](const Words& w) { return w.stream == "auto" && !MayStream(w); },
     "{stream} goes with none of a written model, {emit-c}, {order-only}, {moves} and {memory}",
     ""},
    {[](const Words& w) { return w.stream == "auto" && w.keep_inputs; },
     "{keep-inputs} does not go with {stream}, which writes over rows that have been read", ""},
};

// The same for a runtime that is known.
struct RuntimeConflict {
  bool (*holds)(const Words& words, plan::Runtime runtime);
  std::string_view text;  // {} is the runtime
};

constexpr RuntimeConflict kRuntimeConflicts[] = {
    {[](const Words& w, plan::Runtime r) {
       return w.stream == "auto" && r != plan::Runtime::kNeap;
     },
     "{stream} belongs to {runtime} neap: stock runtimes execute no such plan"},
    {[](const Words& w, plan::Runtime r) {
       return w.cascade_bodies == "shared" && r != plan::Runtime::kTflm;
     },
     "{cascade-bodies} shared belongs to {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) { return w.no_memory_plan && r != plan::Runtime::kTflm; },
     "{no-memory-plan} belongs to {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) {
       return w.budget_total_bytes && r != plan::Runtime::kTflm;
     },
     "{budget-total} belongs to {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) {
       return w.accumulator_bytes != 0 && (r != plan::Runtime::kNeap || w.writes_model);
     },
     "{accumulator-bytes} belongs to {runtime} neap without a written model: no file holds "
     "accumulators"},
    {[](const Words& w, plan::Runtime r) {
       return w.moves != "none" && (r == plan::Runtime::kNeap || r == plan::Runtime::kLitert);
     },
     "{moves} is not for {runtime} {}, where tensors share addresses"},
};

// `text` with the names of options in it, and with `runtime` for {}.
std::string Told(std::string_view text, const Words& words, std::string_view runtime) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    if (open == text.size()) break;
    const std::size_t close = text.find('}', open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    out += name.empty() ? std::string(runtime) : words.Named(name);
    text.remove_prefix(close + 1);
  }
  return out;
}

Status CheckWithRuntime(const Words& words, plan::Runtime runtime) {
  for (const RuntimeConflict& conflict : kRuntimeConflicts) {
    if (!conflict.holds(words, runtime)) continue;
    return Fail(UsageError(Told(conflict.text, words, plan::ProfileOf(runtime).name)));
  }
  return CheckOverlap(words, runtime);
}

// What plans have to stay within, a device's memory included.
Budgets BudgetsOf(const Words& words, const graph::Graph& graph, const cascade::Device& device) {
  Budgets budgets{words.budget_bytes, words.budget_total_bytes, {}};
  if (words.cascade != "auto") return budgets;
  const cascade::DeviceMemory* const memory = cascade::MemoryFor(device, false);
  if (memory == nullptr || memory->bytes == 0) return budgets;
  budgets.memory_bytes = memory->bytes;
  if (memory != cascade::MemoryFor(device, true)) return budgets;
  // Weights are in the same memory.
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Tensor& tensor : subgraph.tensors) {
      if (tensor.constant) *budgets.memory_bytes -= graph::TensorBytes(tensor).value_or(0);
    }
  }
  budgets.memory_bytes = std::max<std::int64_t>(*budgets.memory_bytes, 0);
  return budgets;
}

void SetLimits(const Words& words, Limits* limits) {
  limits->max_memory_bytes = words.max_memory_bytes;
  // A limit that was asked for takes the place of the default one.
  limits->max_states = words.max_states > 0           ? words.max_states
                       : words.time_limit_seconds > 0 ? 0
                                                      : kStatesForAFewSeconds;
  if (words.time_limit_seconds > 0) {
    Limits of_all;
    of_all.max_seconds = words.time_limit_seconds;
    limits->deadline = of_all.EndOfSearch(Limits::Clock::now());
  }
  limits->threads = static_cast<int>(
      words.threads > 0 ? words.threads
                        : std::max<std::int64_t>(std::thread::hardware_concurrency(), 1));
}

void SetOrder(const Words& words, compile::Options* options) {
  options->order = words.order;
  options->seed = words.seed;
  if (!words.forced.empty()) options->forced = words.forced;
  options->slack_bytes = words.slack_bytes;
  if (words.step_states != 0) options->step_states = words.step_states;
  options->soft_budget_bytes = words.soft_budget_bytes;
  options->place = !words.order_only;
}

void SetStreams(const Words& words, bool has_budget, Request* request) {
  compile::Options& options = request->compile;
  // Whatever the budget needs, unless there is a limit.
  if (has_budget) options.most_macs_permille = 1'000'000;
  if (words.stream == "auto") {
    request->streams = Use::kAlways;
  } else if (words.stream.empty() && MayStream(words) && !words.keep_inputs &&
             options.runtime == plan::Runtime::kNeap) {
    request->streams = Use::kIfNeeded;
  }
  for (const auto input :
       {plan::StreamInput::kResident, plan::StreamInput::kExternal, plan::StreamInput::kRows}) {
    if (plan::NameOf(input) == words.input) options.stream_input = input;
  }
  if (words.max_macs_permille != 0) options.most_macs_permille = words.max_macs_permille;
  options.stream_columns = words.block_columns;
}

}  // namespace

Status CheckWords(const Words& words) {
  for (const Conflict& conflict : kConflicts) {
    if (!conflict.holds(words)) continue;
    Diagnostic diagnostic = UsageError(Told(conflict.text, words, ""));
    diagnostic.hint = conflict.hint;
    return Fail(std::move(diagnostic));
  }
  const auto settings = RewritingOf(words);
  return settings ? Status() : Status(Fail(settings.error()));
}

Result<plan::Runtime> RuntimeOf(const Words& words, formats::Format format) {
  if (words.runtime.empty()) return DefaultRuntime(format);
  return *plan::RuntimeNamed(words.runtime);
}

Status CheckOverlap(const Words& words, plan::Runtime runtime) {
  const auto kernels = ops::KernelLibraryNamed(words.overlap);
  if (!kernels || *kernels == ops::KernelLibrary::kNone) return {};
  const bool neap = runtime == plan::Runtime::kNeap;
  const bool other = runtime == plan::Runtime::kLitert || runtime == plan::Runtime::kOnnxRuntime ||
                     neap != (*kernels == ops::KernelLibrary::kNeap);
  if (!other) return {};
  return Fail(UsageError(words.Named("overlap") + " " + words.overlap + " is not for " +
                         words.Named("runtime") + " " + std::string(plan::ProfileOf(runtime).name) +
                         ", which has other kernels"));
}

Result<cascade::Device> DeviceOf(const Words& words) {
  const std::string wanted =
      words.device.empty() ? std::string(cascade::DevicePresets().front()) : words.device;
  if (auto preset = cascade::DeviceNamed(wanted)) return *preset;
  if (!wanted.ends_with(".json")) {
    Diagnostic diagnostic = UsageError(words.Named("device") + " '" + wanted + "' is no preset");
    diagnostic.hint = "one of ";
    for (const std::string_view name : cascade::DevicePresets()) {
      diagnostic.hint += std::string(name) + ", ";
    }
    diagnostic.hint += "or a file ending in .json";
    return Fail(std::move(diagnostic));
  }
  NEAP_TRY(const auto bytes, io::ReadFile(wanted));
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return cascade::ParseDevice(text, wanted);
}

IntegerIo IntegerIoOf(const Words& words) {
  if (words.integer_io.empty()) return IntegerIo::kNone;
  if (words.integer_io == "both") return IntegerIo::kBoth;
  return words.integer_io == "inputs" ? IntegerIo::kInputs : IntegerIo::kOutputs;
}

Result<RewriteSettings> RewritingOf(const Words& words) {
  RewriteSettings settings;
  settings.any = words.rewrite != "none";
  const bool chooses = !words.rules.empty() || words.rewrite_work != 0;
  if (words.rewrite == "reassociate") settings.exactness = plan::Exactness::kReassociates;
  if (words.rewrite == "serenity") {
    // Section 3.3 of the paper: channel-wise and kernel-wise partitioning behind concatenations.
    settings.everywhere = true;
    settings.exactness = plan::Exactness::kReassociates;
    settings.accumulator_bytes = 1;
    settings.rules = {"concat", "kernel-wise", "channel-wise"};
    if (chooses) {
      return Fail(UsageError(Told(
          "{rules} and {rewrite-work} choose where to rewrite, which {rewrite} serenity does not",
          words, "")));
    }
  }
  if (!settings.any && (chooses || words.accumulator_bytes != 0)) {
    return Fail(UsageError(
        Told("{rules}, {rewrite-work} and {accumulator-bytes} belong to {rewrite}, which is none "
             "here",
             words, "")));
  }
  if (words.accumulator_bytes != 0) {
    settings.accumulator_bytes = static_cast<int>(words.accumulator_bytes);
  }
  settings.work = words.rewrite_work;
  if (words.rules.empty()) return settings;
  if (!words.rules.front().starts_with("-")) {
    settings.rules = words.rules;
    return settings;
  }
  for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
    const std::string name(rule.name);
    const auto& off = words.rules;
    if (std::find(off.begin(), off.end(), "-" + name) == off.end()) settings.rules.push_back(name);
  }
  settings.any = settings.any && !settings.rules.empty();
  return settings;
}

bool HasDefaultWork(const Words& words) {
  return words.max_states == 0 && words.time_limit_seconds <= 0;
}

Result<Request> RequestOf(const Words& words, const formats::SourceModel& source,
                          const formats::LoadOptions& load) {
  NEAP_CHECK_OK(CheckWords(words));
  Request request;
  compile::Options& options = request.compile;
  NEAP_TRY(options.runtime, RuntimeOf(words, source.format));
  NEAP_CHECK_OK(CheckWithRuntime(words, options.runtime));
  NEAP_TRY(request.rewriting, RewritingOf(words));
  // An order strategy is about the given graph, and so are sizes of scratch.
  const bool given_graph = !Rewrites(words) && words.order != "exact";
  if (given_graph || words.has_scratch) request.rewriting.any = false;
  request.sums_in_place = options.runtime == plan::Runtime::kNeap && !words.writes_model;
  request.integer_io = IntegerIoOf(words);
  request.load = load;
  SetLimits(words, &options.limits);
  SetOrder(words, &options);
  options.tell_offsets = !words.no_memory_plan;
  options.kernels = ops::KernelLibraryNamed(words.overlap).value_or(ops::KernelLibrary::kNone);
  options.keep_inputs = words.keep_inputs;
  options.memories = words.memories;
  options.moves = compile::MoveStrategyNamed(words.moves).value_or(compile::MoveStrategy::kNone);
  NEAP_TRY(request.device, DeviceOf(words));
  if (words.cascade == "auto") {
    request.tiles = Use::kAlways;
  } else if (words.cascade.empty() && MayCut(words)) {
    request.tiles = Use::kIfNeeded;
  }
  if (words.cascade_bodies == "shared") request.bodies = cascade::TileBodies::kShared;
  request.grids = words.grids;
  request.budgets = BudgetsOf(words, source.graph, request.device);
  SetStreams(words, request.budgets.Any(), &request);
  return request;
}

}  // namespace neap::deliver
