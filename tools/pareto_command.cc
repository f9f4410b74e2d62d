// SPDX-License-Identifier: Apache-2.0
//
// neap pareto: all ways to run a model in tiles, or streamed, that are worth something.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
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
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/plan/plan_json.h"
#include "neap/show/report/report.h"
#include "neap/transform/cascade/copies.h"
#include "neap/transform/stream/entries.h"
#include "tools/cascading.h"
#include "tools/common.h"
#include "tools/interface.h"
#include "tools/pareto.h"
#include "tools/plan_options.h"
#include "tools/words.h"

namespace neap::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kParetoFooter =
    "Examples:\n"
    "  neap pareto model.tflite\n"
    "  neap pareto model.tflite --overlap tflm-reference --json > front.json\n"
    "  neap pareto model.onnx --dim batch=1 --device cortex-m7\n"
    "  neap pareto model.tflite --runtime neap --input external\n"
    "\n"
    "Arenas are those of placed and checked plans; cycles are modelled for the device.\n"
    "Rows that tiles share are recomputed (stock runtimes) or stored in rings (--runtime neap).\n"
    "neap plan --cascade auto --budget SIZE writes the model of a point; with --runtime neap\n"
    "the points are streamed plans, and neap plan --stream auto --budget SIZE writes one.\n";

constexpr const char* kCutShort = "\n  a limit ended the search: there may be better plans\n";

// The criteria of points, in the order of reports.
struct Criterion {
  const char* name;   // of --criteria
  const char* field;  // of the JSON
  const char* text;
  bool cascade::Criteria::*used;
};
constexpr Criterion kCriteria[] = {
    {"arena", "arena_bytes", "arena", &cascade::Criteria::arena},
    {"total", "total_arena_bytes", "total arena", &cascade::Criteria::total_arena},
    {"cycles", "cycles", "cycles", &cascade::Criteria::cycles},
    {"macs", "macs", "MACs", &cascade::Criteria::macs},
};

Result<cascade::Criteria> ParseCriteria(const ParetoOptions& options) {
  const std::string& list = options.criteria;
  cascade::Criteria criteria{false, false, false, false};
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    const auto* const known = std::find_if(std::begin(kCriteria), std::end(kCriteria),
                                           [&](const Criterion& c) { return c.name == name; });
    if (known == std::end(kCriteria)) {
      Diagnostic error = UsageError(options.model.words.Named("criteria") +
                                    ": there is no criterion '" + name + "'");
      error.hint = "expected some of arena, total, cycles, macs";
      return Fail(std::move(error));
    }
    criteria.*known->used = true;
  }
  return criteria;
}

Json CriteriaJson(const cascade::Criteria& criteria) {
  Json out = Json::array();
  for (const Criterion& criterion : kCriteria) {
    if (criteria.*criterion.used) out.push_back(criterion.field);
  }
  return out;
}

std::string CriteriaText(const cascade::Criteria& criteria) {
  std::vector<std::string> names;
  for (const Criterion& criterion : kCriteria) {
    if (criteria.*criterion.used) names.emplace_back(criterion.text);
  }
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return out;
}

double Ratio(std::int64_t macs, std::int64_t of) {
  return of == 0 ? 1.0 : static_cast<double>(macs) / static_cast<double>(of);
}

std::string TextOf(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Weights that pay beside the activations of a point, region by region: one is over before the next
// begins, so that each has all that the arena leaves free.
Result<std::vector<cascade::WeightCopy>> CopiesOf(const graph::Graph& graph,
                                                  const cascade::Proposal& point,
                                                  const cascade::Device& device) {
  std::vector<cascade::WeightCopy> all;
  if (!point.unknown_scratch.empty()) return all;  // the free bytes beside the arena are not known
  const std::int64_t free_bytes = cascade::FreeBytes(device, point.arena_bytes);
  if (free_bytes == 0 || point.regions.empty()) return all;
  NEAP_TRY(const graph::Graph realised, cascade::GraphOf(graph, point));
  const graph::SubgraphId main(0);
  for (const cascade::RegionPlan& region : point.regions) {
    const auto pay =
        cascade::CopiesThatPay(graph.subgraphs[main], region, realised.subgraphs[main], device);
    for (cascade::WeightCopy& copy : cascade::BestCopies(pay, free_bytes)) {
      all.push_back(std::move(copy));
    }
  }
  return all;
}

Json CopiesJson(const std::vector<cascade::WeightCopy>& copies) {
  Json out = Json::array();
  for (const cascade::WeightCopy& copy : copies) {
    Json one;
    one["operator"] = copy.op.value();
    one["tensors"] = Json::array();
    for (const graph::TensorId id : copy.tensors) one["tensors"].push_back(id.value());
    one["bytes"] = copy.bytes;
    one["reads"] = copy.reads;
    one["saved_cycles"] = copy.saved_cycles;
    out.push_back(std::move(one));
  }
  return out;
}

Json PointJson(const cascade::Proposal& point, const cascade::SearchOutcome& outcome) {
  Json out;
  out["arena_bytes"] = point.arena_bytes;
  out["total_arena_bytes"] =
      point.total_arena_bytes < 0 ? Json(nullptr) : Json(point.total_arena_bytes);
  out["delivered_arena_bytes"] =
      point.delivered_arena_bytes < 0 ? Json(nullptr) : Json(point.delivered_arena_bytes);
  out["unknown_scratch"] =
      point.unknown_scratch.empty() ? Json(nullptr) : Json(point.unknown_scratch);
  out["macs"] = point.macs;
  out["macs_ratio"] = Ratio(point.macs, outcome.macs);
  out["cycles"] = point.cycles;
  out["tiles"] = point.tiles;
  out["regions"] = Json::array();
  for (const cascade::RegionPlan& region : point.regions) {
    Json one;
    one["operators"] = Json::array();
    for (const graph::OpId id : region.ops) one["operators"].push_back(id.value());
    one["splits"] = Json::array();
    for (const cascade::Split& split : region.splits) {
      one["splits"].push_back({{"axis", split.axis}, {"cuts", split.cuts}});
    }
    out["regions"].push_back(std::move(one));
  }
  return out;
}

std::string ArenaText(const cascade::Proposal& point) {
  return FormatCount(point.arena_bytes) + (point.unknown_scratch.empty() ? "" : "?");
}

// Of the first point that has scratch that is not modelled.
std::string UnknownText(const std::vector<cascade::Proposal>& front) {
  for (const cascade::Proposal& point : front) {
    if (!point.unknown_scratch.empty()) return report::Printable(point.unknown_scratch, 400);
  }
  return "";
}

std::string FrontText(const formats::SourceModel& source, const cascade::SearchOutcome& outcome,
                      const cascade::Criteria& criteria) {
  std::string out = fmt::format("{} {} of {}, not rewritten: none is beaten by another in {}\n\n",
                                outcome.front.size(), outcome.front.size() == 1 ? "plan" : "plans",
                                report::Printable(source.path, 4096), CriteriaText(criteria));
  out += fmt::format("  {:>12}  {:>12}  {:>8}  {:>14}  {:>6}  regions\n", "arena B", "total B",
                     "MACs", "cycles", "tiles");
  for (const cascade::Proposal& point : outcome.front) {
    const auto lines = RegionsText(point);
    const std::string head =
        fmt::format("  {:>12}  {:>12}  {:>8.3f}  {:>14}  {:>6}  ", ArenaText(point),
                    point.total_arena_bytes < 0 ? "-" : FormatCount(point.total_arena_bytes),
                    Ratio(point.macs, outcome.macs), FormatCount(point.cycles), point.tiles);
    out += Hanging(head, lines.empty() ? "no tiles" : lines.front());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      out += Hanging(std::string(head.size(), ' '), lines[i]);
    }
  }
  if (const std::string unknown = UnknownText(outcome.front); !unknown.empty()) {
    out += "\n  ?: the arena of the plan; TFLM's own allocation is unknown: " + unknown + "\n";
  }
  if (outcome.cut_short) out += kCutShort;
  if (!outcome.note.empty()) out += "\n  " + outcome.note + "\n";
  return out;
}

Json StreamPointJson(const stream::StreamPoint& point) {
  const plan::Stream& stream = *point.plan.entries[0].stream;
  Json out;
  out["arena_bytes"] = point.arena_bytes;
  out["total_arena_bytes"] = nullptr;
  out["delivered_arena_bytes"] = nullptr;
  out["unknown_scratch"] = nullptr;  // Neap's executor has none
  out["macs"] = point.macs;
  out["macs_ratio"] = Ratio(point.macs, stream.layerwise_macs);
  out["cycles"] = point.cycles;
  out["tiles"] = 0;
  out["regions"] = Json::array();
  out["segments"] = stream.segments.size();
  out["cycles_ratio"] = Ratio(point.cycles, stream.layerwise_cycles);
  out["lower_bound_bytes"] = stream.lower_bound_bytes;
  out["copies"] = Json::array();  // the model of a stream counts no memories beside each other
  return out;
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

std::string StreamFrontText(const formats::SourceModel& source, const stream::StreamFront& front,
                            const std::string& input, const cascade::Criteria& criteria) {
  std::string out =
      fmt::format("{} streamed {} of {}, input {}: none is beaten by another in {}\n\n",
                  front.points.size(), front.points.size() == 1 ? "plan" : "plans",
                  report::Printable(source.path, 4096), input, CriteriaText(criteria));
  out += fmt::format("  {:>12}  {:>8}  {:>8}  {:>8}  {}\n", "arena B", "MACs", "cycles", "segments",
                     "bound at 1.0");
  for (const stream::StreamPoint& point : front.points) {
    const plan::Stream& stream = *point.plan.entries[0].stream;
    out += fmt::format("  {:>12}  {:>8.4f}  {:>8.4f}  {:>8}  {:>12}\n",
                       FormatCount(point.arena_bytes), Ratio(point.macs, stream.layerwise_macs),
                       Ratio(point.cycles, stream.layerwise_cycles), stream.segments.size(),
                       FormatCount(stream.lower_bound_bytes));
  }
  if (front.cut_short) out += kCutShort;
  return out;
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
  NEAP_TRY(given.interfaced,
           deliver::WithIntegerIo(read, deliver::IntegerIoOf(options.model.words), load));
  given.changes = InterfaceChanges(read.graph, given.interfaced.caller_ops);
  return given;
}

Result<ParetoReport> FindStreams(const ParetoOptions& options, const Given& given,
                                 compile::Options compile, const Stopwatch& watch) {
  const formats::SourceModel& source = given.interfaced.model;
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
  if (options.output.json) {
    const plan::Stream& stream = *front->points[0].plan.entries[0].stream;
    Json out;
    out["schema_version"] = report::kReportVersion;
    out["model"] = source.path;
    out["model_sha256"] = source.sha256;
    out["runtime"] = "neap";
    out["device"] = "cortex-m7, modelled";
    out["input"] = options.input;
    out["interface"] = Json::parse(report::InterfaceJson(given.changes));
    out["criteria"] = CriteriaJson(criteria);
    out["macs"] = stream.layerwise_macs;
    out["points"] = Json::array();
    for (const stream::StreamPoint& point : front->points) {
      out["points"].push_back(StreamPointJson(point));
    }
    out["interrupted"] = interrupted;
    out["cut_short"] = front->cut_short;
    out["seconds"] = watch.Seconds();
    return ParetoReport{TextOf(out), interrupted};
  }
  return ParetoReport{report::InterfaceText(given.changes) +
                          StreamFrontText(source, *front, options.input, criteria),
                      interrupted};
}

}  // namespace

Result<ParetoReport> MakePareto(const ParetoOptions& options, const formats::SourceModel& read,
                                const formats::LoadOptions& load, const std::atomic<bool>* stop) {
  const Stopwatch watch;
  cascade::SearchOptions plan;
  plan.whole_front = true;
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
  if (plan.compile.runtime == plan::Runtime::kNeap) {
    plan.compile.kernels = ops::KernelLibrary::kNeap;
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
  ProgressLine uncut_progress(shows_progress);
  CascadeProgressLine progress(shows_progress);
  plan.compile.limits.observer = [&](const Progress& seen) { uncut_progress.Show(seen); };
  plan.observer = [&](const cascade::SearchProgress& seen) {
    uncut_progress.Erase();
    progress.Show(seen);
  };
  auto outcome = cascade::FindPlan(source.graph, plan);
  uncut_progress.Erase();
  progress.Erase();
  if (!outcome) {
    Diagnostic diagnostic = WithAllSymbols(std::move(outcome).error(), source.graph);
    if (diagnostic.file.empty()) diagnostic.file = source.path;
    return Fail(std::move(diagnostic));
  }
  const bool interrupted = outcome->cut_short && plan.compile.limits.Interrupted();
  // Where no total is known there is nothing to compare.
  if (outcome->uncut.total_arena_bytes < 0) plan.criteria.total_arena = false;
  if (options.output.json) {
    Json out;
    out["schema_version"] = report::kReportVersion;
    out["model"] = source.path;
    out["model_sha256"] = source.sha256;
    out["runtime"] = plan::ProfileOf(plan.compile.runtime).name;
    out["device"] = plan.device.name;
    out["interface"] = Json::parse(report::InterfaceJson(given.changes));
    out["criteria"] = CriteriaJson(plan.criteria);
    out["grids"] = {{"max_region_operators", plan.grids.max_operators},
                    {"max_region_tiles", plan.grids.max_tiles},
                    {"max_tile_aspect", plan.grids.max_aspect},
                    {"tile_grids", plan.grids.all ? "all" : "auto"}};
    out["macs"] = outcome->macs;
    out["points"] = Json::array();
    for (const cascade::Proposal& point : outcome->front) {
      NEAP_TRY(const auto copies, CopiesOf(source.graph, point, plan.device));
      Json one = PointJson(point, *outcome);
      one["copies"] = CopiesJson(copies);
      out["points"].push_back(std::move(one));
    }
    out["interrupted"] = interrupted;
    out["cut_short"] = outcome->cut_short;
    out["seconds"] = watch.Seconds();
    return ParetoReport{TextOf(out), interrupted};
  }
  return ParetoReport{
      report::InterfaceText(given.changes) + FrontText(source, *outcome, plan.criteria),
      interrupted};
}

namespace {

Result<int> RunPareto(const ParetoOptions& options) {
  formats::LoadOptions load;
  NEAP_TRY(load.dims, ParseDims(options.model.dims));
  NEAP_TRY(const formats::SourceModel source, formats::Load(options.model.input, load));
  NEAP_TRY(const ParetoReport report, MakePareto(options, source, load, StopOnInterrupt()));
  if (options.output.json || !options.output.quiet) NEAP_CHECK_OK(Print(stdout, report.text));
  return report.interrupted ? kInterrupted : kDone;
}

}  // namespace

int ParetoCommand(std::vector<std::string> args) {
  ParetoOptions options;
  CLI::App app("List the plans with tiles or streams that no other plan beats in memory and time.",
               "neap pareto");
  app.footer(kParetoFooter);
  AddModelOptions(&app, &options.model);
  app.add_option("--criteria", options.criteria,
                 "criteria of the comparison: some of arena, total, cycles, macs; default: "
                 "arena,total,cycles, with --runtime neap arena,cycles,macs")
      ->option_text("LIST");
  app.add_option("--input", options.input,
                 "with --runtime neap: model inputs are in the arena and counted (resident), in "
                 "other memory (external), or passed row by row (rows); default: resident")
      ->option_text("resident|external|rows")
      ->check(CLI::IsMember({"resident", "external", "rows"}));
  app.add_option("--plans", options.plans,
                 "with --runtime neap: write the plan of every point, FOLDER/0.json, 1.json, ...")
      ->option_text("FOLDER");
  app.add_flag("--force", options.force, "overwrite existing plans in FOLDER");
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
