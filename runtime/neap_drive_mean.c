/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of means over all places of an image that is there as a whole: channel by channel, so
 * that no sums are stored. A channel of the output may replace the first pixel's.
 */
#include "neap_rt.h"

int neap_drive_mean(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1) {
  const neap_mean* const mean = (const neap_mean*)op->params;
  const neap_view* const in = op->views[1];
  uint32_t count = x1;
  int8_t* const out = neap_target(op->views[0], frame, y, x0, &count);
  int32_t sum;
  const int8_t* sums;
  neap_work work = {&sums, out, NULL, 1, 0, 1};
  for (uint32_t c = 0; c < in->pixel_bytes; ++c) {
    sum = 0;
    for (uint32_t row = 0; row < in->height; ++row) {
      for (uint32_t x = 0; x < in->width; x += count) {
        const int8_t* from;
        count = in->width - x;
        from = neap_source(in, frame, row, x, &count) + c;
        for (uint32_t p = 0; p < count; ++p)
          sum += (int8_t)(from[p * in->pixel_bytes] ^ mean->flip);
      }
    }
    sums = (const int8_t*)&sum;
    work.out = out + c;
    work.first = c;
    op->kernel(op, &work);
  }
  return NEAP_OK;
}
