// SPDX-License-Identifier: Apache-2.0
//
// Requirements on an edited graph, and the comparison of a written file with it. Private to
// neap/formats; works on graphs alone and shares no code with the writers.
#pragma once

#include <string>

#include "neap/formats/formats.h"
#include "neap/graph/graph.h"

namespace neap::formats {

// That `edited` is an edited graph of `model`, as formats.h defines it; kUsage if not.
Status CheckEdit(const SourceModel& model, const graph::Graph& edited);

// "" when `written`, the graph of the written file as it was read back, is `edited`; else the first
// difference.
std::string FindDifference(const SourceModel& model, const graph::Graph& edited,
                           const graph::Graph& written);

}  // namespace neap::formats
