/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ADD and SUB as one linear form of both operands, where it gives the same bytes for every pair.
 */
#include "neap_rt.h"

void neap_add_linear_s8(const neap_op* op, const neap_work* work) {
  const neap_linear* const linear = (const neap_linear*)op->params;
  const neap_stride first = linear->strides[0];
  const neap_stride second = linear->strides[1];
  const int32_t a_factor = linear->factors[0];
  const int32_t b_factor = linear->factors[1];
  const int32_t offset = linear->offset;
  const int32_t shift = linear->shift;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* a = work->taps[0] + p * first.pixel + work->first * first.channel;
    const int8_t* b = work->taps[1] + p * second.pixel + work->first * second.channel;
    int8_t* out = work->out + p * op->views[0]->pixel_bytes;
    const int8_t* const end = out + work->channels;
    for (; out != end; a += first.channel, b += second.channel) {
      const int32_t value = (a_factor * *a + b_factor * *b + offset) >> shift;
      *out++ = (int8_t)neap_clamp(value, linear->low, linear->high);
    }
  }
}
