// SPDX-License-Identifier: Apache-2.0
//
// neap traffic: off-chip bytes of the file's order and of the planned one.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/compile/entry_memory.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/edits.h"
#include "neap/formats/formats.h"
#include "neap/show/report/traffic_report.h"
#include "neap/solve/traffic/blocks.h"
#include "tools/common.h"
#include "tools/plan_file.h"

namespace neap::tools {
namespace {

constexpr const char* kTrafficFooter =
    "Examples:\n"
    "  neap traffic model.tflite\n"
    "  neap traffic model.tflite --plan plan.json --on-chip 32KiB,64KiB,128KiB\n"
    "  neap traffic model.onnx --dim batch=1 --on-chip 1MiB --ends off-chip --json\n"
    "\n"
    "Policies: optimum (fewest bytes read and written for this order, with a proof or a bound),\n"
    "furthest-next-use and lru move whole tensors; belady (fewest misses) and lru equal blocks.\n"
    "Dead data is never written back. Data with an external copy is not written again.\n";

struct TrafficOptions {
  ModelOptions model;
  OutputOptions output;
  std::string plan;
  std::vector<std::string> on_chip;
  std::string block = "1KiB";
  std::string ends = "on-chip";
  std::int64_t max_states = 400'000;
};

struct Settings {
  std::vector<std::int64_t> sizes;
  std::int64_t block_bytes = 0;
};

Result<Settings> ParseOptions(const TrafficOptions& options) {
  Settings settings;
  NEAP_TRY(settings.block_bytes, ParseSize("--block", options.block));
  if (settings.block_bytes < 1) return Fail(UsageError("--block is 0, expected at least 1"));
  for (const std::string& text : options.on_chip) {
    NEAP_TRY(const std::int64_t bytes, ParseSize("--on-chip", text));
    if (std::find(settings.sizes.begin(), settings.sizes.end(), bytes) == settings.sizes.end()) {
      settings.sizes.push_back(bytes);
    }
  }
  constexpr std::int64_t kKi = 1024;
  if (settings.sizes.empty()) settings.sizes = {32 * kKi, 64 * kKi, 128 * kKi, 256 * kKi};
  return settings;
}

class TrafficRun {
 public:
  TrafficRun(const TrafficOptions& options, Settings settings)
      : options_(options), settings_(std::move(settings)) {}

  Status Run() {
    const Stopwatch watch;
    NEAP_CHECK_OK(Load());
    const std::atomic<bool>* stop = StopOnInterrupt();
    NEAP_TRY(const compile::SubgraphOrder planned, PlannedOrder(stop));
    const graph::Graph& file = source_.graph;
    NEAP_TRY(report_.file_order, Measure(file, compile::FileOrderOfGraph(file), stop));
    NEAP_TRY(report_.planned, Measure(edited_ ? edited_->graph : file, planned, stop));
    report_.seconds = watch.Seconds();
    if (options_.output.json) return Print(stdout, report::TrafficJson(report_));
    if (options_.output.quiet) return {};
    return Print(stdout, report::TrafficText(report_, StyleFor(stdout, options_.output)));
  }

 private:
  Status Load() {
    formats::LoadOptions load_options;
    NEAP_TRY(load_options.dims, ParseDims(options_.model.dims));
    if (!options_.plan.empty()) {
      NEAP_TRY(plan_, LoadPlan(options_.plan));
      if (options_.model.dims.empty()) {
        NEAP_TRY(load_options.dims, ParseDims(plan_.dims));
      }
    }
    load_options.weights = !plan_.rewritten_sha256.empty();  // constants may have to be cut
    NEAP_TRY(source_, formats::Load(options_.model.input, load_options));
    NEAP_CHECK_OK(Edit(load_options));
    NEAP_TRY(runtime_, deliver::RuntimeOf(options_.model.words, source_.format));
    if (!options_.plan.empty() && options_.model.words.runtime.empty()) runtime_ = plan_.runtime;
    report_.model = source_.path;
    report_.model_sha256 = source_.sha256;
    report_.runtime = plan::ProfileOf(runtime_).name;
    report_.plan_file = options_.plan;
    report_.block_bytes = settings_.block_bytes;
    report_.ends_on_chip = options_.ends == "on-chip";
    if (plan::ProfileOf(runtime_).in_place) {
      report_.notes.emplace_back(
          "an output that overwrites its input counts as a tensor of its own");
    }
    return {};
  }

  // The plan may be about another model that it makes of this one: without what the caller runs,
  // whose file order is then compared, with other operators, or with operators in tiles.
  Status Edit(const formats::LoadOptions& load_options) {
    if (options_.plan.empty() || plan_.model_sha256 != source_.sha256) return {};
    if (plan::LargestEntry(plan_).stream) {
      Diagnostic diagnostic =
          BadInput("is a streamed plan with parts of tensors, expected a plan with whole tensors");
      diagnostic.file = options_.plan;
      diagnostic.hint = "plan with --stream off";
      return Fail(std::move(diagnostic));
    }
    NEAP_TRY(deliver::Replayed replayed,
             deliver::ReplayEdits(std::move(source_), plan_, load_options));
    source_ = std::move(replayed.interfaced);
    edited_ = std::move(replayed.edited);
    return {};
  }

  Result<compile::SubgraphOrder> PlannedOrder(const std::atomic<bool>* stop) {
    if (options_.plan.empty()) {
      // The order alone: its traffic is that of the given operators.
      deliver::Request request;
      request.compile.runtime = runtime_;
      request.compile.place = false;
      request.compile.limits.max_states = kStatesForAFewSeconds;
      request.compile.limits.stop = stop;
      request.rewriting.any = false;
      const WorkScope work(deliver::kDefaultWork);
      ProgressLine progress(!options_.output.quiet && ::isatty(::fileno(stderr)) != 0);
      request.compile.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
      auto delivery = deliver::Deliver(source_, request);
      progress.Erase();
      if (!delivery) return Fail(Named(std::move(delivery).error()));
      plan_ = std::move(delivery->compiled.plan);
      entry_ = plan::LargestEntry(plan_).subgraph;
      PrintStatus();
      return std::move(delivery->compiled.order);
    }
    const graph::Graph& graph = edited_ ? edited_->graph : source_.graph;
    std::vector<std::string> violations;
    if (plan_.model_sha256 != source_.sha256) {
      violations.push_back(HashMismatch(plan_, source_));
    } else {
      violations = check::CheckPlan(graph, plan_);
    }
    if (!violations.empty()) {
      Diagnostic diagnostic = BadInput(report::Printable(violations.front(), 4096));
      diagnostic.file = options_.plan;
      diagnostic.hint = "'neap check' prints the violations";
      return Fail(std::move(diagnostic));
    }
    entry_ = plan::LargestEntry(plan_).subgraph;
    PrintStatus();
    return compile::OrderOf(graph, plan_);
  }

  void PrintStatus() {
    const bool optimal = plan::LargestEntry(plan_).order_status == plan::BoundStatus::kOptimal;
    report_.order_status = optimal ? "optimal" : "bounded";
  }

  Result<report::OrderTraffic> Measure(const graph::Graph& graph,
                                       const compile::SubgraphOrder& order,
                                       const std::atomic<bool>* stop) {
    auto memory = compile::MemoryOf(graph, entry_, order, runtime_);
    if (!memory) return Fail(Named(std::move(memory).error()));
    const compile::Ends ends =
        report_.ends_on_chip ? compile::Ends::kOnChip : compile::Ends::kOffChip;
    auto problem = compile::TrafficOf(*memory, ends);
    if (!problem) return Fail(Named(std::move(problem).error()));
    report::OrderTraffic out;
    for (const std::int64_t live : memory->live_bytes) {
      out.peak_bytes = std::max(out.peak_bytes, live);
    }
    out.without_traffic_bytes = traffic::LeastBytesWithoutTraffic(*problem);
    out.compulsory_bytes = traffic::CompulsoryBytes(*problem);
    for (const std::int64_t size : settings_.sizes) {
      const auto rows =
          traffic::Measure(*problem, size, {settings_.block_bytes, options_.max_states, stop});
      out.rows.insert(out.rows.end(), rows.begin(), rows.end());
    }
    if (traffic::BlockAccesses(*problem, settings_.block_bytes) > traffic::kMaxBlockAccesses) {
      const std::string note = fmt::format(
          "more than {} accesses of blocks: their rows are left out; larger blocks (--block) may "
          "help",
          FormatCount(traffic::kMaxBlockAccesses));
      if (report_.notes.empty() || report_.notes.back() != note) report_.notes.push_back(note);
    }
    return out;
  }

  Diagnostic Named(Diagnostic diagnostic) const {
    diagnostic = WithAllSymbols(std::move(diagnostic), source_.graph);
    if (diagnostic.file.empty()) diagnostic.file = source_.path;
    return diagnostic;
  }

  const TrafficOptions& options_;
  const Settings settings_;
  formats::SourceModel source_;
  std::optional<formats::SourceModel> edited_;  // the planned graph, if it differs
  plan::Runtime runtime_ = plan::Runtime::kIdeal;
  plan::Plan plan_;
  graph::SubgraphId entry_;
  report::TrafficReport report_;
};

}  // namespace

int TrafficCommand(std::vector<std::string> args) {
  TrafficOptions options;
  CLI::App app("Off-chip traffic of activations with an on-chip memory of a given size.",
               "neap traffic");
  app.footer(kTrafficFooter);
  AddModelOptions(&app, &options.model);
  app.add_option("--plan", options.plan, "plan.json with the order; default: the model is planned")
      ->option_text("FILE");
  app.add_option("--on-chip", options.on_chip,
                 "sizes of the on-chip memory; default: 32KiB,64KiB,128KiB,256KiB")
      ->option_text("SIZE,...")
      ->delimiter(',');
  app.add_option("--block", options.block, "size of the equal blocks; default: 1KiB")
      ->option_text("SIZE");
  app.add_option("--ends", options.ends,
                 "on-chip: inputs are on chip at the start and outputs may stay; off-chip: inputs "
                 "are read and outputs written; default: on-chip")
      ->option_text("on-chip|off-chip")
      ->check(CLI::IsMember({"on-chip", "off-chip"}));
  app.add_option("--max-states", options.max_states,
                 "maximum number of states of the search for the optimum, for each size and order; "
                 "default: "
                 "400000")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  auto settings = ParseOptions(options);
  if (!settings) return Report("traffic", settings.error());
  const Status status = TrafficRun(options, std::move(*settings)).Run();
  return status ? kDone : Report("traffic", status.error());
}

}  // namespace neap::tools
