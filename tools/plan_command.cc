// SPDX-License-Identifier: Apache-2.0
//
// neap plan: read, plan, check, and only then write.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/compile/compile.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/written_model.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/plan/offsets_check.h"
#include "neap/plan/plan_json.h"
#include "neap/plan/runtime_check.h"
#include "neap/report/report.h"
#include "tools/cascading.h"
#include "tools/common.h"
#include "tools/interface.h"
#include "tools/plan_options.h"
#include "tools/scratch_file.h"

namespace neap::tools {
namespace {

// A run of the verb from its settings to its outputs.
class PlanRun {
 public:
  explicit PlanRun(const PlanOptions& options) : options_(options) {}

  Result<int> Run() {
    NEAP_CHECK_OK(Read());
    NEAP_TRY(request_, deliver::RequestOf(options_.model.words, source_, load_options_));
    NEAP_CHECK_OK(Plan());
    NEAP_CHECK_OK(Describe());
    NEAP_CHECK_OK(Write());
    NEAP_CHECK_OK(Report());
    return ExitCodeOf();
  }

 private:
  bool ShowsProgress() const { return !options_.output.quiet && ::isatty(::fileno(stderr)) != 0; }
  plan::Runtime runtime() const { return request_.compile.runtime; }
  bool WritesModel() const { return !options_.model_out.empty() && report::Fits(report_); }
  // The given model, without what its caller runs.
  const formats::SourceModel& Interfaced() const { return delivery_.Interfaced(source_); }
  const formats::SourceModel& Planned() const { return delivery_.Planned(source_); }

  Status Read() {
    NEAP_TRY(load_options_.dims, ParseDims(options_.model.dims));
    NEAP_TRY(source_, formats::Load(options_.model.input, load_options_));
    if (!options_.scratch.empty()) {
      NEAP_CHECK_OK(ApplyScratchFile(options_.scratch, &source_.graph));
    }
    report_.read_seconds = watch_.Seconds();
    if (!options_.model_out.empty() && source_.format == formats::Format::kGraphJson) {
      Diagnostic diagnostic = UsageError("graph JSON is not a model that could be written back");
      diagnostic.hint = "leave -o out; --plan writes the plan";
      return Fail(std::move(diagnostic));
    }
    NEAP_CHECK_OK(CheckNameOfOutput());
    return {};
  }

  // A model is written in the format that it came in; a name that says otherwise misleads whoever
  // loads it.
  Status CheckNameOfOutput() const {
    const bool onnx = source_.format == formats::Format::kOnnx;
    const std::string_view own = onnx ? ".onnx" : ".tflite";
    const std::string_view other = onnx ? ".tflite" : ".onnx";
    if (!options_.model_out.ends_with(other)) return {};
    Diagnostic diagnostic = UsageError(
        fmt::format("-o {}: what is written is a {}, as the input", options_.model_out, own));
    diagnostic.hint = fmt::format("a name that ends in {}; neap does not convert models", own);
    return Fail(std::move(diagnostic));
  }

  // What file order needs is what TFLM's own planner needs, which does not run for such a file.
  void NoteCarriedPlan() {
    const formats::SourceModel& model = Interfaced();
    if (runtime() != plan::Runtime::kTflm || !model.carried_plan) return;
    const formats::CarriedPlan& carried = *model.carried_plan;
    if (!carried.problem.empty()) return;
    const plan::OffsetsVerdict verdict = plan::CheckOffsets(model.graph, carried.offsets);
    if (verdict.placed == 0) return;
    report_.notes.push_back(fmt::format(
        "the file carries a memory plan of {}: the arena in file order is computed without it",
        FormatBytes(verdict.arena_bytes)));
  }

  // --- planning ---

  Status Plan() {
    request_.compile.limits.stop = StopOnInterrupt();
    ProgressLine progress(ShowsProgress());
    CascadeProgressLine tiles_progress(ShowsProgress());
    request_.compile.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
    request_.tiles_observer = [&](const cascade::PlanProgress& seen) {
      progress.Erase();
      tiles_progress.Show(seen);
    };
    auto delivery = deliver::Deliver(source_, request_);
    tiles_progress.Erase();
    progress.Erase();
    if (!delivery) {
      Diagnostic diagnostic = WithAllSymbols(std::move(delivery).error(), source_.graph);
      if (diagnostic.file.empty()) diagnostic.file = source_.path;
      return Fail(std::move(diagnostic));
    }
    delivery_ = std::move(*delivery);
    return {};
  }

  // --- what the report says of it ---

  Status Describe() {
    const compile::Compiled& compiled = delivery_.compiled;
    report_.interface = InterfaceChanges(source_.graph, delivery_.caller_ops);
    report_.notes = Interfaced().notes;
    NoteCarriedPlan();
    AddNotes(delivery_.notes);
    AddNotes(compiled.notes);
    if (runtime() == plan::Runtime::kNeap && !request_.sums_in_place && request_.rewriting.any) {
      report_.notes.emplace_back(
          "rewrites with accumulators of Neap's executor are left out, because no file can hold "
          "them: a plan without -o may need less memory");
    }
    DescribeKinds();
    DescribeRewriting();
    DescribeTiles();
    NoteRuntime();
    if (compiled.kept_file_order) {
      report_.notes.emplace_back(
          "the order of the file is kept: for the order of least peak the runtime's own planner "
          "would allocate more");
    }
    if (!options_.model_out.empty()) NoteMoves();
    report_.model = source_.path;
    report_.graph = &Planned().graph;
    report_.compiled = &compiled;
    report_.placed = request_.compile.place;
    DescribeBudgets();
    report_.carries_plan = source_.format == formats::Format::kTflite && !compiled.offsets.empty();
    if (runtime() == plan::Runtime::kTflm) NoteWhatIsMissing();
    return {};
  }

  // Once each: several subgraphs may have the same to note.
  void AddNotes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
      const auto& known = report_.notes;
      if (std::find(known.begin(), known.end(), note) == known.end()) report_.notes.push_back(note);
    }
  }

  void DescribeKinds() {
    for (const deliver::Tried& tried : delivery_.tried) {
      report_.tried.push_back({std::string(deliver::NameOf(tried.kind)), tried.measure.bytes,
                               tried.measure.fits, tried.kind == delivery_.kind,
                               tried.measure.known});
    }
  }

  void DescribeBudgets() {
    const deliver::Budgets& budgets = request_.budgets;
    report_.budget_bytes = budgets.arena_bytes;
    report_.budget_total_bytes = budgets.total_bytes;
    if (!budgets.memory_bytes) return;
    const compile::TflmTotal* const total = report::TotalOf(delivery_.compiled);
    const bool of_total = total != nullptr && total->total_arena_bytes >= 0;
    auto& budget = of_total ? report_.budget_total_bytes : report_.budget_bytes;
    budget = std::min(budget.value_or(*budgets.memory_bytes), *budgets.memory_bytes);
    const cascade::DeviceMemory* const memory = cascade::MemoryFor(request_.device, false);
    report_.notes.push_back(
        fmt::format("device '{}' has {} for activations in memory '{}': compared with the {}",
                    report::Printable(request_.device.name), FormatBytes(*budgets.memory_bytes),
                    report::Printable(memory->name), of_total ? "whole arena" : "arena"));
  }

  void DescribeTiles() {
    if (!delivery_.tiles || request_.tiles == deliver::Use::kNever) return;
    const bool cut = delivery_.kind == deliver::Kind::kTiles;
    if (!cut && request_.tiles != deliver::Use::kAlways) return;
    const cascade::PlanOutcome& outcome = *delivery_.tiles;
    const cascade::Proposal& chosen = cut ? outcome.front[outcome.chosen] : outcome.uncut;
    report::CascadeReport cascade;
    cascade.device = request_.device.name;
    cascade.tiles = chosen.tiles;
    cascade.macs = chosen.macs;
    cascade.uncut_macs = outcome.macs;
    cascade.cycles = chosen.cycles;
    cascade.uncut_cycles = outcome.uncut.cycles;
    cascade.uncut_arena_bytes = outcome.uncut.arena_bytes;
    cascade.uncut_total_arena_bytes = outcome.uncut.total_arena_bytes;
    cascade.shared_bodies = chosen.bodies == cascade::TileBodies::kShared;
    if (cascade.shared_bodies) {
      report_.notes.emplace_back(
          "equal tiles call a body by IF: the application must have that operator");
    }
    cascade.regions = RegionsText(chosen);
    report_.cascade = std::move(cascade);
  }

  void DescribeRewriting() {
    if (!delivery_.rewriting) return;
    const deliver::Rewritten& rewritten = *delivery_.rewriting;
    rewriting_.source = &Interfaced().graph;
    rewriting_.peak_lower_bound_bytes = rewritten.lower_bound_bytes;
    rewriting_.growth_bytes = rewritten.growth_bytes;
    rewriting_.evaluations = rewritten.evaluations;
    rewriting_.seconds = delivery_.rewrite_seconds;
    report_.rewriting = &rewriting_;
  }

  // What becomes of moves in the written model.
  void NoteMoves() {
    std::ptrdiff_t moves = 0;
    for (const plan::EntryPlan& entry : delivery_.compiled.plan.entries) {
      moves += std::count_if(entry.steps.begin(), entry.steps.end(),
                             [](const plan::Step& step) { return step.moved.valid(); });
    }
    if (moves == 0) return;
    if (delivery_.compiled.edited) {
      report_.notes.push_back(
          fmt::format("{} {} in the written model: the application must have that operator", moves,
                      moves == 1 ? "move is a RESHAPE" : "moves are RESHAPEs"));
    } else {
      report_.notes.emplace_back(
          "the moves are in plan.json (--plan) alone: the written model carries the order, not the "
          "addresses");
    }
  }

  // What the numbers of a runtime are not.
  void NoteRuntime() {
    const plan::Runtime runtime = request_.compile.runtime;
    if (const auto refusal = plan::FindRefusal(Interfaced().graph, runtime)) {
      const graph::Subgraph& subgraph = Interfaced().graph.subgraphs[refusal->subgraph];
      report_.refused = {graph::Describe(refusal->op, subgraph.ops[refusal->op]), refusal->why};
    }
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
    if (runtime == plan::Runtime::kLitert && delivery_.compiled.delivered_arena_bytes < 0) {
      report_.notes.emplace_back(
          "what LiteRT itself will allocate is not known where control flow calls subgraphs: each "
          "has an arena of its own, filled when its operator wants it");
    }
  }

  void NoteWhatIsMissing() {
    if (!delivery_.compiled.unknown_kernels.empty()) {
      std::string note = fmt::format("operator {}: its scratch is not modelled",
                                     delivery_.compiled.unknown_kernels.front().op);
      if (request_.compile.place && request_.compile.tell_offsets) {
        note += ", so that the written model has no memory plan and TFLM places the tensors itself";
      }
      report_.notes.push_back(note + "; --scratch FILE states it");
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
      NEAP_TRY(model, deliver::WrittenModel(Planned(), delivery_.compiled, options_.model_out,
                                            load_options_, &report_.notes));
      delivery_.compiled.plan.written_sha256 = io::Sha256(*model);
    }
    // The plan names the model that was written with it, so the model comes first.
    if (model) {
      NEAP_CHECK_OK(io::WriteFile(options_.model_out, std::span(*model), options_.force));
      report_.written.push_back(options_.model_out);
      report_.model_file = options_.model_out;
    }
    if (!options_.plan_out.empty()) {
      NEAP_CHECK_OK(
          io::WriteFile(options_.plan_out, plan::ToJson(delivery_.compiled.plan), options_.force));
      report_.written.push_back(options_.plan_out);
    }
    if (!options_.c_out.empty() && report::Fits(report_)) {
      NEAP_CHECK_OK(
          io::WriteFile(options_.c_out, report::CHeader(report_, options_.c_out), options_.force));
      report_.written.push_back(options_.c_out);
    }
    return Draw();
  }

  Status Draw() {
    if (!options_.pictures.Any()) return {};
    const graph::Graph* const given = delivery_.edited ? &Interfaced().graph : nullptr;
    NEAP_TRY(const compile::Compiled file_order,
             CompileFileOrder(Interfaced().graph, delivery_.options));
    const PictureInput input{
        &Planned(), given, &file_order, &delivery_.compiled, request_.budgets.arena_bytes, true};
    return WritePictures(options_.pictures, input, options_.force, &report_.written);
  }

  Status Report() {
    report_.total_seconds = watch_.Seconds();
    if (!report::Fits(report_)) {
      fmt::print(stderr, "neap plan: {}{}{}\n", report::OverBudgetText(report_), WhatNext(),
                 options_.model_out.empty() ? "" : "; no model is written");
    }
    if (options_.output.json) return Print(stdout, report::PlanJson(report_));
    if (options_.output.quiet) return {};
    std::FILE* stream = options_.StdoutIsTaken() ? stderr : stdout;
    return Print(stream, report::PlanText(report_, StyleFor(stream, options_.output)));
  }

  // Of a budget that cannot be compared.
  std::string_view WhatNext() const {
    if (report::IsBudgetKnown(report_)) return "";
    if (!delivery_.compiled.unknown_kernels.empty()) return "; --scratch FILE states its bytes";
    return "; --budget compares the activations alone";
  }

  int ExitCodeOf() const {
    if (!report::Fits(report_)) return kOverBudget;
    if (delivery_.compiled.interrupted) return kInterrupted;
    const bool proven = report::IsProven(delivery_.compiled, report_.placed);
    return options_.require_optimal && !proven ? kUnproven : kDone;
  }

  const PlanOptions& options_;
  Stopwatch watch_;
  formats::LoadOptions load_options_;
  formats::SourceModel source_;
  deliver::Request request_;
  deliver::Delivery delivery_;
  report::RewriteReport rewriting_;
  report::PlanReport report_;
};

}  // namespace

int PlanCommand(std::vector<std::string> args, bool short_form) {
  PlanOptions options;
  if (const auto code = ParsePlanOptions(std::move(args), short_form, &options)) return *code;
  if (const Status status = CheckPlanOptions(options); !status) {
    return tools::Report("plan", status.error());
  }
  std::optional<WorkScope> work;
  if (deliver::HasDefaultWork(options.model.words)) work.emplace(deliver::kDefaultWork);
  PlanRun run(options);
  const Result<int> code = run.Run();
  return code ? *code : tools::Report("plan", code.error());
}

}  // namespace neap::tools
