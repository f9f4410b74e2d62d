/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of RESIZE_BILINEAR on int8: four pixels, weighted in units of 1/1024, and rounded
 * once, ties away from zero. Products of two weights fit 21 bits, sums of four of them 28.
 */
#include "neap_rt.h"

int neap_drive_bilinear(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                        uint32_t x1) {
  const neap_bilinear* const resize = (const neap_bilinear*)op->params;
  const neap_view* const in = op->views[1];
  const uint32_t channels = op->views[0]->pixel_bytes;
  const uint16_t* const row = resize->rows + (size_t)y * 3U;
  for (uint32_t x = x0; x < x1; ++x) {
    const uint16_t* const column = resize->columns + (size_t)x * 3U;
    uint32_t one = 1;
    int8_t* const out = neap_target(op->views[0], frame, y, x, &one);
    const int8_t* const a = neap_source(in, frame, row[0], column[0], &one);
    const int8_t* const b = neap_source(in, frame, row[1], column[0], &one);
    const int8_t* const c = neap_source(in, frame, row[0], column[1], &one);
    const int8_t* const d = neap_source(in, frame, row[1], column[1], &one);
    const int32_t down = row[2];
    const int32_t right = column[2];
    for (uint32_t i = 0; i < channels; ++i) {
      const int32_t left_sum = a[i] * (1024 - down) + b[i] * down;
      const int32_t right_sum = c[i] * (1024 - down) + d[i] * down;
      const int32_t sum = left_sum * (1024 - right) + right_sum * right;
      out[i] = (int8_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
    }
  }
  return NEAP_OK;
}
