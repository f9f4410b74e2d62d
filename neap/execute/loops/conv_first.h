// SPDX-License-Identifier: Apache-2.0
//
// Convolution with channels first (NCHW). Private to neap/execute.
#pragma once

#include <algorithm>
#include <cstdint>

#include "neap/execute/loops/conv.h"

namespace neap::execute {

// Filter [out][in of the group][kd][kh][kw]. stage(sum, output channel) -> Out. Writes a row at a
// time after all reads of the row.
template <typename In, typename Weight, typename Acc, typename Out, typename Stage,
          typename FilterZero>
void ConvChannelsFirst(const ConvPlan& plan, const Cell<In>* input, const Cell<Weight>* filter,
                       Acc input_zero, const FilterZero& filter_zero, Cell<Out>* output,
                       const Stage& stage) {
  constexpr std::int64_t kBlock = 256;  // places of a row that are summed side by side
  const Window& w = plan.window;
  const std::int64_t row = w.input[2];
  const std::int64_t plane = row * w.input[1];
  const std::int64_t image = plane * w.input[0];
  const std::int64_t taps = Volume(w.kernel);
  Acc sums[kBlock];
  for (std::int64_t n = 0; n < plan.batches; ++n, input += image * plan.InputChannels()) {
    for (std::int64_t c = 0; c < plan.OutputChannels(); ++c) {
      const Cell<In>* const group = input + c / plan.group_outputs * plan.group_inputs * image;
      const Cell<Weight>* const weights = filter + c * plan.group_inputs * taps;
      const Acc zero = filter_zero(c);
      for (std::int64_t z = 0; z < w.output[0]; ++z) {
        const auto in_z = w.Inside(0, z);
        for (std::int64_t y = 0; y < w.output[1]; ++y) {
          const auto in_y = w.Inside(1, y);
          for (std::int64_t begin = 0; begin < w.output[2]; begin += kBlock) {
            const std::int64_t end = std::min(begin + kBlock, w.output[2]);
            std::fill(sums, sums + (end - begin), Acc{0});
            for (std::int64_t i = 0; i < plan.group_inputs; ++i) {
              for (std::int64_t kz = in_z.first; kz < in_z.last; ++kz) {
                for (std::int64_t ky = in_y.first; ky < in_y.last; ++ky) {
                  const Cell<In>* const from =
                      group + i * image + w.At(0, z, kz) * plane + w.At(1, y, ky) * row;
                  const Cell<Weight>* const tap =
                      weights + i * taps + (kz * w.kernel[1] + ky) * w.kernel[2];
                  for (std::int64_t kx = 0; kx < w.kernel[2]; ++kx) {
                    const Acc factor = static_cast<Acc>(tap[kx].value) - zero;
                    const std::int64_t shift = kx * w.dilation[2] - w.pad[2];
                    const std::int64_t stride = w.stride[2];
                    const std::int64_t first =
                        std::max(begin, shift >= 0 ? 0 : (-shift + stride - 1) / stride);
                    const std::int64_t room = row - shift;
                    const std::int64_t last =
                        std::min(end, room <= 0 ? 0 : (room + stride - 1) / stride);
                    const Cell<In>* const at = from + shift;
                    if (stride == 1) {
                      for (std::int64_t x = first; x < last; ++x) {
                        sums[x - begin] = MultiplyAdd<Acc>(
                            sums[x - begin], static_cast<Acc>(at[x].value) - input_zero, factor);
                      }
                      continue;
                    }
                    for (std::int64_t x = first; x < last; ++x) {
                      sums[x - begin] = MultiplyAdd<Acc>(
                          sums[x - begin], static_cast<Acc>(at[x * stride].value) - input_zero,
                          factor);
                    }
                  }
                }
              }
            }
            for (std::int64_t x = begin; x < end; ++x) {
              (output++)->value = stage(sums[x - begin], c);
            }
          }
        }
      }
    }
  }
}

}  // namespace neap::execute
