/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * SOFTMAX with the exponentials of differences as a table. Element i is read a last time before it
 * is written.
 */
#include "neap_rt.h"

#ifdef NEAP_SMALL
#define NEAP_PARAMS neap_small_softmax
#define NEAP_SOFTMAX neap_softmax_small_s8
#define NEAP_RECIPROCAL neap_softmax_reciprocal_small_s8
#define NEAP_SHIFT_UP neap_softmax_shift_up_small_s8
#elif defined(NEAP_UINT8)
#define NEAP_SOFTMAX neap_softmax_u8
#define NEAP_RECIPROCAL neap_softmax_reciprocal_u8
#define NEAP_SHIFT_UP neap_softmax_shift_up_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#define NEAP_LOW 0
#define NEAP_HIGH 255
#else
#define NEAP_SOFTMAX neap_softmax_s8
#define NEAP_RECIPROCAL neap_softmax_reciprocal_s8
#define NEAP_SHIFT_UP neap_softmax_shift_up_s8
#endif
#ifndef NEAP_UINT8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_LOW (-128)
#define NEAP_HIGH 127
#endif
#ifndef NEAP_SMALL
#define NEAP_PARAMS neap_softmax
#define NEAP_EXPONENTIAL(softmax, difference) (softmax)->exponentials[difference]
#endif

/* x * 2^bits, saturated. */
static int32_t NEAP_SHIFT_UP(int32_t x, int32_t bits) {
  const int64_t wide = (int64_t)x * ((int64_t)1 << bits);
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}

/* 1 / (1 + a) for a in [0, 1), both as fractions of 2^31: Newton's method. */
static NEAP_RARE int32_t NEAP_RECIPROCAL(int32_t a) {
  const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
  int32_t x = 1515870810 + neap_high_product(half, -1010580540); /* 48 / 17 - 32 / 17 * half */
  for (int round = 0; round < 3; ++round) {
    const int32_t error = ((int32_t)1 << 29) - neap_high_product(half, x);
    x += NEAP_SHIFT_UP(neap_high_product(x, error), 2);
  }
  return NEAP_SHIFT_UP(x, 1);
}

NEAP_RARE void NEAP_SOFTMAX(const neap_op* op, const neap_work* work) {
  const NEAP_PARAMS* const softmax = (const NEAP_PARAMS*)op->params;
  const int8_t* in = work->taps[0];
  int8_t* out = work->out;
  const uint32_t rows = softmax->rows * work->pixels;
  for (uint32_t row = 0; row < rows; ++row) {
    int32_t largest = NEAP_LOW;
    uint32_t sum = 0;
    int32_t zeros = 0;
    int32_t scale;
    int32_t shift;
    for (uint32_t i = 0; i < softmax->length; ++i) {
      if (NEAP_VALUE(in[i]) > largest) largest = NEAP_VALUE(in[i]);
    }
    for (uint32_t i = 0; i < softmax->length; ++i) {
      const uint32_t difference = (uint32_t)(largest - NEAP_VALUE(in[i]));
      if (difference < softmax->exponential_count) {
        sum += (uint32_t)neap_rounding_shift(NEAP_EXPONENTIAL(softmax, difference), 12);
      }
    }
    while (zeros < 32 && ((sum << zeros) & 0x80000000U) == 0) ++zeros;
    scale = NEAP_RECIPROCAL((int32_t)((zeros > 31 ? 0U : sum << zeros) - 0x80000000U));
    shift = neap_clamp(12 - zeros + 31 - 8, 0, 31);
    for (uint32_t i = 0; i < softmax->length; ++i) {
      const uint32_t difference = (uint32_t)(largest - NEAP_VALUE(in[i]));
      int32_t value = NEAP_LOW;
      if (difference < softmax->exponential_count) {
        value += neap_rounding_shift(
            neap_high_product(scale, NEAP_EXPONENTIAL(softmax, difference)), shift);
      }
      out[i] = (int8_t)neap_clamp(value, NEAP_LOW, NEAP_HIGH);
    }
    in += softmax->length;
    out += softmax->length;
  }
}

#undef NEAP_PARAMS
#undef NEAP_EXPONENTIAL
#undef NEAP_SOFTMAX
#undef NEAP_RECIPROCAL
#undef NEAP_SHIFT_UP
#undef NEAP_VALUE
#undef NEAP_LOW
#undef NEAP_HIGH
