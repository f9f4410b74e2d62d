/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators that compute a pixel from the same pixel of each input: runs of pixels
 * that are one after the other in all of them. An input of one row or one column is read again for
 * each row or column. Whole tensors are images of one pixel.
 */
#include "neap_rt.h"

int neap_drive_pixels(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1) {
  const neap_view* const out = op->views[0];
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  while (x0 < x1) {
    work.pixels = x1 - x0;
    work.out = neap_target(out, frame, y, x0, &work.pixels);
    for (uint32_t i = 0; i < op->inputs; ++i) {
      const neap_view* const in = op->views[i + 1];
      uint32_t one = 1;
      frame->taps[i] = neap_source(in, frame, in->height == 1 ? 0 : y, in->width == 1 ? 0 : x0,
                                   in->width == 1 ? &one : &work.pixels);
    }
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
