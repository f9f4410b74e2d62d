/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ADD and SUB of operands of any scales: both are brought to a common finer one.
 */
#include "neap_rt.h"

#ifdef NEAP_UINT8
#define NEAP_ADD neap_add_u8
#define NEAP_ADD_SCALED neap_add_scaled_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#else
#define NEAP_ADD neap_add_s8
#define NEAP_ADD_SCALED neap_add_scaled_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#endif

static uint32_t NEAP_ADD_SCALED(const neap_add* add, uint32_t operand, int8_t byte) {
  const uint32_t value = (uint32_t)(NEAP_VALUE(byte) - add->zeros[operand]) << 20;
  return (uint32_t)neap_scale((int32_t)value, add->fractions[operand], add->shifts[operand]);
}

void NEAP_ADD(const neap_op* op, const neap_work* work) {
  const neap_add* const add = (const neap_add*)op->params;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* a =
        work->taps[0] + p * add->strides[0].pixel + work->first * add->strides[0].channel;
    const int8_t* b =
        work->taps[1] + p * add->strides[1].pixel + work->first * add->strides[1].channel;
    int8_t* const out = work->out + p * op->views[0]->pixel_bytes;
    for (uint32_t c = 0; c < work->channels; ++c) {
      const uint32_t left = NEAP_ADD_SCALED(add, 0, *a);
      const uint32_t right = NEAP_ADD_SCALED(add, 1, *b);
      const uint32_t sum = left + (uint32_t)add->sign * right;
      const int32_t scaled = neap_scale((int32_t)sum, add->out_fraction, add->out_shift);
      const int32_t value = (int32_t)((uint32_t)scaled + (uint32_t)add->out_zero);
      out[c] = (int8_t)neap_clamp(value, add->low, add->high);
      a += add->strides[0].channel;
      b += add->strides[1].channel;
    }
  }
}

#undef NEAP_ADD
#undef NEAP_ADD_SCALED
#undef NEAP_VALUE
