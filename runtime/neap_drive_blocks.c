/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of DEPTH_TO_SPACE: an output pixel is a part of the channels of an input pixel, which
 * has those of a block, row by row. The window's stride is the size of a block.
 */
#include "neap_rt.h"

int neap_drive_blocks(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1) {
  const uint32_t size = op->window->stride_y;
  const neap_view* const out = op->views[0];
  neap_work work = {frame->taps, NULL, NULL, 1, 0, out->pixel_bytes, 0, 0, 0};
  for (uint32_t x = x0; x < x1; ++x) {
    const uint32_t part = y % size * size + x % size;
    uint32_t one = 1;
    work.out = neap_target(out, frame, y, x, &one);
    frame->taps[0] = neap_source(op->views[1], frame, y / size, x / size, &one) +
                     part * out->pixel_bytes;
    op->kernel(op, &work);
  }
  return NEAP_OK;
}
