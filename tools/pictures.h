// SPDX-License-Identifier: Apache-2.0
//
// The pictures that `neap inspect` and `neap plan` draw.
#pragma once

#include <optional>
#include <string>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "tools/common.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}  // namespace CLI

namespace neap::tools {

struct PictureOptions {
  std::string html;   // "": none, here and below
  std::string csv;    // a folder
  std::string trace;  // of inspect only, as are those below
  std::string timeline;
  std::string dot;
  std::string model_explorer;

  bool Any() const;
  // One of them is standard output.
  bool TakesStdout() const;
  // All that will be written.
  std::vector<NamedFile> Files() const;
};
void AddPageOptions(CLI::App* app, PictureOptions* options);
void AddViewerOptions(CLI::App* app, PictureOptions* options);

// Tells early what writing would find late.
Status CheckPictures(const PictureOptions& options, bool force);

// The order of the file, placed: what a plan is compared with. `options`: of the plan.
Result<compile::Compiled> CompileFileOrder(const graph::Graph& graph, compile::Options options);

struct PictureInput {
  const formats::SourceModel* source = nullptr;  // what is planned
  // The model as it was read, where that is another one: without rewrites, operators whole.
  const graph::Graph* given = nullptr;
  const compile::Compiled* file_order = nullptr;  // of the model as it was read
  const compile::Compiled* planned = nullptr;
  std::optional<std::int64_t> budget_bytes;
  bool of_plan = false;  // the files show the planned order; else that of the file
};
// Appends what was written.
Status WritePictures(const PictureOptions& options, const PictureInput& input, bool force,
                     std::vector<std::string>* written);

}  // namespace neap::tools
