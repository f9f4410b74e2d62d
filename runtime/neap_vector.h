/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Vectors of x86-64 processors with AVX2 (and AVX-512 VNNI) and of AArch64, for the kernels and the
 * tables of neap_mve.h.
 */
#ifndef NEAP_VECTOR_H
#define NEAP_VECTOR_H

#include "neap_mve.h"

#if !defined(NEAP_PORTABLE) && !defined(NEAP_MVE_CORE) && defined(__GNUC__)
#if defined(__x86_64__) && defined(__AVX2__)
#define NEAP_VECTOR
#define NEAP_VECTOR_X86
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#define NEAP_VECTOR_VNNI
#endif
#ifdef __clang__
#include <immintrin.h>
#else
/* GCC 12 as a compiler of C++ warns of variables in this header (its bug 105593). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define NEAP_VECTOR
#include <arm_neon.h>
#endif
#endif

#ifdef NEAP_VECTOR

/* Small loops, which GCC leaves as they are at -O2. */
#ifdef __clang__
#define NEAP_UNROLL
#else
#define NEAP_UNROLL _Pragma("GCC unroll 4")
#endif

/* Four 32-bit numbers, and the functions that differ between processors. */
#ifdef NEAP_VECTOR_X86
typedef __m128i neap_four;

static inline neap_four neap_four_load(const void* from) {
  return _mm_loadu_si128((const __m128i*)from);
}
static inline neap_four neap_four_zero(void) { return _mm_setzero_si128(); }
static inline neap_four neap_four_all(int32_t value) { return _mm_set1_epi32(value); }
/* Of four bytes. */
static inline neap_four neap_four_widen(const void* from) {
  int32_t bytes;
  memcpy(&bytes, from, sizeof(bytes));
  return _mm_cvtepi8_epi32(_mm_cvtsi32_si128(bytes));
}
static inline neap_four neap_four_add(neap_four a, neap_four b) { return _mm_add_epi32(a, b); }
static inline neap_four neap_four_clamp(neap_four a, neap_four low, neap_four high) {
  return _mm_min_epi32(_mm_max_epi32(a, low), high);
}
/* Less one where it is negative. */
static inline neap_four neap_four_lower(neap_four a) {
  return _mm_add_epi32(a, _mm_srai_epi32(a, 31));
}
/* neap_high_product; b is at least 0. */
static inline neap_four neap_four_product(neap_four a, neap_four b) {
  const __m128i half = _mm_set1_epi64x((int64_t)1 << 30);
  const __m128i even = _mm_add_epi64(_mm_mul_epi32(a, b), half);
  const __m128i odd =
      _mm_add_epi64(_mm_mul_epi32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32)), half);
  return _mm_blend_epi32(_mm_srli_epi64(even, 31), _mm_slli_epi64(odd, 1), 10);
}
/* To the right by as many bits as `left` is negative, at least one, to nearest, ties upwards. */
static inline neap_four neap_four_round(neap_four a, neap_four left) {
  const __m128i bits = _mm_sub_epi32(_mm_setzero_si128(), left);
  const __m128i last = _mm_srav_epi32(a, _mm_sub_epi32(bits, _mm_set1_epi32(1)));
  return _mm_add_epi32(_mm_srav_epi32(a, bits), _mm_and_si128(last, _mm_set1_epi32(1)));
}
static inline neap_four neap_four_shift_left_20(neap_four a) { return _mm_slli_epi32(a, 20); }
/* Numbers of a byte each. */
static inline void neap_four_store(neap_four a, int8_t* to) {
  const __m128i words = _mm_packs_epi32(a, a);
  const int32_t bytes = _mm_cvtsi128_si32(_mm_packs_epi16(words, words));
  memcpy(to, &bytes, sizeof(bytes));
}
#else
typedef int32x4_t neap_four;

static inline neap_four neap_four_load(const void* from) { return vld1q_s32((const int32_t*)from); }
static inline neap_four neap_four_zero(void) { return vdupq_n_s32(0); }
static inline neap_four neap_four_all(int32_t value) { return vdupq_n_s32(value); }
static inline neap_four neap_four_widen(const void* from) {
  uint32_t bytes;
  memcpy(&bytes, from, sizeof(bytes));
  return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(bytes)))));
}
static inline neap_four neap_four_add(neap_four a, neap_four b) { return vaddq_s32(a, b); }
static inline neap_four neap_four_clamp(neap_four a, neap_four low, neap_four high) {
  return vminq_s32(vmaxq_s32(a, low), high);
}
static inline neap_four neap_four_lower(neap_four a) { return vsraq_n_s32(a, a, 31); }
static inline neap_four neap_four_product(neap_four a, neap_four b) { return vqrdmulhq_s32(a, b); }
static inline neap_four neap_four_round(neap_four a, neap_four left) { return vrshlq_s32(a, left); }
static inline neap_four neap_four_shift_left_20(neap_four a) { return vshlq_n_s32(a, 20); }
static inline void neap_four_store(neap_four a, int8_t* to) {
  const int16x4_t words = vmovn_s32(a);
  const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
  vst1_lane_u32((uint32_t*)(void*)to, vreinterpret_u32_s8(bytes), 0);
}
#endif

/* What all outputs of an operator have in common. */
typedef struct neap_vector_range {
  neap_four zero;
  neap_four low;
  neap_four high;
} neap_vector_range;

static inline neap_vector_range neap_vector_range_of(int32_t zero, int32_t low, int32_t high) {
  neap_vector_range range;
  range.zero = neap_four_all(zero);
  range.low = neap_four_all(low);
  range.high = neap_four_all(high);
  return range;
}

/* Outputs of four channels, whose row of `channels` is given, from their sums of products. */
static inline neap_four neap_vector_outputs(const neap_mve* p, const neap_vector_range* range,
                                            const uint32_t* row, neap_four sums) {
  neap_four value = neap_four_add(sums, neap_four_load(row));
  value = neap_four_product(value, neap_four_load(row + 4));
  if (p->positive == 0) value = neap_four_lower(value);
  value = neap_four_round(value, neap_four_widen(row + 8));
  return neap_four_clamp(neap_four_add(value, range->zero), range->low, range->high);
}

#ifdef NEAP_VECTOR_VNNI

/* 128 bits at each of four addresses that are a row apart. */
static inline __m512i neap_vector_rows(const uint32_t* row) {
  __m512i all = _mm512_castsi128_si512(neap_four_load(row));
  all = _mm512_inserti32x4(all, neap_four_load(row + NEAP_MVE_ROW), 1);
  all = _mm512_inserti32x4(all, neap_four_load(row + 2 * NEAP_MVE_ROW), 2);
  return _mm512_inserti32x4(all, neap_four_load(row + 3 * NEAP_MVE_ROW), 3);
}

/* neap_vector_outputs of the 16 channels of four rows. */
static inline __m512i neap_sixteen_outputs(const neap_mve* p, const uint32_t* row, __m512i sums) {
  const __m512i half = _mm512_set1_epi64((int64_t)1 << 30);
  const __m512i one = _mm512_set1_epi32(1);
  const __m512i fraction = neap_vector_rows(row + 4);
  const __m128i left =
      _mm_setr_epi32((int32_t)row[8], (int32_t)row[8 + NEAP_MVE_ROW],
                     (int32_t)row[8 + 2 * NEAP_MVE_ROW], (int32_t)row[8 + 3 * NEAP_MVE_ROW]);
  const __m512i bits = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_cvtepi8_epi32(left));
  __m512i value = _mm512_add_epi32(sums, neap_vector_rows(row));
  const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(value, fraction), half);
  const __m512i odd = _mm512_add_epi64(
      _mm512_mul_epi32(_mm512_srli_epi64(value, 32), _mm512_srli_epi64(fraction, 32)), half);
  value = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
  if (p->positive == 0) value = _mm512_add_epi32(value, _mm512_srai_epi32(value, 31));
  const __m512i last = _mm512_srav_epi32(value, _mm512_sub_epi32(bits, one));
  value = _mm512_add_epi32(_mm512_srav_epi32(value, bits), _mm512_and_si512(last, one));
  value = _mm512_add_epi32(value, _mm512_set1_epi32(p->out_zero));
  value = _mm512_max_epi32(value, _mm512_set1_epi32(p->low));
  return _mm512_min_epi32(value, _mm512_set1_epi32(p->high));
}

#endif

#endif

#endif
