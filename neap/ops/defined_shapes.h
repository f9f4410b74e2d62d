// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "neap/graph/graph.h"

namespace neap::ops {

// The shapes of the outputs of operators of .tflite whose options alone define them:
// TFLite_Detection_PostProcess. Converters leave these shapes to the runtime. LiteRT allocates
// exactly these; TensorFlow Lite Micro allocates what the file states. Empty: another operator, or
// an option is missing or too large.
std::vector<graph::Shape> DefinedShapes(const graph::Op& op);

}  // namespace neap::ops
