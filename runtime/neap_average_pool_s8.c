/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * AVERAGE_POOL_2D: sums are divided by the taps inside the input, rounded half away from zero.
 */
#include "neap_rt.h"

#ifdef NEAP_UINT8
#define NEAP_AVERAGE neap_average_pool_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#else
#define NEAP_AVERAGE neap_average_pool_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#endif

void NEAP_AVERAGE(const neap_op* op, const neap_work* work) {
  const neap_pool* const pool = (const neap_pool*)op->params;
  const int8_t* const padding = op->window->padding;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* const* const taps = work->taps + p * pool->taps;
    int8_t* const out = work->out + p * op->views[0]->pixel_bytes;
    int32_t count = 0;
    for (uint32_t t = 0; t < pool->taps; ++t) count += taps[t] != padding ? 1 : 0;
    for (uint32_t c = 0; c < work->channels; ++c) {
      int32_t sum = 0;
      for (uint32_t t = 0; t < pool->taps; ++t) {
        if (taps[t] != padding) sum += NEAP_VALUE(taps[t][c]);
      }
      if (count != 0) sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
      out[c] = (int8_t)neap_clamp(sum, pool->low, pool->high);
    }
  }
}

#undef NEAP_AVERAGE
#undef NEAP_VALUE
