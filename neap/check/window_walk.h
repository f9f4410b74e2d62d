// SPDX-License-Identifier: Apache-2.0
//
// The reads of a window of 8-bit elements, for walks of kernels. Private to neap/check.
#pragma once

#include <cstdint>

#include "neap/check/kernel_tape.h"
#include "neap/ops/window.h"

namespace neap::check {

// One image of a window operator: where it begins in input and output, in bytes.
struct WindowImage {
  const ops::Window& w;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// The window of a pixel, `width` channels from `channel` on.
inline void ReadWindow(const WindowImage& image, std::int64_t y, std::int64_t x,
                       std::int64_t channel, std::int64_t width, Tape* tape) {
  const ops::Window& w = image.w;
  for (std::int64_t ky = 0; ky < w.kernel_height; ++ky) {
    const std::int64_t row = y * w.stride_height - w.pad_top + ky * w.dilation_height;
    if (row < 0 || row >= w.in_height) continue;
    for (std::int64_t kx = 0; kx < w.kernel_width; ++kx) {
      const std::int64_t column = x * w.stride_width - w.pad_left + kx * w.dilation_width;
      if (column < 0 || column >= w.in_width) continue;
      const std::int64_t first = image.in + (row * w.in_width + column) * w.in_channels + channel;
      tape->Read(first, first + width);
    }
  }
}

}  // namespace neap::check
