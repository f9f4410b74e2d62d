// SPDX-License-Identifier: Apache-2.0
#include "tools/pictures.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/version.h"
#include "neap/io/file.h"
#include "neap/show/picture/picture.h"
#include "neap/show/report/report.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

constexpr const char* kTables[] = {"steps.csv", "tensors.csv"};

std::string InFolder(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (!error && std::filesystem::is_directory(path, error)) return {};
  Diagnostic diagnostic = IoError("the folder cannot be created");
  diagnostic.file = path;
  return Fail(std::move(diagnostic));
}

struct PictureInput {
  const formats::SourceModel* source = nullptr;  // the planned graph
  // The model as it was read, where that is another one: without rewrites, operators whole.
  const graph::Graph* given = nullptr;
  const compile::Compiled* file_order = nullptr;  // of the model as it was read
  const compile::Compiled* planned = nullptr;     // may be null where no page is wanted
  std::optional<std::int64_t> budget_bytes;
  bool of_plan = false;  // the files show the plan; else file order
};

void NoteRuntime(const PictureInput& input, picture::Picture* page) {
  const compile::Compiled& planned = *input.planned;
  if (!planned.unknown_kernels.empty()) {
    page->notes.push_back(
        "TFLM's own allocation is unknown, and no number on this page includes it: " +
        compile::UnknownScratchText(planned.unknown_kernels));
  }
}

// Where a run is drawn with other addresses than those that the report counts.
std::string NoteOn(const picture::Run& run, std::int64_t reported_bytes, bool runtime_places) {
  if (reported_bytes <= 0 || run.arena_bytes <= 0 || reported_bytes == run.arena_bytes) return "";
  return runtime_places ? fmt::format(
                              "The map has Neap's addresses; the runtime's own planner "
                              "allocates {}.",
                              FormatBytes(reported_bytes))
                        : fmt::format("The map has overlaps; without them the arena is {}.",
                                      FormatBytes(reported_bytes));
}

// The figures of the report of the same plan.
void SetHeadline(const compile::Compiled& planned, picture::Picture* page) {
  const bool placed = plan::LargestEntry(planned.plan).arena_bytes > 0;
  const report::Headline headline = report::HeadlineOf(planned, placed);
  const bool known = planned.unknown_kernels.empty();
  page->planned_figure = !placed ? "Peak" : known ? "Arena" : "Arena of the plan";
  page->planned_bytes = headline.bytes;
  // Bytes in several memories are not comparable with bytes in one.
  if (planned.plan.memories.size() <= 1) page->file_order_bytes = headline.file_order_bytes;
}

// The run of the plan. A bound over the orders of one graph, layer by layer, is none for another
// one: that of the file order, `before`, is set where it is the same graph.
Result<picture::Run> PlannedRun(const PictureInput& input, picture::Run* before) {
  NEAP_TRY(picture::Run after, picture::RunOf(input.source->graph, *input.planned, "Plan"));
  const bool same = input.given == nullptr && !plan::LargestEntry(input.planned->plan).stream;
  if (same) before->peak_lower_bound_bytes = after.peak_lower_bound_bytes;
  return after;
}

picture::Picture Beside(const PictureInput& input, picture::Run before, picture::Run after) {
  picture::Picture page;
  page.model = input.source->path;
  page.model_sha256 = input.source->sha256;
  page.runtime = plan::ProfileOf(input.planned->plan.runtime).name;
  page.neap_version = Version();
  page.budget_bytes = input.budget_bytes;
  SetHeadline(*input.planned, &page);
  const bool runtime_places = input.planned->delivered_arena_bytes >= 0;
  before.note = NoteOn(before, page.file_order_bytes, runtime_places);
  after.note = NoteOn(after, page.planned_bytes, runtime_places);
  page.runs = {std::move(before), std::move(after)};
  NoteRuntime(input, &page);
  return page;
}

// Appends the names of the files that were written.
Status WritePictures(const PictureOptions& options, const PictureInput& input, bool force,
                     std::vector<std::string>* written) {
  const graph::Graph& graph = input.source->graph;
  const auto write = [&](const std::string& path, const std::string& text) -> Status {
    if (path.empty()) return {};
    NEAP_CHECK_OK(io::WriteFile(path, text, force));
    written->push_back(path);
    return {};
  };
  const graph::Graph& given = input.given != nullptr ? *input.given : graph;
  NEAP_TRY(picture::Run before, picture::RunOf(given, *input.file_order, "File order"));
  const compile::Compiled& shown = input.of_plan ? *input.planned : *input.file_order;
  const graph::Graph& shown_graph = input.of_plan ? graph : given;
  picture::Run run = before;
  if (input.planned != nullptr) {
    NEAP_TRY(picture::Run after, PlannedRun(input, &before));
    if (input.of_plan) run = after;
    if (!options.html.empty() || !options.svg.empty()) {
      const picture::Picture page = Beside(input, before, std::move(after));
      if (!options.html.empty()) NEAP_CHECK_OK(write(options.html, picture::MemoryPage(page)));
      if (!options.svg.empty()) NEAP_CHECK_OK(write(options.svg, picture::MemorySvg(page)));
    }
  }
  if (!options.csv.empty()) {
    NEAP_CHECK_OK(MakeFolder(options.csv));
    NEAP_CHECK_OK(write(InFolder(options.csv, "steps.csv"), picture::StepsCsv(run)));
    NEAP_CHECK_OK(write(InFolder(options.csv, "tensors.csv"), picture::TensorsCsv(run)));
  }
  if (!options.trace.empty()) NEAP_CHECK_OK(write(options.trace, picture::MapTrace(run)));
  if (!options.timeline.empty()) {
    NEAP_CHECK_OK(write(options.timeline, picture::TimelineTrace(run)));
  }
  if (!options.dot.empty()) NEAP_CHECK_OK(write(options.dot, picture::Dot(shown_graph, shown)));
  if (!options.model_explorer.empty()) {
    NEAP_CHECK_OK(write(options.model_explorer, picture::ModelExplorerData(shown_graph, shown)));
  }
  return {};
}

PictureInput InputOf(const formats::SourceModel& source, const deliver::Delivery& delivery,
                     const compile::Compiled& file_order) {
  PictureInput input;
  input.source = &delivery.Planned(source);
  if (delivery.edited) input.given = &delivery.Interfaced(source).graph;
  input.file_order = &file_order;
  input.planned = &delivery.compiled;
  return input;
}

}  // namespace

bool PictureOptions::Any() const {
  return !(html.empty() && svg.empty() && csv.empty() && trace.empty() && timeline.empty() &&
           dot.empty() && model_explorer.empty());
}

bool PictureOptions::TakesStdout() const {
  return html == "-" || svg == "-" || trace == "-" || timeline == "-" || dot == "-" ||
         model_explorer == "-";
}

std::vector<NamedFile> PictureOptions::Files() const {
  std::vector<NamedFile> files = {{"--html", html},   {"--svg", svg},
                                  {"--trace", trace}, {"--timeline", timeline},
                                  {"--dot", dot},     {"--model-explorer", model_explorer}};
  if (csv.empty()) return files;
  for (const char* name : kTables) files.push_back({"--csv", InFolder(csv, name)});
  return files;
}

void AddPageOptions(CLI::App* app, PictureOptions* options) {
  app->add_option("--html", options->html,
                  "page with live bytes, arena map and a budget slider, before and after planning")
      ->option_text("FILE");
  app->add_option("--svg", options->svg, "the drawings of that page alone, as an SVG file")
      ->option_text("FILE");
  app->add_option("--csv", options->csv, "a folder for steps.csv and tensors.csv")
      ->option_text("FOLDER");
}

void AddViewerOptions(CLI::App* app, PictureOptions* options) {
  app->add_option("--trace", options->trace,
                  "Chrome trace of the arena in the format of other runtimes: thread = step, "
                  "time = address")
      ->option_text("FILE");
  app->add_option("--timeline", options->timeline,
                  "Chrome trace with steps as time: tensors, operators, live bytes")
      ->option_text("FILE");
  app->add_option("--dot", options->dot, "Graphviz graph, operators shaded by live bytes")
      ->option_text("FILE");
  app->add_option("--model-explorer", options->model_explorer,
                  "node data for Google's Model Explorer: live bytes by output tensor")
      ->option_text("FILE");
}

Status CheckPictures(const PictureOptions& options, bool force) {
  std::vector<std::string> seen;
  for (const std::string* path : {&options.html, &options.svg, &options.trace, &options.timeline,
                                  &options.dot, &options.model_explorer}) {
    if (path->empty()) continue;
    if (std::find(seen.begin(), seen.end(), *path) != seen.end()) {
      return Fail(UsageError("two outputs name '" + *path + "'"));
    }
    seen.push_back(*path);
    NEAP_CHECK_OK(CheckOutput(*path, force));
  }
  if (options.csv == "-") return Fail(UsageError("--csv is a folder, not standard output"));
  std::error_code error;
  if (options.csv.empty() || !std::filesystem::exists(options.csv, error)) return {};
  if (!std::filesystem::is_directory(options.csv, error)) {
    Diagnostic diagnostic = IoError("is a file, expected a folder");
    diagnostic.file = options.csv;
    return Fail(std::move(diagnostic));
  }
  for (const char* name : kTables) NEAP_CHECK_OK(CheckOutput(InFolder(options.csv, name), force));
  return {};
}

Result<std::string> PageOf(const formats::SourceModel& source, const deliver::Delivery& delivery,
                           const std::optional<std::int64_t>& budget_bytes) {
  NEAP_TRY(const compile::Compiled file_order,
           deliver::PlanFileOrder(delivery.Interfaced(source).graph, delivery.options));
  PictureInput input = InputOf(source, delivery, file_order);
  input.budget_bytes = budget_bytes;
  const graph::Graph& given = input.given != nullptr ? *input.given : input.source->graph;
  NEAP_TRY(picture::Run before, picture::RunOf(given, file_order, "File order"));
  NEAP_TRY(picture::Run after, PlannedRun(input, &before));
  return picture::MemoryPage(Beside(input, std::move(before), std::move(after)));
}

Status DrawDelivery(const PictureOptions& options, const formats::SourceModel& source,
                    const deliver::Delivery& delivery,
                    const std::optional<std::int64_t>& budget_bytes, bool force,
                    std::vector<std::string>* written) {
  NEAP_TRY(const compile::Compiled file_order,
           deliver::PlanFileOrder(delivery.Interfaced(source).graph, delivery.options));
  PictureInput input = InputOf(source, delivery, file_order);
  input.budget_bytes = budget_bytes;
  input.of_plan = true;
  return WritePictures(options, input, force, written);
}

Status DrawFileOrder(const PictureOptions& options, const formats::SourceModel& source,
                     plan::Runtime runtime, const deliver::Delivery* delivery, bool force,
                     std::vector<std::string>* written) {
  if (delivery != nullptr) {
    NEAP_TRY(const compile::Compiled file_order,
             deliver::PlanFileOrder(delivery->Interfaced(source).graph, delivery->options));
    return WritePictures(options, InputOf(source, *delivery, file_order), force, written);
  }
  compile::Options compile_options;
  compile_options.runtime = runtime;
  compile_options.limits.stop = StopOnInterrupt();
  NEAP_TRY(const compile::Compiled file_order,
           deliver::PlanFileOrder(source.graph, compile_options));
  PictureInput input;
  input.source = &source;
  input.file_order = &file_order;
  return WritePictures(options, input, force, written);
}

}  // namespace neap::tools
