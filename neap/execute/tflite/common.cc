// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/tflite/common.h"

#include <limits>
#include <string>

namespace neap::execute::tflite {

Result<Limits<float>> FloatLimits(const graph::Op& op) {
  constexpr float kEndless = std::numeric_limits<float>::infinity();
  switch (IntOr(op, "fused_activation_function", kNone)) {
    case kNone:
      return Limits<float>{-kEndless, kEndless};
    case kRelu:
      return Limits<float>{0, kEndless};
    case kReluN1To1:
      return Limits<float>{-1, 1};
    case kRelu6:
      return Limits<float>{0, 6};
    default:
      return Fail(BadInput("has no kernel for its fused activation"));
  }
}

Result<Window> MakeWindow(const graph::Op& op, const Operand& input, const Operand& output,
                          std::int64_t kernel_height, std::int64_t kernel_width) {
  NEAP_CHECK_OK(
      Require(input.Rank() == 4 && output.Rank() == 4 && input.shape[0] == output.shape[0],
              "expected an input and an output of rank 4 and of one batch"));
  Window w;
  const char* const strides[] = {"stride_h", "stride_w"};
  const char* const dilations[] = {"dilation_h_factor", "dilation_w_factor"};
  const std::int64_t kernel[] = {kernel_height, kernel_width};
  const bool same = IntOr(op, "padding", kSame) == kSame;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t d = i + 1;
    constexpr std::int64_t kMax = std::int64_t{1} << 30;
    w.input[d] = input.shape[d];
    w.output[d] = output.shape[d];
    w.kernel[d] = kernel[i];
    w.stride[d] = IntOr(op, strides[i], 1);
    w.dilation[d] = IntOr(op, dilations[i], 1);
    NEAP_CHECK_OK(Require(w.stride[d] >= 1 && w.dilation[d] >= 1 && w.kernel[d] >= 1 &&
                              w.stride[d] < kMax && w.dilation[d] < kMax && w.kernel[d] < kMax &&
                              w.input[d] < kMax && w.output[d] < kMax,
                          "its window, strides or dilation are out of range"));
    if (input.part_padding) {
      w.pad[d] = i == 0 ? input.part_padding->top : input.part_padding->left;
      continue;
    }
    const std::int64_t reach = (w.kernel[d] - 1) * w.dilation[d] + 1;
    const std::int64_t places = same ? (w.input[d] + w.stride[d] - 1) / w.stride[d]
                                     : (w.input[d] - reach + w.stride[d]) / w.stride[d];
    NEAP_CHECK_OK(Require(w.output[d] == places || w.output[d] == 0,
                          "the size of its output does not match window and strides"));
    const std::int64_t missing = (places - 1) * w.stride[d] + reach - w.input[d];
    w.pad[d] = missing > 0 ? missing / 2 : 0;
  }
  return w;
}

}  // namespace neap::execute::tflite
