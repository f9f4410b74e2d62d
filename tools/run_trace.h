// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "neap/execute/run.h"
#include "neap/graph/graph.h"

namespace neap::tools {

// One line of JSON, with its newline: {"slot", "operator", "type", "reads", "writes", "freed"}, the
// last three lists of {"tensor", "offset", "bytes"}; a tensor of null is scratch.
std::string TraceLine(const graph::Subgraph& subgraph, const execute::StepEvent& event);

}  // namespace neap::tools
