/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators with a window whose kernel finds the taps of a pixel from those of the
 * pixel before: a run of pixels in one call as long as no column of taps is padding or behind the
 * end of a ring; other pixels one by one. Rows of padding are in runs of at most op->pixels pixels,
 * for which the window's padding has the bytes.
 */
#include "neap_mve.h"

/* A row, or column x0 of two. */
int neap_drive_strip(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                     uint32_t x1) {
  const neap_view* const out = op->views[0];
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  work.tap_pitch = 0;
  work.step = 0;
  work.out_step = (ptrdiff_t)out->pixel_bytes;
  if (y >= NEAP_TWO_ROWS) {
    uint32_t one = 1;
    y -= NEAP_TWO_ROWS;
    work.pixels = 2;
    work.out = neap_target(out, frame, y, x0, &one);
    work.out_step = neap_target(out, frame, y + 1, x0, &one) - work.out;
    work.tap_pitch = neap_find_pair(op, frame, frame->taps, y, x0);
    op->kernel(op, &work);
    return NEAP_OK;
  }
  while (x0 < x1) {
    const uint32_t padded = op->pixels & (NEAP_ROW_PAIRS - 1U);
    uint32_t found;
    work.pixels = x1 - x0;
    work.out = neap_target_here(out, frame, y, x0, &work.pixels);
    found = neap_find_run(op, frame, frame->taps, y, x0, work.pixels);
    if (found == 0) found = neap_find_edge(op, frame, frame->taps, y, x0, work.pixels, padded);
    work.pixels = found;
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
