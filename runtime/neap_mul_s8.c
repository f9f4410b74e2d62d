/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * MUL of operands of any scales.
 */
#include "neap_rt.h"

#ifdef NEAP_UINT8
#define NEAP_MUL neap_mul_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#else
#define NEAP_MUL neap_mul_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#endif

void NEAP_MUL(const neap_op* op, const neap_work* work) {
  const neap_mul* const mul = (const neap_mul*)op->params;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* a =
        work->taps[0] + p * mul->strides[0].pixel + work->first * mul->strides[0].channel;
    const int8_t* b =
        work->taps[1] + p * mul->strides[1].pixel + work->first * mul->strides[1].channel;
    int8_t* const out = work->out + p * op->views[0]->pixel_bytes;
    for (uint32_t c = 0; c < work->channels; ++c) {
      const int32_t product = (NEAP_VALUE(*a) - mul->zeros[0]) * (NEAP_VALUE(*b) - mul->zeros[1]);
      const int32_t scaled = neap_scale(product, mul->fraction, mul->shift);
      const int32_t value = (int32_t)((uint32_t)scaled + (uint32_t)mul->out_zero);
      out[c] = (int8_t)neap_clamp(value, mul->low, mul->high);
      a += mul->strides[0].channel;
      b += mul->strides[1].channel;
    }
  }
}

#undef NEAP_MUL
#undef NEAP_VALUE
