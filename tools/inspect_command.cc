// SPDX-License-Identifier: Apache-2.0
//
// neap inspect: the memory of the file order, and its cause.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <utility>

#include "neap/base/work.h"
#include "neap/compile/compile.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/edits.h"
#include "neap/formats/formats.h"
#include "neap/show/report/report.h"
#include "tools/common.h"
#include "tools/delivering.h"
#include "tools/pictures.h"

namespace neap::tools {
namespace {

constexpr const char* kInspectFooter =
    "Examples:\n"
    "  neap inspect model.tflite\n"
    "  neap inspect model.onnx --dim batch=1 --runtime ideal --all\n"
    "  neap inspect model.onnx --json | jq .peak_bytes\n"
    "  neap inspect model.tflite --html memory.html        a page with the plan, too\n"
    "  neap inspect model.tflite --trace map.json --csv tables\n"
    "\n"
    "--html and --svg also plan the model; all other outputs show the file order.\n";

struct InspectOptions {
  ModelOptions model;
  OutputOptions output;
  PictureOptions pictures;
  bool force = false;
  std::int64_t top = 10;
  bool all = false;
  bool ascii = false;
};

// The plan that `neap plan` makes with the same options, within the same limits.
Result<deliver::Delivery> PlanOf(const InspectOptions& options, const formats::SourceModel& source,
                                 const formats::LoadOptions& load) {
  std::optional<WorkScope> work;
  if (const std::int64_t limit = deliver::DefaultWorkOf(options.model.words)) work.emplace(limit);
  NEAP_TRY(deliver::Request request, deliver::RequestOf(options.model.words, source, load));
  const bool shows_progress = !options.output.quiet && ::isatty(::fileno(stderr)) != 0;
  return DeliverWithProgress(source, shows_progress, &request);
}

Status Draw(const InspectOptions& options, const formats::SourceModel& source,
            const formats::LoadOptions& load, report::InspectReport* report) {
  std::optional<deliver::Delivery> delivery;
  if (!options.pictures.html.empty() || !options.pictures.svg.empty()) {
    NEAP_TRY(delivery, PlanOf(options, source, load));
    const compile::Compiled& compiled = delivery->compiled;
    report->planned = {std::string(deliver::NameOf(delivery->kind)),
                       report::HeadlineOf(compiled, true),
                       plan::LargestEntry(compiled.plan).peak_bytes};
  }
  std::vector<std::string> written;
  NEAP_CHECK_OK(DrawFileOrder(options.pictures, source, report->runtime,
                              delivery ? &*delivery : nullptr, options.force, &written));
  if (options.output.json || options.output.quiet || options.pictures.TakesStdout()) return {};
  std::string text;
  for (const std::string& path : written) {
    text += fmt::format("wrote {}\n", report::Printable(path, 4096));
  }
  return Print(stdout, text);
}

Status Inspect(const InspectOptions& options) {
  const Stopwatch watch;
  if (options.output.json && options.pictures.TakesStdout()) {
    return Fail(UsageError("only one of --json and a file named - can use standard output"));
  }
  NEAP_CHECK_OK(CheckDistinct({{"the model", options.model.input}}, options.pictures.Files()));
  NEAP_CHECK_OK(CheckPictures(options.pictures, options.force));
  report::InspectReport report;
  formats::LoadOptions load_options;
  NEAP_TRY(load_options.dims, ParseDims(options.model.dims));
  NEAP_TRY(formats::SourceModel source, formats::Load(options.model.input, load_options));
  NEAP_TRY(report.runtime, deliver::RuntimeOf(options.model.words, source.format));
  NEAP_TRY(source, deliver::AsSeenBy(std::move(source), report.runtime, load_options));
  report.read_seconds = watch.Seconds();
  auto inspections = compile::Inspect(source.graph, report.runtime);
  if (!inspections) {
    Diagnostic diagnostic = WithAllSymbols(std::move(inspections).error(), source.graph);
    if (diagnostic.file.empty()) diagnostic.file = source.path;
    return Fail(std::move(diagnostic));
  }
  report.model = source.path;
  report.model_sha256 = source.sha256;
  report.format = formats::NameOf(source.format);
  report.graph = &source.graph;
  for (const auto& [name, value] : load_options.dims) {
    report.dims.push_back(fmt::format("{}={}", name, value));
  }
  report.inspections = &*inspections;
  report.unknown_kernels =
      compile::UnknownKernelsOf(source.graph, report.runtime, target::DefaultTarget());
  if (source.carried_plan) {
    report::MemoryPlanReport& plan = report.memory_plan.emplace();
    plan.problem = source.carried_plan->problem;
    plan.kernels = source.carried_plan->kernels;
    if (plan.problem.empty()) {
      plan.verdict = check::CheckOffsets(source.graph, source.carried_plan->offsets);
    }
  }
  report.notes = source.notes;
  report.top = options.top;
  report.all = options.all;
  if (options.pictures.Any()) NEAP_CHECK_OK(Draw(options, source, load_options, &report));
  report.total_seconds = watch.Seconds();
  if (options.output.json) return Print(stdout, report::InspectJson(report));
  if (options.output.quiet || options.pictures.TakesStdout()) return {};
  report::Style style = StyleFor(stdout, options.output);
  style.ascii = style.ascii || options.ascii;
  return Print(stdout, report::InspectText(report, style));
}

}  // namespace

int InspectCommand(std::vector<std::string> args) {
  InspectOptions options;
  CLI::App app("Show the live bytes while each operator runs, in file order, and the peak.",
               "neap inspect");
  app.footer(kInspectFooter);
  AddModelOptions(&app, &options.model);
  app.add_option("--top", options.top, "rows of the table of the largest tensors; default: 10")
      ->option_text("N")
      ->check(CLI::Range(0, 1'000'000));
  app.add_flag("--all", options.all, "show every operator, even of a large model");
  app.add_flag("--ascii", options.ascii, "bars without block characters");
  AddPageOptions(&app, &options.pictures);
  AddViewerOptions(&app, &options.pictures);
  app.add_flag("--force", options.force, "overwrite existing files");
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Status status = Inspect(options);
  return status ? kDone : Report("inspect", status.error());
}

}  // namespace neap::tools
