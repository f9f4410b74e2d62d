// SPDX-License-Identifier: Apache-2.0
//
// Functions that the TensorFlow Lite kernels share. Private to neap/execute.
#pragma once

#include <cstdint>

#include "neap/base/result.h"
#include "neap/execute/kernel.h"
#include "neap/execute/loops/conv.h"

namespace neap::execute::tflite {

// Numbers of the public format.
enum Activation : std::int64_t { kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3 };
enum Padding : std::int64_t { kSame = 0, kValid = 1 };

template <typename T>
struct Limits {
  T low;
  T high;
  // As the stock kernels: of a NaN, a NaN.
  T operator()(T value) const {
    value = value < low ? low : value;
    return value > high ? high : value;
  }
};

// The range that a fused activation leaves, in real numbers. Fails for activations that are more
// than a range.
Result<Limits<float>> FloatLimits(const graph::Op& op);

// Fills in input, output, kernel, stride, dilation and padding of height and width; `input` and
// `output` are NHWC. Fails when the output is not the one that these give.
Result<Window> MakeWindow(const graph::Op& op, const Operand& input, const Operand& output,
                          std::int64_t kernel_height, std::int64_t kernel_width);

}  // namespace neap::execute::tflite
