/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Instructions of cores with Arm's DSP extension, in C elsewhere, and the outputs of packed
 * kernels.
 */
#ifndef NEAP_DSP_H
#define NEAP_DSP_H

#include "neap_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernel sets, chosen by the macros of the compiler; all compute the same bytes. NEAP_DSP: kernels
 * for cores with two 16-bit products in an instruction; NEAP_DSP_CORE: the compiler is for such a
 * core (Armv7E-M, Armv8-M), whose instructions are the functions below. Elsewhere they are C. */
#if !defined(NEAP_PORTABLE) && defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && \
    defined(__ARM_FEATURE_UNALIGNED) && defined(__thumb2__) && !defined(__ARM_BIG_ENDIAN)
#define NEAP_DSP
#define NEAP_DSP_CORE
#endif

#ifdef NEAP_DSP_CORE
#define NEAP_INSTRUCTION(text, result, ...) __asm__(text : "=r"(result) : __VA_ARGS__)
#endif

/* Four bytes at any address, the first one lowest. */
static inline uint32_t neap_load_word(const int8_t* from) {
#ifdef NEAP_DSP_CORE
  uint32_t word;
  __builtin_memcpy(&word, from, sizeof(word)); /* one instruction, also freestanding */
  return word;
#else
  return (uint32_t)(uint8_t)from[0] | (uint32_t)(uint8_t)from[1] << 8 |
         (uint32_t)(uint8_t)from[2] << 16 | (uint32_t)(uint8_t)from[3] << 24;
#endif
}
/* Bytes 0 and 2 as two 16-bit numbers. */
static inline uint32_t neap_even_bytes(uint32_t word) {
#ifdef NEAP_DSP_CORE
  uint32_t result;
  NEAP_INSTRUCTION("sxtb16 %0, %1", result, "r"(word));
  return result;
#else
  const uint32_t low = ((word & 0xffU) ^ 0x80U) - 0x80U;
  const uint32_t high = ((word >> 16 & 0xffU) ^ 0x80U) - 0x80U;
  return (low & 0xffffU) | high << 16;
#endif
}
/* Bytes 1 and 3. */
static inline uint32_t neap_odd_bytes(uint32_t word) {
#ifdef NEAP_DSP_CORE
  uint32_t result;
  NEAP_INSTRUCTION("sxtb16 %0, %1, ror #8", result, "r"(word));
  return result;
#else
  return neap_even_bytes(word >> 8);
#endif
}
/* The lower and the upper half of a word, as signed numbers. */
static inline int32_t neap_lower(uint32_t word) { return (int16_t)(uint16_t)word; }
static inline int32_t neap_upper(uint32_t word) { return (int16_t)(uint16_t)(word >> 16); }
/* sum + the product of the lower halves; of the upper ones; both. */
static inline uint32_t neap_add_lower(uint32_t a, uint32_t b, uint32_t sum) {
#ifdef NEAP_DSP_CORE
  NEAP_INSTRUCTION("smlabb %0, %1, %2, %3", sum, "r"(a), "r"(b), "r"(sum));
  return sum;
#else
  return sum + (uint32_t)(neap_lower(a) * neap_lower(b));
#endif
}
static inline uint32_t neap_add_upper(uint32_t a, uint32_t b, uint32_t sum) {
#ifdef NEAP_DSP_CORE
  NEAP_INSTRUCTION("smlatt %0, %1, %2, %3", sum, "r"(a), "r"(b), "r"(sum));
  return sum;
#else
  return sum + (uint32_t)(neap_upper(a) * neap_upper(b));
#endif
}
static inline uint32_t neap_add_products(uint32_t a, uint32_t b, uint32_t sum) {
#ifdef NEAP_DSP_CORE
  NEAP_INSTRUCTION("smlad %0, %1, %2, %3", sum, "r"(a), "r"(b), "r"(sum));
  return sum;
#else
  return neap_add_upper(a, b, neap_add_lower(a, b, sum));
#endif
}
/* (a * b + 2^31) / 2^32: neap_high_product(a / 2, b) of an even a. */
static inline int32_t neap_half_product(int32_t a, int32_t b) {
#ifdef NEAP_DSP_CORE
  int32_t result;
  NEAP_INSTRUCTION("smmulr %0, %1, %2", result, "r"(a), "r"(b));
  return result;
#else
  return (int32_t)(((int64_t)a * b + ((int64_t)1 << 31)) >> 32);
#endif
}
/* a / 2^bits, rounded down, as int8 or the nearest number of that type. */
#ifdef NEAP_DSP_CORE
#define NEAP_SHIFTED_BYTE(result, a, bits) \
  NEAP_INSTRUCTION("ssat %0, #8, %1, asr #" #bits, result, "r"(a))
#else
#define NEAP_SHIFTED_BYTE(result, a, bits) (result) = neap_clamp((a) >> (bits), -128, 127)
#endif

/* The output, from -128 to 127, of a sum, from the words of its channel: scaled, and otherwise. */
static inline int8_t neap_scaled_output(uint32_t sum, uint32_t offset, uint32_t factor) {
  const int32_t term = (int32_t)((sum << 8) + offset);
  int32_t value = (int32_t)((int64_t)term * (int32_t)factor >> 32);
  NEAP_SHIFTED_BYTE(value, value, 12);
  return (int8_t)value;
}
static inline int8_t neap_rounded_output(const neap_packed* p, uint32_t sum, uint32_t bias,
                                         uint32_t fraction, uint32_t exponent) {
  int32_t value = neap_half_product((int32_t)((sum << 1) + bias), (int32_t)fraction);
  value += value >> 31;
  value = (value >> exponent) + p->rounding;
  NEAP_SHIFTED_BYTE(value, value, 1);
  return (int8_t)value;
}
#undef NEAP_SHIFTED_BYTE

/* Of channel `lane` of four. */
static inline int8_t neap_four_output(const neap_packed* p, const uint32_t* channels, uint32_t lane,
                                      uint32_t sum) {
  const uint32_t* const pair = channels + lane / 2 * 4 + lane % 2;
  if (p->scaled != 0) return neap_scaled_output(sum, pair[0], pair[2]);
  return neap_rounded_output(p, sum, pair[1], pair[3], channels[0] >> 8 * lane & 0xffU);
}
/* Of a channel that is left. */
static inline int8_t neap_one_output(const neap_packed* p, const uint32_t* channel, uint32_t sum) {
  if (p->scaled != 0) return neap_scaled_output(sum, channel[0], channel[1]);
  return neap_rounded_output(p, sum, channel[0], channel[1], channel[2]);
}

/* The inputs of one pixel to words that are `step` apart; `skip`: bytes from the taps to those of
 * the pixel. */
void neap_packed_widen(const neap_packed* p, const int8_t* const* taps, uint32_t skip, uint32_t* to,
                       uint32_t step);
/* Of two pixels whose words alternate, taps of one input, those of the second pixel `next` bytes
 * behind those of the first one. */
void neap_packed_widen_ones(const int8_t* const* taps, uint32_t count, uint32_t skip, uint32_t next,
                            uint32_t* to);
/* Whether taps, of three inputs, are three rows of three that follow each other in memory; if so,
 * of two pixels as above. */
int neap_packed_are_nines(const neap_packed* p, const int8_t* const* taps);
void neap_packed_widen_nines(const int8_t* const* taps, uint32_t skip, uint32_t next, uint32_t* to);
/* Of one pixel, or of two whose words alternate; taps have a multiple of four inputs. */
void neap_packed_widen_fours(const neap_packed* p, const int8_t* const* taps,
                             const int8_t* const* next_taps, uint32_t skip, uint32_t next_skip,
                             uint32_t* to, uint32_t pixels);

/* Clamps outputs to a range that is not all of int8. */
static inline void neap_packed_clamp(const neap_packed* p, int8_t* out, uint32_t channels) {
  if (p->low == -128 && p->high == 127) return;
  for (; channels > 0; --channels, ++out) *out = (int8_t)neap_clamp(*out, p->low, p->high);
}

#ifdef __cplusplus
}
#endif

#endif
