/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * MAXIMUM and MINIMUM of operands of one scale.
 */
#include "neap_rt.h"

#ifdef NEAP_UINT8
#define NEAP_SELECT neap_select_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#else
#define NEAP_SELECT neap_select_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#endif

void NEAP_SELECT(const neap_op* op, const neap_work* work) {
  const neap_select* const select = (const neap_select*)op->params;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* a =
        work->taps[0] + p * select->strides[0].pixel + work->first * select->strides[0].channel;
    const int8_t* b =
        work->taps[1] + p * select->strides[1].pixel + work->first * select->strides[1].channel;
    int8_t* const out = work->out + p * op->views[0]->pixel_bytes;
    for (uint32_t c = 0; c < work->channels; ++c) {
      const int larger = NEAP_VALUE(*a) > NEAP_VALUE(*b);
      out[c] = larger == select->larger ? *a : *b;
      a += select->strides[0].channel;
      b += select->strides[1].channel;
    }
  }
}

#undef NEAP_SELECT
#undef NEAP_VALUE
