/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators that repeat or leave out pixels.
 */
#include "neap_rt.h"

int neap_drive_nearest(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                       uint32_t x1) {
  const neap_nearest* const nearest = (const neap_nearest*)op->params;
  const neap_view* const out = op->views[0];
  neap_work work = {frame->taps, NULL, NULL, 1, 0, out->pixel_bytes, 0, 0, 0};
  for (uint32_t x = x0; x < x1; ++x) {
    uint32_t one = 1;
    work.out = neap_target(out, frame, y, x, &one);
    frame->taps[0] = neap_source(op->views[1], frame, nearest->rows[y], nearest->columns[x], &one);
    op->kernel(op, &work);
  }
  return NEAP_OK;
}
