// SPDX-License-Identifier: Apache-2.0
//
// Pooling with channels last. Private to neap/execute.
#pragma once

#include <algorithm>
#include <cstdint>

#include "neap/execute/loops/conv.h"

namespace neap::execute {

// For every place and channel: fold(sum, value) from `start` over the window inside the input, then
// finish(sum, cells of the window inside the input). Channels in blocks, side by side.
template <typename T, typename Acc, typename Fold, typename Finish>
void PoolChannelsLast(const Window& w, std::int64_t batches, std::int64_t channels,
                      const Cell<T>* input, Cell<T>* output, Acc start, const Fold& fold,
                      const Finish& finish) {
  constexpr std::int64_t kBlock = 128;
  const std::int64_t row = channels * w.input[2];
  Acc sums[kBlock];
  for (std::int64_t n = 0; n < batches; ++n, input += row * w.input[1]) {
    for (std::int64_t y = 0; y < w.output[1]; ++y) {
      const auto in_y = w.Inside(1, y);
      for (std::int64_t x = 0; x < w.output[2]; ++x) {
        const auto in_x = w.Inside(2, x);
        const std::int64_t cells = (in_y.last - in_y.first) * (in_x.last - in_x.first);
        for (std::int64_t begin = 0; begin < channels; begin += kBlock) {
          const std::int64_t count = std::min(kBlock, channels - begin);
          std::fill(sums, sums + count, start);
          for (std::int64_t ky = in_y.first; ky < in_y.last; ++ky) {
            for (std::int64_t kx = in_x.first; kx < in_x.last; ++kx) {
              const Cell<T>* const from =
                  input + w.At(1, y, ky) * row + w.At(2, x, kx) * channels + begin;
              for (std::int64_t c = 0; c < count; ++c) sums[c] = fold(sums[c], from[c].value);
            }
          }
          for (std::int64_t c = 0; c < count; ++c) (output++)->value = finish(sums[c], cells);
        }
      }
    }
  }
}

}  // namespace neap::execute
