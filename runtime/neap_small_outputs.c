/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Outputs of convolutions whose channels have few bits.
 */
#include "neap_rt.h"

static inline uint32_t neap_small_word(const uint8_t* p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* (256 * sum + offset) * factor / 2^44. */
static inline int8_t neap_small_scaled(const neap_small* conv, uint32_t sum, uint32_t offset,
                                       uint32_t factor) {
  const int64_t product = (int64_t)(int32_t)(256U * sum + offset) * (int32_t)factor;
  return (int8_t)neap_clamp((int32_t)(product >> 32) >> 12, conv->low, conv->high);
}

/* A sum with its bias times a fraction, shifted; ties are rounded away from zero. */
static inline int8_t neap_small_output(const neap_small* conv, uint32_t sum, int32_t fraction,
                                       uint32_t exponent, int32_t half) {
  const int64_t product = (int64_t)(int32_t)(2 * sum) * fraction;
  const int32_t high = (int32_t)((product + ((int64_t)1 << 31)) >> 32);
  const int32_t scaled = (high + (high >> 31) + half) >> exponent;
  return (int8_t)neap_clamp(scaled + conv->out_zero, conv->low, conv->high);
}

void neap_small_outputs(const neap_small* conv, uint32_t channel, uint32_t count,
                        const uint32_t* sums, int8_t* out, int8_t* next) {
  const uint32_t bias_bits = conv->bias_bits;
  const uint32_t short_bits = bias_bits + conv->exponents / 32U;
  const uint32_t fraction_bits = conv->fraction_bits;
  const uint32_t bits = fraction_bits == 0 ? 64 : short_bits + fraction_bits;
  const uint32_t* const end = sums + count;
  const ptrdiff_t ahead = next - out;
  uint32_t at = channel * bits;
  do {
    const uint8_t* const from = conv->channels + at / 8;
    const uint32_t skip = at % 8;
    const uint32_t low = neap_small_word(from);
    const uint32_t high = neap_small_word(from + 4);
    if (fraction_bits == 0) {
      *out = neap_small_scaled(conv, sums[0], low, high);
      if (ahead != 0) out[ahead] = neap_small_scaled(conv, sums[4], low, high);
    } else {
      /* 57 bits from the first one of the channel on. */
      const uint32_t first = low >> skip | (high << 1) << (31 - skip);
      const uint32_t second = high >> skip;
      const uint32_t bias = (uint32_t)conv->bias + (first & ((1U << bias_bits) - 1U));
      const uint32_t exponent =
          conv->exponents % 32U + ((first & ((1U << short_bits) - 1U)) >> bias_bits);
      const uint32_t rest = first >> short_bits | (second << 1) << (31 - short_bits);
      int32_t fraction = (int32_t)(1U << 30 | (rest << (32 - fraction_bits)) >> 2);
      const int32_t half = (int32_t)((1U << exponent) >> 1);
      /* A compiler that knows it to be positive takes two instructions for a product. */
#if defined(__GNUC__)
      __asm__("" : "+r"(fraction));
#endif
      *out = neap_small_output(conv, sums[0] + bias, fraction, exponent, half);
      if (ahead != 0) {
        out[ahead] = neap_small_output(conv, sums[4] + bias, fraction, exponent, half);
      }
    }
    ++out;
    at += bits;
  } while (++sums != end);
}
