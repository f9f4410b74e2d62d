/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ADD and SUB as one linear form of both operands, where it gives the same bytes for every pair.
 */
#include "neap_rt.h"

/* All values of int8, by an instruction where there is one. */
static inline int8_t neap_linear_byte(int32_t value) {
#if defined(__GNUC__) && defined(__ARM_FEATURE_SAT) && !defined(NEAP_PORTABLE)
  __asm__("ssat %0, #8, %1" : "=r"(value) : "r"(value));
  return (int8_t)value;
#else
  return (int8_t)neap_clamp(value, -128, 127);
#endif
}

void neap_add_linear_s8(const neap_op* op, const neap_work* work) {
  const neap_linear* const linear = (const neap_linear*)op->params;
  const neap_stride first = linear->strides[0];
  const neap_stride second = linear->strides[1];
  const int32_t a_factor = linear->factors[0];
  const int32_t b_factor = linear->factors[1];
  const int32_t offset = linear->offset;
  const int32_t shift = linear->shift;
  const int32_t low = linear->low; /* here, as a byte that is written may be any */
  const int32_t high = linear->high;
  const int is_plain = first.channel == 1 && second.channel == 1 && low == -128 && high == 127;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* a = work->taps[0] + p * first.pixel + work->first * first.channel;
    const int8_t* b = work->taps[1] + p * second.pixel + work->first * second.channel;
    int8_t* out = work->out + p * op->views[0]->pixel_bytes;
    const int8_t* const end = out + work->channels;
    if (is_plain) {
      while (out != end) {
        *out++ = neap_linear_byte((a_factor * *a++ + b_factor * *b++ + offset) >> shift);
      }
      continue;
    }
    for (; out != end; a += first.channel, b += second.channel) {
      const int32_t value = (a_factor * *a + b_factor * *b + offset) >> shift;
      *out++ = (int8_t)neap_clamp(value, low, high);
    }
  }
}
