// SPDX-License-Identifier: Apache-2.0
//
// Streamed segments from the inside. Private to neap/picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/show/picture/picture.h"
#include "neap/show/report/names.h"

namespace neap::picture {

// "int8 1x56x56x32".
std::string ShapeText(const graph::Tensor& tensor);
// Its name, or "#7" where it has none.
std::string TensorName(const graph::Subgraph& subgraph, graph::TensorId id);

// Of the `most` segments computed block by block that reach highest, highest first. `entry` is a
// checked streamed plan. O(pixels that are read), and again for each block that is drawn.
std::vector<RowStepMap> RowStepMapsOf(const graph::Graph& graph, const plan::EntryPlan& entry,
                                      std::size_t most);

// Drawing, key and table of one map, without script.
std::string RowStepFigure(const RowStepMap& map, const report::ShortNames& names);

}  // namespace neap::picture
