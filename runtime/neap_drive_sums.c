/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of means that take their input part by part. The sums of all channels are where the
 * output will be; they start at the first pixel, and the last one turns them into means.
 */
#include "neap_rt.h"

static int32_t neap_load_sum(const int8_t* from, uint32_t bytes) {
  int32_t sum = 0;
  int16_t small;
  if (bytes == sizeof(sum)) {
    memcpy(&sum, from, sizeof(sum));
    return sum;
  }
  memcpy(&small, from, sizeof(small));
  return small;
}

static void neap_store_sum(int32_t sum, uint32_t bytes, int8_t* to) {
  const int16_t small = (int16_t)sum;
  if (bytes == sizeof(sum)) {
    memcpy(to, &sum, sizeof(sum));
  } else {
    memcpy(to, &small, sizeof(small));
  }
}

int neap_drive_sums(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1) {
  const neap_mean* const mean = (const neap_mean*)op->params;
  const neap_view* const in = op->views[1];
  const uint32_t channels = in->pixel_bytes;
  const uint32_t size = mean->sum_bytes;
  uint32_t count = 1;
  int8_t* const sums = neap_target(op->views[0], frame, 0, 0, &count);
  if (y == mean->first_row && x0 == mean->first_column) memset(sums, 0, channels * size);
  for (uint32_t x = x0; x < x1; x += count) {
    const int8_t* from;
    count = x1 - x;
    from = neap_source(in, frame, y, x, &count);
    for (uint32_t c = 0; c < channels; ++c) {
      int8_t* const at = sums + c * size;
      int32_t sum = neap_load_sum(at, size);
      for (uint32_t p = 0; p < count; ++p) sum += (int8_t)(from[p * channels + c] ^ mean->flip);
      neap_store_sum(sum, size, at);
    }
  }
  if (y + 1 == mean->end_row && x1 == mean->end_column) {
    const int8_t* const all = sums;
    const neap_work work = {&all, sums, NULL, 1, 0, channels};
    op->kernel(op, &work);
  }
  return NEAP_OK;
}
