/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of transposed convolutions. Tap (i, j) of output pixel (y, x) is the input pixel in
 * row (y + pad_y - i) / stride_y and column (x + pad_x - j) / stride_x where both are whole and
 * inside the input, else the window's padding.
 */
#include "neap_rt.h"

/* The index of the input for `at`, which is that of the output plus padding less that of the tap;
 * `size` where there is none. */
static uint32_t neap_spread_index(int32_t at, uint32_t stride, uint32_t size) {
  const uint32_t index = (uint32_t)at / stride;
  return at < 0 || (uint32_t)at % stride != 0 || index > size ? size : index;
}

int neap_drive_spread(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1) {
  const neap_window* const window = op->window;
  const neap_view* const out = op->views[0];
  const neap_view* const in = op->views[1];
  neap_work work = {frame->taps, NULL, NULL, 1, 0, out->pixel_bytes, 0, 0, 0};
  for (uint32_t x = x0; x < x1; ++x) {
    const int8_t** tap = frame->taps;
    for (uint32_t i = 0; i < window->height; ++i) {
      const uint32_t row =
          neap_spread_index((int32_t)(y - i) + window->pad_y, window->stride_y, in->height);
      for (uint32_t j = 0; j < window->width; ++j, ++tap) {
        const uint32_t column =
            neap_spread_index((int32_t)(x - j) + window->pad_x, window->stride_x, in->width);
        uint32_t one = 1;
        *tap = row < in->height && column < in->width ? neap_source(in, frame, row, column, &one)
                                                      : window->padding;
      }
    }
    {
      uint32_t one = 1;
      work.out = neap_target(out, frame, y, x, &one);
    }
    op->kernel(op, &work);
  }
  return NEAP_OK;
}
