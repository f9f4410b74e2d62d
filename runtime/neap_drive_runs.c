/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators with a window whose kernels step from pixel to pixel themselves: one
 * table of pointers to taps for a run of pixels.
 */
#include "neap_rt.h"

static inline uint32_t neap_find_all(const neap_op* op, const neap_frame* frame,
                                     const int8_t** taps, uint32_t y, uint32_t x, uint32_t pixels) {
  const uint32_t found = neap_find_run(op, frame, taps, y, x, pixels);
  return found != 0 ? found : neap_find_edge(op, frame, taps, y, x, pixels, 1);
}

/* A row, or column x0 of two. Kernels of NEAP_ROW_PAIRS, or of several pixels, get two pixels of
 * which each has its own taps where they are not a run. */
NEAP_LITTLE int neap_drive_runs(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1) {
  const neap_view* const out = op->views[0];
  const uint32_t most = op->pixels & (NEAP_ROW_PAIRS - 1U);
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  if (y >= NEAP_TWO_ROWS) {
    uint32_t one = 1;
    y -= NEAP_TWO_ROWS;
    work.pixels = 2;
    work.step = 0;
    work.out = neap_target(out, frame, y, x0, &one);
    work.out_step = neap_target(out, frame, y + 1, x0, &one) - work.out;
    work.tap_pitch = neap_find_pair(op, frame, frame->taps, y, x0);
    op->kernel(op, &work);
    return NEAP_OK;
  }
  work.out_step = (ptrdiff_t)out->pixel_bytes;
  while (x0 < x1) {
    uint32_t count = x1 - x0;
    work.out = neap_target_here(out, frame, y, x0, &count);
    work.tap_pitch = 0;
    work.step = op->window->stride_x * op->views[1]->pixel_bytes;
    work.pixels = neap_find_all(op, frame, frame->taps, y, x0, count);
    if (work.pixels == 1 && count > 1 && most > 1) {
      work.pixels = 2;
      work.tap_pitch = (uint32_t)op->window->height * op->window->width;
      work.step = 0;
      (void)neap_find_all(op, frame, frame->taps + work.tap_pitch, y, x0 + 1, 1);
    }
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
