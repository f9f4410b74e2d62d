// SPDX-License-Identifier: Apache-2.0
//
// --integer-io: conversions at the ends of a model that its caller runs (neap/rewrite/interface.h).
#pragma once

#include <string>
#include <vector>

#include "neap/deliver/interface.h"
#include "neap/graph/graph.h"
#include "neap/report/report.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}  // namespace CLI

namespace neap::tools {

// `word`: "" (not given), "inputs", "outputs" or "both".
void AddInterfaceOption(CLI::App* app, std::string* word);

deliver::IntegerIo IntegerIoOf(const std::string& word);

// What a caller that runs `caller_ops` of the given model sees of it.
std::vector<report::InterfaceChange> InterfaceChanges(const graph::Graph& given,
                                                      const std::vector<graph::OpId>& caller_ops);

}  // namespace neap::tools
