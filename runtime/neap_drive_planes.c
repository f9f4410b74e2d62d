/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators of which a channel of the output needs the same channel of the input
 * alone: each channel is copied to a plane, in the scratch of the operator, before that channel of
 * the output is written, which may overlap the input. Boxes are channels.
 */
#include "neap_rt.h"

int neap_drive_planes(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1) {
  const neap_view* const out = op->views[0];
  const neap_view* const in = op->views[1];
  const neap_ring ring = {op->scratch, (uint32_t)in->height * in->width};
  const neap_view plane = {NULL, &ring, 1, in->height, in->width, 1, 0};
  int8_t* to = frame->memories[0] + op->scratch;
  neap_work work = {frame->taps, NULL, NULL, 1, y, 1, 0, 0, 0};
  uint32_t one = 1;
  (void)x0;
  (void)x1;
  for (uint32_t row = 0; row < in->height; ++row) {
    for (uint32_t x = 0; x < in->width; ++x) *to++ = neap_source(in, frame, row, x, &one)[y];
  }
  for (uint32_t row = 0; row < out->height; ++row) {
    for (uint32_t x = 0; x < out->width; ++x) {
      if (op->window != NULL) {
        neap_find_taps(op->window, &plane, frame, frame->taps, row, x, 1);
      } else {
        frame->taps[0] = neap_source(&plane, frame, row, x, &one);
      }
      work.out = neap_target(out, frame, row, x, &one) + y;
      op->kernel(op, &work);
    }
  }
  return NEAP_OK;
}
