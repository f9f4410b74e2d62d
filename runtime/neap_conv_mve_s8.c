/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Convolution, pointwise and fully connected operators on int8, for cores with MVE, x86-64 with AVX2
 * and AArch64; in C elsewhere.
 * The inputs of a pixel are copied, one tap after the other, to a multiple of 16 bytes, with zeros
 * behind them. Weights: of four output channels at a time, for each 16 inputs those of the first
 * channel, then of the second and so on, with zeros behind the last input. The same of the one to
 * three channels that are left.
 */
#include "neap_mve.h"
#include "neap_vector.h"

#ifdef NEAP_MVE_CORE

/* What the assembly below takes from memory, in this order. */
typedef struct neap_mve_run {
  const int8_t* in[2]; /* of two pixels */
  uint32_t more;       /* 16 inputs each, after the first ones */
  const uint32_t* end; /* of `channels` */
  uint32_t pitch;      /* bytes from the output of the first pixel to that of the second, less 4 */
  const uint32_t* channels;
  const int8_t* weights;
  int8_t* out;
  int32_t out_zero;
  int32_t low;
  int32_t high;
  uint32_t length; /* inputs, where they are up to 16 */
  uint32_t fours;  /* then too */
} neap_mve_run;

/* 16 inputs of two pixels and four channels. Sums: r0, r4, r8, r12 and r2, r6, r10, lr. */
#define NEAP_MVE_TWO(add)                  \
  "vldrb.8 q0, [r9], #16 \n\t"             \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vldrb.8 q1, [r11], #16 \n\t"             \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r0, q0, q2 \n\t"      \
  "vmladav" add ".s8 r2, q1, q2 \n\t"      \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r4, q0, q3 \n\t"      \
  "vmladav" add ".s8 r6, q1, q3 \n\t"      \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r8, q0, q2 \n\t"      \
  "vmladav" add ".s8 r10, q1, q2 \n\t"     \
  "vmladav" add ".s8 r12, q0, q3 \n\t"     \
  "vmladav" add ".s8 lr, q1, q3 \n\t"
/* The same of one pixel. */
#define NEAP_MVE_ONE(add)                  \
  "vldrb.8 q0, [r9], #16 \n\t"             \
  "vldrb.8 q1, [r5], #16 \n\t"             \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r0, q0, q1 \n\t"      \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r4, q0, q2 \n\t"      \
  "vldrb.8 q1, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r8, q0, q3 \n\t"      \
  "vmladav" add ".s8 r12, q0, q1 \n\t"
/* All inputs: r3 times 16 more than the first. */
#define NEAP_MVE_ALL(some)                 \
  some("")                                 \
  "lsrs r3, r3, #1 \n\t"                   \
  "bcc 2f \n\t"                            \
  some("a")                                \
  "2: \n\t"                                \
  "beq 4f \n"                              \
  "3: \n\t"                                \
  some("a") some("a")                      \
  "subs r3, r3, #1 \n\t"                   \
  "bne 3b \n"                              \
  "4: \n\t"
#define NEAP_MVE_SIGN(q)                   \
  "vshr.s32 q4, " q ", #31 \n\t"           \
  "vadd.i32 " q ", " q ", q4 \n\t"
#define NEAP_MVE_NO_SIGN(q)
#define NEAP_MVE_START                     \
  "push {r7, r11} \n\t"                    \
  "ldr r1, [r0, #32] \n\t"                 \
  "ldr r3, [r0, #36] \n\t"                 \
  "ldr r4, [r0, #40] \n\t"                 \
  "vdup.32 q5, r1 \n\t"                    \
  "vdup.32 q6, r3 \n\t"                    \
  "vdup.32 q7, r4 \n\t"                    \
  "ldm r0!, {r1, r2, r3, r4, r6} \n\t"     \
  "push {r1, r2, r3, r4, r6} \n\t"         \
  "ldr r7, [r0] \n\t"                      \
  "ldr r5, [r0, #4] \n\t"                  \
  "ldr r1, [r0, #8] \n"                    \
  "1: \n\t"
/* Up to 16 inputs, which stay in q0 and q1. */
#define NEAP_MVE_START_SMALL               \
  "push {r7, r11} \n\t"                    \
  "ldr r1, [r0, #32] \n\t"                 \
  "ldr r3, [r0, #36] \n\t"                 \
  "ldr r4, [r0, #40] \n\t"                 \
  "ldrd r6, lr, [r0, #44] \n\t"            \
  "vdup.32 q5, r1 \n\t"                    \
  "vdup.32 q6, r3 \n\t"                    \
  "vdup.32 q7, r4 \n\t"                    \
  "ldrd r1, r2, [r0] \n\t"                 \
  "ldrd r9, r3, [r0, #12] \n\t"            \
  "ldrd r7, r5, [r0, #20] \n\t"            \
  "vctp.8 r6 \n\t"                         \
  "vpstt \n\t"                             \
  "vldrbt.u8 q0, [r1] \n\t"                \
  "vldrbt.u8 q1, [r2] \n\t"                \
  "ldr r1, [r0, #28] \n\t"                 \
  "add r3, r3, r1 \n\t"                    \
  "add r3, r3, #4 \n\t"
#define NEAP_MVE_SMALL_TWO(sign)           \
  NEAP_MVE_START_SMALL                     \
  "1: \n\t"                                \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav.s8 r0, q0, q2 \n\t"             \
  "vmladav.s8 r2, q1, q2 \n\t"             \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vmladav.s8 r4, q0, q3 \n\t"             \
  "vmladav.s8 r6, q1, q3 \n\t"             \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav.s8 r8, q0, q2 \n\t"             \
  "vmladav.s8 r10, q1, q2 \n\t"            \
  "vmladav.s8 r12, q0, q3 \n\t"            \
  "vmladav.s8 lr, q1, q3 \n\t"             \
  "vmov d4, r0, r4 \n\t"                   \
  "vmov d6, r2, r6 \n\t"                   \
  "vmov d5, r8, r12 \n\t"                  \
  "vmov d7, r10, lr \n\t"                  \
  "vldrw.u32 q4, [r7], #16 \n\t"           \
  "vadd.i32 q2, q2, q4 \n\t"               \
  "vadd.i32 q3, q3, q4 \n\t"               \
  "vldrw.u32 q4, [r7], #16 \n\t"           \
  "vqrdmulh.s32 q2, q2, q4 \n\t"           \
  "vqrdmulh.s32 q3, q3, q4 \n\t"           \
  sign("q2") sign("q3")                    \
  "vldrb.s32 q4, [r7], #4 \n\t"            \
  "vrshl.s32 q2, q2, q4 \n\t"              \
  "vrshl.s32 q3, q3, q4 \n\t"              \
  "vadd.i32 q2, q2, q5 \n\t"               \
  "vadd.i32 q3, q3, q5 \n\t"               \
  "vmax.s32 q2, q2, q6 \n\t"               \
  "vmax.s32 q3, q3, q6 \n\t"               \
  "vmin.s32 q2, q2, q7 \n\t"               \
  "vmin.s32 q3, q3, q7 \n\t"               \
  "vstrb.32 q2, [r1], #4 \n\t"             \
  "vstrb.32 q3, [r3], #4 \n\t"             \
  "cmp r7, r9 \n\t"                        \
  "bne 1b \n\t"                            \
  "pop {r7, r11} \n\t"
#define NEAP_MVE_SMALL_ONE(sign)           \
  NEAP_MVE_START_SMALL                     \
  "1: \n\t"                                \
  "vldrb.8 q1, [r5], #16 \n\t"             \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vmladav.s8 r0, q0, q1 \n\t"             \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav.s8 r2, q0, q2 \n\t"             \
  "vldrb.8 q1, [r5], #16 \n\t"             \
  "vmladav.s8 r4, q0, q3 \n\t"             \
  "vldrw.u32 q3, [r7], #16 \n\t"           \
  "vmladav.s8 r6, q0, q1 \n\t"             \
  "vmov d4, r0, r2 \n\t"                   \
  "vmov d5, r4, r6 \n\t"                   \
  "vldrw.u32 q1, [r7], #16 \n\t"           \
  "vadd.i32 q2, q2, q3 \n\t"               \
  "vldrb.s32 q3, [r7], #4 \n\t"            \
  "vqrdmulh.s32 q2, q2, q1 \n\t"           \
  sign("q2")                               \
  "vrshl.s32 q2, q2, q3 \n\t"              \
  "vadd.i32 q2, q2, q5 \n\t"               \
  "vmax.s32 q2, q2, q6 \n\t"               \
  "vmin.s32 q2, q2, q7 \n\t"               \
  "vstrb.32 q2, [r1], #4 \n\t"             \
  "le lr, 1b \n\t"                         \
  "pop {r7, r11} \n\t"
#define NEAP_MVE_END                       \
  "ldr r0, [sp, #12] \n\t"                 \
  "cmp r7, r0 \n\t"                        \
  "bne 1b \n\t"                            \
  "add sp, sp, #20 \n\t"                   \
  "pop {r7, r11} \n\t"
#define NEAP_MVE_RUN_TWO(sign)             \
  NEAP_MVE_START                           \
  "ldrd r9, r11, [sp] \n\t"                 \
  "ldr r3, [sp, #8] \n\t"                  \
  NEAP_MVE_ALL(NEAP_MVE_TWO)               \
  "vldrw.u32 q2, [r7], #16 \n\t"           \
  "vmov d0, r0, r4 \n\t"                   \
  "vmov d1, r8, r12 \n\t"                  \
  "vmov d2, r2, r6 \n\t"                   \
  "vmov d3, r10, lr \n\t"                  \
  "vadd.i32 q0, q0, q2 \n\t"               \
  "vldrw.u32 q3, [r7], #16 \n\t"           \
  "vadd.i32 q1, q1, q2 \n\t"               \
  "vqrdmulh.s32 q0, q0, q3 \n\t"           \
  "vldrb.s32 q2, [r7], #4 \n\t"            \
  "vqrdmulh.s32 q1, q1, q3 \n\t"           \
  sign("q0") sign("q1")                    \
  "vrshl.s32 q0, q0, q2 \n\t"              \
  "vrshl.s32 q1, q1, q2 \n\t"              \
  "vadd.i32 q0, q0, q5 \n\t"               \
  "vadd.i32 q1, q1, q5 \n\t"               \
  "vmax.s32 q0, q0, q6 \n\t"               \
  "vmax.s32 q1, q1, q6 \n\t"               \
  "vmin.s32 q0, q0, q7 \n\t"               \
  "vmin.s32 q1, q1, q7 \n\t"               \
  "ldr r0, [sp, #16] \n\t"                 \
  "vstrb.32 q0, [r1], #4 \n\t"            \
  "add r0, r0, r1 \n\t"                   \
  "vstrb.32 q1, [r0] \n\t"                 \
  NEAP_MVE_END
#define NEAP_MVE_RUN_ONE(sign)             \
  NEAP_MVE_START                           \
  "ldr r9, [sp] \n\t"                      \
  "ldr r3, [sp, #8] \n\t"                  \
  NEAP_MVE_ALL(NEAP_MVE_ONE)               \
  "vldrw.u32 q1, [r7], #16 \n\t"           \
  "vmov d0, r0, r4 \n\t"                   \
  "vmov d1, r8, r12 \n\t"                  \
  "vldrw.u32 q2, [r7], #16 \n\t"           \
  "vadd.i32 q0, q0, q1 \n\t"               \
  "vldrb.s32 q3, [r7], #4 \n\t"            \
  "vqrdmulh.s32 q0, q0, q2 \n\t"           \
  sign("q0")                               \
  "vrshl.s32 q0, q0, q3 \n\t"              \
  "vadd.i32 q0, q0, q5 \n\t"               \
  "vmax.s32 q0, q0, q6 \n\t"               \
  "vmin.s32 q0, q0, q7 \n\t"               \
  "vstrb.32 q0, [r1], #4 \n\t"            \
  NEAP_MVE_END
#define NEAP_MVE_ASM(run)                                                                         \
  __asm__ volatile(run                                                                            \
                   : "+r"(given)                                                                  \
                   :                                                                              \
                   : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", \
                     "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory")

/* All channels that are four at a time, of one or two pixels with up to 16 inputs. */
static NEAP_APART void neap_mve_small_fours(const neap_mve_run* run, uint32_t pixels,
                                            uint32_t positive) {
  register const neap_mve_run* given __asm__("r0") = run;
  if (pixels > 1) {
    if (positive != 0) {
      NEAP_MVE_ASM(NEAP_MVE_SMALL_TWO(NEAP_MVE_NO_SIGN));
    } else {
      NEAP_MVE_ASM(NEAP_MVE_SMALL_TWO(NEAP_MVE_SIGN));
    }
  } else if (positive != 0) {
    NEAP_MVE_ASM(NEAP_MVE_SMALL_ONE(NEAP_MVE_NO_SIGN));
  } else {
    NEAP_MVE_ASM(NEAP_MVE_SMALL_ONE(NEAP_MVE_SIGN));
  }
}

/* The same with any number of inputs, behind which are zeros up to a multiple of 16. */
static void neap_mve_fours(const neap_mve_run* run, uint32_t pixels, uint32_t positive) {
  register const neap_mve_run* given __asm__("r0") = run;
  if (pixels == 2) {
    if (positive != 0) {
      NEAP_MVE_ASM(NEAP_MVE_RUN_TWO(NEAP_MVE_NO_SIGN));
    } else {
      NEAP_MVE_ASM(NEAP_MVE_RUN_TWO(NEAP_MVE_SIGN));
    }
  } else if (positive != 0) {
    NEAP_MVE_ASM(NEAP_MVE_RUN_ONE(NEAP_MVE_NO_SIGN));
  } else {
    NEAP_MVE_ASM(NEAP_MVE_RUN_ONE(NEAP_MVE_SIGN));
  }
}

#undef NEAP_MVE_TWO
#undef NEAP_MVE_ONE
#undef NEAP_MVE_ALL
#undef NEAP_MVE_SIGN
#undef NEAP_MVE_NO_SIGN
#undef NEAP_MVE_START
#undef NEAP_MVE_START_SMALL
#undef NEAP_MVE_SMALL_TWO
#undef NEAP_MVE_SMALL_ONE
#undef NEAP_MVE_END
#undef NEAP_MVE_RUN_TWO
#undef NEAP_MVE_RUN_ONE
#undef NEAP_MVE_ASM

static inline void neap_mve_copy(const int8_t* from, uint32_t bytes, int8_t* to) {
  __asm__ volatile(
      "wlstp.8 lr, %2, 2f \n"
      "1: \n\t"
      "vldrb.8 q0, [%0], #16 \n\t"
      "vstrb.8 q0, [%1], #16 \n\t"
      "letp lr, 1b \n"
      "2: \n\t"
      : "+r"(from), "+r"(to)
      : "r"(bytes)
      : "lr", "q0", "cc", "memory");
}

static uint32_t neap_mve_dot(const int8_t* in, const int8_t* weights, uint32_t pitch,
                             uint32_t count) {
  int32_t sum = 0;
  for (; count > 0; --count, in += NEAP_MVE_BYTES, weights += pitch) {
    sum = vmladavaq_s8(sum, vldrbq_s8(in), vldrbq_s8(weights));
  }
  return (uint32_t)sum;
}

#else

static void neap_mve_copy(const int8_t* from, uint32_t bytes, int8_t* to) {
  memcpy(to, from, bytes);
}

static uint32_t neap_mve_dot(const int8_t* in, const int8_t* weights, uint32_t pitch,
                             uint32_t count) {
  uint32_t sum = 0;
  for (; count > 0; --count, in += NEAP_MVE_BYTES, weights += pitch) {
    for (uint32_t i = 0; i < NEAP_MVE_BYTES; ++i) sum += (uint32_t)(in[i] * weights[i]);
  }
  return sum;
}

#ifdef NEAP_VECTOR

/* 16 * count inputs of one or two pixels and four channels: sums of a pixel each. */
#ifdef NEAP_VECTOR_VNNI
/* The sums of a channel are in 128 bits. */
static inline neap_four neap_vector_collect(__m512i sums) {
  const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  sums = _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, _MM_PERM_BADC));
  sums = _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, _MM_PERM_CDAB));
  return _mm512_castsi512_si128(_mm512_permutexvar_epi32(first, sums));
}

/* 16 * count inputs of one pixel or two; `groups` of four channels, four at most. The instruction
 * multiplies bytes from 0 to 255 with signed ones: inputs are 128 higher. */
static inline void neap_vector_groups(const int8_t* const in[2], const int8_t* weights,
                                      uint32_t count, uint32_t groups, uint32_t pixels,
                                      __m512i a[4], __m512i b[4]) {
  const __m512i flip = _mm512_set1_epi8(-128);
  const size_t pitch = (size_t)count * 4 * NEAP_MVE_BYTES;
  __m512i higher[4];
  NEAP_UNROLL
  for (uint32_t g = 0; g < groups; ++g) higher[g] = a[g] = b[g] = _mm512_setzero_si512();
  for (uint32_t i = 0; i < count; ++i, weights += 4 * NEAP_MVE_BYTES) {
    const __m128i* const first = (const __m128i*)(const void*)(in[0] + i * NEAP_MVE_BYTES);
    const __m128i* const second = (const __m128i*)(const void*)(in[1] + i * NEAP_MVE_BYTES);
    const __m512i x = _mm512_xor_si512(_mm512_broadcast_i32x4(_mm_loadu_si128(first)), flip);
    const __m512i y =
        pixels == 2 ? _mm512_xor_si512(_mm512_broadcast_i32x4(_mm_loadu_si128(second)), flip) : x;
    NEAP_UNROLL
    for (uint32_t g = 0; g < groups; ++g) {
      const __m512i w = _mm512_loadu_si512(weights + g * pitch);
      higher[g] = _mm512_dpbusd_epi32(higher[g], flip, w);
      a[g] = _mm512_dpbusd_epi32(a[g], x, w);
      if (pixels == 2) b[g] = _mm512_dpbusd_epi32(b[g], y, w);
    }
  }
  NEAP_UNROLL
  for (uint32_t g = 0; g < groups; ++g) {
    a[g] = _mm512_sub_epi32(a[g], higher[g]);
    if (pixels == 2) b[g] = _mm512_sub_epi32(b[g], higher[g]);
  }
}

static inline void neap_vector_four(const int8_t* const in[2], const int8_t* weights,
                                    uint32_t count, uint32_t pixels, neap_four sums[2]) {
  __m512i a[4];
  __m512i b[4];
  neap_vector_groups(in, weights, count, 1, pixels, a, b);
  sums[0] = neap_vector_collect(a[0]);
  if (pixels == 2) sums[1] = neap_vector_collect(b[0]);
}

/* The outputs of 16 channels from the sums of four groups. */
static inline void neap_vector_finish(const neap_mve* p, const uint32_t* row, const __m512i v[4],
                                      int8_t* out) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i left =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
  const __m512i right =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
  const __m512i sums =
      _mm512_add_epi32(_mm512_unpacklo_epi64(left, right), _mm512_unpackhi_epi64(left, right));
  const __m512i outputs = neap_sixteen_outputs(p, row, _mm512_permutexvar_epi32(order, sums));
  _mm_storeu_si128((__m128i*)(void*)out, _mm512_cvtepi32_epi8(outputs));
}
#elif defined(NEAP_VECTOR_X86)
static inline __m256i neap_vector_wide(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)from));
}

static inline neap_four neap_vector_collect(const __m256i sums[4]) {
  const __m256i low = _mm256_hadd_epi32(sums[0], sums[1]);
  const __m256i high = _mm256_hadd_epi32(sums[2], sums[3]);
  const __m256i all = _mm256_hadd_epi32(low, high);
  return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

static inline void neap_vector_four(const int8_t* const in[2], const int8_t* weights,
                                    uint32_t count, uint32_t pixels, neap_four sums[2]) {
  __m256i a[4];
  __m256i b[4];
  NEAP_UNROLL
  for (uint32_t c = 0; c < 4; ++c) a[c] = b[c] = _mm256_setzero_si256();
  for (uint32_t i = 0; i < count; ++i, weights += 4 * NEAP_MVE_BYTES) {
    const __m256i x = neap_vector_wide(in[0] + i * NEAP_MVE_BYTES);
    const __m256i y = pixels == 2 ? neap_vector_wide(in[1] + i * NEAP_MVE_BYTES) : x;
    NEAP_UNROLL
    for (uint32_t c = 0; c < 4; ++c) {
      const __m256i w = neap_vector_wide(weights + c * NEAP_MVE_BYTES);
      a[c] = _mm256_add_epi32(a[c], _mm256_madd_epi16(x, w));
      if (pixels == 2) b[c] = _mm256_add_epi32(b[c], _mm256_madd_epi16(y, w));
    }
  }
  sums[0] = neap_vector_collect(a);
  if (pixels == 2) sums[1] = neap_vector_collect(b);
}
#else
static inline int32x4_t neap_vector_more(int32x4_t sum, int8x16_t x, int8x16_t w) {
#ifdef __ARM_FEATURE_DOTPROD
  return vdotq_s32(sum, x, w);
#else
  sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
  return vpadalq_s16(sum, vmull_high_s8(x, w));
#endif
}

static inline neap_four neap_vector_collect(const int32x4_t sums[4]) {
  return vpaddq_s32(vpaddq_s32(sums[0], sums[1]), vpaddq_s32(sums[2], sums[3]));
}

static inline void neap_vector_four(const int8_t* const in[2], const int8_t* weights,
                                    uint32_t count, uint32_t pixels, neap_four sums[2]) {
  int32x4_t a[4];
  int32x4_t b[4];
  NEAP_UNROLL
  for (uint32_t c = 0; c < 4; ++c) a[c] = b[c] = vdupq_n_s32(0);
  for (uint32_t i = 0; i < count; ++i, weights += 4 * NEAP_MVE_BYTES) {
    const int8x16_t x = vld1q_s8(in[0] + i * NEAP_MVE_BYTES);
    const int8x16_t y = pixels == 2 ? vld1q_s8(in[1] + i * NEAP_MVE_BYTES) : x;
    NEAP_UNROLL
    for (uint32_t c = 0; c < 4; ++c) {
      const int8x16_t w = vld1q_s8(weights + c * NEAP_MVE_BYTES);
      a[c] = neap_vector_more(a[c], x, w);
      if (pixels == 2) b[c] = neap_vector_more(b[c], y, w);
    }
  }
  sums[0] = neap_vector_collect(a);
  if (pixels == 2) sums[1] = neap_vector_collect(b);
}
#endif

/* All channels that are four at a time. `pixels` is a constant where it is called. */
static inline void neap_vector_fours(const neap_mve* p, const int8_t* const in[2], uint32_t count,
                                     uint32_t fours, uint32_t pixels, int8_t* out, ptrdiff_t pitch) {
  const neap_vector_range range = neap_vector_range_of(p->out_zero, p->low, p->high);
  const int8_t* weights = p->weights;
  const uint32_t* row = p->channels;
  const size_t four_bytes = (size_t)count * 4 * NEAP_MVE_BYTES;
  uint32_t left = fours;
#ifdef NEAP_VECTOR_VNNI
  for (; left >= 4; left -= 4, out += 16, row += 4 * NEAP_MVE_ROW, weights += 4 * four_bytes) {
    __m512i a[4];
    __m512i b[4];
    neap_vector_groups(in, weights, count, 4, pixels, a, b);
    neap_vector_finish(p, row, a, out);
    if (pixels == 2) neap_vector_finish(p, row, b, out + pitch);
  }
#endif
  for (; left > 0; --left, out += 4, row += NEAP_MVE_ROW, weights += four_bytes) {
    neap_four sums[2];
    neap_vector_four(in, weights, count, pixels, sums);
    neap_four_store(neap_vector_outputs(p, &range, row, sums[0]), out);
    if (pixels == 2) neap_four_store(neap_vector_outputs(p, &range, row, sums[1]), out + pitch);
  }
}

#else

/* The same in C. */
static NEAP_APART void neap_vector_fours(const neap_mve* p, const int8_t* const in[2],
                                         uint32_t count, uint32_t fours, uint32_t pixels,
                                         int8_t* out, ptrdiff_t pitch) {
  for (uint32_t i = 0; i < fours; ++i) {
    const int8_t* const weights = p->weights + (size_t)i * 4 * count * NEAP_MVE_BYTES;
    for (uint32_t k = 0; k < pixels; ++k) {
      int8_t results[4];
      for (uint32_t c = 0; c < 4; ++c) {
        const uint32_t sum =
            neap_mve_dot(in[k], weights + c * NEAP_MVE_BYTES, 4 * NEAP_MVE_BYTES, count);
        results[c] = neap_mve_output(p, p->channels + i * NEAP_MVE_ROW, c, sum);
      }
      memcpy(out + (ptrdiff_t)k * pitch + i * 4, results, sizeof(results));
    }
  }
}

#endif

#endif

/* The inputs of a pixel to `to`. Taps of a row of the window that follow each other in memory are
 * copied as one. */
static NEAP_APART void neap_mve_gather(const neap_mve* p, const int8_t* const* taps, size_t ahead,
                            uint32_t padded, int8_t* to) {
  const int8_t* const* const end = taps + p->taps;
  int8_t* const last = to + padded - NEAP_MVE_BYTES;
  const uint32_t inputs = p->inputs;
  const uint32_t width = p->row_taps;
  const uint32_t row_bytes = width * inputs;
#ifdef NEAP_MVE_CORE
  vstrbq_s8(last, vdupq_n_s8(0));
#else
  memset(last, 0, NEAP_MVE_BYTES);
#endif
  for (; taps != end; taps += width) {
    if (taps[width - 1] + inputs == taps[0] + row_bytes) {
      neap_mve_copy(taps[0] + ahead, row_bytes, to);
      to += row_bytes;
    } else {
      for (uint32_t i = 0; i < width; ++i, to += inputs) neap_mve_copy(taps[i] + ahead, inputs, to);
    }
  }
}

#ifdef NEAP_MVE_CORE
/* The inputs of two pixels, up to 16 each, to `to`. 0: not all taps of a row of the window follow
 * each other in memory. */
static inline int neap_mve_gather_two(const neap_mve* p, const int8_t* const* taps, size_t ahead,
                                      int8_t* to) {
  const int8_t* const* const end = taps + p->taps;
  const uint32_t row_bytes = p->row_taps * p->inputs;
  const uint32_t pitch = 4 * p->row_taps;
  const int8x16_t zeros = vdupq_n_s8(0);
  uint32_t first;
  uint32_t second;
  vstrbq_s8(to, zeros);
  vstrbq_s8(to + NEAP_MVE_BYTES, zeros);
  __asm__ volatile(
      "vctp.8 %[row_bytes] \n"
      "1: \n\t"
      "ldr %[first], [%[taps]] \n\t"
      "ldr %[second], [%[taps], %[last]] \n\t"
      "subs %[second], %[second], %[first] \n\t"
      "cmp %[second], %[reach] \n\t"
      "bne 2f \n\t"
      "add %[first], %[first], %[ahead] \n\t"
      "add %[second], %[first], %[step] \n\t"
      "vpstttt \n\t"
      "vldrbt.u8 q0, [%[first]] \n\t"
      "vldrbt.u8 q1, [%[second]] \n\t"
      "vstrbt.8 q0, [%[to]] \n\t"
      "vstrbt.8 q1, [%[to], #16] \n\t"
      "add %[to], %[to], %[row_bytes] \n\t"
      "add %[taps], %[taps], %[pitch] \n\t"
      "cmp %[taps], %[end] \n\t"
      "bne 1b \n"
      "2: \n\t"
      : [taps] "+&r"(taps), [to] "+&r"(to), [first] "=&r"(first), [second] "=&r"(second)
      : [row_bytes] "r"(row_bytes), [last] "r"(pitch - 4), [reach] "r"(row_bytes - p->inputs),
        [ahead] "r"(ahead), [pitch] "r"(pitch), [end] "r"(end), [step] "r"(p->step)
      : "q0", "q1", "cc", "memory");
  return taps == end;
}
#endif

/* Whether bytes that are read are apart from bytes that are written. */
static inline int neap_mve_are_apart(const int8_t* in, uint32_t in_bytes, const int8_t* out,
                                     uint32_t out_bytes) {
  const uintptr_t a = (uintptr_t)in;
  const uintptr_t b = (uintptr_t)out;
  return a + in_bytes <= b || b + out_bytes <= a;
}

/* Whether two pixels of one tap with `bytes` inputs are apart from their outputs. */
static inline int neap_mve_reads_apart(const neap_work* work, const int8_t* const* in,
                                       uint32_t bytes, const int8_t* out) {
  const int8_t* const next = out + work->out_step;
  const uint32_t size = work->channels;
  if (work->tap_pitch == 0) {
    return neap_mve_are_apart(in[0], (uint32_t)(in[1] - in[0]) + bytes, out, 2 * size);
  }
  return neap_mve_are_apart(in[0], bytes, out, size) &&
         neap_mve_are_apart(in[1], bytes, out, size) &&
         neap_mve_are_apart(in[0], bytes, next, size) &&
         neap_mve_are_apart(in[1], bytes, next, size);
}

#ifdef NEAP_MVE_CORE
/* All pixels of up to 16 inputs and a multiple of four channels, whose inputs are read once. */
static NEAP_APART void neap_conv_mve_small(const neap_mve* p, const neap_work* work,
                                           uint32_t length) {
  const uint32_t step = work->tap_pitch != 0 ? 0 : p->step;
  const uint32_t gathers = p->taps != 1;
  const uint32_t positive = p->positive;
  const ptrdiff_t pitch = work->out_step;
  uint32_t left = work->pixels;
  size_t ahead = 0;
  neap_mve_run run;
  run.in[0] = work->taps[0];
  run.in[1] = work->taps[work->tap_pitch] + step;
  if (gathers) {
    run.in[0] = work->scratch;
    run.in[1] = work->scratch + NEAP_MVE_BYTES;
  }
  run.pitch = (uint32_t)(pitch - 4);
  run.channels = p->channels;
  run.weights = p->weights;
  run.out = work->out;
  run.out_zero = p->out_zero;
  run.low = p->low;
  run.high = p->high;
  run.length = length;
  run.fours = work->channels / 4;
  run.end = p->channels + run.fours * NEAP_MVE_ROW;
  for (;;) {
    if (gathers && (left == 1 || work->tap_pitch != 0 ||
                    !neap_mve_gather_two(p, work->taps, ahead, work->scratch))) {
      neap_mve_gather(p, work->taps, ahead, NEAP_MVE_BYTES, work->scratch);
      if (left > 1) {
        neap_mve_gather(p, work->taps + work->tap_pitch, ahead + step, NEAP_MVE_BYTES,
                        work->scratch + NEAP_MVE_BYTES);
      }
    }
    ahead += 2 * step;
    if (left == 1) run.in[1] = run.in[0]; /* which is read, too */
    neap_mve_small_fours(&run, left, positive);
    if (left <= 2) break;
    left -= 2;
    run.out += 2 * pitch;
    if (!gathers) {
      run.in[0] += 2 * step;
      run.in[1] += 2 * step;
    }
  }
}
#endif

/* All pixels of any number of inputs and channels. */
static NEAP_APART void neap_conv_mve_any(const neap_mve* p, const neap_work* work) {
  /* From a pixel to the next one: of outputs, of inputs from the same taps. */
  const ptrdiff_t pitch = work->out_step;
  const size_t step = work->tap_pitch != 0 ? 0 : p->step;
  const uint32_t length = p->taps * p->inputs;
  const uint32_t count = (length + NEAP_MVE_BYTES - 1) / NEAP_MVE_BYTES;
  const uint32_t padded = count * NEAP_MVE_BYTES;
  const uint32_t fours = work->channels / 4;
  const uint32_t rest = work->channels % 4;
  size_t ahead = 0;
  int8_t* out = work->out;
  uint32_t pixels;
  const int reads_in_place = p->taps == 1 && length == padded;
#ifdef NEAP_MVE_CORE
  const int reads_once = 0;
  neap_mve_run run;
  run.more = count - 1;
  run.end = p->channels + fours * NEAP_MVE_ROW;
  run.pitch = (uint32_t)(pitch - 4);
  run.channels = p->channels;
  run.weights = p->weights;
  run.out_zero = p->out_zero;
  run.low = p->low;
  run.high = p->high;
#else
  const int reads_once = fours == 1 && rest == 0;
#endif
  for (uint32_t left = work->pixels; left > 0; left -= pixels) {
    const int8_t* in[2];
    pixels = left > 1 ? 2 : 1;
    in[0] = work->taps[0] + ahead;
    in[1] = work->taps[work->tap_pitch] + ahead + step;
    /* Of two pixels, all inputs are read before the first output is written. */
    if (!reads_in_place ||
        (pixels == 2 && !reads_once && !neap_mve_reads_apart(work, in, length, out))) {
      in[0] = work->scratch;
      in[1] = in[0] + padded;
      neap_mve_gather(p, work->taps, ahead, padded, work->scratch);
      if (pixels == 2) {
        neap_mve_gather(p, work->taps + work->tap_pitch, ahead + step, padded,
                        work->scratch + padded);
      }
    }
#ifdef NEAP_MVE_CORE
    if (fours != 0) {
      run.in[0] = in[0];
      run.in[1] = in[pixels - 1];
      run.out = out;
      neap_mve_fours(&run, pixels, p->positive);
    }
#else
    if (pixels == 2) {
      neap_vector_fours(p, in, count, fours, 2, out, pitch);
    } else {
      neap_vector_fours(p, in, count, fours, 1, out, pitch);
    }
#endif
    for (uint32_t k = 0; rest != 0 && k < pixels; ++k) {
      const int8_t* const weights = p->weights + fours * 4 * padded;
      int8_t results[4] = {0, 0, 0, 0};
      for (uint32_t c = 0; c < rest; ++c) {
        const uint32_t sum = neap_mve_dot(in[k], weights + c * NEAP_MVE_BYTES,
                                          rest * NEAP_MVE_BYTES, count);
        results[c] = neap_mve_output(p, p->channels + fours * NEAP_MVE_ROW, c, sum);
      }
      memcpy(out + (ptrdiff_t)k * pitch + fours * 4, results, rest);
    }
    out += (ptrdiff_t)pixels * pitch;
    ahead += pixels * step;
  }
}

void neap_conv_mve_s8(const neap_op* op, const neap_work* work) {
  const neap_mve* const p = (const neap_mve*)op->params;
#ifdef NEAP_MVE_CORE
  const uint32_t length = p->taps * p->inputs;
  if (length <= NEAP_MVE_BYTES && work->channels % 4 == 0) {
    neap_conv_mve_small(p, work, length);
    return;
  }
#endif
  neap_conv_mve_any(p, work);
}
