// SPDX-License-Identifier: Apache-2.0
//
// Facts that a file does not state, which runtimes decide in different ways. Private to
// neap/formats/tflite.
#pragma once

#include "neap/graph/graph.h"

namespace neap::formats::tflite {

// Whether operators define shapes of outputs that the file leaves out (ops::DefinedShapes). With
// `apply`, the outputs get them.
bool DefineShapes(graph::Subgraph* subgraph, bool apply);

// Whether operators read constants alone: DEQUANTIZE of weights, and those that read its outputs
// alone. Operators with state or bodies and those that write an output of the subgraph are none.
// With `apply`, they are folded.
bool FoldConstants(graph::Subgraph* subgraph, bool apply);

}  // namespace neap::formats::tflite
