// SPDX-License-Identifier: Apache-2.0
//
// Incompatible options, and the request that the options describe.
#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "neap/base/limits.h"
#include "neap/deliver/effort.h"
#include "neap/deliver/options.h"
#include "neap/io/file.h"
#include "neap/ops/neap_rt.h"
#include "neap/plan/profile.h"
#include "neap/target/target.h"
#include "neap/transform/rewrite/channels/dead.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

bool Rewrites(const Words& words) {
  return words.rewrite != "none" && (words.Has("rewrite") || words.Has("rules") ||
                                     words.Has("rewrite-work") || words.Has("accumulator-bytes"));
}

bool GivesBudget(const Words& words) {
  return words.budget_bytes || words.budget_activations_bytes || words.budget_total_bytes;
}

bool Skips(const Words& words, std::string_view step) {
  const std::vector<std::string>& skipped = words.skipped_steps;
  return std::find(skipped.begin(), skipped.end(), step) != skipped.end();
}

// Incompatible options; {NAME} is an option. An option that belongs to another kind of plan would
// be ignored silently.
struct Conflict {
  bool (*holds)(const Words& words);
  std::string_view text;
  std::string_view hint;
};

constexpr Conflict kConflicts[] = {
    // Addresses.
    {[](const Words& w) { return w.keep_inputs && w.overlap.empty(); },
     "{keep-inputs} requires {overlap}", ""},
    {[](const Words& w) { return w.moves != "none" && (w.order_only || !w.overlap.empty()); },
     "{moves} cannot be combined with {order-only} or {overlap}: it needs addresses that no two "
     "tensors share",
     ""},
    {[](const Words& w) { return w.order_only && !w.overlap.empty(); },
     "{overlap} needs addresses, which {order-only} leaves out", ""},
    {[](const Words& w) { return !w.overlap.empty() && w.no_memory_plan; },
     "{overlap} needs addresses, which {no-memory-plan} leaves to TFLM", ""},
    {[](const Words& w) { return w.order_only && HasBudget(w); },
     "{budget} compares an arena, which {order-only} leaves out", ""},
    {[](const Words& w) { return w.order_only && w.writes_header; },
     "{emit-c} writes addresses, which {order-only} leaves out", ""},
    {[](const Words& w) { return !w.integer_io.empty() && w.has_scratch; },
     "{integer-io} cannot be combined with {scratch}", ""},
    // Steps.
    {[](const Words& w) { return Skips(w, "rewrite") && Rewrites(w); },
     "{rewrite} and {rules} cannot be combined with {skip} rewrite", ""},
    {[](const Words& w) { return Skips(w, "stream") && w.stream == "auto"; },
     "{stream} auto cannot be combined with {skip} stream", ""},
    {[](const Words& w) { return Skips(w, "tiles") && w.cascade == "auto"; },
     "{cascade} auto cannot be combined with {skip} tiles", ""},
    // Orders.
    {[](const Words& w) { return !w.forced.empty() && w.order != "best-first"; },
     "{forced} requires {order} best-first", ""},
    {[](const Words& w) { return w.Has("slack") && w.forced != "relaxed"; },
     "{slack} requires {forced} relaxed", ""},
    {[](const Words& w) { return w.step_states != 0 && w.order != "serenity"; },
     "{step-states} requires {order} serenity", ""},
    {[](const Words& w) { return w.soft_budget_bytes != 0 && w.order != "serenity"; },
     "{soft-budget} requires {order} serenity", ""},
    {[](const Words& w) { return w.soft_budget_bytes != 0 && w.step_states != 0; },
     "{step-states} limits a search that {soft-budget} replaces", ""},
    // Tiles.
    {[](const Words& w) { return w.cascade != "auto" && !w.device.empty(); },
     "{device} requires {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.cascade_bodies != "clones"; },
     "{cascade-bodies} requires {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("max-region-operators"); },
     "{max-region-operators} requires {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("max-region-tiles"); },
     "{max-region-tiles} requires {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("max-tile-aspect"); },
     "{max-tile-aspect} requires {cascade} auto", ""},
    {[](const Words& w) { return w.cascade != "auto" && w.Has("tile-grids"); },
     "{tile-grids} requires {cascade} auto", ""},
    {[](const Words& w) { return w.cascade_bodies == "shared" && w.no_memory_plan; },
     "{cascade-bodies} shared needs addresses, which {no-memory-plan} leaves to TFLM", ""},
    {[](const Words& w) { return w.cascade == "auto" && !MayCut(w); },
     "{cascade} auto cannot be combined with {order-only}, {order} or {scratch}", ""},
    // Recomputation.
    {[](const Words& w) { return w.max_cost_permille != 0 && !MayCut(w); },
     "{recompute} cannot be combined with {order-only}, {order} or {scratch}", ""},
    {[](const Words& w) {
       return w.max_cost_permille != 0 && (w.cascade == "auto" || w.stream == "auto");
     },
     "{recompute} cannot be combined with {cascade} auto or {stream} auto", ""},
    // Targets.
    {[](const Words& w) { return !w.board.empty() && !w.target.empty(); },
     "{board} has its own target and cannot be combined with {target}", ""},
    {[](const Words& w) { return w.Has("reserve") && (w.budget_bytes || w.budget_total_bytes); },
     "{reserve} is subtracted from the board's RAM, which {budget} replaces: give one of them", ""},
    {[](const Words& w) { return !w.registered.empty() && w.order_only; },
     "{registered} limits plans with addresses, which {order-only} leaves out", ""},
    {[](const Words& w) { return w.Has("reserve") && w.fast_bytes != 0; },
     "{reserve} is subtracted from the board's memory, which {fast} replaces: give one of them",
     ""},
    {[](const Words& w) { return w.board.empty() && w.Has("reserve"); },
     "{reserve} requires {board}", ""},
    {[](const Words& w) { return w.budget_bytes && w.budget_total_bytes; },
     "{budget-total} is another name of {budget}: give one of them", ""},
    // Rewriting. If it was not requested, the graph is not changed.
    {[](const Words& w) { return Rewrites(w) && w.has_scratch; },
     "rewriting cannot be combined with {scratch}, whose sizes are those of the given operators",
     ""},
    // Memories.
    {[](const Words& w) { return !w.memories.empty() && w.writes_model; },
     "{memory} cannot be written into a model: stock runtimes have one arena",
     "write the plan instead"},
    {[](const Words& w) {
       return !w.memories.empty() &&
              (w.order_only || w.moves != "none" || w.budget_total_bytes || !w.board.empty());
     },
     "{memory} cannot be combined with {order-only}, {moves}, {budget-total} or {board}", ""},
    // Streams.
    {[](const Words& w) {
       return w.stream != "auto" &&
              (w.input != "resident" || w.max_macs_permille != 0 || w.block_columns != 0);
     },
     "{input}, {max-macs} and {block-columns} require {stream} auto", ""},
    {[](const Words& w) { return w.Has("fast") && w.fast_bytes == 0; },
     "{fast} is 0, expected the size of a fast memory", ""},
    {[](const Words& w) { return w.Has("fast") && w.stream != "auto"; },
     "{fast} requires {stream} auto", ""},
    {[](const Words& w) {
       return w.Has("fast") && (w.input != "resident" || w.max_macs_permille != 0 ||
                                w.block_columns != 0 || GivesBudget(w) || Rewrites(w));
     },
     "{fast} cannot be combined with {input}, {max-macs}, {block-columns}, {budget} or {rewrite}",
     ""},
    {[](const Words& w) { return w.stream == "auto" && !MayStream(w); },
     "{stream} cannot be combined with a written model, {emit-c}, {order-only}, {moves} or "
     "{memory}",
     ""},
    {[](const Words& w) { return w.stream == "auto" && w.keep_inputs; },
     "{keep-inputs} cannot be combined with {stream}, which overwrites rows after their last use",
     ""},
};

// The same with a runtime.
struct RuntimeConflict {
  bool (*holds)(const Words& words, plan::Runtime runtime);
  std::string_view text;  // {} is the runtime
};

constexpr RuntimeConflict kRuntimeConflicts[] = {
    {[](const Words& w, plan::Runtime r) {
       return w.stream == "auto" && r != plan::Runtime::kNeap;
     },
     "{stream} requires {runtime} neap: stock runtimes cannot execute streamed plans"},
    {[](const Words& w, plan::Runtime r) {
       return w.cascade_bodies == "shared" && r != plan::Runtime::kTflm;
     },
     "{cascade-bodies} shared requires {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) { return w.no_memory_plan && r != plan::Runtime::kTflm; },
     "{no-memory-plan} requires {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) { return !w.target.empty() && r != plan::Runtime::kTflm; },
     "{target} requires {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) {
       return !w.registered.empty() && r != plan::Runtime::kTflm;
     },
     "{registered} requires {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) {
       return !w.board.empty() && r != plan::Runtime::kTflm && r != plan::Runtime::kNeap;
     },
     "{board} requires {runtime} tflm or neap"},
    {[](const Words& w, plan::Runtime r) {
       const target::Board* const board = target::BoardNamed(w.board);
       return board != nullptr && board->target.empty() && r == plan::Runtime::kTflm;
     },
     "{board} names memories without a target of {}: use {runtime} neap"},
    {[](const Words& w, plan::Runtime r) {
       return w.budget_total_bytes && r != plan::Runtime::kTflm;
     },
     "{budget-total} requires {runtime} tflm"},
    {[](const Words& w, plan::Runtime r) {
       return w.budget_activations_bytes && r != plan::Runtime::kTflm;
     },
     "{budget-activations} requires {runtime} tflm; {budget} compares the arena of {}"},
    {[](const Words& w, plan::Runtime r) {
       return w.budget_bytes && !w.memories.empty() && r == plan::Runtime::kTflm;
     },
     "{budget} compares the total arena of {}, which is unknown with {memory}: use "
     "{budget-activations}"},
    {[](const Words& w, plan::Runtime r) {
       return w.accumulator_bytes != 0 && (r != plan::Runtime::kNeap || w.writes_model);
     },
     "{accumulator-bytes} requires {runtime} neap without a written model: no file format has "
     "accumulators"},
    {[](const Words& w, plan::Runtime r) {
       return w.moves != "none" && (r == plan::Runtime::kNeap || r == plan::Runtime::kLitert);
     },
     "{moves} is not applicable to {runtime} {}, where tensors share addresses"},
};

// `text` with the names of the options, and with `runtime` for {}.
std::string Named(std::string_view text, const Words& words, std::string_view runtime) {
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
    return Fail(UsageError(Named(conflict.text, words, plan::ProfileOf(runtime).name)));
  }
  return CheckOverlap(words, runtime);
}

std::int64_t WeightBytes(const graph::Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Tensor& tensor : subgraph.tensors) {
      if (tensor.constant) bytes += graph::TensorBytes(tensor).value_or(0);
    }
  }
  return bytes;
}

// `replaced`: its memory for activations, by several.
void AddMemoriesOf(const cascade::Device& device, const graph::Graph& graph, bool replaced,
                   Budgets* budgets) {
  const cascade::DeviceMemory* const memory = cascade::MemoryFor(device, false);
  const cascade::DeviceMemory* const weights = cascade::MemoryFor(device, true);
  if (weights != nullptr && weights != memory && weights->bytes != 0) {
    budgets->weight_memory_bytes = weights->bytes;
    budgets->weight_bytes = cascade::StoredBytes(WeightBytes(graph), device);
  }
  if (memory == nullptr || memory->bytes == 0 || replaced) return;
  const std::int64_t beside =
      memory == weights ? cascade::StoredBytes(WeightBytes(graph), device) : 0;
  budgets->memory_bytes = std::max<std::int64_t>(memory->bytes - beside, 0);
}

// The budgets of the plans, including the memories of a device.
Budgets BudgetsOf(const Words& words, plan::Runtime runtime, const graph::Graph& graph,
                  const cascade::Device& device) {
  Budgets budgets;
  // The one place that decides what a budget is compared with.
  (runtime == plan::Runtime::kTflm ? budgets.total_bytes : budgets.arena_bytes) =
      words.budget_bytes;
  if (words.budget_total_bytes) budgets.total_bytes = words.budget_total_bytes;
  if (words.budget_activations_bytes) budgets.arena_bytes = words.budget_activations_bytes;
  const target::Board* const board = target::BoardNamed(words.board);
  if (board != nullptr && runtime == plan::Runtime::kNeap) {
    if (!words.budget_bytes) {
      budgets.arena_bytes = std::max<std::int64_t>(board->ram_bytes - words.reserve_bytes, 0);
    }
  } else if (board != nullptr && !words.budget_bytes && !words.budget_total_bytes) {
    budgets.total_bytes = std::max<std::int64_t>(board->ram_bytes - words.reserve_bytes, 0);
  }
  // The default device is none that the user has.
  if (words.cascade == "auto" && !words.device.empty()) {
    AddMemoriesOf(device, graph, !words.memories.empty(), &budgets);
  }
  return budgets;
}

void SetLimits(const Words& words, Limits* limits) {
  limits->max_memory_bytes = words.max_memory_bytes;
  // A requested limit replaces the default one.
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
  options->order = *compile::OrderStrategyNamed(words.order);
  options->seed = words.seed;
  if (!words.forced.empty()) options->forced = *compile::ForcedRuleNamed(words.forced);
  options->slack_bytes = words.slack_bytes;
  if (words.step_states != 0) options->step_states = words.step_states;
  options->soft_budget_bytes = words.soft_budget_bytes;
  options->place = !words.order_only;
}

void SetStreams(const Words& words, bool has_budget, Request* request) {
  stream::Settings& settings = request->streaming.settings;
  // As many as the budget needs, unless there is a limit.
  if (has_budget) settings.max_macs_permille = 1'000'000;
  if (words.stream == "auto") {
    request->streaming.use = Use::kAlways;
  } else if (words.stream.empty() && MayStream(words) && !words.keep_inputs &&
             request->compile.runtime == plan::Runtime::kNeap) {
    request->streaming.use = Use::kIfNeeded;
  }
  for (const auto input :
       {plan::StreamInput::kResident, plan::StreamInput::kExternal, plan::StreamInput::kRows}) {
    if (plan::NameOf(input) == words.input) settings.input = input;
  }
  if (words.max_macs_permille != 0) settings.max_macs_permille = words.max_macs_permille;
  settings.column_block = words.block_columns;
}

// Of a plan with two memories; 0: it has one. A board with two has them unless an option requests a
// plan that has one.
Result<std::int64_t> FastLimitOf(const Words& words, plan::Runtime runtime) {
  if (words.fast_bytes > 0) return words.fast_bytes;
  const target::Board* const board = target::BoardNamed(words.board);
  const bool one = board == nullptr || !target::SlowBytesOf(*board) || words.stream != "auto" ||
                   words.budget_bytes || words.Has("input") || words.max_macs_permille != 0 ||
                   words.block_columns != 0 || Rewrites(words);
  if (one || runtime != plan::Runtime::kNeap) return 0;
  const std::int64_t bytes = target::FastBytesOf(*board) - words.reserve_bytes;
  if (bytes > 0) return bytes;
  return Fail(UsageError(Named("{reserve} leaves no byte of the " +
                                   std::string(board->memories.front().name) + " of {board} ",
                               words, "") +
                         words.board));
}

// The arena is compared with the fast memory; no other kind of plan has two memories.
void SetTwoMemories(std::int64_t fast_bytes, Request* request) {
  if (request->board != nullptr) {
    const std::optional<std::int64_t> slow = target::SlowBytesOf(*request->board);
    if (slow.value_or(0) > 0) request->budgets.slow_bytes = slow;
  }
  request->streaming.settings.fast_bytes = fast_bytes;
  request->streaming.settings.input = plan::StreamInput::kSlow;
  request->streaming.settings.max_macs_permille = 1000;
  request->budgets.arena_bytes = fast_bytes;
  request->tiling.use = Use::kNever;
  request->use_extras = Use::kNever;
  request->rewriting.any = false;
}

}  // namespace

std::span<const OptionalStep> OptionalSteps() {
  static constexpr OptionalStep kSteps[] = {
      {"rewrite", "the search for rewrites", [](Request* r) { r->rewriting.any = false; }},
      {"stream", "the search for streams", [](Request* r) { r->streaming.use = Use::kNever; }},
      {"tiles", "the search for tiles", [](Request* r) { r->tiling.use = Use::kNever; }},
      {"rewritten and streamed", "the search for streams of the rewritten model",
       [](Request* r) { r->skipped.emplace_back("rewritten and streamed"); }},
      {"rewritten and tiles", "the search for tiles of the rewritten model",
       [](Request* r) { r->skipped.emplace_back("rewritten and tiles"); }},
      {"extras", "features that no option states: overlap, moves, shared bodies",
       [](Request* r) { r->use_extras = Use::kNever; }},
      {"overlap", "overlaps that no option states",
       [](Request* r) { r->skipped.emplace_back("overlap"); }},
      {"moves", "moves that no option states",
       [](Request* r) { r->skipped.emplace_back("moves"); }},
      {"shared bodies", "shared bodies of tiles that no option states",
       [](Request* r) { r->skipped.emplace_back("shared bodies"); }},
      {"arena order", "the search for an order whose overlapping tensors need the smallest arena",
       [](Request* r) { r->compile.arena_order = false; }},
      {"joint search", "the search for an order and a placement together",
       [](Request* r) { r->compile.joint_search = false; }},
  };
  return kSteps;
}

bool HasBudget(const Words& words) { return GivesBudget(words) || !words.board.empty(); }

bool MayStream(const Words& words) {
  return !words.order_only && !words.writes_model && !words.writes_header &&
         words.moves == "none" && words.memories.empty();
}

bool MayCut(const Words& words) {
  return !words.order_only && words.order == "exact" && !words.has_scratch;
}

Status CheckWords(const Words& words) {
  for (const Conflict& conflict : kConflicts) {
    if (!conflict.holds(words)) continue;
    Diagnostic diagnostic = UsageError(Named(conflict.text, words, ""));
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

Result<const target::Target*> TargetOf(const Words& words) {
  const ops::KernelLibrary kernels =
      ops::KernelLibraryNamed(words.overlap).value_or(ops::KernelLibrary::kNone);
  const target::Board* const board = target::BoardNamed(words.board);
  const std::string_view named = board != nullptr ? board->target : words.target;
  if (!named.empty()) {
    const target::Target* const target = target::TargetNamed(named);
    if (ops::HoldsOnTarget(kernels, *target)) return target;
    const ops::KernelLibrary own = ops::LibraryOfTarget(*target);
    Diagnostic diagnostic =
        UsageError(words.Named("overlap") + " " + words.overlap + " is wrong on target '" +
                   std::string(target->name) + "', which has other kernels");
    diagnostic.hint = own == ops::KernelLibrary::kNone
                          ? "the order of its kernels' accesses is not known"
                          : "use " + words.Named("overlap") + " " + ops::NameOf(own);
    return Fail(std::move(diagnostic));
  }
  // The first target on which the plan is right, the default before all.
  for (const target::Target& target : target::Targets()) {
    if (ops::HoldsOnTarget(kernels, target)) return &target;
  }
  return &target::DefaultTarget();
}

Status CheckOverlap(const Words& words, plan::Runtime runtime) {
  const auto kernels = ops::KernelLibraryNamed(words.overlap);
  if (!kernels || *kernels == ops::KernelLibrary::kNone) return {};
  const bool neap = runtime == plan::Runtime::kNeap;
  const bool other = runtime == plan::Runtime::kLitert || runtime == plan::Runtime::kOnnxRuntime ||
                     (neap ? *kernels != ops::KernelLibrary::kNeap && *kernels != ops::kNeapRt
                           : ops::Includes(*kernels, ops::KernelLibrary::kNeap) ||
                                 ops::Includes(*kernels, ops::kNeapRt));
  if (!other) return {};
  return Fail(UsageError(words.Named("overlap") + " " + words.overlap + " is not applicable to " +
                         words.Named("runtime") + " " + std::string(plan::ProfileOf(runtime).name) +
                         ", which has other kernels"));
}

Result<cascade::Device> DeviceOf(const Words& words) {
  const std::string wanted =
      words.device.empty() ? std::string(cascade::DevicePresets().front()) : words.device;
  if (auto preset = cascade::DeviceNamed(wanted)) return *preset;
  if (!wanted.ends_with(".json")) {
    Diagnostic diagnostic = UsageError(words.Named("device") + " '" + wanted + "' is not a device");
    diagnostic.hint = "expected one of ";
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
      return Fail(UsageError(Named(
          "{rules} and {rewrite-work} cannot be combined with {rewrite} serenity, which rewrites "
          "wherever its rules apply",
          words, "")));
    }
  }
  if (!settings.any && (chooses || words.accumulator_bytes != 0)) {
    return Fail(UsageError(
        Named("{rules}, {rewrite-work} and {accumulator-bytes} require {rewrite}, which is none "
              "here",
              words, "")));
  }
  if (words.accumulator_bytes != 0) {
    settings.accumulator_bytes = static_cast<int>(words.accumulator_bytes);
  }
  settings.work = words.rewrite_work;
  const auto names = [&](const std::string& rule) {
    return std::find(words.rules.begin(), words.rules.end(), rule) != words.rules.end();
  };
  const bool on_demand = words.Has("rewrite") && !settings.everywhere;
  const std::string dead_channels(rewrite::kDeadChannels);
  settings.dead_channels = settings.any && on_demand && !names("-" + dead_channels);
  if (words.rules.empty()) return settings;
  if (!words.rules.front().starts_with("-")) {
    settings.rules = words.rules;
    settings.dead_channels = names(dead_channels);
    return settings;
  }
  for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
    const std::string name(rule.name);
    const bool is_on = !rule.on_demand || on_demand;
    if (is_on && !names("-" + name)) settings.rules.push_back(name);
  }
  settings.any = settings.any && !settings.rules.empty();
  return settings;
}

Result<Request> RequestOf(const Words& words, const formats::SourceModel& source,
                          const formats::LoadOptions& load) {
  NEAP_CHECK_OK(CheckWords(words));
  NEAP_TRY(const plan::Runtime runtime, RuntimeOf(words, source.format));
  if (!words.board.empty() && source.format != formats::Format::kTflite &&
      runtime != plan::Runtime::kNeap) {
    Diagnostic diagnostic = BadInput("boards run TFLM, which reads .tflite; this is " +
                                     std::string(formats::NameOf(source.format)));
    diagnostic.file = source.path;
    diagnostic.hint = "convert the model to .tflite";
    return Fail(std::move(diagnostic));
  }
  Request request;
  compile::Options& options = request.compile;
  options.runtime = runtime;
  NEAP_CHECK_OK(CheckWithRuntime(words, options.runtime));
  if (options.runtime == plan::Runtime::kTflm) {
    NEAP_TRY(options.target, TargetOf(words));
  }
  request.board = target::BoardNamed(words.board);
  NEAP_TRY(request.rewriting, RewritingOf(words));
  // An order strategy and sizes of scratch refer to the given graph.
  const bool given_graph = !Rewrites(words) && words.order != "exact";
  if (given_graph || words.has_scratch) request.rewriting.any = false;
  request.rewriting.sums_in_place = options.runtime == plan::Runtime::kNeap && !words.writes_model;
  request.integer_io = IntegerIoOf(words);
  request.load = load;
  SetLimits(words, &options.limits);
  SetOrder(words, &options);
  options.memory_plan = !words.no_memory_plan;
  options.kernels = ops::KernelLibraryNamed(words.overlap).value_or(ops::KernelLibrary::kNone);
  options.keep_inputs = words.keep_inputs;
  options.memories = words.memories;
  options.moves = compile::MoveStrategyNamed(words.moves).value_or(compile::MoveStrategy::kNone);
  NEAP_TRY(request.tiling.device, DeviceOf(words));
  if (words.cascade == "auto") {
    request.tiling.use = Use::kAlways;
  } else if (words.cascade.empty() && MayCut(words)) {
    request.tiling.use = Use::kIfNeeded;
  }
  if (words.cascade_bodies == "shared") request.tiling.bodies = cascade::TileBodies::kShared;
  request.tiling.grids = words.grids;
  request.max_cost_permille = words.max_cost_permille;
  request.budgets = BudgetsOf(words, options.runtime, source.graph, request.tiling.device);
  SetStreams(words, request.budgets.Any(), &request);
  SetEffort(words, source.graph, &request);
  NEAP_TRY(const std::int64_t fast_bytes, FastLimitOf(words, options.runtime));
  if (fast_bytes > 0) SetTwoMemories(fast_bytes, &request);
  if (words.prefetch && fast_bytes == 0) {
    return Fail(UsageError(
        Named("{prefetch} requires {fast}, or a {board} with several memories", words, "")));
  }
  request.streaming.settings.prefetch = words.prefetch;
  if (words.slow_weights && fast_bytes == 0) {
    return Fail(UsageError(
        Named("{slow-weights} requires {fast}, or a {board} with several memories", words, "")));
  }
  request.streaming.settings.slow_weights = words.slow_weights;
  for (const OptionalStep& step : OptionalSteps()) {
    if (Skips(words, step.name)) step.leave_out(&request);
  }
  return request;
}

}  // namespace neap::deliver
