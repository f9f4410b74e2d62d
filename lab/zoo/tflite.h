// SPDX-License-Identifier: Apache-2.0
//
// Networks of the zoo in the operators of TensorFlow Lite, those that stock TensorFlow Lite Micro
// can run, in float and in full int8.
#pragma once

#include <cstdint>

#include "neap/base/id.h"
#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::zoo {

// A network of the zoo (BuildNetwork) with operators of TensorFlow Lite: channels last, weights
// transposed to match, in the order of construction. Operators without a counterpart are expanded:
//  - padding that is neither SAME nor VALID: PAD before a convolution, PADV2 with the lowest number
//    before a maximum pool; an average pool over padding is divided by the whole window and then
//    multiplied by window / (elements inside), a constant;
//  - a rectifier that alone reads a convolution, a product, a sum or a normalisation is fused into
//    it;
//  - a sum of n is a chain of n - 1 ADD, because no stock runtime but TFLM has ADD_N in int8;
//  - a normalisation that was not folded is a 1x1 DEPTHWISE_CONV_2D.
// Constants without data stay so. Fails with kUsage and the name of the operator when TFLM has none
// for it. O(size of the graph and its weights).
Result<graph::Graph> ConvertToTflite(const graph::Graph& network);

}  // namespace neap::zoo
