// SPDX-License-Identifier: Apache-2.0
//
// Shape inference through If, Loop and Scan. Private to neap/formats/onnx.
#pragma once

#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/onnx_shapes.h"

namespace neap::formats::onnx {

// A tensor of the outer scope that a body reads, and the tensor that represents it in the body.
struct Capture {
  graph::TensorId outer;
  graph::TensorId local;
};

// captures[s]: tensors that subgraph s reads from the subgraph that contains it.
using Captures = IdVector<graph::SubgraphId, std::vector<Capture>>;

// Infers the main subgraph and the bodies of its operators. A graph attribute is the integer
// attribute of its name: the index of the body. Afterwards tensors that represent outer ones are
// marked constant, without data unless the outer one is a constant: they cost nothing inside the
// body, because the outer scope keeps them live. `options.control_flow` is set here.
void InferGraph(graph::Graph* graph, const Captures& captures, ops::OnnxInference options,
                std::vector<std::string>* notes);

}  // namespace neap::formats::onnx
