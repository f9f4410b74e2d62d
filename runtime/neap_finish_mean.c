/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Means from sums. In place: sum c is read before output c is written, which is not above it.
 */
#include "neap_rt.h"

NEAP_LITTLE void neap_finish_mean(const neap_op* op, const neap_work* work) {
  const neap_mean* const mean = (const neap_mean*)op->params;
  const int8_t* from = work->taps[0];
  /* uint8: 128 was taken from every value. */
  const int32_t offset = mean->flip != 0 ? 128 : 0;
  for (uint32_t c = 0; c < work->channels; ++c, from += mean->sum_bytes) {
    int32_t sum = 0;
    int32_t value;
    if (mean->sum_bytes == 2) {
      int16_t small;
      memcpy(&small, from, sizeof(small));
      sum = small;
    } else {
      memcpy(&sum, from, sizeof(sum));
    }
    if (mean->fraction == 0) {
      const int32_t half = mean->places / 2;
      sum += offset * mean->places;
      value = (sum > 0 ? sum + half : sum - half) / mean->places;
    } else {
      sum -= mean->in_zero * mean->places;
      value = (int32_t)((uint32_t)neap_scale(sum, mean->fraction, mean->shift) +
                        (uint32_t)mean->out_zero);
    }
    work->out[c] = (int8_t)neap_clamp(value, mean->low, mean->high);
  }
}
