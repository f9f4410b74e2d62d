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

/* Adds pixels to the sums of their channels. Inline: `size` is a constant, and for the usual case
 * all of them. */
static inline void neap_add_pixels(int8_t* sums, uint32_t size, const int8_t* from,
                                   uint32_t channels, uint32_t count, uint32_t flip) {
  const int8_t* const end = from + channels;
  for (; from != end; ++from, sums += size) {
    int32_t sum = neap_load_sum(sums, size);
    for (uint32_t p = 0; p < count; ++p) sum += (int8_t)((uint8_t)from[p * channels] ^ flip);
    neap_store_sum(sum, size, sums);
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
    if (size == 2 && count == 1 && mean->flip == 0) {
      neap_add_pixels(sums, 2, from, channels, 1, 0);
    } else if (size == 2) {
      neap_add_pixels(sums, 2, from, channels, count, mean->flip);
    } else {
      neap_add_pixels(sums, 4, from, channels, count, mean->flip);
    }
  }
  if (y + 1 == mean->end_row && x1 == mean->end_column) {
    const int8_t* const all = sums;
    const neap_work work = {&all, sums, NULL, 1, 0, channels, 0, 0, 0};
    op->kernel(op, &work);
  }
  return NEAP_OK;
}
