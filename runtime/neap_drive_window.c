/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators with a window: a table of pointers to its taps for each output pixel.
 */
#include "neap_rt.h"

int neap_drive_window(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1) {
  const neap_view* const out = op->views[0];
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  work.tap_pitch = (uint32_t)op->window->height * op->window->width;
  work.step = 0;
  work.out_step = (ptrdiff_t)out->pixel_bytes;
  while (x0 < x1) {
    work.pixels = x1 - x0 < op->pixels ? x1 - x0 : op->pixels;
    work.out = neap_target(out, frame, y, x0, &work.pixels);
    neap_find_taps(op->window, op->views[1], frame, frame->taps, y, x0, work.pixels);
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
