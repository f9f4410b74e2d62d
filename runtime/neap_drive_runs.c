/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators with a window whose kernels step from pixel to pixel themselves: one
 * table of pointers to taps for a run of pixels.
 */
#include "neap_rt.h"

/* The taps of pixel (y, x). Returns for how many pixels from it on, at most `pixels`, they are
 * those of the first one, moved: all are inside of the input, and no ring ends between them. */
static uint32_t neap_find_run(const neap_op* op, const neap_frame* frame, const int8_t** taps,
                              uint32_t y, uint32_t x, uint32_t pixels) {
  const neap_window* const window = op->window;
  const neap_view* const in = op->views[1];
  const uint32_t in_width = in->width;
  const uint32_t width = window->width;
  const uint32_t reach = (width - 1U) * window->dilation_x;
  const int32_t left = (int32_t)(x * window->stride_x) - window->pad_x;
  const uint32_t first = left < 0 ? 0 : (uint32_t)left;
  const int8_t* const memory = in->constant != NULL ? in->constant
                               : in->memory < NEAP_EXTERNAL
                                   ? frame->memories[in->memory]
                                   : frame->externals[in->memory - NEAP_EXTERNAL];
  uint32_t row = (uint32_t)((int32_t)(y * window->stride_y) - window->pad_y);
  uint32_t rows = window->height;
  /* Pixels that follow each other from `left` on, in all rows; 0: not even the taps of one. */
  uint32_t room = left < 0 || first >= in_width ? 0 : in_width - first;
  for (;;) {
    if (row < in->height && first < in_width) { /* a negative row is a large number */
      const int8_t* from = memory;
      uint32_t number = row;
      uint32_t ring_pixels = 0;
      uint32_t rest = UINT32_MAX;
      if (in->constant == NULL) {
        const neap_ring* ring = in->rings;
        if (in->ring_count > 1) {
          number /= in->ring_count;
          ring += row - number * in->ring_count;
        }
        number = number * in_width + first;
        ring_pixels = ring->pixels;
        if (number >= ring_pixels) number %= ring_pixels;
        rest = ring_pixels - number;
        if (rest < room) room = rest;
        from += ring->offset;
      } else {
        number = number * in_width + first;
      }
      from += number * in->pixel_bytes;
      if (reach < room) {
        const uint32_t tap_bytes = window->dilation_x * in->pixel_bytes;
        if (width == 3) {
          taps[0] = from;
          taps[1] = from + tap_bytes;
          taps[2] = from + 2 * tap_bytes;
        } else {
          for (uint32_t j = 0; j < width; ++j, from += tap_bytes) taps[j] = from;
        }
      } else {
        neap_find_row(window, in, taps, left, (int32_t)first, from, rest,
                      ring_pixels * in->pixel_bytes);
        room = 0;
      }
    } else {
      for (uint32_t j = 0; j < width; ++j) taps[j] = window->padding;
      room = 0;
    }
    if (--rows == 0) break;
    taps += width;
    row += window->dilation_y;
  }
  if (reach >= room) return 1;
  room -= reach;
  if (room > (pixels - 1) * window->stride_x) return pixels;
  return (room - 1) / window->stride_x + 1;
}

/* A row, or column x0 of two. Kernels of NEAP_ROW_PAIRS, or of several pixels, get two pixels of
 * which each has its own taps where they are not a run. */
int neap_drive_runs(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1) {
  const neap_view* const out = op->views[0];
  const uint32_t most = op->pixels & (NEAP_ROW_PAIRS - 1U);
  const uint32_t rows = y >= NEAP_TWO_ROWS ? 1 : 0; /* from a pixel to the next one */
  neap_work work;
  y &= NEAP_TWO_ROWS - 1U;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  while (x0 < x1) {
    uint32_t count = x1 - x0;
    work.out = neap_target(out, frame, y, x0, &count);
    work.out_step = (ptrdiff_t)out->pixel_bytes;
    work.tap_pitch = 0;
    work.step = op->window->stride_x * op->views[1]->pixel_bytes;
    work.pixels = neap_find_run(op, frame, frame->taps, y, x0, count);
    if (rows != 0 || (work.pixels == 1 && count > 1 && most > 1)) {
      work.pixels = 2;
      work.tap_pitch = (uint32_t)op->window->height * op->window->width;
      work.step = 0;
      (void)neap_find_run(op, frame, frame->taps + work.tap_pitch, y + rows, x0 + 1 - rows, 1);
      if (rows != 0) work.out_step = neap_target(out, frame, y + 1, x0, &count) - work.out;
    }
    op->kernel(op, &work);
    x0 += work.pixels - rows;
  }
  return NEAP_OK;
}
