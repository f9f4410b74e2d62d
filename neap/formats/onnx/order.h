// SPDX-License-Identifier: Apache-2.0
//
// Folded operators in the order of a file. Private to neap/formats/onnx.
#pragma once

#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::formats::onnx {

// A folded operator is not a step of a plan, but in the file it is a node like any other. Where it
// reads an operator's output (Shape of an activation), that operator must come before those that
// use the folded result: adds these control edges, through chains of folded operators. Fails when a
// file would need an unreasonable number of them.
Status AddControlEdges(graph::Subgraph* subgraph);

// The whole file order for `steps`, which contains every operator that is not folded, once; folded
// ones in it are skipped and placed as early as their inputs are ready. The file's own order if
// `steps` keeps it. Fails (kUsage) if `steps` is not such a list or puts an operator before its
// inputs.
Result<std::vector<graph::OpId>> FileOrder(const graph::Subgraph& subgraph,
                                           const std::vector<graph::OpId>& steps);

}  // namespace neap::formats::onnx
