// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/stream/options.h"
#include "tools/cascading.h"
#include "tools/interface.h"

namespace neap::tools {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  neap plan model.tflite                          how much memory a better order saves\n"
    "  neap plan model.tflite -o small.tflite          write the same model in that order, with "
    "its\n"
    "                                                  memory plan for TensorFlow Lite Micro\n"
    "  neap model.tflite small.tflite                  the same, shorter\n"
    "  neap plan model.onnx --dim batch=1 --plan plan.json\n"
    "  neap plan model.tflite -o small.tflite --budget 256KiB || echo 'too large'\n"
    "  neap plan model.tflite -o small.tflite --emit-c model_arena.h\n"
    "  neap plan model.tflite -o small.tflite --overlap tflm-reference\n"
    "  neap plan model.tflite --runtime neap --stream auto --plan plan.json\n"
    "  neap plan model.tflite -o small.tflite --integer-io both     the caller converts\n"
    "  neap plan model.tflite -o small.tflite --cascade auto --budget 64KiB\n"
    "  neap plan model.tflite -o small.tflite --rewrite reassociate\n"
    "  neap plan model.tflite --runtime neap --rewrite bitwise --plan plan.json\n"
    "  neap plan model.tflite --runtime neap --rewrite serenity --order serenity   after SERENITY\n"
    "  neap plan model.onnx --time-limit 60 --require-optimal --json > report.json\n"
    "\n"
    "Exit: 0 done, 1 bad input or failure, 2 usage, 3 over budget or unknown (no model is "
    "written),\n"
    "4 no proof within the limits (only with --require-optimal), 130 interrupted: the best plan\n"
    "found so far is written and said to be unproven.\n";

std::string ListOf(const std::vector<std::string_view>& names, const char* between = "|") {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : between) + std::string(name);
  return out;
}

bool IsOneOf(const std::vector<std::string_view>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string_view> KernelLibraryNames() {
  std::vector<std::string_view> names;
  for (const ops::KernelLibraryInfo& info : ops::KernelLibraries()) names.push_back(info.name);
  return names;
}

void AddSearchOptions(CLI::App* app, PlanOptions* options) {
  app->add_option(
         "--order", options->order,
         "how the order is found, default exact: " + ListOf(compile::OrderStrategies(), ", "))
      ->option_text("NAME");
  AddSeedOption(app, "--seed", &options->seed, "of an order strategy that draws; default: 0");
  app->add_option("--forced", options->forced,
                  "transitions that best-first takes without looking further; default: single; "
                  "sets and relaxed prove nothing")
      ->option_text(ListOf(compile::ForcedRules()));
  app->add_option("--slack", options->slack,
                  "bytes by which --forced relaxed lets a transition raise peak and live bytes")
      ->option_text("SIZE");
  app->add_option("--step-states", options->step_states,
                  "states after which a search step of serenity times out; default: 10000")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  app->add_option("--soft-budget", options->soft_budget,
                  "the soft budget (tau) of serenity, in place of the search for one: schedules "
                  "with a larger peak are dropped")
      ->option_text("SIZE");
  app->add_option("--max-states", options->max_states,
                  "states of the search, the same on every machine; default: a few seconds' worth, "
                  "by the number of operators; with --time-limit: none")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  app->add_option("--time-limit", options->time_limit_seconds,
                  "seconds of all searches together; results may then differ between runs; 0, the "
                  "default: none")
      ->option_text("SECONDS");
  app->add_option("--max-memory", options->max_memory,
                  "of the tables in which the search keeps its states; what does not fit is "
                  "forgotten or ends the search, and the model itself comes on top; default: 4GiB")
      ->option_text("SIZE");
  app->add_option("--threads", options->threads,
                  "most threads of the exact search; never changes the result; default: all cores")
      ->option_text("N")
      ->check(CLI::Range(1, 1024));
}

void AddStreamOptions(CLI::App* app, PlanOptions* options) {
  app->add_option("--stream", options->stream,
                  "neap: compute parts of the network block by block, so that a few rows of most "
                  "tensors are enough; default: only where no other plan is within the budget")
      ->option_text("auto|off")
      ->check(CLI::IsMember({"auto", "off"}));
  app->add_option("--input", options->input,
                  "with --stream, where the inputs are: in the arena and counted (the default), in "
                  "other memory that can be read at any place, or fed row by row")
      ->option_text("resident|external|rows")
      ->check(CLI::IsMember({"resident", "external", "rows"}));
  app->add_option("--max-macs", options->max_macs,
                  "with --stream: multiply-accumulates of the plan, as a multiple of the "
                  "network's, such as 1.02; default: 1")
      ->option_text("RATIO");
  app->add_option("--block-columns", options->block_columns,
                  "with --stream: columns of a segment's result that a block computes; default: "
                  "chosen for each segment")
      ->option_text("N|row");
}

// "1.02" as 1020; at most three decimals.
Result<std::int64_t> ParsePermille(const std::string& text) {
  const std::size_t point = text.find('.');
  const std::string whole = text.substr(0, point);
  std::string thousandths = point == std::string::npos ? "" : text.substr(point + 1);
  thousandths.resize(std::max<std::size_t>(thousandths.size(), 3), '0');
  const std::string digits = whole + thousandths;
  if (whole.empty() || whole.size() > 3 || thousandths.size() > 3 ||
      digits.find_first_not_of("0123456789") != std::string::npos || std::stoll(digits) < 1000) {
    return Fail(UsageError("--max-macs '" + text + "' is no ratio of 1 or more, such as 1.02"));
  }
  return std::stoll(digits);
}

// Whether streams go with the other options at all.
bool MayStream(const PlanOptions& options) {
  return !options.order_only && options.model_out.empty() && options.c_out.empty() &&
         options.moves == "none" && options.memories.empty();
}

Status UnderstandStream(const PlanOptions& options, PlanSettings* settings) {
  compile::Options* const compile = &settings->compile;
  const bool detail =
      options.input != "resident" || !options.max_macs.empty() || !options.block_columns.empty();
  // Whatever the budget needs, unless there is a limit.
  if (settings->HasBudget()) compile->most_macs_permille = 1'000'000;
  if (options.stream != "auto") {
    if (detail) {
      return Fail(UsageError("--input, --max-macs and --block-columns belong to --stream auto"));
    }
    if (options.stream.empty() && MayStream(options) && !options.keep_inputs) {
      settings->streams = deliver::Use::kIfNeeded;
    }
    return {};
  }
  settings->streams = deliver::Use::kAlways;
  if (!MayStream(options)) {
    return Fail(
        UsageError("--stream goes with none of -o, --emit-c, --order-only, --moves and --memory"));
  }
  if (options.keep_inputs) {
    return Fail(UsageError(
        "--keep-inputs does not go with --stream, which writes over rows that have been read"));
  }
  for (const auto input :
       {plan::StreamInput::kResident, plan::StreamInput::kExternal, plan::StreamInput::kRows}) {
    if (plan::NameOf(input) == options.input) compile->stream_input = input;
  }
  if (!options.max_macs.empty()) {
    NEAP_TRY(compile->most_macs_permille, ParsePermille(options.max_macs));
  }
  const std::string& columns = options.block_columns;
  if (columns == "row") {
    compile->stream_columns = stream::kFullRow;
  } else if (!columns.empty()) {
    if (columns.size() > 6 || columns.find_first_not_of("0123456789") != std::string::npos ||
        std::stoll(columns) < 1) {
      return Fail(UsageError("--block-columns '" + columns + "' is neither a number nor 'row'"));
    }
    compile->stream_columns = std::stoll(columns);
  }
  return {};
}

// An option of one strategy beside another would be ignored in silence.
Status CheckOrder(const PlanOptions& options) {
  const auto names = compile::OrderStrategies();
  if (!IsOneOf(names, options.order)) {
    return Fail(UsageError("--order '" + options.order + "' is not one of " + ListOf(names)));
  }
  const auto rules = compile::ForcedRules();
  if (!options.forced.empty() && !IsOneOf(rules, options.forced)) {
    return Fail(UsageError("--forced '" + options.forced + "' is not one of " + ListOf(rules)));
  }
  if (!options.forced.empty() && options.order != "best-first") {
    return Fail(UsageError("--forced belongs to --order best-first"));
  }
  if (!options.slack.empty() && options.forced != "relaxed") {
    return Fail(UsageError("--slack belongs to --forced relaxed"));
  }
  if (options.step_states && options.order != "serenity") {
    return Fail(UsageError("--step-states belongs to --order serenity"));
  }
  if (!options.soft_budget.empty() && options.order != "serenity") {
    return Fail(UsageError("--soft-budget belongs to --order serenity"));
  }
  if (!options.soft_budget.empty() && options.step_states) {
    return Fail(UsageError("--step-states ends the steps of a search that --soft-budget replaces"));
  }
  return {};
}

// The model alone may take the place of the one that is read (with --force).
Status CheckFiles(const PlanOptions& options) {
  std::vector<NamedFile> written = {{"--plan", options.plan_out}, {"--emit-c", options.c_out}};
  const std::vector<NamedFile> pictures = options.pictures.Files();
  written.insert(written.end(), pictures.begin(), pictures.end());
  NEAP_CHECK_OK(CheckDistinct({{"the model", options.model.input}}, written));
  written.insert(written.begin(), {"-o", options.model_out});
  return CheckDistinct({{"--scratch", options.scratch}, {"--device", options.device}}, written);
}

// Whether tiles go with the other options at all.
bool MayCut(const PlanOptions& options) {
  return !options.order_only && options.order == "exact" && options.scratch.empty() &&
         options.memories.empty() && options.moves == "none";
}

Status CheckCombinations(const PlanOptions& options) {
  const int on_stdout = (options.model_out == "-" ? 1 : 0) + (options.plan_out == "-" ? 1 : 0) +
                        (options.c_out == "-" ? 1 : 0) + (options.output.json ? 1 : 0) +
                        (options.pictures.TakesStdout() ? 1 : 0);
  if (on_stdout > 1) {
    return Fail(
        UsageError("only one of -o -, --plan -, --emit-c -, --html - and --json can have standard "
                   "output"));
  }
  NEAP_CHECK_OK(CheckFiles(options));
  if (!options.overlap.empty() && !IsOneOf(KernelLibraryNames(), options.overlap)) {
    return Fail(UsageError("--overlap '" + options.overlap + "' is not one of " +
                           ListOf(KernelLibraryNames())));
  }
  if (options.keep_inputs && options.overlap.empty()) {
    return Fail(UsageError("--keep-inputs belongs to --overlap"));
  }
  if (options.moves != "none" && (options.order_only || !options.overlap.empty())) {
    return Fail(UsageError(
        "--moves goes with neither --order-only nor --overlap: it is about addresses at which no "
        "two tensors lie"));
  }
  if (options.order_only && !options.overlap.empty()) {
    return Fail(UsageError("--overlap is about addresses, which --order-only leaves out"));
  }
  if (!options.overlap.empty() && options.no_memory_plan) {
    return Fail(UsageError("--overlap is about addresses, which --no-memory-plan leaves to TFLM"));
  }
  if (options.order_only && !(options.budget.empty() && options.budget_total.empty())) {
    return Fail(UsageError("--budget compares an arena, which --order-only leaves out"));
  }
  if (options.order_only && !options.c_out.empty()) {
    return Fail(UsageError("--emit-c writes addresses, which --order-only leaves out"));
  }
  if (!options.integer_io.empty() && !options.scratch.empty()) {
    return Fail(UsageError("--integer-io does not go with --scratch"));
  }
  NEAP_CHECK_OK(CheckOrder(options));
  if (options.cascade != "auto" && !options.device.empty()) {
    return Fail(UsageError("--device belongs to --cascade auto"));
  }
  if (options.cascade != "auto" && options.cascade_bodies != "clones") {
    return Fail(UsageError("--cascade-bodies belongs to --cascade auto"));
  }
  if (options.cascade != "auto") NEAP_CHECK_OK(RefuseGrids(options.grids, "--cascade auto"));
  if (options.cascade_bodies == "shared" && options.no_memory_plan) {
    return Fail(UsageError(
        "--cascade-bodies shared rests on addresses, which --no-memory-plan leaves to TFLM"));
  }
  if (options.cascade == "auto" && !MayCut(options)) {
    return Fail(UsageError(
        "--cascade auto goes with none of --order-only, --order, --scratch, --memory, --moves"));
  }
  // Where no rewriting was asked for, the graph just stays as it is.
  if (options.rewriting.asked && !options.scratch.empty()) {
    return Fail(UsageError(
        "rewriting does not go with --scratch, whose sizes are those of the given operators"));
  }
  NEAP_CHECK_OK(CheckTimeLimit(options.time_limit_seconds));
  return {};
}

// "sram=256KiB,bw=8" or "psram=8MiB,bw=0.5": bytes per cycle with at most three decimals.
Result<plan::Memory> ParseMemory(const std::string& text) {
  const auto refuse = [&](const char* why) {
    return Fail(UsageError("--memory '" + text + "' " + why + ", expected NAME=SIZE,bw=N"));
  };
  const std::size_t equals = text.find('=');
  const std::size_t comma = text.find(",bw=");
  if (equals == 0 || equals == std::string::npos || comma == std::string::npos || comma < equals) {
    return refuse("is not understood");
  }
  plan::Memory memory;
  memory.name = text.substr(0, equals);
  NEAP_TRY(memory.capacity_bytes,
           ParseSize("--memory", text.substr(equals + 1, comma - equals - 1)));
  std::string whole = text.substr(comma + 4);
  std::string thousandths;
  if (const std::size_t point = whole.find('.'); point != std::string::npos) {
    thousandths = whole.substr(point + 1);
    whole.resize(point);
  }
  constexpr std::size_t kMostDigits = 6;
  thousandths.resize(std::max<std::size_t>(thousandths.size(), 3), '0');
  const std::string digits = whole + thousandths;
  if (whole.empty() || whole.size() > kMostDigits || thousandths.size() > 3 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return refuse("has no bandwidth in bytes per cycle");
  }
  memory.bytes_per_kilocycle = std::stoll(digits);
  if (memory.bytes_per_kilocycle == 0) return refuse("has a bandwidth of 0");
  return memory;
}

Result<std::vector<plan::Memory>> ParseMemories(const PlanOptions& options) {
  std::vector<plan::Memory> memories;
  for (const std::string& text : options.memories) {
    NEAP_TRY(plan::Memory memory, ParseMemory(text));
    for (const plan::Memory& other : memories) {
      if (other.name != memory.name) continue;
      return Fail(UsageError("--memory names '" + memory.name + "' twice"));
    }
    memories.push_back(std::move(memory));
  }
  if (memories.size() > plan::kMostMemories) {
    return Fail(UsageError("--memory is given " + std::to_string(memories.size()) +
                           " times, expected at most " + std::to_string(plan::kMostMemories)));
  }
  if (!memories.empty() && !options.model_out.empty()) {
    Diagnostic diagnostic = UsageError(
        "stock runtimes have one arena: --memory cannot be written "
        "into a model");
    diagnostic.hint = "leave -o out; --plan writes the plan";
    return Fail(std::move(diagnostic));
  }
  if (!memories.empty() &&
      (options.order_only || options.moves != "none" || !options.budget_total.empty())) {
    return Fail(UsageError("--memory goes with none of --order-only, --moves and --budget-total"));
  }
  return memories;
}

}  // namespace

std::optional<int> ParsePlanOptions(std::vector<std::string> args, bool short_form,
                                    PlanOptions* options) {
  CLI::App app("Find the order with the least peak memory, prove it, place the tensors.",
               "neap plan");
  app.footer(kFooter);
  AddModelOptions(&app, &options->model);
  app.add_option(short_form ? "-o,--output,OUTPUT" : "-o,--output", options->model_out,
                 "the same model in the planned order; - is stdout")
      ->option_text("OUT");
  app.add_option("--plan", options->plan_out, "plan.json with order, addresses and bounds")
      ->option_text("FILE");
  app.add_option("--emit-c", options->c_out, "C header with arena size and offsets, for firmware")
      ->option_text("FILE.h");
  AddPageOptions(&app, &options->pictures);
  app.add_option("--budget", options->budget, "most bytes of the arena, such as 256KiB")
      ->option_text("SIZE");
  app.add_option("--budget-total", options->budget_total,
                 "most bytes of TFLM's whole arena on a Cortex-M, what it keeps beside the "
                 "activations included")
      ->option_text("SIZE");
  app.add_flag("--no-memory-plan", options->no_memory_plan,
               "tflm: write the order alone and leave the addresses to TFLM");
  app.add_option(
         "--overlap", options->overlap,
         "let outputs lie over inputs as far as these kernels allow it; the result is right "
         "under them alone; default: no overlap inside operators")
      ->option_text(ListOf(KernelLibraryNames()));
  app.add_flag("--keep-inputs", options->keep_inputs,
               "with --overlap: nothing lies over an input of the model");
  app.add_option(
         "--memory", options->memories,
         "a memory with its bytes per cycle; several: every tensor gets the one that makes "
         "reading and writing fastest; stock runtimes cannot execute that, plan.json tells it")
      ->option_text("NAME=SIZE,bw=N ...");
  AddInterfaceOption(&app, &options->integer_io);
  AddRewriteOptions(&app, &options->rewriting);
  app.add_option("--scratch", options->scratch,
                 "working memory of operators: a line OPERATOR,BYTES for an index or a type")
      ->option_text("FILE");
  app.add_option("--moves", options->moves,
                 "copies of live tensors where no placement fits the budget (or, without one, the "
                 "peak): everything live moves down (compact), or the fewest bytes do (best); "
                 "default: none")
      ->option_text("none|compact|best")
      ->check(CLI::IsMember({"none", "compact", "best"}));
  AddStreamOptions(&app, options);
  app.add_option(
         "--cascade", options->cascade,
         "run operators tile by tile where that needs less memory: the written model has "
         "slices, operators on tiles and concatenations; default: only where no other plan is "
         "within the budget")
      ->option_text("auto|off")
      ->check(CLI::IsMember({"auto", "off"}));
  app.add_option("--cascade-bodies", options->cascade_bodies,
                 "what equal tiles are made of under --runtime tflm: operators of their own, or, "
                 "where that needs less, a body that each of them calls by an IF, which the "
                 "application must register; default: clones")
      ->option_text("clones|shared")
      ->check(CLI::IsMember({"clones", "shared"}));
  AddDeviceOption(&app, &options->device);
  AddGridOptions(&app, &options->grids);
  AddSearchOptions(&app, options);
  app.add_flag("--require-optimal", options->require_optimal, "exit 4 without a proof");
  app.add_flag("--order-only", options->order_only, "do not place tensors");
  app.add_flag("--force", options->force, "overwrite outputs that exist");
  AddOutputOptions(&app, &options->output);
  const auto code = Parse(&app, std::move(args));
  for (const char* name : {"--rewrite", "--rules", "--rewrite-work", "--accumulator-bytes"}) {
    if (app.count(name) > 0) options->rewriting.asked = options->rewriting.rewrite != "none";
  }
  return code;
}

Status CheckKernels(plan::Runtime runtime, ops::KernelLibrary kernels) {
  const bool neap = runtime == plan::Runtime::kNeap;
  const bool other = runtime == plan::Runtime::kLitert || runtime == plan::Runtime::kOnnxRuntime ||
                     neap != (kernels == ops::KernelLibrary::kNeap);
  if (!other || kernels == ops::KernelLibrary::kNone) return {};
  return Fail(
      UsageError(fmt::format("--overlap {} is not for --runtime {}, which has other kernels",
                             ops::NameOf(kernels), plan::ProfileOf(runtime).name)));
}

Result<PlanSettings> Understand(const PlanOptions& options) {
  NEAP_CHECK_OK(CheckCombinations(options));
  PlanSettings settings;
  NEAP_TRY(settings.dims, ParseDims(options.model.dims));
  NEAP_TRY(settings.rewriting, ParseRewriting(options.rewriting));
  if (!options.model.runtime.empty()) {
    NEAP_CHECK_OK(RuntimeFor(options.model.runtime, formats::Format::kOnnx));
  }
  if (!options.budget.empty()) {
    NEAP_TRY(settings.budget_bytes, ParseSize("--budget", options.budget));
  }
  if (!options.budget_total.empty()) {
    NEAP_TRY(settings.budget_total_bytes, ParseSize("--budget-total", options.budget_total));
  }
  settings.compile.tell_offsets = !options.no_memory_plan;
  NEAP_TRY(settings.compile.limits.max_memory_bytes, ParseSize("--max-memory", options.max_memory));
  // A limit that was asked for takes the place of the default one.
  settings.compile.limits.max_states = options.max_states > 0           ? options.max_states
                                       : options.time_limit_seconds > 0 ? 0
                                                                        : kStatesForAFewSeconds;
  settings.compile.limits.deadline = DeadlineAfter(options.time_limit_seconds);
  settings.compile.limits.threads = static_cast<int>(
      options.threads > 0 ? options.threads
                          : std::max<std::int64_t>(std::thread::hardware_concurrency(), 1));
  settings.compile.order = options.order;
  settings.compile.seed = options.seed;
  if (!options.forced.empty()) settings.compile.forced = options.forced;
  if (!options.slack.empty()) {
    NEAP_TRY(settings.compile.slack_bytes, ParseSize("--slack", options.slack));
  }
  if (options.step_states) settings.compile.step_states = *options.step_states;
  if (!options.soft_budget.empty()) {
    NEAP_TRY(settings.compile.soft_budget_bytes, ParseSize("--soft-budget", options.soft_budget));
    if (settings.compile.soft_budget_bytes < 1) {
      return Fail(UsageError("--soft-budget is 0, expected at least 1 byte"));
    }
  }
  settings.compile.place = !options.order_only;
  settings.compile.kernels =
      ops::KernelLibraryNamed(options.overlap).value_or(ops::KernelLibrary::kNone);
  settings.compile.keep_inputs = options.keep_inputs;
  NEAP_TRY(settings.compile.memories, ParseMemories(options));
  if (options.cascade == "auto") {
    NEAP_TRY(settings.device, DeviceFor(options.device));
    settings.tiles = deliver::Use::kAlways;
  } else if (options.cascade.empty() && MayCut(options)) {
    settings.tiles = deliver::Use::kIfNeeded;
  }
  // An order strategy is about the given graph, and so are the sizes of --scratch.
  const bool given_graph = !options.rewriting.asked && options.order != "exact";
  if (given_graph || !options.scratch.empty()) settings.rewriting.any = false;
  settings.compile.moves =
      compile::MoveStrategyNamed(options.moves).value_or(compile::MoveStrategy::kNone);
  NEAP_CHECK_OK(UnderstandStream(options, &settings));
  NEAP_CHECK_OK(CheckOutput(options.model_out, options.force));
  NEAP_CHECK_OK(CheckOutput(options.plan_out, options.force));
  NEAP_CHECK_OK(CheckOutput(options.c_out, options.force));
  NEAP_CHECK_OK(CheckPictures(options.pictures, options.force));
  return settings;
}

}  // namespace neap::tools
