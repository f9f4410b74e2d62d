// SPDX-License-Identifier: Apache-2.0
//
// --integer-io: conversions at the ends of a model that its caller runs (neap/rewrite/interface.h).
#pragma once

#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"
#include "neap/report/report.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}  // namespace CLI

namespace neap::tools {

// `word`: "" (not given), "inputs", "outputs" or "both".
void AddInterfaceOption(CLI::App* app, std::string* word);

// The model with the interface that `word` asks for.
struct Interfaced {
  formats::SourceModel model;           // with path and hash of the given one
  std::vector<graph::OpId> caller_ops;  // of the given model; plan::Plan::caller_ops
  std::vector<report::InterfaceChange> changes;
};
// Fails with kBadInput where the model has no such conversion. `options` are those that `source`
// was read with.
Result<Interfaced> WithInterface(const formats::SourceModel& source, const std::string& word,
                                 const formats::LoadOptions& options);

}  // namespace neap::tools
