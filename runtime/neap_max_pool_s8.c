/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * MAX_POOL_2D.
 */
#include "neap_rt.h"

#ifdef NEAP_UINT8
#define NEAP_MAX neap_max_pool_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#define NEAP_LOWEST 0
#else
#define NEAP_MAX neap_max_pool_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_LOWEST (-128)
#endif

void NEAP_MAX(const neap_op* op, const neap_work* work) {
  const neap_pool* const pool = (const neap_pool*)op->params;
  const int8_t* const padding = op->window->padding;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* const* const taps = work->taps + p * pool->taps;
    int8_t* const out = work->out + p * op->views[0]->pixel_bytes;
    for (uint32_t c = 0; c < work->channels; ++c) {
      int32_t largest = NEAP_LOWEST;
      for (uint32_t t = 0; t < pool->taps; ++t) {
        if (taps[t] != padding && NEAP_VALUE(taps[t][c]) > largest)
          largest = NEAP_VALUE(taps[t][c]);
      }
      out[c] = (int8_t)neap_clamp(largest, pool->low, pool->high);
    }
  }
}

#undef NEAP_MAX
#undef NEAP_VALUE
#undef NEAP_LOWEST
