// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::tools {

// Reads --scratch FILE: the scratch of operators, which no model file contains. One line each:
// an operator's index in the main subgraph or the name of a type, a comma, bytes; '#' begins a
// comment. A later line wins over an earlier one, and an index over a type. Sets Op::scratch_bytes.
// Fails, naming the line, for a type or an index that the model does not have.
Status ApplyScratchFile(const std::string& path, graph::Graph* graph);

}  // namespace neap::tools
