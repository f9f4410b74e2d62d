/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of means of an input that is stored as a whole: output pixel (y, x) is the mean of the
 * pixels of a window without padding. It goes channel by channel, so that no sums are stored. A
 * channel of the output may replace that of the window's first pixel.
 */
#include "neap_rt.h"

static int32_t neap_sum_of_window(const neap_op* op, const neap_frame* frame, uint32_t y,
                                  uint32_t x, uint32_t channel) {
  const neap_window* const window = op->window;
  const neap_view* const in = op->views[1];
  const int8_t flip = (int8_t)((const neap_mean*)op->params)->flip;
  const uint32_t left = x * window->stride_x;
  const uint32_t right = left + window->width;
  int32_t sum = 0;
  for (uint32_t i = 0; i < window->height; ++i) {
    uint32_t count;
    for (uint32_t at = left; at < right; at += count) {
      const int8_t* from;
      count = right - at;
      from = neap_source(in, frame, y * window->stride_y + i, at, &count) + channel;
      for (uint32_t p = 0; p < count; ++p) sum += (int8_t)(from[p * in->pixel_bytes] ^ flip);
    }
  }
  return sum;
}

NEAP_LITTLE int neap_drive_mean(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1) {
  for (uint32_t x = x0; x < x1; ++x) {
    uint32_t one = 1;
    int8_t* const out = neap_target(op->views[0], frame, y, x, &one);
    int32_t sum;
    const int8_t* const sums = (const int8_t*)&sum;
    neap_work work = {&sums, out, NULL, 1, 0, 1, 0, 0, 0};
    for (; work.first < op->views[1]->pixel_bytes; ++work.first, ++work.out) {
      sum = neap_sum_of_window(op, frame, y, x, work.first);
      op->kernel(op, &work);
    }
  }
  return NEAP_OK;
}
