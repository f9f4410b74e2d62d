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
#include "neap/picture/picture.h"
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
  Diagnostic diagnostic = IoError("the folder cannot be made");
  diagnostic.file = path;
  return Fail(std::move(diagnostic));
}

void NoteRuntime(const PictureInput& input, picture::Picture* page) {
  const compile::Compiled& planned = *input.planned;
  if (!planned.unknown_kernels.empty()) {
    page->notes.push_back("what TFLM allocates is unknown, and no number here counts it: " +
                          compile::UnknownScratchText(planned.unknown_kernels));
  }
  if (planned.delivered_arena_bytes < 0) return;
  page->notes.push_back(fmt::format(
      "the maps show the addresses that Neap gives; the runtime itself allocates {} for "
      "the planned model and {} for the order of the file",
      FormatBytes(planned.delivered_arena_bytes), FormatBytes(planned.file_order.arena_bytes)));
}

}  // namespace

bool PictureOptions::Any() const {
  return !(html.empty() && csv.empty() && trace.empty() && timeline.empty() && dot.empty() &&
           model_explorer.empty());
}

bool PictureOptions::TakesStdout() const {
  return html == "-" || trace == "-" || timeline == "-" || dot == "-" || model_explorer == "-";
}

std::vector<NamedFile> PictureOptions::Files() const {
  std::vector<NamedFile> files = {{"--html", html},
                                  {"--trace", trace},
                                  {"--timeline", timeline},
                                  {"--dot", dot},
                                  {"--model-explorer", model_explorer}};
  if (csv.empty()) return files;
  for (const char* name : kTables) files.push_back({"--csv", InFolder(csv, name)});
  return files;
}

void AddPageOptions(CLI::App* app, PictureOptions* options) {
  app->add_option("--html", options->html,
                  "one page with live bytes, arena map and a budget slider, before and after")
      ->option_text("FILE");
  app->add_option("--csv", options->csv, "a folder for steps.csv and tensors.csv")
      ->option_text("FOLDER");
}

void AddViewerOptions(CLI::App* app, PictureOptions* options) {
  app->add_option("--trace", options->trace,
                  "Chrome trace of the arena as other runtimes write it: thread = step, time = "
                  "address")
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
  for (const std::string* path :
       {&options.html, &options.trace, &options.timeline, &options.dot, &options.model_explorer}) {
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

Result<compile::Compiled> CompileFileOrder(const graph::Graph& graph, compile::Options options) {
  // What a file costs that nobody helps: no overlaps, no moves, one memory, layer by layer.
  options.order = "file";
  options.stream = false;
  options.kernels = ops::KernelLibrary::kNone;
  options.moves = compile::MoveStrategy::kNone;
  options.memories.clear();
  options.budget_bytes = 0;
  options.limits.observer = nullptr;
  return compile::Compile(graph, options);
}

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
  NEAP_TRY(picture::Run before, picture::RunOf(given, *input.file_order, "Order of the file"));
  const compile::Compiled& shown = input.of_plan ? *input.planned : *input.file_order;
  picture::Run run = before;
  if (input.planned != nullptr) {
    NEAP_TRY(picture::Run after, picture::RunOf(graph, *input.planned, "Planned order"));
    // A bound over the orders of one graph, layer by layer, is none for another one.
    const bool same = input.given == nullptr && !plan::LargestEntry(input.planned->plan).stream;
    if (same) before.peak_lower_bound_bytes = after.peak_lower_bound_bytes;
    if (input.of_plan) run = after;
    if (!options.html.empty()) {
      picture::Picture page;
      page.model = input.source->path;
      page.model_sha256 = input.source->sha256;
      page.runtime = plan::ProfileOf(input.planned->plan.runtime).name;
      page.neap_version = Version();
      page.budget_bytes = input.budget_bytes;
      page.runs = {before, std::move(after)};
      NoteRuntime(input, &page);
      NEAP_CHECK_OK(write(options.html, picture::MemoryPage(page)));
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
  if (!options.dot.empty()) NEAP_CHECK_OK(write(options.dot, picture::Dot(graph, shown)));
  if (!options.model_explorer.empty()) {
    NEAP_CHECK_OK(write(options.model_explorer, picture::ModelExplorerData(graph, shown)));
  }
  return {};
}

}  // namespace neap::tools
