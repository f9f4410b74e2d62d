/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Depthwise convolution with a multiplier of one on int8, for cores with MVE, x86-64 with AVX2 and
 * AArch64; in C elsewhere.
 * Weights: of 16 channels at a time, for each tap one of each channel. Behind the last channel they are
 * zeros or, if that many channels divide 16, those of the first channels again.
 * Four rows of `channels` for each 16: channels 0, 4, 8 and 12, then 2, 6, ..., then 1, 5, ..., then
 * 3, 7, ... The products of taps 2n and 2n + 1 of a channel have a sum of 16 bits.
 */
#include "neap_mve.h"
#include "neap_vector.h"

#define NEAP_MVE_NINE 9 /* taps of a 3 x 3 window */

/* The row of channel `lane` of 16. */
static uint32_t neap_depthwise_row(uint32_t lane) {
  return lane % 4 == 1 ? 2 : lane % 4 == 2 ? 1 : lane % 4;
}

/* One channel; `at`: from the first one that taps begin with. */
static void neap_depthwise_mve_one(const neap_mve* p, const int8_t* const* taps, size_t ahead,
                                   uint32_t channel, uint32_t at, int8_t* out) {
  const uint32_t lane = channel % NEAP_MVE_BYTES;
  const int8_t* weights = p->weights + (channel - lane) * p->taps + lane;
  const uint32_t* const row =
      p->channels + ((channel - lane) / 4 + neap_depthwise_row(lane)) * NEAP_MVE_ROW;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < p->taps; ++i, weights += NEAP_MVE_BYTES) {
    sum += (uint32_t)(taps[i][ahead + at] * *weights);
  }
  *out = neap_mve_output(p, row, lane / 4, sum);
}

#ifdef NEAP_MVE_CORE

/* What the assembly below takes from memory, in this order. */
typedef struct neap_nine_run {
  const int8_t* weights;
  const uint32_t* channels;
  uint32_t count; /* of channels */
  uint32_t pixels;
  uint32_t step; /* from the end of a tap, in units of 16 channels, to that of the next pixel */
  uint32_t pitch;
  const int8_t* const* taps;
  int8_t* out;
  int32_t out_zero;
} neap_nine_run;

#define NEAP_MVE_WIDEN                     \
  "vmovlb.s16 q1, q2 \n\t"                 \
  "vmovlt.s16 q2, q2 \n\t"                 \
  "vadd.i32 q4, q4, q1 \n\t"               \
  "vadd.i32 q5, q5, q2 \n\t"               \
  "vmovlb.s16 q1, q0 \n\t"                 \
  "vmovlt.s16 q0, q0 \n\t"                 \
  "vadd.i32 q6, q6, q1 \n\t"               \
  "vadd.i32 q7, q7, q0 \n\t"
#define NEAP_MVE_WIDEN_FIRST               \
  "vmovlb.s16 q4, q2 \n\t"                 \
  "vmovlt.s16 q5, q2 \n\t"                 \
  "vmovlb.s16 q6, q0 \n\t"                 \
  "vmovlt.s16 q7, q0 \n\t"
/* Two taps of 16 channels. */
#define NEAP_MVE_PAIR(a, b, widen)         \
  "vldrb.8 q0, [" a "], #16 \n\t"          \
  "vldrb.8 q1, [r10], #16 \n\t"             \
  "vmullb.s8 q2, q0, q1 \n\t"              \
  "vmullt.s8 q0, q0, q1 \n\t"              \
  "vldrb.8 q1, [" b "], #16 \n\t"          \
  "vldrb.8 q3, [r10] \n\t"                  \
  "vmullb.s8 q3, q1, q3 \n\t"              \
  "vadd.i16 q2, q2, q3 \n\t"               \
  "vldrb.8 q3, [r10], #16 \n\t"             \
  "vmullt.s8 q1, q1, q3 \n\t"              \
  "vadd.i16 q0, q0, q1 \n\t"               \
  widen
#define NEAP_MVE_SIGN(q)                   \
  "vshr.s32 q3, " q ", #31 \n\t"           \
  "vadd.i32 " q ", " q ", q3 \n\t"
#define NEAP_MVE_NO_SIGN(q)
#define NEAP_MVE_SCALE(q, sign)            \
  "vldrw.u32 q0, [r7], #16 \n\t"          \
  "vldrw.u32 q1, [r7], #16 \n\t"          \
  "vadd.i32 " q ", " q ", q0 \n\t"         \
  "vldrb.s32 q2, [r7], #4 \n\t"           \
  "vqrdmulh.s32 " q ", " q ", q1 \n\t"     \
  sign(q)                                  \
  "vrshl.s32 " q ", " q ", q2 \n\t"
#define NEAP_MVE_NINE_RUN(sign, first, each) \
  "push {r7, r11} \n\t"                    \
  "ldm r0, {r1, r2, r3, r4, r5, r6} \n\t"  \
  "push {r1, r2, r3, r4, r5, r6} \n\t"     \
  "ldr r11, [r0, #28] \n\t"                \
  "ldr r12, [r0, #32] \n\t"                \
  "ldr r10, [r0, #24] \n\t"                 \
  "ldm r10, {r0, r1, r2, r3, r4, r5, r6, r8, r9} \n" \
  "1: \n\t"                                \
  "ldr r10, [sp, #8] \n\t"                  \
  "dlstp.8 lr, r10 \n\t"                   \
  first                                    \
  "2: \n\t"                                \
  each                                     \
  NEAP_MVE_PAIR("r0", "r1", NEAP_MVE_WIDEN_FIRST) \
  NEAP_MVE_PAIR("r2", "r3", NEAP_MVE_WIDEN) \
  NEAP_MVE_PAIR("r4", "r5", NEAP_MVE_WIDEN) \
  NEAP_MVE_PAIR("r6", "r8", NEAP_MVE_WIDEN) \
  "vldrb.8 q0, [r9], #16 \n\t"             \
  "vldrb.8 q1, [r10], #16 \n\t"             \
  "vmullb.s8 q2, q0, q1 \n\t"              \
  "vmullt.s8 q0, q0, q1 \n\t"              \
  NEAP_MVE_WIDEN                           \
  NEAP_MVE_SCALE("q4", sign) NEAP_MVE_SCALE("q5", sign) \
  NEAP_MVE_SCALE("q6", sign) NEAP_MVE_SCALE("q7", sign) \
  "vqmovnb.s32 q0, q4 \n\t"                \
  "vqmovnb.s32 q1, q6 \n\t"                \
  "vqmovnt.s32 q0, q5 \n\t"                \
  "vqmovnt.s32 q1, q7 \n\t"                \
  "vqadd.s16 q0, q0, r12 \n\t"             \
  "vqadd.s16 q1, q1, r12 \n\t"             \
  "vqmovnb.s16 q2, q0 \n\t"                \
  "vqmovnt.s16 q2, q1 \n\t"                \
  "vstrb.8 q2, [r11], #16 \n\t"            \
  "letp lr, 2b \n\t"                       \
  "ldr lr, [sp, #12] \n\t"                 \
  "subs lr, lr, #1 \n\t"                   \
  "beq 3f \n\t"                            \
  "str lr, [sp, #12] \n\t"                 \
  "ldrd r10, r7, [sp, #16] \n\t"           \
  "add r11, r11, r7 \n\t"                 \
  "cmp r10, #0 \n\t"                        \
  "beq 1b \n\t"                            \
  "add r0, r0, r10 \n\t"                    \
  "add r1, r1, r10 \n\t"                    \
  "add r2, r2, r10 \n\t"                    \
  "add r3, r3, r10 \n\t"                    \
  "add r4, r4, r10 \n\t"                    \
  "add r5, r5, r10 \n\t"                    \
  "add r6, r6, r10 \n\t"                    \
  "add r8, r8, r10 \n\t"                    \
  "add r9, r9, r10 \n\t"                    \
  "b 1b \n"                                \
  "3: \n\t"                                \
  "add sp, sp, #24 \n\t"                   \
  "pop {r7, r11} \n\t"
#define NEAP_MVE_TABLES "ldrd r10, r7, [sp] \n\t"
#define NEAP_MVE_NOTHING ""
#define NEAP_MVE_ASM(run)                                                                         \
  __asm__ volatile(run                                                                            \
                   : "+r"(given)                                                                  \
                   :                                                                              \
                   : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", \
                     "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory")

/* Nine taps of a multiple of four channels. `repeats`: all channels are in each 16. */
static void neap_depthwise_mve_nine(const neap_nine_run* run, uint32_t positive, int repeats) {
  register const neap_nine_run* given __asm__("r0") = run;
  if (repeats) {
    if (positive != 0) {
      NEAP_MVE_ASM(NEAP_MVE_NINE_RUN(NEAP_MVE_NO_SIGN, NEAP_MVE_NOTHING, NEAP_MVE_TABLES));
    } else {
      NEAP_MVE_ASM(NEAP_MVE_NINE_RUN(NEAP_MVE_SIGN, NEAP_MVE_NOTHING, NEAP_MVE_TABLES));
    }
  } else if (positive != 0) {
    NEAP_MVE_ASM(NEAP_MVE_NINE_RUN(NEAP_MVE_NO_SIGN, NEAP_MVE_TABLES, NEAP_MVE_NOTHING));
  } else {
    NEAP_MVE_ASM(NEAP_MVE_NINE_RUN(NEAP_MVE_SIGN, NEAP_MVE_TABLES, NEAP_MVE_NOTHING));
  }
}

#undef NEAP_MVE_WIDEN
#undef NEAP_MVE_WIDEN_FIRST
#undef NEAP_MVE_PAIR
#undef NEAP_MVE_SIGN
#undef NEAP_MVE_NO_SIGN
#undef NEAP_MVE_SCALE
#undef NEAP_MVE_NINE_RUN
#undef NEAP_MVE_TABLES
#undef NEAP_MVE_NOTHING
#undef NEAP_MVE_ASM

/* Up to 16 channels from `channel` on, of any number of taps. */
static void neap_depthwise_mve_some(const neap_mve* p, const int8_t* const* taps, size_t ahead,
                                    uint32_t channel, uint32_t count, int8_t* out) {
  const mve_pred16_t some = vctp8q(count);
  const int8_t* weights = p->weights + channel * p->taps;
  const uint32_t* const row = p->channels + channel / 4 * NEAP_MVE_ROW;
  int32x4_t a = vdupq_n_s32(0);
  int32x4_t b = a;
  int32x4_t c = a;
  int32x4_t d = a;
  int16x8_t even;
  int16x8_t odd;
  for (uint32_t i = 0; i < p->taps; ++i, weights += NEAP_MVE_BYTES) {
    const int8x16_t in = vldrbq_z_s8(taps[i] + ahead + channel, some);
    const int8x16_t weight = vldrbq_s8(weights);
    even = vmullbq_int_s8(in, weight);
    odd = vmulltq_int_s8(in, weight);
    a = vaddq_s32(a, vmovlbq_s16(even));
    b = vaddq_s32(b, vmovltq_s16(even));
    c = vaddq_s32(c, vmovlbq_s16(odd));
    d = vaddq_s32(d, vmovltq_s16(odd));
  }
  even = vdupq_n_s16(0);
  odd = even;
  even = vqmovnbq_s32(even, neap_mve_scale(p, row, a));
  even = vqmovntq_s32(even, neap_mve_scale(p, row + NEAP_MVE_ROW, b));
  odd = vqmovnbq_s32(odd, neap_mve_scale(p, row + 2 * NEAP_MVE_ROW, c));
  odd = vqmovntq_s32(odd, neap_mve_scale(p, row + 3 * NEAP_MVE_ROW, d));
  even = vqaddq_n_s16(even, (int16_t)p->out_zero);
  odd = vqaddq_n_s16(odd, (int16_t)p->out_zero);
  vstrbq_p_s8(out + channel, vqmovntq_s16(vqmovnbq_s16(vdupq_n_s8(0), even), odd), some);
}

/* Clamps outputs to a range that is not all of int8. */
static void neap_depthwise_mve_clamp(const neap_mve* p, int8_t* out, uint32_t channels) {
  const int8x16_t low = vdupq_n_s8((int8_t)p->low);
  const int8x16_t high = vdupq_n_s8((int8_t)p->high);
  for (uint32_t at = 0; at < channels; at += NEAP_MVE_BYTES) {
    const mve_pred16_t some = vctp8q(channels - at);
    const int8x16_t value = vmaxq_s8(vldrbq_z_s8(out + at, some), low);
    vstrbq_p_s8(out + at, vminq_s8(value, high), some);
  }
}

/* All channels of all pixels. */
static void neap_depthwise_mve_all(const neap_mve* p, const neap_work* work, uint32_t pitch) {
  const uint32_t padded = (pitch + NEAP_MVE_BYTES - 1) / NEAP_MVE_BYTES * NEAP_MVE_BYTES;
  const int clamps = p->low != -128 || p->high != 127;
  if (p->taps == NEAP_MVE_NINE && pitch % 4 == 0) {
    /* Pixels one after the other in input and output are as one of more channels. */
    const int repeats = p->step == pitch && pitch < NEAP_MVE_BYTES && NEAP_MVE_BYTES % pitch == 0;
    const uint32_t pixels = repeats ? 1 : work->pixels;
    const neap_nine_run run = {p->weights, p->channels, pitch * (work->pixels / pixels), pixels,
                               p->step - padded, pitch - padded, work->taps, work->out,
                               p->out_zero};
    neap_depthwise_mve_nine(&run, p->positive, repeats);
  } else {
    for (uint32_t pixel = 0; pixel < work->pixels; ++pixel) {
      for (uint32_t at = 0; at < pitch; at += NEAP_MVE_BYTES) {
        const uint32_t count = pitch - at < NEAP_MVE_BYTES ? pitch - at : NEAP_MVE_BYTES;
        neap_depthwise_mve_some(p, work->taps, (size_t)pixel * p->step, at, count,
                                work->out + pixel * pitch);
      }
      if (clamps) neap_depthwise_mve_clamp(p, work->out + pixel * pitch, pitch);
    }
    return;
  }
  for (uint32_t pixel = 0; clamps && pixel < work->pixels; ++pixel) {
    neap_depthwise_mve_clamp(p, work->out + pixel * pitch, pitch);
  }
}

#endif

#ifdef NEAP_VECTOR

/* Sums of 16 channels in their order; 16 bytes can be read from each of `taps`. */
#ifdef NEAP_VECTOR_X86
static inline __m256i neap_depthwise_products(const int8_t* in, const int8_t* weights) {
  const __m128i x = _mm_loadu_si128((const __m128i*)(const void*)in);
  const __m128i w = _mm_loadu_si128((const __m128i*)(const void*)weights);
  return _mm256_mullo_epi16(_mm256_cvtepi8_epi16(x), _mm256_cvtepi8_epi16(w));
}

static inline void neap_depthwise_sums(const int8_t* const* taps, size_t ahead, uint32_t count,
                                       const int8_t* weights, neap_four sums[4]) {
  __m256i low = _mm256_setzero_si256();
  __m256i high = low;
  for (uint32_t i = 0; i < count; i += 2, weights += 2 * NEAP_MVE_BYTES) {
    __m256i products = neap_depthwise_products(taps[i] + ahead, weights);
    if (i + 1 < count) {
      products = _mm256_add_epi16(
          products, neap_depthwise_products(taps[i + 1] + ahead, weights + NEAP_MVE_BYTES));
    }
    low = _mm256_add_epi32(low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(products)));
    high = _mm256_add_epi32(high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(products, 1)));
  }
  sums[0] = _mm256_castsi256_si128(low);
  sums[1] = _mm256_extracti128_si256(low, 1);
  sums[2] = _mm256_castsi256_si128(high);
  sums[3] = _mm256_extracti128_si256(high, 1);
}

#ifndef NEAP_VECTOR_VNNI
/* From channels 0 to 3, 4 to 7, ... to 0, 4, 8, 12, then 1, 5, ... */
static inline void neap_depthwise_transpose(neap_four v[4]) {
  const __m128i a = _mm_unpacklo_epi32(v[0], v[1]);
  const __m128i b = _mm_unpackhi_epi32(v[0], v[1]);
  const __m128i c = _mm_unpacklo_epi32(v[2], v[3]);
  const __m128i d = _mm_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm_unpacklo_epi64(a, c);
  v[1] = _mm_unpackhi_epi64(a, c);
  v[2] = _mm_unpacklo_epi64(b, d);
  v[3] = _mm_unpackhi_epi64(b, d);
}

/* The bytes of transposed outputs, in the order of their channels. */
static inline void neap_depthwise_store(const neap_four v[4], int8_t* to) {
  const __m128i byte = _mm_set1_epi32(0xff);
  const __m128i first = _mm_and_si128(v[0], byte);
  const __m128i second = _mm_slli_epi32(_mm_and_si128(v[1], byte), 8);
  const __m128i third = _mm_slli_epi32(_mm_and_si128(v[2], byte), 16);
  const __m128i fourth = _mm_slli_epi32(v[3], 24);
  const __m128i all = _mm_or_si128(_mm_or_si128(first, second), _mm_or_si128(third, fourth));
  _mm_storeu_si128((__m128i*)(void*)to, all);
}
#endif
#else
static inline void neap_depthwise_sums(const int8_t* const* taps, size_t ahead, uint32_t count,
                                       const int8_t* weights, neap_four sums[4]) {
  for (uint32_t k = 0; k < 4; ++k) sums[k] = vdupq_n_s32(0);
  for (uint32_t i = 0; i < count; ++i, weights += NEAP_MVE_BYTES) {
    const int8x16_t x = vld1q_s8(taps[i] + ahead);
    const int8x16_t w = vld1q_s8(weights);
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(w));
    const int16x8_t high = vmull_high_s8(x, w);
    sums[0] = vaddw_s16(sums[0], vget_low_s16(low));
    sums[1] = vaddw_high_s16(sums[1], low);
    sums[2] = vaddw_s16(sums[2], vget_low_s16(high));
    sums[3] = vaddw_high_s16(sums[3], high);
  }
}

static inline void neap_depthwise_transpose(neap_four v[4]) {
  const int32x4_t a = vzip1q_s32(v[0], v[2]);
  const int32x4_t b = vzip2q_s32(v[0], v[2]);
  const int32x4_t c = vzip1q_s32(v[1], v[3]);
  const int32x4_t d = vzip2q_s32(v[1], v[3]);
  v[0] = vzip1q_s32(a, c);
  v[1] = vzip2q_s32(a, c);
  v[2] = vzip1q_s32(b, d);
  v[3] = vzip2q_s32(b, d);
}

static inline void neap_depthwise_store(const neap_four v[4], int8_t* to) {
  int32x4_t all = vsliq_n_s32(v[0], v[1], 8);
  all = vsliq_n_s32(all, v[2], 16);
  vst1q_s8(to, vreinterpretq_s8_s32(vsliq_n_s32(all, v[3], 24)));
}
#endif

/* The outputs of 16 channels, whose first row of `channels` is given, from their sums. */
static inline void neap_depthwise_finish(const neap_mve* p, const neap_vector_range* range,
                                         const uint32_t* row, neap_four v[4], int8_t* to) {
#ifdef NEAP_VECTOR_VNNI
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15);
  const __m512i back = _mm512_setr_epi32(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15);
  __m512i all = _mm512_castsi128_si512(v[0]);
  (void)range;
  all = _mm512_inserti32x4(all, v[1], 1);
  all = _mm512_inserti32x4(all, v[2], 2);
  all = _mm512_inserti32x4(all, v[3], 3);
  all = neap_sixteen_outputs(p, row, _mm512_permutexvar_epi32(order, all));
  all = _mm512_permutexvar_epi32(back, all);
  _mm_storeu_si128((__m128i*)(void*)to, _mm512_cvtepi32_epi8(all));
#else
  neap_depthwise_transpose(v);
  v[0] = neap_vector_outputs(p, range, row, v[0]);
  v[2] = neap_vector_outputs(p, range, row + NEAP_MVE_ROW, v[2]);
  v[1] = neap_vector_outputs(p, range, row + 2 * NEAP_MVE_ROW, v[1]);
  v[3] = neap_vector_outputs(p, range, row + 3 * NEAP_MVE_ROW, v[3]);
  neap_depthwise_store(v, to);
#endif
}

/* 16 channels, whose first row of `channels` is given, of a pixel. */
static inline void neap_depthwise_vector(const neap_mve* p, const neap_vector_range* range,
                                         const int8_t* const* taps, size_t ahead,
                                         const int8_t* weights, const uint32_t* row, int8_t* to) {
  neap_four v[4];
  neap_depthwise_sums(taps, ahead, p->taps, weights, v);
  neap_depthwise_finish(p, range, row, v, to);
}

/* The same of the last channels, less than 16, from and to copies of their bytes. */
static void neap_depthwise_last(const neap_mve* p, const neap_vector_range* range,
                                const int8_t* const* taps, size_t ahead, uint32_t channels,
                                const int8_t* weights, const uint32_t* row, int8_t* to) {
  neap_four v[4];
  int8_t bytes[2][NEAP_MVE_BYTES];
  const int8_t* const pair[2] = {bytes[0], bytes[1]};
  memset(bytes, 0, sizeof(bytes));
  for (uint32_t k = 0; k < 4; ++k) v[k] = neap_four_zero();
  for (uint32_t i = 0; i < p->taps; i += 2, weights += 2 * NEAP_MVE_BYTES) {
    neap_four sums[4];
    const uint32_t count = p->taps - i < 2 ? 1 : 2;
    for (uint32_t k = 0; k < count; ++k) memcpy(bytes[k], taps[i + k] + ahead, channels);
    neap_depthwise_sums(pair, 0, count, weights, sums);
    for (uint32_t k = 0; k < 4; ++k) v[k] = neap_four_add(v[k], sums[k]);
  }
  neap_depthwise_finish(p, range, row, v, bytes[0]);
  memcpy(to, bytes[0], channels);
}

/* All channels of all pixels. */
static void neap_depthwise_mve_all(const neap_mve* p, const neap_work* work, uint32_t pitch) {
  const neap_vector_range range = neap_vector_range_of(p->out_zero, p->low, p->high);
  for (uint32_t pixel = 0; pixel < work->pixels; ++pixel) {
    const size_t ahead = (size_t)pixel * p->step;
    int8_t* const out = work->out + pixel * pitch;
    const int8_t* weights = p->weights;
    const uint32_t* row = p->channels;
    uint32_t at = 0;
    for (; at + NEAP_MVE_BYTES <= pitch; at += NEAP_MVE_BYTES, row += 4 * NEAP_MVE_ROW) {
      neap_depthwise_vector(p, &range, work->taps, ahead + at, weights, row, out + at);
      weights += p->taps * NEAP_MVE_BYTES;
    }
    if (at < pitch) {
      neap_depthwise_last(p, &range, work->taps, ahead + at, pitch - at, weights, row, out + at);
    }
  }
}

#endif

void neap_depthwise_mve_s8(const neap_op* op, const neap_work* work) {
  const neap_mve* const p = (const neap_mve*)op->params;
  const uint32_t pitch = op->views[0]->pixel_bytes;
#if defined(NEAP_MVE_CORE) || defined(NEAP_VECTOR)
  if (work->channels == pitch) {
    neap_depthwise_mve_all(p, work, pitch);
    return;
  }
#endif
  for (uint32_t pixel = 0; pixel < work->pixels; ++pixel) {
    for (uint32_t at = 0; at < work->channels; ++at) {
      neap_depthwise_mve_one(p, work->taps, (size_t)pixel * p->step, work->first + at, at,
                             work->out + pixel * pitch + at);
    }
  }
}

#undef NEAP_MVE_NINE
