// SPDX-License-Identifier: Apache-2.0
//
// neap plan: read, plan, check, and only then write.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/plan/plan_json.h"
#include "neap/report/report.h"
#include "tools/common.h"
#include "tools/plan_options.h"
#include "tools/scratch_file.h"
#include "tools/written_model.h"

namespace neap::tools {
namespace {

// A run of the verb from its settings to its outputs.
class PlanRun {
 public:
  PlanRun(const PlanOptions& options, PlanSettings settings)
      : options_(options), settings_(std::move(settings)) {}

  Result<int> Run() {
    NEAP_CHECK_OK(Read());
    NEAP_CHECK_OK(Plan());
    NEAP_CHECK_OK(Write());
    NEAP_CHECK_OK(Tell());
    return ExitCodeOf();
  }

 private:
  bool WritesModel() const { return !options_.model_out.empty() && report::Fits(report_); }

  Status Read() {
    load_options_.dims = settings_.dims;
    NEAP_TRY(source_, formats::Load(options_.model.input, load_options_));
    if (!options_.scratch.empty()) {
      NEAP_CHECK_OK(ApplyScratchFile(options_.scratch, &source_.graph));
    }
    report_.read_seconds = watch_.Seconds();
    report_.notes = source_.notes;
    if (!options_.model_out.empty() && source_.format == formats::Format::kGraphJson) {
      Diagnostic diagnostic = UsageError("graph JSON is not a model that could be written back");
      diagnostic.hint = "leave -o out; --plan writes the plan";
      return Fail(std::move(diagnostic));
    }
    NEAP_TRY(settings_.compile.runtime, RuntimeFor(options_.model.runtime, source_.format));
    const plan::Runtime runtime = settings_.compile.runtime;
    const bool neap = runtime == plan::Runtime::kNeap;
    const bool other_kernels = runtime == plan::Runtime::kLitert ||
                               runtime == plan::Runtime::kOnnxRuntime ||
                               neap != (settings_.compile.kernels == ops::KernelLibrary::kNeap);
    if (other_kernels && settings_.compile.kernels != ops::KernelLibrary::kNone) {
      return Fail(UsageError("--overlap " + options_.overlap + " is not for --runtime " +
                             std::string(plan::ProfileOf(runtime).name) +
                             ", which has other kernels"));
    }
    return {};
  }

  Status Plan() {
    ProgressLine progress(!options_.output.quiet && ::isatty(::fileno(stderr)) != 0);
    settings_.compile.limits.stop = StopOnInterrupt();
    settings_.compile.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
    auto compiled = compile::Compile(source_.graph, settings_.compile);
    progress.Erase();
    if (!compiled) {
      Diagnostic diagnostic = WithAllSymbols(std::move(compiled).error(), source_.graph);
      if (diagnostic.file.empty()) diagnostic.file = source_.path;
      return Fail(std::move(diagnostic));
    }
    compiled_ = std::move(*compiled);
    compiled_.plan.neap_version = Version();
    compiled_.plan.model = source_.path;
    compiled_.plan.model_sha256 = source_.sha256;
    compiled_.plan.dims.clear();
    for (const auto& [name, value] : settings_.dims) {
      compiled_.plan.dims.push_back(fmt::format("{}={}", name, value));
    }
    NoteRuntime();
    const bool tflm = settings_.compile.runtime == plan::Runtime::kTflm;
    if (options_.no_memory_plan && !tflm) {
      return Fail(UsageError("--no-memory-plan belongs to --runtime tflm"));
    }
    if (settings_.budget_total_bytes) NEAP_CHECK_OK(CheckTotalIsKnown());
    if (compiled_.kept_file_order) {
      report_.notes.emplace_back(
          "the order of the file is kept: for the order of least peak the runtime's own planner "
          "would "
          "allocate more");
    }
    report_.graph = &source_.graph;
    report_.compiled = &compiled_;
    report_.placed = settings_.compile.place;
    report_.budget_bytes = settings_.budget_bytes;
    report_.budget_total_bytes = settings_.budget_total_bytes;
    report_.carries_plan = source_.format == formats::Format::kTflite && !compiled_.offsets.empty();
    if (tflm) NoteWhatIsMissing();
    return {};
  }

  // What the numbers of a runtime are not.
  void NoteRuntime() {
    const plan::Runtime runtime = settings_.compile.runtime;
    const bool tflite = source_.format == formats::Format::kTflite;
    const bool onnx = source_.format == formats::Format::kOnnx;
    std::string_view only;
    if (runtime == plan::Runtime::kTflm && !tflite) only = "TensorFlow Lite Micro runs .tflite";
    if (runtime == plan::Runtime::kLitert && !tflite) only = "LiteRT runs .tflite";
    if (runtime == plan::Runtime::kOnnxRuntime && !onnx) only = "ONNX Runtime runs .onnx";
    if (!only.empty()) {
      report_.notes.push_back(
          fmt::format("{} only: its numbers here are for such a file of the same graph", only));
    }
    if (runtime == plan::Runtime::kLitert && compiled_.delivered_arena_bytes < 0) {
      report_.notes.emplace_back(
          "what LiteRT itself will allocate is not known where control flow calls subgraphs: each "
          "has an arena of its own, filled when its operator wants it");
    }
  }

  // A budget that cannot be compared must not look as if it were met.
  Status CheckTotalIsKnown() const {
    if (settings_.compile.runtime != plan::Runtime::kTflm) {
      return Fail(UsageError("--budget-total belongs to --runtime tflm"));
    }
    const std::string& missing = compiled_.totals.front().missing;
    if (missing.empty()) return {};
    Diagnostic diagnostic = UsageError("--budget-total cannot be compared: " + missing);
    diagnostic.file = source_.path;
    diagnostic.hint = "--budget compares the activations alone";
    return Fail(std::move(diagnostic));
  }

  void NoteWhatIsMissing() {
    if (!compiled_.unknown_kernels.empty()) {
      std::string note =
          "scratch memory that TFLM's kernels may ask for is not counted: operator " +
          compiled_.unknown_kernels.front();
      const std::size_t more = compiled_.unknown_kernels.size() - 1;
      if (more > 0) note += fmt::format(" and {} more", more);
      if (settings_.compile.place && settings_.compile.tell_offsets) {
        note += "; so TFLM places the tensors by itself";
      }
      report_.notes.push_back(std::move(note));
    }
    if (report_.carries_plan && source_.graph.subgraphs.size() > 1) {
      report_.notes.emplace_back(
          "the memory plan covers several subgraphs: early releases of TFLM read only that of the "
          "first (see docs/memory-model.md)");
    }
  }

  // All that is going to be written is made and checked before the first file is touched.
  Status Write() {
    std::shared_ptr<const std::vector<std::byte>> model;
    if (WritesModel()) {
      NEAP_TRY(model, MakeOrderedModel(source_, compiled_, options_.model_out, load_options_,
                                       &report_.notes));
      compiled_.plan.written_sha256 = io::Sha256(*model);
    }
    // The plan names the model that was written with it, so the model comes first.
    if (model) {
      NEAP_CHECK_OK(io::WriteFile(options_.model_out, std::span(*model), options_.force));
      report_.written.push_back(options_.model_out);
      report_.model_file = options_.model_out;
    }
    if (!options_.plan_out.empty()) {
      NEAP_CHECK_OK(io::WriteFile(options_.plan_out, plan::ToJson(compiled_.plan), options_.force));
      report_.written.push_back(options_.plan_out);
    }
    if (!options_.c_out.empty() && report::Fits(report_)) {
      NEAP_CHECK_OK(
          io::WriteFile(options_.c_out, report::CHeader(report_, options_.c_out), options_.force));
      report_.written.push_back(options_.c_out);
    }
    return {};
  }

  Status Tell() {
    report_.total_seconds = watch_.Seconds();
    if (!report::Fits(report_)) {
      fmt::print(stderr, "neap plan: {}{}\n", report::OverBudgetText(report_),
                 options_.model_out.empty() ? "" : "; no model is written");
    }
    if (options_.output.json) return Print(stdout, report::PlanJson(report_));
    if (options_.output.quiet) return {};
    std::FILE* stream = options_.StdoutIsTaken() ? stderr : stdout;
    return Print(stream, report::PlanText(report_, StyleFor(stream, options_.output)));
  }

  int ExitCodeOf() const {
    if (!report::Fits(report_)) return kOverBudget;
    if (compiled_.interrupted) return kInterrupted;
    const bool proven = report::IsProven(compiled_, report_.placed);
    return options_.require_optimal && !proven ? kUnproven : kDone;
  }

  const PlanOptions& options_;
  PlanSettings settings_;
  Stopwatch watch_;
  formats::LoadOptions load_options_;
  formats::SourceModel source_;
  compile::Compiled compiled_;
  report::PlanReport report_;
};

}  // namespace

int PlanCommand(std::vector<std::string> args, bool short_form) {
  PlanOptions options;
  if (const auto code = ParsePlanOptions(std::move(args), short_form, &options)) return *code;
  auto settings = Understand(options);
  if (!settings) return Report("plan", settings.error());
  PlanRun run(options, std::move(*settings));
  const Result<int> code = run.Run();
  return code ? *code : Report("plan", code.error());
}

}  // namespace neap::tools
