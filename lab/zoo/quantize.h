// SPDX-License-Identifier: Apache-2.0
//
// Full int8 quantisation of a float graph of TensorFlow Lite operators, as the format's 8-bit
// specification has it: input, output and all activations int8, biases int32.
#pragma once

#include <cstdint>

#include "neap/base/id.h"
#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::zoo {

// Values that a tensor was seen to have; both zero where it has none.
struct ValueRange {
  float low = 0;
  float high = 0;
};

struct CalibrationOptions {
  std::uint64_t seed = 0;
  int inputs = 8;  // at least 1
};

// The ranges of all activations of subgraph 0, over seeded inputs in [-1, 1 - 1/128]: alternately
// noise with independent values, and coarse pictures of 8x8 patches. All inputs are multiples of
// 1/128, so the quantised graph represents them exactly. Fails where execute::Evaluate does.
Result<IdVector<graph::TensorId, ValueRange>> Calibrate(const graph::Graph& graph,
                                                        const CalibrationOptions& options);

// The graph in int8 (ConvertToTflite before):
//  - weights symmetric, with a scale for each output channel, of FULLY_CONNECTED with one scale;
//  - biases int32 with the product of the scales of input and weights;
//  - activations asymmetric; the range of a computed tensor is the range of the calibration, wider
//    by 1/8 at both ends (a fused RELU6 ends at 6), so that other inputs do not saturate; tensors
//    that an operator only moves or clips (concatenation, pools, padding, slices, reshapes,
//    separate rectifiers) share parameters with it: most kernels require it, and those of
//    rectifiers would round differently;
//  - the output of SOFTMAX and LOGISTIC has scale 1/256 and zero point -128.
// Scales of activations and weights have 12 binary digits: their products are exact, so all
// runtimes round equally. The parameters follow from comparisons, +, *, / and rounding alone, so
// that they are the same on every machine. Fails with kUsage and the operator's name for an
// operator it does not know, and where Calibrate fails.
Result<graph::Graph> QuantizeToInt8(const graph::Graph& graph, const CalibrationOptions& options);

}  // namespace neap::zoo
