// SPDX-License-Identifier: Apache-2.0
//
// neap pareto: all ways to run a model that are worth something.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/base/version.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/front.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/ops/neap_rt.h"
#include "neap/plan/plan_json.h"
#include "neap/show/report/report.h"
#include "neap/transform/stream/entries.h"
#include "tools/cascading.h"
#include "tools/common.h"
#include "tools/interface.h"
#include "tools/pareto.h"
#include "tools/pareto_report.h"
#include "tools/plan_options.h"
#include "tools/words.h"

namespace neap::tools {
namespace {

constexpr const char* kParetoFooter =
    "Examples:\n"
    "  neap pareto model.tflite\n"
    "  neap pareto model.tflite --features tiles --overlap tflm-reference --json > front.json\n"
    "  neap pareto model.onnx --dim batch=1 --device cortex-m7\n"
    "  neap pareto model.tflite --runtime neap --input external\n"
    "  neap pareto model.tflite --target cortex-m4\n"
    "\n"
    "Arenas are those of placed and checked plans; cycles are modelled for the device.\n"
    "A plan that requires something of you (other kernels, another runtime) is compared with\n"
    "those that require no more. To write the model of a point:\n"
    "  neap plan MODEL --effort default --budget-activations ARENA -o FILE\n"
    "with --overlap or --runtime neap as the point states. With --runtime neap all points are\n"
    "streamed plans, and neap plan --stream auto --budget SIZE writes one. With --target they are\n"
    "those of neap emit: arenas without the scratch of kernels, modelled "
    "instructions in place of cycles.\n";

constexpr std::string_view kAllFeatures = "all";
constexpr std::string_view kTilesAlone = "tiles";

Result<cascade::Criteria> ParseCriteria(const ParetoOptions& options) {
  const std::string& list = options.criteria;
  cascade::Criteria criteria{false, false, false, false};
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    const auto known = std::find_if(ParetoCriteria().begin(), ParetoCriteria().end(),
                                    [&](const Criterion& c) { return c.name == name; });
    if (known == ParetoCriteria().end()) {
      Diagnostic error = UsageError(options.model.words.Named("criteria") +
                                    ": there is no criterion '" + name + "'");
      error.hint = "expected some of arena, total, cycles, macs";
      return Fail(std::move(error));
    }
    criteria.*known->used = true;
  }
  return criteria;
}

// Leaves out what another point beats by the criteria; of equal ones the first stays.
void KeepBest(const cascade::Criteria& by, std::vector<stream::StreamPoint>* points) {
  const auto no_worse = [&](const stream::StreamPoint& a, const stream::StreamPoint& b) {
    return (!by.arena || a.arena_bytes <= b.arena_bytes) && (!by.cycles || a.cycles <= b.cycles) &&
           (!by.macs || a.macs <= b.macs);
  };
  std::vector<bool> beaten(points->size(), false);
  for (std::size_t i = 0; i < points->size(); ++i) {
    for (std::size_t j = 0; j < points->size() && !beaten[i]; ++j) {
      if (i == j || !no_worse((*points)[j], (*points)[i])) continue;
      beaten[i] = !no_worse((*points)[i], (*points)[j]) || j < i;
    }
  }
  std::vector<stream::StreamPoint> kept;
  for (std::size_t i = 0; i < points->size(); ++i) {
    if (!beaten[i]) kept.push_back(std::move((*points)[i]));
  }
  *points = std::move(kept);
}

std::string PlanFile(const std::string& folder, std::size_t point) {
  return folder + "/" + std::to_string(point) + ".json";
}

// FOLDER/0.json and so on, in the order of the points: all of them, or none where one exists.
Status WritePlans(const formats::SourceModel& source, const ParetoOptions& options,
                  const std::vector<graph::OpId>& caller_ops, stream::StreamFront* front) {
  const std::string& folder = options.plans;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    Diagnostic diagnostic = IoError("is not a folder and cannot be created: " + problem.message());
    diagnostic.file = folder;
    return Fail(std::move(diagnostic));
  }
  for (std::size_t i = 0; i < front->points.size(); ++i) {
    NEAP_CHECK_OK(CheckOutput(PlanFile(folder, i), options.force));
  }
  for (std::size_t i = 0; i < front->points.size(); ++i) {
    plan::Plan& plan = front->points[i].plan;
    plan.neap_version = Version();
    plan.model = BaseName(source.path);
    plan.dims = options.model.dims;
    plan.model_sha256 = source.sha256;
    plan.caller_ops = caller_ops;
    NEAP_CHECK_OK(io::WriteFile(PlanFile(folder, i), plan::ToJson(plan), options.force));
  }
  return {};
}

// Streamed plans for Neap's executor, every one checked. The model with the requested interface.
struct Given {
  deliver::Interfaced interfaced;
  std::vector<report::InterfaceChange> changes;
};

Result<Given> GivenModel(const ParetoOptions& options, const formats::SourceModel& read,
                         const formats::LoadOptions& load) {
  Given given;
  NEAP_TRY(const plan::Runtime runtime, deliver::RuntimeOf(options.model.words, read.format));
  NEAP_TRY(const formats::SourceModel seen, deliver::AsSeenBy(read, runtime, load));
  NEAP_TRY(given.interfaced,
           deliver::WithIntegerIo(seen, deliver::IntegerIoOf(options.model.words), load));
  given.changes = InterfaceChanges(read.graph, given.interfaced.caller_ops);
  return given;
}

Status OneOf(const ParetoOptions& options, const char* name, const std::string& value,
             std::initializer_list<std::string_view> values) {
  if (std::find(values.begin(), values.end(), value) != values.end()) return {};
  Diagnostic error = UsageError(options.model.words.Named(name) + ": there is no '" + value + "'");
  for (const std::string_view known : values) {
    error.hint += error.hint.empty() ? "expected one of " : ", ";
    error.hint += known;
  }
  return Fail(std::move(error));
}

// By whose instructions plans of emitted C are compared.
stream::Processor ProcessorOf(const ParetoOptions& options) {
  if (options.target == "cortex-m4") return stream::Processor::kCortexM4Dsp;
  if (options.target == "cortex-m55") return stream::Processor::kCortexM55Mve;
  return stream::Processor::kCortexM7;
}

Result<ParetoReport> FindStreams(const ParetoOptions& options, const Given& given,
                                 compile::Options compile, const Stopwatch& watch) {
  const formats::SourceModel& source = given.interfaced.model;
  if (options.features == kTilesAlone) {
    return Fail(UsageError(options.model.words.Named("features") + " tiles requires another " +
                           options.model.words.Named("runtime") + " than neap"));
  }
  for (const std::string_view name : {"device", "overlap", "max-region-operators",
                                      "max-region-tiles", "max-tile-aspect", "tile-grids"}) {
    if (!options.model.words.Has(name)) continue;
    return Fail(UsageError(options.model.words.Named(name) + " requires tiles, which " +
                           options.model.words.Named("runtime") + " neap does not use"));
  }
  cascade::Criteria criteria{true, false, true, true};
  if (!options.criteria.empty()) {
    NEAP_TRY(criteria, ParseCriteria(options));
  }
  if (criteria.total_arena) {
    return Fail(UsageError(options.model.words.Named("criteria") + " total requires " +
                           options.model.words.Named("runtime") +
                           " tflm: a streamed plan has no total arena"));
  }
  std::error_code error;
  if (!options.plans.empty() && std::filesystem::exists(PlanFile(options.plans, 0), error)) {
    NEAP_CHECK_OK(CheckOutput(PlanFile(options.plans, 0), options.force));  // before the search
  }
  stream::Settings settings;
  settings.processor = ProcessorOf(options);
  for (const auto input :
       {plan::StreamInput::kResident, plan::StreamInput::kExternal, plan::StreamInput::kRows}) {
    if (plan::NameOf(input) == options.input) settings.input = input;
  }
  ProgressLine progress(!options.output.quiet && ::isatty(::fileno(stderr)) != 0);
  compile.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
  auto front = stream::FindStreamFront(source.graph, compile, settings);
  progress.Erase();
  if (!front) {
    Diagnostic diagnostic = WithAllSymbols(std::move(front).error(), source.graph);
    if (diagnostic.file.empty()) diagnostic.file = source.path;
    return Fail(std::move(diagnostic));
  }
  KeepBest(criteria, &front->points);
  // After the search there is nothing left to be interrupted.
  const bool interrupted = front->cut_short && compile.limits.Interrupted();
  for (const stream::StreamPoint& point : front->points) {
    const auto findings = check::CheckPlan(source.graph, point.plan);
    NEAP_CHECK(findings.empty(), "a streamed plan does not pass its check");
  }
  if (!options.plans.empty()) {
    NEAP_CHECK_OK(WritePlans(source, options, given.interfaced.caller_ops, &*front));
  }
  ParetoReport report;
  report.interrupted = interrupted;
  report.text = report::InterfaceText(given.changes) +
                StreamFrontText(source, *front, options.input, options.target, criteria);
  if (!options.output.json && options.html.empty()) return report;
  const ParetoAbout about{&source, &given.changes, interrupted, watch.Seconds()};
  std::string json = StreamFrontJson(about, *front, options.input, options.target, criteria);
  if (!options.html.empty()) report.page = StreamFrontPage(source, *front, options.target, json);
  if (options.output.json) report.text = std::move(json);
  return report;
}

// Plans of emitted C are streamed plans of Neap's runtime.
Status SetTarget(const ParetoOptions& options, compile::Options* compile) {
  if (options.target.empty()) return {};
  NEAP_CHECK_OK(OneOf(options, "target", options.target, {"cortex-m4", "cortex-m55"}));
  if (options.model.words.Has("runtime") && compile->runtime != plan::Runtime::kNeap) {
    return Fail(UsageError(options.model.words.Named("target") + " requires " +
                           options.model.words.Named("runtime") + " neap"));
  }
  compile->runtime = plan::Runtime::kNeap;
  return {};
}

Result<ParetoReport> ReportOf(const ParetoOptions& options, const ParetoAbout& about,
                              const deliver::Front& front, const cascade::SearchOptions& search) {
  ParetoReport report;
  report.interrupted = about.interrupted;
  report.text = report::InterfaceText(*about.changes) + FrontText(*about.source, front);
  if (!options.output.json && options.html.empty()) return report;
  NEAP_TRY(std::string json, FrontJson(about, front, search));
  if (!options.html.empty()) report.page = FrontPage(*about.source, front, json);
  if (options.output.json) report.text = std::move(json);
  return report;
}

}  // namespace

Result<ParetoReport> MakePareto(const ParetoOptions& options, const formats::SourceModel& read,
                                const formats::LoadOptions& load, const std::atomic<bool>* stop) {
  const Stopwatch watch;
  NEAP_CHECK_OK(OneOf(options, "features", options.features, {kAllFeatures, kTilesAlone}));
  NEAP_CHECK_OK(OneOf(options, "input", options.input, {"resident", "external", "rows"}));
  deliver::FrontRequest request;
  cascade::SearchOptions& plan = request.search;
  NEAP_TRY(plan.device, deliver::DeviceOf(options.model.words));
  NEAP_TRY(const Given given, GivenModel(options, read, load));
  const formats::SourceModel& source = given.interfaced.model;
  NEAP_TRY(plan.compile.runtime, deliver::RuntimeOf(options.model.words, source.format));
  NEAP_CHECK_OK(CheckTimeLimit(options.time_limit_seconds));
  std::optional<WorkScope> work;
  if (options.time_limit_seconds == 0) work.emplace(deliver::kDefaultWork);
  plan.compile.limits.stop = stop;
  plan.compile.limits.deadline = DeadlineAfter(options.time_limit_seconds);
  plan.compile.limits.max_states = kStatesForAFewSeconds;
  plan.compile.limits.threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  NEAP_CHECK_OK(SetTarget(options, &plan.compile));
  if (plan.compile.runtime == plan::Runtime::kNeap) {
    plan.compile.kernels = options.target.empty() ? ops::KernelLibrary::kNeap : ops::kNeapRt;
    return FindStreams(options, given, plan.compile, watch);
  }
  if (options.input != "resident" || !options.plans.empty()) {
    const deliver::Words& words = options.model.words;
    return Fail(UsageError(words.Named("input") + " and " + words.Named("plans") + " require " +
                           words.Named("runtime") + " neap"));
  }
  if (!deliver::HasOperators(source.graph)) {
    Diagnostic diagnostic = BadInput("has no operators");
    diagnostic.file = source.path;
    return Fail(std::move(diagnostic));
  }
  NEAP_CHECK_OK(deliver::CheckOverlap(options.model.words, plan.compile.runtime));
  plan.compile.kernels =
      ops::KernelLibraryNamed(options.model.words.overlap).value_or(ops::KernelLibrary::kNone);
  plan.grids = options.model.words.grids;
  if (!options.criteria.empty()) {
    NEAP_TRY(plan.criteria, ParseCriteria(options));
    if (plan.criteria.total_arena && plan.compile.runtime != plan::Runtime::kTflm) {
      return Fail(UsageError(options.model.words.Named("criteria") + " total requires " +
                             options.model.words.Named("runtime") + " tflm"));
    }
  }
  const bool shows_progress = !options.output.quiet && ::isatty(::fileno(stderr)) != 0;
  ProgressLine progress(shows_progress);
  CascadeProgressLine tiles_progress(shows_progress);
  request.search.compile.limits.observer = [&](const Progress& seen) {
    tiles_progress.Erase();
    progress.Show(seen);
  };
  request.search.observer = [&](const cascade::SearchProgress& seen) {
    progress.Erase();
    tiles_progress.Show(seen);
  };
  request.load = load;
  const bool all = options.features != kTilesAlone;
  request.rewriting = all;
  request.overlap = all && !options.model.words.Has("overlap");
  // Streams run on Neap's executor, whose cycles are those of one device.
  request.streams =
      all && !options.model.words.Has("runtime") && !options.model.words.Has("device");
  auto front = deliver::FindFront(source, request);
  progress.Erase();
  tiles_progress.Erase();
  if (!front) {
    Diagnostic diagnostic = WithAllSymbols(std::move(front).error(), source.graph);
    if (diagnostic.file.empty()) diagnostic.file = source.path;
    return Fail(std::move(diagnostic));
  }
  const bool interrupted = front->cut_short && request.search.compile.limits.Interrupted();
  const ParetoAbout about{&source, &given.changes, interrupted, watch.Seconds()};
  return ReportOf(options, about, *front, request.search);
}

namespace {

Result<int> RunPareto(const ParetoOptions& options) {
  formats::LoadOptions load;
  NEAP_TRY(load.dims, ParseDims(options.model.dims));
  if (!options.html.empty()) {
    NEAP_CHECK_OK(CheckOutput(options.html, options.force));
    NEAP_CHECK_OK(CheckDistinct({{"INPUT", options.model.input}}, {{"--html", options.html}}));
  }
  load.weights = true;  // tiles may have parts of constants
  NEAP_TRY(const formats::SourceModel source, formats::Load(options.model.input, load));
  NEAP_TRY(const ParetoReport report, MakePareto(options, source, load, StopOnInterrupt()));
  if (!options.html.empty()) {
    NEAP_CHECK_OK(io::WriteFile(options.html, report.page, options.force));
  }
  if (options.output.json || !options.output.quiet) NEAP_CHECK_OK(Print(stdout, report.text));
  return report.interrupted ? kInterrupted : kDone;
}

}  // namespace

int ParetoCommand(std::vector<std::string> args) {
  ParetoOptions options;
  CLI::App app("List the plans of all features that no other plan beats in memory and time.",
               "neap pareto");
  app.footer(kParetoFooter);
  AddModelOptions(&app, &options.model);
  app.add_option("--criteria", options.criteria,
                 "criteria of the comparison: some of arena, total, cycles, macs; default: "
                 "arena,total,cycles, with --runtime neap arena,cycles,macs")
      ->option_text("LIST");
  app.add_option("--features", options.features,
                 "all: the model as given and rewritten, in tiles, with overlaps of the TFLM "
                 "reference kernels, streamed; tiles: the model as given, in tiles; default: all")
      ->option_text("all|tiles");
  app.add_option("--input", options.input,
                 "with --runtime neap: model inputs are in the arena and counted (resident), in "
                 "other memory (external), or passed row by row (rows); default: resident")
      ->option_text("resident|external|rows");
  app.add_option("--target", options.target,
                 "plans of the C of neap emit, with --kernels dsp on a Cortex-M4 or mve on a "
                 "Cortex-M55: instructions in place of cycles")
      ->option_text("cortex-m4|cortex-m55");
  app.add_option("--plans", options.plans,
                 "with --runtime neap: write the plan of every point, FOLDER/0.json, 1.json, ...")
      ->option_text("FOLDER");
  app.add_option("--html", options.html, "write a page with the plans as a chart and a table")
      ->option_text("FILE");
  app.add_flag("--force", options.force, "overwrite FILE, and existing plans in FOLDER");
  app.add_option("--time-limit", options.time_limit_seconds,
                 "time limit of the search; results may then differ between runs; default: 0, "
                 "no limit")
      ->option_text("SECONDS");
  AddOutputOptions(&app, &options.output);
  AddWords(&app, &options.model.words,
           {"device", "overlap", "integer-io", "max-region-operators", "max-region-tiles",
            "max-tile-aspect", "tile-grids"});
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = RunPareto(options);
  return code ? *code : Report("pareto", code.error());
}

}  // namespace neap::tools
