// SPDX-License-Identifier: Apache-2.0
//
// neap emit: C99 from a model and a plan, which is made or read, and checked.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/version.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/options.h"
#include "neap/emit/emit.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/show/report/report.h"
#include "neap/target/target.h"
#include "neap/transform/stream/instructions.h"
#include "tools/common.h"
#include "tools/emitting.h"
#include "tools/plan_file.h"
#include "tools/words.h"

namespace neap::tools {
namespace {

constexpr const char* kEmitFooter =
    "Examples:\n"
    "  neap emit model.tflite -o firmware/net             least RAM, no MAC more than the model's\n"
    "  neap emit model.tflite -o net --input rows         the caller passes rows, as a camera "
    "does\n"
    "  neap emit model.tflite -o net --stream off         every tensor as a whole\n"
    "  neap emit model.tflite -o net --prefix kws --single-file --budget 8KiB\n"
    "  neap emit model.tflite -o net --kernels dsp        fast on Cortex-M4, M7, M33\n"
    "  neap emit model.tflite -o net --kernels mve        fast on Cortex-M55, M85\n"
    "  neap emit model.tflite -o net --kernels cmsis-nn --target cortex-m4+cmsis-nn\n"
    "                                                     calls of that library, which you link\n"
    "  neap emit model.tflite -o net --fast 32KiB         two memories: an arena of at most that, "
    "a slow\n"
    "                                                     memory, copies by functions of yours\n"
    "  neap emit model.tflite -o net --plan plan.json     the plan of neap plan\n"
    "  neap emit model.tflite -o net --received-plans     code that executes plans it receives\n"
    "  neap emit model.tflite --binary-plan net.plan --budget 40KiB     such a plan\n"
    "\n"
    "FOLDER gets PREFIX.h, PREFIX.c and the files of neap_rt that they use. Most operators need\n"
    "8-bit tensors (docs/reference/emitted-c.md lists them). The plan is checked before anything "
    "is\n"
    "written. If an operator has no kernel, the error counts such operators by type; --json "
    "prints\n"
    "all of them.\n"
    "Exit: 0 done, 1 bad input or operators without a kernel, 2 usage, 3 over budget.\n";

struct EmitOptions {
  ModelOptions model;
  OutputOptions output;
  std::string plan;
  std::string folder;
  std::string prefix;
  std::string weights;
  std::string kernels = "portable";
  std::optional<target::Simd> simd;  // of --target
  std::string binary_plan;
  std::optional<int> max_slowdown;  // percent
  std::string optimize = "speed";
  bool received_plans = false;
  bool single_file = false;
  bool force = false;

  bool ForReceivers() const { return received_plans || !binary_plan.empty(); }
};

emit::KernelSet KernelsOf(const EmitOptions& options) {
  return emit::KernelSetNamed(options.kernels).value_or(emit::KernelSet::kPortable);
}

bool IsSmall(const EmitOptions& options) { return options.optimize == "flash"; }

stream::Processor ProcessorOf(const EmitOptions& options) {
  switch (KernelsOf(options)) {
    case emit::KernelSet::kDsp:
      return stream::Processor::kCortexM4Dsp;
    case emit::KernelSet::kMve:
      return stream::Processor::kCortexM55Mve;
    default:
      return stream::Processor::kCortexM7;
  }
}

Result<PlannedForC> ReadPlan(const EmitOptions& options, formats::LoadOptions load) {
  PlannedForC planned;
  NEAP_TRY(planned.plan, LoadPlan(options.plan));
  if (options.model.dims.empty()) {
    NEAP_TRY(load.dims, ParseDims(planned.plan.dims));
  }
  NEAP_TRY(planned.source, formats::Load(options.model.input, load));
  if (planned.plan.model_sha256 != planned.source.sha256) {
    Diagnostic error = BadInput(HashMismatch(planned.plan, planned.source));
    error.file = options.plan;
    return Fail(std::move(error));
  }
  NEAP_TRY(deliver::Replayed replayed,
           deliver::ReplayEdits(std::move(planned.source), planned.plan, load));
  planned.source = replayed.edited ? *std::move(replayed.edited) : std::move(replayed.interfaced);
  return planned;
}

Result<PlannedForC> MakePlan(const EmitOptions& options, const formats::LoadOptions& load,
                             stream::Processor processor = stream::Processor::kCortexM7) {
  NEAP_TRY(const formats::SourceModel source, formats::Load(options.model.input, load));
  const bool shows_progress = !options.output.quiet && ::isatty(::fileno(stderr)) != 0;
  return PlanForC(source, options.model.words, load, shows_progress,
                  {emit::LibraryOf(KernelsOf(options), options.simd), processor,
                   options.max_slowdown ? 1000 + std::int64_t{10} * *options.max_slowdown : 0});
}

Status WriteFiles(const EmitOptions& options, const std::vector<emit::File>& files) {
  for (const emit::File& file : files) {
    const std::filesystem::path path = std::filesystem::path(options.folder) / file.name;
    std::error_code error;
    if (!options.force && std::filesystem::exists(path, error)) {
      Diagnostic diagnostic = IoError("the file exists");
      diagnostic.file = path.string();
      diagnostic.hint = "--force overwrites it";
      return Fail(std::move(diagnostic));
    }
  }
  for (const emit::File& file : files) {
    const std::filesystem::path path = std::filesystem::path(options.folder) / file.name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      Diagnostic diagnostic = IoError("cannot make the folder: " + error.message());
      diagnostic.file = path.parent_path().string();
      return Fail(std::move(diagnostic));
    }
    NEAP_CHECK_OK(io::WriteFile(path.string(), std::string_view(file.bytes), options.force));
  }
  return {};
}

// What may need less RAM; "" where all of it was given.
std::string UntriedOptions(const EmitOptions& options, bool two_memories) {
  if (!options.plan.empty() || two_memories) return "";
  std::string untried;
  if (!options.model.words.Has("input")) untried = "--input rows";
  if (!options.model.words.Has("max-macs")) {
    untried += untried.empty() ? "" : ", ";
    untried += "--max-macs 1.2";
  }
  return untried.empty() ? "" : "not tried yet: " + untried;
}

std::optional<plan::SlowMemory> SlowOf(const plan::EntryPlan& entry) {
  return entry.stream ? entry.stream->slow : std::nullopt;
}

bool HasSlowWeights(const plan::EntryPlan& entry) {
  const auto slow = SlowOf(entry);
  return slow && slow->weight_bytes;
}

// Of one run, on the processor of the kernels; nullopt: they are not modelled. Operators with
// weights in slow memory have portable kernels, which are not.
std::optional<std::int64_t> InstructionsOf(const EmitOptions& options, const PlannedForC& planned) {
  const stream::Processor processor = ProcessorOf(options);
  if (processor == stream::Processor::kCortexM7 || HasSlowWeights(planned.plan.entries[0])) {
    return std::nullopt;
  }
  return stream::InstructionsOfEntry(processor, planned.source.graph, planned.plan.entries[0]);
}

std::string SlowText(const plan::SlowMemory& slow, std::int64_t arena_bytes) {
  std::string text = fmt::format("A run copies {} B from slow memory and {} B to it.\n",
                                 FormatCount(slow.read_bytes), FormatCount(slow.written_bytes));
  if (arena_bytes > slow.fast_bytes) {
    text += fmt::format(
        "With state and scratch, the arena exceeds the {} B of fast memory of the plan.\n",
        FormatCount(slow.fast_bytes));
  }
  return text;
}

std::string ReportText(const EmitOptions& options, const PlannedForC& planned,
                       const emit::Emitted& emitted) {
  std::string files;
  std::size_t runtime = 0;
  for (const emit::File& file : emitted.files) {
    if (file.name.starts_with("neap_rt/")) {
      ++runtime;
    } else {
      files += (files.empty() ? "" : ", ") + file.name;
    }
  }
  if (runtime > 0) files += fmt::format(", neap_rt/ ({} files)", runtime);
  const plan::EntryPlan& entry = planned.plan.entries[0];
  const bool streamed = entry.stream.has_value();
  const auto slow = SlowOf(entry);
  const auto instructions = InstructionsOf(options, planned);
  return fmt::format("Arena {} B{}, stack {} B.\n", FormatCount(emitted.arena_bytes),
                     slow ? ", slow memory " + FormatCount(slow->bytes) + " B" : "",
                     FormatCount(emitted.stack_bytes)) +
         (slow ? SlowText(*slow, emitted.arena_bytes) : "") +
         (HasSlowWeights(entry) && KernelsOf(options) != emit::KernelSet::kPortable
              ? "Operators with weights in slow memory have portable kernels.\n"
              : "") +
         fmt::format("{}; input {}.\n", streamed ? "Streamed" : "Tensors as a whole",
                     streamed ? plan::NameOf(entry.stream->input) : "resident") +
         (instructions
              ? fmt::format("About {} instructions, modelled.\n", FormatCount(*instructions))
              : "") +
         fmt::format("Wrote {} files to {}:\n  {}\n", emitted.files.size(),
                     report::Printable(options.folder, 4096), files);
}

std::string DumpedReport(const nlohmann::ordered_json& out) {
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string ReportJson(const EmitOptions& options, const PlannedForC& planned,
                       const emit::Options& emitting, const emit::Emitted& emitted) {
  const plan::EntryPlan& entry = planned.plan.entries[0];
  nlohmann::ordered_json out;
  out["schema_version"] = report::kReportVersion;
  out["model"] = BaseName(options.model.input);
  out["model_sha256"] = planned.source.sha256;
  out["prefix"] = emitting.prefix;
  out["kernels"] = emit::NameOf(emitting.kernels);
  out["arena_bytes"] = emitted.arena_bytes;
  out["plan_bytes"] = entry.arena_bytes;
  out["stack_bytes"] = emitted.stack_bytes;
  out["input"] = entry.stream ? std::string(plan::NameOf(entry.stream->input)) : "resident";
  out["streamed"] = entry.stream.has_value();
  if (const auto instructions = InstructionsOf(options, planned)) {
    out["modelled_instructions"] = *instructions;
  }
  if (const auto slow = SlowOf(entry)) {
    out["slow"] = {{"bytes", slow->bytes},
                   {"read_bytes", slow->read_bytes},
                   {"written_bytes", slow->written_bytes}};
  }
  out["written"] = nlohmann::ordered_json::array();
  for (const emit::File& file : emitted.files) {
    out["written"].push_back((std::filesystem::path(options.folder) / file.name).string());
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// What a user does about operators without a kernel.
std::string RefusedHint(const EmitOptions& options, formats::Format format) {
  std::string hint =
      format == formats::Format::kTflite ? "" : "convert it to a .tflite of 8 bits; ";
  hint += "docs/reference/emitted-c.md lists the operators";
  return hint + (options.output.json ? "" : "; --json lists what is refused");
}

std::string RefusedJson(const EmitOptions& options, const PlannedForC& planned,
                        const std::vector<emit::Refusal>& refusals) {
  nlohmann::ordered_json out;
  out["schema_version"] = report::kReportVersion;
  out["model"] = BaseName(options.model.input);
  out["model_sha256"] = planned.source.sha256;
  out["refused"] = nlohmann::ordered_json::array();
  for (const emit::Refusal& refusal : refusals) {
    nlohmann::ordered_json one;
    one["operator"] = refusal.op.valid() ? nlohmann::ordered_json(refusal.op.value()) : nullptr;
    one["type"] = refusal.op.valid() ? nlohmann::ordered_json(refusal.type) : nullptr;
    one["reason"] = refusal.reason;
    out["refused"].push_back(std::move(one));
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// A Diagnostic of emit::, with the file and what to do.
Diagnostic WithFile(const EmitOptions& options, Diagnostic diagnostic, formats::Format format,
                    bool refused, bool two_memories = false) {
  diagnostic.file = options.model.input;
  if (diagnostic.code == ErrorCode::kOverBudget) {
    diagnostic.hint = UntriedOptions(options, two_memories);
  }
  if (refused) diagnostic.hint = RefusedHint(options, format);
  return diagnostic;
}

Result<int> EmitReceiver(const EmitOptions& options, const formats::LoadOptions& load) {
  NEAP_TRY(const formats::SourceModel source, formats::Load(options.model.input, load));
  emit::Options emitting;
  emitting.prefix = options.prefix.empty() ? emit::PrefixOf(options.model.input) : options.prefix;
  emitting.single_file = options.single_file;
  emitting.binary_weights = options.weights == "bin";
  emitting.kernels = KernelsOf(options);
  std::vector<emit::Refusal> refusals;
  auto emitted = emit::EmitNetwork(
      source.graph, {std::string(Version()), BaseName(options.model.input), source.sha256},
      emitting, &refusals);
  if (!emitted) {
    return Fail(WithFile(options, std::move(emitted).error(), source.format, !refusals.empty()));
  }
  NEAP_CHECK_OK(WriteFiles(options, emitted->files));
  nlohmann::ordered_json out;
  out["schema_version"] = report::kReportVersion;
  out["model"] = BaseName(options.model.input);
  out["model_sha256"] = source.sha256;
  out["prefix"] = emitting.prefix;
  out["kernels"] = emit::NameOf(emitting.kernels);
  out["written"] = nlohmann::ordered_json::array();
  for (const emit::File& file : emitted->files) {
    out["written"].push_back((std::filesystem::path(options.folder) / file.name).string());
  }
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, DumpedReport(out)));
  } else if (!options.output.quiet) {
    NEAP_CHECK_OK(
        Print(stdout, fmt::format("Wrote {} files to {}: order and addresses come with "
                                  "received plans.\n",
                                  emitted->files.size(), report::Printable(options.folder, 4096))));
  }
  return kDone;
}

Result<int> WriteBinaryPlan(const EmitOptions& options, const formats::LoadOptions& load) {
  NEAP_TRY(PlannedForC planned,
           options.plan.empty() ? MakePlan(options, load) : ReadPlan(options, load));
  NEAP_CHECK_OK(FinishForC(&planned));
  const emit::KernelSet kernels = KernelsOf(options);
  auto binary = emit::ToBinary(planned.source.graph, planned.plan, kernels);
  if (!binary) {
    return Fail(WithFile(options, std::move(binary).error(), planned.source.format, false));
  }
  const auto& budget = options.model.words.budget_bytes;
  const bool fits = !budget || binary->arena_bytes <= *budget;
  const std::string arena = FormatCount(binary->arena_bytes);
  if (fits) {
    NEAP_CHECK_OK(
        io::WriteFile(options.binary_plan, std::string_view(binary->bytes), options.force));
  }
  nlohmann::ordered_json out;
  out["schema_version"] = report::kReportVersion;
  out["model"] = BaseName(options.model.input);
  out["model_sha256"] = planned.plan.model_sha256;
  out["kernels"] = emit::NameOf(kernels);
  out["arena_bytes"] = binary->arena_bytes;
  out["plan_bytes"] = planned.plan.entries[0].arena_bytes;
  out["arena_lower_bound_bytes"] = planned.plan.entries[0].arena_lower_bound_bytes;
  out["fits"] = fits;
  out["written"] = nlohmann::ordered_json::array();
  if (fits) out["written"].push_back(options.binary_plan);
  if (options.output.json) NEAP_CHECK_OK(Print(stdout, DumpedReport(out)));
  if (!fits) {
    Diagnostic error =
        OverBudget(fmt::format("over budget: arena required {}, available {}",
                               FormatBytes(binary->arena_bytes), FormatBytes(*budget)));
    error.file = options.model.input;
    return Fail(std::move(error));
  }
  if (!options.output.json && !options.output.quiet) {
    NEAP_CHECK_OK(
        Print(stdout, fmt::format("Arena {} B, plan {} B.\nWrote {}\n", arena, binary->bytes.size(),
                                  report::Printable(options.binary_plan, 4096))));
  }
  return kDone;
}

Result<int> Emit(const EmitOptions& options) {
  formats::LoadOptions load;
  load.weights = true;
  NEAP_TRY(load.dims, ParseDims(options.model.dims));
  if (!options.binary_plan.empty()) return WriteBinaryPlan(options, load);
  if (options.received_plans) return EmitReceiver(options, load);
  const stream::Processor processor = ProcessorOf(options);
  NEAP_TRY(PlannedForC planned,
           options.plan.empty() ? MakePlan(options, load, processor) : ReadPlan(options, load));
  NEAP_CHECK_OK(FinishForC(&planned));
  emit::Options emitting;
  emitting.prefix = options.prefix.empty() ? emit::PrefixOf(options.model.input) : options.prefix;
  emitting.single_file = options.single_file;
  emitting.binary_weights = options.weights == "bin";
  emitting.kernels = KernelsOf(options);
  emitting.small = IsSmall(options);
  emitting.simd = options.simd;
  emitting.budget_bytes =
      planned.fast_bytes ? planned.fast_bytes : options.model.words.budget_bytes;
  std::vector<emit::Refusal> refusals;
  auto emitted = emit::Emit(planned.source.graph, planned.plan, emitting, &refusals);
  const bool modelled = options.plan.empty() && processor != stream::Processor::kCortexM7;
  if (modelled && planned.plan.entries[0].stream && !options.max_slowdown) {
    // Plans of equal arenas may have more scratch outside of them.
    NEAP_TRY(PlannedForC other, MakePlan(options, load));
    NEAP_CHECK_OK(FinishForC(&other));
    auto smaller = emit::Emit(other.source.graph, other.plan, emitting);
    if (smaller && (!emitted || smaller->arena_bytes < emitted->arena_bytes)) {
      emitted = std::move(smaller);
      planned = std::move(other);
      refusals.clear();
    }
  }
  if (!emitted) {
    if (options.output.json && !refusals.empty()) {
      NEAP_CHECK_OK(Print(stdout, RefusedJson(options, planned, refusals)));
    }
    return Fail(WithFile(options, std::move(emitted).error(), planned.source.format,
                         !refusals.empty(), planned.fast_bytes.has_value()));
  }
  NEAP_CHECK_OK(WriteFiles(options, emitted->files));
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, ReportJson(options, planned, emitting, *emitted)));
  } else if (!options.output.quiet) {
    NEAP_CHECK_OK(Print(stdout, ReportText(options, planned, *emitted)));
  }
  return kDone;
}

Status CheckSlowdown(const EmitOptions& options) {
  if (!options.max_slowdown) return {};
  if (ProcessorOf(options) == stream::Processor::kCortexM7) {
    return Fail(UsageError(
        "--max-slowdown requires --kernels dsp or mve, whose instructions are modelled"));
  }
  const bool streams = options.model.words.stream == "auto" && !options.model.words.Has("fast");
  if (!streams || !options.plan.empty() || options.ForReceivers()) {
    return Fail(UsageError(
        "--max-slowdown requires --stream auto, and cannot be combined with --fast and --plan"));
  }
  return {};
}

Status CheckEmitOptions(const EmitOptions& options) {
  if (options.received_plans && !options.binary_plan.empty()) {
    return Fail(UsageError("--received-plans cannot be combined with --binary-plan"));
  }
  if (options.binary_plan.empty() && options.folder.empty()) {
    return Fail(UsageError("-o is required: the folder to write"));
  }
  if (!options.binary_plan.empty() && !options.folder.empty()) {
    return Fail(UsageError("--binary-plan writes no code: it cannot be combined with -o"));
  }
  for (const std::string_view name : {"stream", "cascade", "rewrite", "memory"}) {
    if (!options.ForReceivers() || !options.model.words.Has(name)) continue;
    return Fail(UsageError("--received-plans and --binary-plan cannot be combined with --" +
                           std::string(name)));
  }
  if (options.received_plans && !options.plan.empty()) {
    return Fail(UsageError("--received-plans cannot be combined with --plan"));
  }
  if (KernelsOf(options) == emit::KernelSet::kCmsisNn) {
    if (options.ForReceivers()) {
      return Fail(UsageError(
          "--kernels cmsis-nn cannot be combined with --received-plans and --binary-plan"));
    }
    if (options.model.words.stream == "auto") {
      return Fail(UsageError(
          "--kernels cmsis-nn computes whole layers: it cannot be combined with --stream auto"));
    }
  }
  NEAP_CHECK_OK(CheckSlowdown(options));
  if (IsSmall(options) &&
      (KernelsOf(options) != emit::KernelSet::kPortable || options.ForReceivers())) {
    return Fail(
        UsageError("--optimize flash requires --kernels portable, and cannot be combined with "
                   "--received-plans and --binary-plan"));
  }
  NEAP_CHECK_OK(CheckOutput(options.binary_plan, options.force));
  NEAP_CHECK_OK(CheckDistinct({{"the model", options.model.input}, {"--plan", options.plan}},
                              {{"--binary-plan", options.binary_plan}}));
  if (!options.prefix.empty() && !emit::IsPrefix(options.prefix)) {
    return Fail(UsageError("--prefix '" + options.prefix +
                           "': expected a C identifier of lower-case letters, digits and '_', not "
                           "beginning with neap_"));
  }
  if (!options.plan.empty()) {
    for (const std::string_view name : options.model.words.given) {
      if (name == "budget") continue;
      return Fail(UsageError("--plan cannot be combined with --" + std::string(name)));
    }
    return {};
  }
  return deliver::CheckWords(options.model.words);
}

// Of --kernels cmsis-nn: whole tensors, and a target that is a compilation of the library. Planning
// itself has no target.
Status SetLibraryDefaults(EmitOptions* options) {
  deliver::Words& words = options->model.words;
  if (words.stream.empty() && options->plan.empty()) words.stream = "off";
  if (!words.Has("target")) return {};
  const target::Target* const target = target::TargetNamed(words.target);
  if (target == nullptr || target->kernels != target::Kernels::kCmsisNn) {
    return Fail(
        UsageError("--kernels cmsis-nn requires a --target with that library, such as "
                   "cortex-m4+cmsis-nn"));
  }
  options->simd = target->simd;
  words.target.clear();
  words.given.erase("target");
  return {};
}

// Replaces the default in the help of an option of the library, which is that of `neap plan`.
void SetDefaultText(CLI::Option* option, const std::string& text) {
  const std::string help = option->get_description();
  const std::size_t from = help.find("default: ");
  if (from == std::string::npos) return;
  const std::size_t end = std::min(help.find('\n', from), help.size());
  option->description(help.substr(0, from) + "default: " + text + help.substr(end));
}

}  // namespace

int EmitCommand(std::vector<std::string> args) {
  EmitOptions options;
  CLI::App app("Write a model of 8-bit operators as C99 with a planned arena.", "neap emit");
  app.footer(kEmitFooter);
  AddInputOptions(&app, &options.model);
  app.add_option("-o,--output", options.folder, "the folder to write")->option_text("FOLDER");
  app.add_option("--plan", options.plan, "the plan to emit; default: one of least RAM is searched")
      ->option_text("FILE");
  app.add_flag("--received-plans", options.received_plans,
               "code without order and addresses, which executes binary plans that it receives");
  app.add_option("--binary-plan", options.binary_plan,
                 "write no code, but a plan for code of --received-plans with the same --kernels")
      ->option_text("FILE");
  app.add_option("--prefix", options.prefix,
                 "prefix of names in C; default: the name of the model's file")
      ->option_text("NAME");
  app.add_flag("--single-file", options.single_file,
               "one .c file that contains the runtime under names of its own");
  app.add_option("--weights", options.weights,
                 "c: weights as arrays; bin: PREFIX_weights.bin, to be linked or mapped as "
                 "PREFIX_weights; default: c")
      ->option_text("c|bin")
      ->check(CLI::IsMember({"c", "bin"}));
  app.add_option(
         "--kernels", options.kernels,
         "portable: C for any processor; dsp: for the DSP extension of Cortex-M4, M7 and "
         "M33; mve: for the vectors of Cortex-M55 and M85, of x86-64 with AVX2 and of AArch64; "
         "both have their scratch in the arena; cmsis-nn: layers are calls of CMSIS-NN, which you "
         "link, compiled for --target (default: any); all compute the same bytes with every "
         "compiler; default: portable")
      ->option_text("SET")
      ->check(CLI::IsMember({"portable", "dsp", "mve", "cmsis-nn"}));
  app.add_option("--max-slowdown", options.max_slowdown,
                 "with --kernels dsp or mve and streams: maximum of instructions, modelled, in "
                 "percent above "
                 "those layer by layer; of such plans the one of least RAM, with --budget the one "
                 "of fewest "
                 "instructions within it; default: no limit")
      ->option_text("PERCENT")
      ->check(CLI::Range(0, 100'000));
  app.add_option("--optimize", options.optimize,
                 "with --kernels portable: flash: smaller tables and code, which take more "
                 "instructions; default: speed")
      ->option_text("speed|flash")
      ->check(CLI::IsMember({"speed", "flash"}));
  app.add_flag("--force", options.force, "overwrite existing files");
  AddOutputOptions(&app, &options.output);
  std::vector<std::string_view> names;
  for (const deliver::Option& option : deliver::Options()) names.push_back(option.name);
  AddWords(&app, &options.model.words, names);
  SetDefaultText(app.get_option("--runtime"), "neap");
  SetDefaultText(app.get_option("--stream"), "auto with that runtime");
  if (const auto code = Parse(&app, std::move(args))) return *code;
  if (KernelsOf(options) == emit::KernelSet::kCmsisNn) {
    if (const Status status = SetLibraryDefaults(&options); !status) {
      return tools::Report("emit", status.error());
    }
  }
  if (options.ForReceivers()) {
    SetReceivedDefaults(&options.model.words);
  } else if (options.plan.empty()) {
    SetEmitDefaults(&options.model.words);
  }
  if (const Status status = CheckEmitOptions(options); !status) {
    return tools::Report("emit", status.error());
  }
  const Result<int> code = Emit(options);
  return code ? *code : Report("emit", code.error());
}

}  // namespace neap::tools
