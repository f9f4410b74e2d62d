/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators with a window: a table of pointers to its taps for each output pixel.
 */
#include "neap_rt.h"

/* Pixel after pixel, row by row. A row of the window has one address in its ring; from there on
 * columns only wrap, at most once, since all pixels of a row that a box reads are there. */
void neap_find_taps(const neap_window* window, const neap_view* in, const neap_frame* frame,
                    uint32_t y, uint32_t x, uint32_t pixels) {
  const uint32_t tap_count = (uint32_t)window->height * window->width;
  const int32_t left = (int32_t)(x * window->stride_x) - window->pad_x;
  const int32_t first = left < 0 ? 0 : left;
  int32_t row = (int32_t)(y * window->stride_y) - window->pad_y;
  const int8_t** taps = frame->taps;
  for (uint32_t i = 0; i < window->height; ++i, row += window->dilation_y, taps += window->width) {
    const int8_t** tap = taps;
    const int8_t* from = window->padding;
    uint32_t rest = UINT32_MAX; /* pixels up to the end of the ring */
    int32_t column = left;
    uint32_t ring_bytes = 0;
    const int inside = row >= 0 && row < (int32_t)in->height && first < (int32_t)in->width;
    if (inside) {
      from = neap_source(in, frame, (uint32_t)row, (uint32_t)first, &rest);
      if (in->constant == NULL) {
        ring_bytes = in->pixel_bytes * in->rings[(uint32_t)row % in->ring_count].pixels;
      }
    }
    for (uint32_t p = 0; p < pixels; ++p, column += window->stride_x, tap += tap_count) {
      int32_t at = column;
      for (uint32_t j = 0; j < window->width; ++j, at += window->dilation_x) {
        if (!inside || at < 0 || at >= (int32_t)in->width) {
          tap[j] = window->padding;
        } else {
          const uint32_t ahead = (uint32_t)(at - first);
          const ptrdiff_t bytes = (ptrdiff_t)(ahead * in->pixel_bytes);
          tap[j] = from + (ahead < rest ? bytes : bytes - (ptrdiff_t)ring_bytes);
        }
      }
    }
  }
}

int neap_drive_window(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1) {
  const neap_view* const out = op->views[0];
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  while (x0 < x1) {
    work.pixels = x1 - x0 < op->pixels ? x1 - x0 : op->pixels;
    work.out = neap_target(out, frame, y, x0, &work.pixels);
    neap_find_taps(op->window, op->views[1], frame, y, x0, work.pixels);
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
