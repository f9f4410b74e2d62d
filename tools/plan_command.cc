// SPDX-License-Identifier: Apache-2.0
//
// neap plan: read, plan, check, and only then write.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/plan/offsets_check.h"
#include "neap/plan/plan_json.h"
#include "neap/report/report.h"
#include "tools/cascading.h"
#include "tools/common.h"
#include "tools/interface.h"
#include "tools/plan_options.h"
#include "tools/rewriting.h"
#include "tools/scratch_file.h"
#include "tools/written_model.h"

namespace neap::tools {
namespace {

// Of the order search that tells whether rewriting is worth a look at the model as it is.
constexpr std::int64_t kStatesOfALook = 20'000;

// A run of the verb from its settings to its outputs.
class PlanRun {
 public:
  PlanRun(const PlanOptions& options, PlanSettings settings)
      : options_(options), settings_(std::move(settings)) {}

  Result<int> Run() {
    NEAP_CHECK_OK(Read());
    NEAP_CHECK_OK(Rewrite());
    NEAP_CHECK_OK(Cascade());
    NEAP_CHECK_OK(Plan());
    NEAP_CHECK_OK(Write());
    NEAP_CHECK_OK(Tell());
    return ExitCodeOf();
  }

 private:
  bool ShowsProgress() const { return !options_.output.quiet && ::isatty(::fileno(stderr)) != 0; }
  bool WritesModel() const { return !options_.model_out.empty() && report::Fits(report_); }

  Status Read() {
    load_options_.dims = settings_.dims;
    NEAP_TRY(source_, formats::Load(options_.model.input, load_options_));
    if (!options_.integer_io.empty()) {
      NEAP_TRY(Interfaced interfaced, WithInterface(source_, options_.integer_io, load_options_));
      source_ = std::move(interfaced.model);
      caller_ops_ = std::move(interfaced.caller_ops);
      report_.interface = std::move(interfaced.changes);
    }
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
    NEAP_CHECK_OK(CheckNameOfOutput());
    NEAP_TRY(settings_.compile.runtime, RuntimeFor(options_.model.runtime, source_.format));
    const plan::Runtime runtime = settings_.compile.runtime;
    const bool neap = runtime == plan::Runtime::kNeap;
    if (settings_.compile.stream && !neap) {
      return Fail(
          UsageError("--stream belongs to --runtime neap: stock runtimes execute no such "
                     "plan"));
    }
    NEAP_CHECK_OK(CheckKernels(runtime, settings_.compile.kernels));
    if (runtime == plan::Runtime::kTflm && source_.carried_plan) NoteCarriedPlan();
    // There tensors share addresses.
    if (options_.moves != "none" && (neap || runtime == plan::Runtime::kLitert)) {
      return Fail(UsageError("--moves is not for --runtime " +
                             std::string(plan::ProfileOf(runtime).name) +
                             ", where tensors share addresses"));
    }
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
    const formats::CarriedPlan& carried = *source_.carried_plan;
    if (!carried.problem.empty()) return;
    const plan::OffsetsVerdict verdict = plan::CheckOffsets(source_.graph, carried.offsets);
    if (verdict.placed == 0) return;
    report_.notes.push_back(fmt::format(
        "the file carries a memory plan of {}: what file order needs is told without it",
        FormatBytes(verdict.arena_bytes)));
  }

  // From here on the model is the one whose operators run in tiles.
  Status Cascade() {
    if (!settings_.device) return {};
    if (!HasSteps(source_.graph)) {
      report_.notes.emplace_back("nothing is cut: the model has no operators");
      return {};
    }
    cascade::PlanOptions options;
    options.compile = settings_.compile;
    options.device = *settings_.device;
    if (options_.cascade_bodies == "shared") {
      if (settings_.compile.runtime != plan::Runtime::kTflm) {
        return Fail(UsageError("--cascade-bodies shared belongs to --runtime tflm"));
      }
      options.bodies = cascade::TileBodies::kShared;
    }
    options.budget_is_total = settings_.budget_total_bytes.has_value();
    options.budget_bytes =
        settings_.budget_total_bytes.value_or(settings_.budget_bytes.value_or(0));
    options.compile.limits.stop = StopOnInterrupt();
    // What is chosen is compiled again, and comes to the same order only by a limit of states.
    if (options.compile.limits.max_states == 0) {
      options.compile.limits.max_states = kStatesForAFewSeconds;
    }
    CascadeProgressLine progress(ShowsProgress());
    options.observer = [&](const cascade::PlanProgress& seen) { progress.Show(seen); };
    auto found = tools::Cascade(source_, options, load_options_);
    progress.Erase();
    if (!found) {
      Diagnostic diagnostic = WithAllSymbols(std::move(found).error(), source_.graph);
      if (diagnostic.file.empty()) diagnostic.file = source_.path;
      return Fail(std::move(diagnostic));
    }
    cascading_ = std::move(*found);
    if (!cascading_->outcome.note.empty()) report_.notes.push_back(cascading_->outcome.note);
    if (!cascading_->model) {
      precompiled_ = std::move(cascading_->outcome.compiled);
      return {};
    }
    uncut_ = std::move(source_);
    source_ = std::move(*cascading_->model);
    source_.path = uncut_->path;
    source_.sha256 = uncut_->sha256;  // the plan is about the model that was given
    settings_.compile = cascading_->compile;
    settings_.compile.limits.deadline.reset();
    return {};
  }

  // Other operators with the same outputs, where that lowers the peak. What the command line says
  // of operators by index or order is about the model as it is.
  Status Rewrite() {
    const plan::Runtime runtime = settings_.compile.runtime;
    const bool sums_in_place = runtime == plan::Runtime::kNeap && options_.model_out.empty();
    if (options_.rewriting.accumulator_bytes != 0 && !sums_in_place) {
      return Fail(UsageError(
          "--accumulator-bytes belongs to --runtime neap without -o: no file holds accumulators"));
    }
    given_sha256_ = source_.sha256;
    const bool as_it_is = settings_.device || !settings_.rewriting.any ||
                          settings_.compile.order != "exact" || !options_.scratch.empty() ||
                          !settings_.compile.memories.empty() || settings_.compile.stream;
    if (as_it_is) return {};
    const Stopwatch watch;
    settings_.compile.limits.stop = StopOnInterrupt();
    ProgressLine progress(ShowsProgress());
    compile::Options plain = settings_.compile;
    plain.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
    compile::Options search = plain;
    search.limits = plain.limits.WithHalfTheTime();
    RewriteSettings wanted = settings_.rewriting;
    for (;;) {
      auto rewritten = tools::Rewrite(source_, search, wanted,
                                      {sums_in_place, !options_.model_out.empty()}, load_options_);
      if (!rewritten) return NotRewritten(std::move(rewritten).error());
      if (rewritten->applications.empty()) break;
      NEAP_TRY(const bool better, IsBetter(*rewritten, plain));
      if (better) {
        Take(std::move(*rewritten));
        break;
      }
      precompiled_.reset();
      // Perhaps what can only help does.
      if (!OnlyWhatHelps(&wanted)) break;
    }
    if (!given_) precompiled_ = std::move(as_it_is_);
    rewriting_.seconds = watch.Seconds();
    return {};
  }

  // A graph that cannot be measured fails in Plan(), with a better message; a file that cannot be
  // edited is planned as it is.
  Status NotRewritten(const Diagnostic& error) {
    if (error.code == ErrorCode::kBadInput) {
      report_.notes.push_back("the graph is not rewritten: " + error.message);
    }
    return {};
  }

  // Rules that never raise a peak. False: they were all that was asked for.
  static bool OnlyWhatHelps(RewriteSettings* settings) {
    std::vector<std::string> names;
    bool fewer = false;
    for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
      const std::string name(rule.name);
      const bool on =
          settings->rules.empty() ||
          std::find(settings->rules.begin(), settings->rules.end(), name) != settings->rules.end();
      if (on && rule.always) names.push_back(name);
      fewer = fewer || (on && !rule.always);
    }
    settings->rules = std::move(names);
    return fewer && !settings->rules.empty();
  }

  // Whether the rewritten model has the smaller arena, or as large a one with fewer operators.
  // Where nothing overlaps inside operators, the arena of the model as it is is at least its peak,
  // so that it need not be placed as a rule.
  Result<bool> IsBetter(const Rewritten& rewritten, const compile::Options& options) {
    compile::Options first = options;
    first.limits = options.limits.WithHalfTheTime();
    auto after = compile::Compile(rewritten.model.graph, first);
    if (!after) return false;
    const std::int64_t bytes = report::HeadlineOf(*after, options.place).bytes;
    precompiled_ = std::move(*after);
    const bool overlaps =
        options.place && (options.kernels != ops::KernelLibrary::kNone ||
                          plan::ProfileOf(options.runtime).kernels != ops::KernelLibrary::kNone);
    if (!overlaps) {
      compile::Options quick = options;
      quick.limits.max_states = kStatesOfALook;
      const auto before = compile::FindPeak(source_.graph, quick, false);
      if (before && bytes < before->lower_bound_bytes) return true;
    }
    if (!as_it_is_) {
      auto compiled = compile::Compile(source_.graph, options);
      if (!compiled) return false;
      as_it_is_ = std::move(*compiled);
    }
    const std::int64_t bytes_before = report::HeadlineOf(*as_it_is_, options.place).bytes;
    const std::size_t ops_before = source_.graph.subgraphs[graph::SubgraphId(0)].ops.size();
    const std::size_t ops = rewritten.model.graph.subgraphs[graph::SubgraphId(0)].ops.size();
    return bytes < bytes_before || (bytes == bytes_before && ops < ops_before);
  }

  void Take(Rewritten rewritten) {
    given_ = std::move(source_);
    source_ = std::move(rewritten.model);
    source_.path = given_->path;
    rewrites_ = std::move(rewritten.applications);
    accumulator_bytes_ = rewritten.accumulator_bytes;
    rewritten_sha256_ = rewritten.rewritten_sha256;
    rewriting_.source = &given_->graph;
    rewriting_.peak_lower_bound_bytes = rewritten.lower_bound_bytes;
    rewriting_.growth_bytes = rewritten.growth_bytes;
    rewriting_.evaluations = rewritten.evaluations;
    if (!rewritten.without_weights) return;
    report_.notes.emplace_back(
        "the file lacks weights that the rewrites cut: the rewritten graph can be planned, not "
        "written or run");
  }

  Status Plan() {
    ProgressLine progress(ShowsProgress());
    settings_.compile.limits.stop = StopOnInterrupt();
    settings_.compile.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
    auto compiled = precompiled_ ? Result<compile::Compiled>(*std::move(precompiled_))
                                 : compile::Compile(source_.graph, settings_.compile);
    progress.Erase();
    if (!compiled) {
      Diagnostic diagnostic = WithAllSymbols(std::move(compiled).error(), source_.graph);
      if (diagnostic.file.empty()) diagnostic.file = source_.path;
      return Fail(std::move(diagnostic));
    }
    compiled_ = std::move(*compiled);
    TellCascade();
    compiled_.plan.neap_version = Version();
    compiled_.plan.model = source_.path;
    compiled_.plan.model_sha256 = given_sha256_;
    compiled_.plan.caller_ops = caller_ops_;
    NEAP_CHECK_OK(TellRewriting());
    compiled_.plan.dims.clear();
    for (const auto& [name, value] : settings_.dims) {
      compiled_.plan.dims.push_back(fmt::format("{}={}", name, value));
    }
    for (const std::string& note : compiled_.notes) report_.notes.push_back(note);
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
    if (!options_.model_out.empty()) NoteMoves();
    report_.graph = &source_.graph;
    report_.compiled = &compiled_;
    report_.placed = settings_.compile.place;
    report_.budget_bytes = settings_.budget_bytes;
    report_.budget_total_bytes = settings_.budget_total_bytes;
    report_.carries_plan = source_.format == formats::Format::kTflite && !compiled_.offsets.empty();
    if (tflm) NoteWhatIsMissing();
    return {};
  }

  void TellCascade() {
    if (!cascading_) return;
    const cascade::PlanOutcome& outcome = cascading_->outcome;
    const cascade::Proposal& chosen = outcome.front[outcome.chosen];
    compiled_.file_order = outcome.compiled.file_order;
    NoteRegions(chosen, &compiled_.plan);
    if (outcome.cut_short) {
      compiled_.interrupted = compiled_.interrupted || settings_.compile.limits.Interrupted();
      report_.notes.emplace_back(
          "a limit ended the search before all tiles were tried: there may be a plan of less "
          "memory");
    }
    report::CascadeReport cascade;
    cascade.device = settings_.device->name;
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

  // The numbers of the file order are those of the file as it was given.
  Status TellRewriting() {
    if (!given_) return {};
    compiled_.plan.rewrites = rewrites_;
    compiled_.plan.accumulator_bytes = accumulator_bytes_;
    compiled_.plan.rewritten_sha256 = rewritten_sha256_;
    report_.rewriting = &rewriting_;
    compile::Options options = settings_.compile;
    options.order = "file";
    options.limits.observer = nullptr;
    options.moves = compile::MoveStrategy::kNone;
    options.placement_states /= 10;
    NEAP_TRY(const compile::Compiled given, compile::Compile(given_->graph, options));
    compiled_.file_order = given.file_order;
    return {};
  }

  // What becomes of moves in the written model.
  void NoteMoves() {
    std::ptrdiff_t moves = 0;
    for (const plan::EntryPlan& entry : compiled_.plan.entries) {
      moves += std::count_if(entry.steps.begin(), entry.steps.end(),
                             [](const plan::Step& step) { return step.moved.valid(); });
    }
    if (moves == 0) return;
    if (compiled_.edited) {
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
    return Draw();
  }

  Status Draw() {
    if (!options_.pictures.Any()) return {};
    const graph::Graph* const given = given_ ? &given_->graph : uncut_ ? &uncut_->graph : nullptr;
    NEAP_TRY(const compile::Compiled file_order,
             CompileFileOrder(given != nullptr ? *given : source_.graph, settings_.compile));
    const PictureInput input{&source_, given, &file_order, &compiled_, settings_.budget_bytes,
                             true};
    return WritePictures(options_.pictures, input, options_.force, &report_.written);
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
  formats::SourceModel source_;                // what is planned: rewritten, where that helps
  std::optional<formats::SourceModel> given_;  // as it was read, where it was rewritten
  std::optional<formats::SourceModel> uncut_;  // the same, where operators run in tiles
  std::string given_sha256_;
  std::vector<graph::OpId> caller_ops_;
  std::optional<compile::Compiled> precompiled_;  // of `source_`
  std::optional<compile::Compiled> as_it_is_;     // not rewritten, once rewrites had to beat that
  std::vector<plan::Rewrite> rewrites_;
  std::int64_t accumulator_bytes_ = 0;
  std::string rewritten_sha256_;
  report::RewriteReport rewriting_;
  compile::Compiled compiled_;
  report::PlanReport report_;
  std::optional<Cascading> cascading_;
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
