/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Convolutions on int8 with two products in an instruction, for cores with Arm's DSP extension; in
 * C elsewhere.
 *
 * Two pixels at a time. Their inputs, of all taps one after the other, are first widened to 16 bits
 * in the scratch: words of two inputs each, in turn of the first and of the second pixel. Of four
 * inputs that follow each other, a word has the first and the third, the next one the other two. Of
 * the last inputs, less than four, one word has the first two; of three, the first and the third,
 * and one more has the second. A word without a second input has 0 there.
 *
 * Weights. Four output channels at a time: for each word of inputs, a word of channels 0 and 1, then
 * one of channels 2 and 3. Half a word, of one input, is 256 * odd + even as a 16-bit number, where
 * `odd` is the weight of the odd channel. Two sums follow: of the products with the halves, and of
 * those with their sign-extended lower bytes. The second is that of the even channel. The
 * difference is 256 times that of the odd one, which is below 2^23. Of a word with one input, both
 * halves are in one word: channels 0 and 1 lower. Of two channels that are left there are only words
 * of both. Of a last single channel, words of four weights in their order, those of the last inputs
 * in the bytes where the word of inputs has them.
 */
#include "neap_dsp.h"
#include "neap_rt.h"

/* Of four channels at a time, for one or two pixels. The order is known to the code below. */
typedef struct neap_fours {
  const uint32_t* in;
  const uint32_t* unrolled; /* the end of those words of `in` that the unrolled loop takes */
  const uint32_t* end;      /* the end of those with two inputs */
  const uint32_t* channels;
  const uint32_t* last; /* their end */
  int8_t* out;
  int8_t* next; /* of the second pixel */
  int32_t rounding;
  uint32_t rest;   /* words of inputs that the unrolled loop does not take */
  uint32_t single; /* the last one has one input */
  const uint32_t* weights;
} neap_fours;

#ifdef NEAP_DSP_CORE

/* The compiler has not enough registers for these loops: they use all, r7 too, which may be the
 * frame pointer. In memory from sp on: the neap_fours, then r7. */
#define NEAP_FOURS_BEGIN                                            \
  "push {r7} \n\t"                                                  \
  "ldmia r0, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11} \n\t"   \
  "push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10} \n\t"             \
  "mov r1, r11 \n"                                                  \
  "1: \n\t"                                                         \
  "ldrd r0, r12, [sp] \n\t"
#define NEAP_FOURS_END     \
  "add sp, sp, #40 \n\t"   \
  "pop {r7} \n\t"
#define NEAP_CLOBBERS   \
  "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory"

/* One word of inputs of each pixel with both words of four channels: added, or as first products. */
#define NEAP_TWO_STEP(take)        \
  "ldrd r10, r11, [r0], #8 \n\t"   \
  "ldrd r12, lr, [r1], #8 \n\t"    \
  take("r2", "r10", "r12")         \
  take("r3", "r11", "r12")         \
  "sxtb16 r12, r12 \n\t"           \
  take("r4", "r10", "r12")         \
  take("r5", "r11", "r12")         \
  take("r6", "r10", "lr")          \
  take("r7", "r11", "lr")          \
  "sxtb16 lr, lr \n\t"             \
  take("r8", "r10", "lr")          \
  take("r9", "r11", "lr")
#define NEAP_ADD_PRODUCTS(sum, a, b) "smlad " sum ", " a ", " b ", " sum " \n\t"
#define NEAP_FIRST_PRODUCTS(sum, a, b) "smuad " sum ", " a ", " b " \n\t"
#define NEAP_TWO_ADD NEAP_TWO_STEP(NEAP_ADD_PRODUCTS)
/* Outputs of two channels and pixels, from the sums of halves a and b and of bytes c and d. r0: the
 * channels; lr: the exponents; r12: rounding. `scale`: with or without an addition that makes
 * rounding symmetric. */
#define NEAP_TWO_SCALED(a, b, c, d, scale)   \
  "ldmia r0!, {r10, r11} \n\t"               \
  "sub " a ", " a ", " c " \n\t"             \
  "sub " b ", " b ", " d " \n\t"             \
  "add " a ", r11, " a ", asr #7 \n\t"       \
  "add " b ", r11, " b ", asr #7 \n\t"       \
  "add " c ", r10, " c ", lsl #1 \n\t"       \
  "add " d ", r10, " d ", lsl #1 \n\t"       \
  "ldmia r0!, {r10, r11} \n\t"               \
  scale(a, "r11") scale(b, "r11") scale(c, "r10") scale(d, "r10")
#define NEAP_SCALE(a, fraction) "smmulr " a ", " a ", " fraction " \n\t"
#define NEAP_SCALE_SIGN(a, fraction)         \
  "smmulr " a ", " a ", " fraction " \n\t"   \
  "add " a ", " a ", " a ", asr #31 \n\t"
#define NEAP_SHIFT(a)            \
  "asr " a ", " a ", lr \n\t"    \
  "add " a ", " a ", r12 \n\t"   \
  "ssat " a ", #8, " a ", asr #1 \n\t"
#define NEAP_TWO_OUTPUTS(a, b, c, d, scale)   \
  NEAP_TWO_SCALED(a, b, c, d, scale)          \
  NEAP_SHIFT(c) NEAP_SHIFT(d)                 \
  "lsr lr, lr, #8 \n\t"                       \
  NEAP_SHIFT(a) NEAP_SHIFT(b)                 \
  "lsr lr, lr, #8 \n\t"
#define NEAP_TWO(scale)                                                       \
  NEAP_FOURS_BEGIN                                                            \
  "cmp r0, r12 \n\t"                                                          \
  "beq 7f \n\t"                                                               \
  NEAP_TWO_STEP(NEAP_FIRST_PRODUCTS) NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD   \
  "ldr r12, [sp, #4] \n\t"                                                    \
  "cmp r0, r12 \n\t"                                                          \
  "beq 3f \n"                                                                 \
  "2: \n\t" NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD               \
  "ldr r12, [sp, #4] \n\t"                                                    \
  "cmp r0, r12 \n\t"                                                          \
  "bne 2b \n"                                                                 \
  "3: \n\t"                                                                   \
  "ldr lr, [sp, #32] \n\t"                                                    \
  "cmp lr, #0 \n\t"                                                           \
  "bne 8f \n"                                                                 \
  "6: \n\t"                                                                   \
  "ldr r0, [sp, #12] \n\t"                                                    \
  "ldr r12, [sp, #28] \n\t"                                                   \
  "ldr lr, [r0], #4 \n\t"                                                     \
  NEAP_TWO_OUTPUTS("r2", "r3", "r4", "r5", scale)                             \
  NEAP_TWO_OUTPUTS("r6", "r7", "r8", "r9", scale)                             \
  "ldrd r10, r11, [sp, #20] \n\t"                                             \
  "strb r4, [r10], #1 \n\t"                                                   \
  "strb r2, [r10], #1 \n\t"                                                   \
  "strb r8, [r10], #1 \n\t"                                                   \
  "strb r6, [r10], #1 \n\t"                                                   \
  "strb r5, [r11], #1 \n\t"                                                   \
  "strb r3, [r11], #1 \n\t"                                                   \
  "strb r9, [r11], #1 \n\t"                                                   \
  "strb r7, [r11], #1 \n\t"                                                   \
  "strd r10, r11, [sp, #20] \n\t"                                             \
  "str r0, [sp, #12] \n\t"                                                    \
  "ldr r12, [sp, #16] \n\t"                                                   \
  "cmp r0, r12 \n\t"                                                          \
  "bne 1b \n\t"                                                               \
  "b 9f \n"                                                                   \
  "7: \n\t"                                                                   \
  "mov r2, #0 \n\t"                                                           \
  "mov r3, #0 \n\t"                                                           \
  "mov r4, #0 \n\t"                                                           \
  "mov r5, #0 \n\t"                                                           \
  "mov r6, #0 \n\t"                                                           \
  "mov r7, #0 \n\t"                                                           \
  "mov r8, #0 \n\t"                                                           \
  "mov r9, #0 \n"                                                             \
  "8: \n\t"                                                                   \
  "ldr r12, [sp, #8] \n\t"                                                    \
  "cmp r0, r12 \n\t"                                                          \
  "beq 5f \n"                                                                 \
  "4: \n\t" NEAP_TWO_ADD                                                      \
  "ldr r12, [sp, #8] \n\t"                                                    \
  "cmp r0, r12 \n\t"                                                          \
  "bne 4b \n"                                                                 \
  "5: \n\t"                                                                   \
  "ldr r12, [sp, #36] \n\t"                                                   \
  "cmp r12, #0 \n\t"                                                          \
  "beq 6b \n\t"                                                               \
  "ldrd r10, r11, [r0] \n\t"                                                  \
  "ldr lr, [r1], #4 \n\t"                                                     \
  "smlabb r2, r10, lr, r2 \n\t"                                               \
  "smlabb r3, r11, lr, r3 \n\t"                                               \
  "smlabt r6, r10, lr, r6 \n\t"                                               \
  "smlabt r7, r11, lr, r7 \n\t"                                               \
  "sxtb16 lr, lr \n\t"                                                        \
  "smlabb r4, r10, lr, r4 \n\t"                                               \
  "smlabb r5, r11, lr, r5 \n\t"                                               \
  "smlabt r8, r10, lr, r8 \n\t"                                               \
  "smlabt r9, r11, lr, r9 \n\t"                                               \
  "b 6b \n"                                                                   \
  "9: \n\t"                                                                   \
  NEAP_FOURS_END

/* Two words of inputs with four words of weights. */
#define NEAP_ONE_ADD                      \
  "ldmia r0!, {r7, r8} \n\t"              \
  "ldmia r1!, {r9, r10, r11, r12} \n\t"   \
  "smlad r2, r7, r9, r2 \n\t"             \
  "sxtb16 r9, r9 \n\t"                    \
  "smlad r5, r7, r10, r5 \n\t"            \
  "sxtb16 r10, r10 \n\t"                  \
  "smlad r4, r7, r9, r4 \n\t"             \
  "smlad r6, r7, r10, r6 \n\t"            \
  "smlad r2, r8, r11, r2 \n\t"            \
  "sxtb16 r11, r11 \n\t"                  \
  "smlad r5, r8, r12, r5 \n\t"            \
  "sxtb16 r12, r12 \n\t"                  \
  "smlad r4, r8, r11, r4 \n\t"            \
  "smlad r6, r8, r12, r6 \n\t"
#define NEAP_ONE_OUTPUTS(a, c, scale)   \
  "ldmia r0!, {r7, r8, r9, r10} \n\t"   \
  "sub " a ", " a ", " c " \n\t"        \
  "add " a ", r8, " a ", asr #7 \n\t"   \
  "add " c ", r7, " c ", lsl #1 \n\t"   \
  scale(a, "r10") scale(c, "r9")        \
  NEAP_SHIFT(c)                         \
  "lsr lr, lr, #8 \n\t"                 \
  NEAP_SHIFT(a)                         \
  "lsr lr, lr, #8 \n\t"
#define NEAP_ONE(scale)                                           \
  NEAP_FOURS_BEGIN                                                \
  "mov lr, r12 \n\t"                                              \
  "mov r2, #0 \n\t"                                               \
  "mov r4, #0 \n\t"                                               \
  "mov r5, #0 \n\t"                                               \
  "mov r6, #0 \n\t"                                               \
  "cmp r0, lr \n\t"                                               \
  "beq 3f \n"                                                     \
  "2: \n\t" NEAP_ONE_ADD NEAP_ONE_ADD NEAP_ONE_ADD NEAP_ONE_ADD   \
  "cmp r0, lr \n\t"                                               \
  "bne 2b \n"                                                     \
  "3: \n\t"                                                       \
  "ldr r3, [sp, #32] \n\t"                                        \
  "cmp r3, #0 \n\t"                                               \
  "bne 8f \n"                                                     \
  "6: \n\t"                                                       \
  "ldr r0, [sp, #12] \n\t"                                        \
  "ldr r12, [sp, #28] \n\t"                                       \
  "ldr lr, [r0], #4 \n\t"                                         \
  NEAP_ONE_OUTPUTS("r2", "r4", scale)                             \
  NEAP_ONE_OUTPUTS("r5", "r6", scale)                             \
  "ldr r10, [sp, #20] \n\t"                                       \
  "strb r4, [r10], #1 \n\t"                                       \
  "strb r2, [r10], #1 \n\t"                                       \
  "strb r6, [r10], #1 \n\t"                                       \
  "strb r5, [r10], #1 \n\t"                                       \
  "str r10, [sp, #20] \n\t"                                       \
  "str r0, [sp, #12] \n\t"                                        \
  "ldr r12, [sp, #16] \n\t"                                       \
  "cmp r0, r12 \n\t"                                              \
  "bne 1b \n\t"                                                   \
  "b 9f \n"                                                       \
  "8: \n\t"                                                       \
  "ldr r3, [sp, #8] \n\t"                                         \
  "cmp r0, r3 \n\t"                                               \
  "beq 5f \n"                                                     \
  "4: \n\t"                                                       \
  "ldr r7, [r0], #4 \n\t"                                         \
  "ldmia r1!, {r9, r10} \n\t"                                     \
  "smlad r2, r7, r9, r2 \n\t"                                     \
  "sxtb16 r9, r9 \n\t"                                            \
  "smlad r5, r7, r10, r5 \n\t"                                    \
  "sxtb16 r10, r10 \n\t"                                          \
  "smlad r4, r7, r9, r4 \n\t"                                     \
  "smlad r6, r7, r10, r6 \n\t"                                    \
  "cmp r0, r3 \n\t"                                               \
  "bne 4b \n"                                                     \
  "5: \n\t"                                                       \
  "ldr r12, [sp, #36] \n\t"                                       \
  "cmp r12, #0 \n\t"                                              \
  "beq 6b \n\t"                                                   \
  "ldr r7, [r0] \n\t"                                             \
  "ldr r9, [r1], #4 \n\t"                                         \
  "smlabb r2, r7, r9, r2 \n\t"                                    \
  "smlabt r5, r7, r9, r5 \n\t"                                    \
  "sxtb16 r9, r9 \n\t"                                            \
  "smlabb r4, r7, r9, r4 \n\t"                                    \
  "smlabt r6, r7, r9, r6 \n\t"                                    \
  "b 6b \n"                                                       \
  "9: \n\t"                                                       \
  NEAP_FOURS_END

/* Returns the weights that are next. */
static NEAP_APART const uint32_t* neap_fours_run(const neap_packed* p, const neap_fours* fours,
                                      uint32_t pixels) {
  register const void* at __asm__("r0") = fours;
  register const uint32_t* weights __asm__("r1");
  if (pixels == 2) {
    if (p->positive != 0) {
      __asm__ volatile(NEAP_TWO(NEAP_SCALE) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
    } else {
      __asm__ volatile(NEAP_TWO(NEAP_SCALE_SIGN) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
    }
  } else if (p->positive != 0) {
    __asm__ volatile(NEAP_ONE(NEAP_SCALE) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
  } else {
    __asm__ volatile(NEAP_ONE(NEAP_SCALE_SIGN) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
  }
  return weights;
}

#undef NEAP_FOURS_BEGIN
#undef NEAP_FOURS_END
#undef NEAP_CLOBBERS
#undef NEAP_TWO_STEP
#undef NEAP_ADD_PRODUCTS
#undef NEAP_FIRST_PRODUCTS
#undef NEAP_TWO_ADD
#undef NEAP_TWO_OUTPUTS
#undef NEAP_TWO
#undef NEAP_ONE_ADD
#undef NEAP_ONE_OUTPUTS
#undef NEAP_ONE
#undef NEAP_TWO_SCALED
#undef NEAP_SCALE
#undef NEAP_SCALE_SIGN
#undef NEAP_SHIFT

#else

/* Adds the products of one word of inputs to the sums of two channels: of halves, of lower bytes. */
static void neap_fours_add(uint32_t in, uint32_t weights, uint32_t* sums) {
  sums[0] = neap_add_products(in, weights, sums[0]);
  sums[1] = neap_add_products(in, neap_even_bytes(weights), sums[1]);
}

/* Returns the weights that are next. */
static NEAP_APART const uint32_t* neap_fours_run(const neap_packed* p, const neap_fours* fours,
                                      uint32_t pixels) {
  const uint32_t* weights = fours->weights;
  const uint32_t* channels = fours->channels;
  for (uint32_t at = 0; channels != fours->last; channels += NEAP_FOUR_CHANNELS, at += 4) {
    const uint32_t* const begin = weights;
    for (uint32_t pixel = 0; pixel < pixels; ++pixel) {
      int8_t* const out = (pixel == 0 ? fours->out : fours->next) + at;
      const uint32_t* in = fours->in + pixel;
      uint32_t sums[4] = {0, 0, 0, 0};
      weights = begin;
      for (; in < fours->end; in += pixels, weights += 2) {
        neap_fours_add(*in, weights[0], sums);
        neap_fours_add(*in, weights[1], sums + 2);
      }
      if (fours->single != 0) {
        neap_fours_add(*in, *weights & 0xffffU, sums);
        neap_fours_add(*in, *weights >> 16, sums + 2);
        ++weights;
      }
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t* const sum = sums + i / 2 * 2;
        const uint32_t twice =
            i % 2 == 0 ? sum[1] << 1 : (uint32_t)((int32_t)(sum[0] - sum[1]) >> 7);
        out[i] = neap_four_output(p, channels, i, twice);
      }
    }
  }
  return weights;
}

#endif

/* The channels that are no four: a pair, a single one, or both; of one pixel, whose words of inputs
 * are `step` apart. */
static NEAP_APART void neap_packed_rest(const neap_packed* p, const uint32_t* in, uint32_t step,
                             const uint32_t* weights, const uint32_t* channels, uint32_t count,
                             int8_t* out) {
  const uint32_t length = p->taps * p->inputs;
  uint32_t sum = 0;
  uint32_t i = 0;
  if (count >= 2) {
    uint32_t halves = 0;
    uint32_t bytes = 0;
    for (; i < (length + 1) / 2; ++i) {
      const uint32_t word = *weights++;
      halves = neap_add_products(in[i * step], word, halves);
      bytes = neap_add_products(in[i * step], neap_even_bytes(word), bytes);
    }
    out[0] = neap_packed_output(p, (bytes << 1) + channels[0], channels[1], channels[2]);
    channels += NEAP_ONE_CHANNEL;
    out[1] = neap_packed_output(p, (uint32_t)((int32_t)(halves - bytes) >> 7) + channels[0],
                                channels[1], channels[2]);
    channels += NEAP_ONE_CHANNEL;
    out += 2;
  }
  if (count % 2 == 0) return;
  for (i = 0; i + 2 <= (length + 1) / 2; i += 2, ++weights) {
    sum = neap_add_products(in[i * step], neap_even_bytes(*weights), sum);
    sum = neap_add_products(in[(i + 1) * step], neap_odd_bytes(*weights), sum);
  }
  if (i < (length + 1) / 2) {
    sum = neap_add_products(in[i * step], neap_even_bytes(*weights), sum);
  }
  out[0] = neap_packed_output(p, (sum << 1) + channels[0], channels[1], channels[2]);
}

static inline uint32_t neap_halves(int32_t lower, int32_t upper) {
  return ((uint32_t)lower & 0xffffU) | (uint32_t)upper << 16;
}

/* As neap_packed_widen(), of taps with one input. */
static NEAP_APART void neap_packed_widen_ones(const int8_t* const* taps, uint32_t count, uint32_t skip,
                                   uint32_t* to, uint32_t step) {
  for (; count >= 4; count -= 4, taps += 4, to += 2 * step) {
    to[0] = neap_halves(taps[0][skip], taps[2][skip]);
    to[step] = neap_halves(taps[1][skip], taps[3][skip]);
  }
  if (count == 0) return;
  to[0] = neap_halves(taps[0][skip], count == 1 ? 0 : taps[count - 1][skip]);
  if (count == 3) to[step] = neap_halves(taps[1][skip], 0);
}

/* As neap_packed_widen(), of taps with three inputs: four of them. */
static uint32_t* neap_packed_widen_threes(const int8_t* const* taps, uint32_t skip, uint32_t* to,
                                          uint32_t step) {
  const int8_t* const a = taps[0] + skip;
  const int8_t* const b = taps[1] + skip;
  const int8_t* const c = taps[2] + skip;
  const int8_t* const d = taps[3] + skip;
  to[0] = neap_halves(a[0], a[2]);
  to[step] = neap_halves(a[1], b[0]);
  to += 2 * step;
  to[0] = neap_halves(b[1], c[0]);
  to[step] = neap_halves(b[2], c[1]);
  to += 2 * step;
  to[0] = neap_halves(c[2], d[1]);
  to[step] = neap_halves(d[0], d[2]);
  return to + 2 * step;
}

/* The inputs of one pixel to words that are `step` apart; `skip`: bytes from the taps to those of the
 * pixel. Taps that follow each other in memory are one stretch of bytes; bytes that are left of a
 * stretch go before the next one. */
static NEAP_APART void neap_packed_widen(const neap_packed* p, const int8_t* const* taps, uint32_t skip,
                              uint32_t* to, uint32_t step) {
  const int8_t* const* const end = taps + p->taps;
  uint32_t waiting = 0; /* bytes, lowest first */
  uint32_t bits = 0;    /* of them */
  if (p->inputs == 1) {
    neap_packed_widen_ones(taps, p->taps, skip, to, step);
    return;
  }
  for (; p->inputs == 3 && end - taps >= 4; taps += 4) {
    to = neap_packed_widen_threes(taps, skip, to, step);
  }
  while (taps != end) {
    const int8_t* in = *taps;
    uint32_t bytes = p->inputs;
    while (++taps != end && *taps == in + bytes) bytes += p->inputs;
    in += skip;
    if (bits == 0) {
      for (; bytes >= 4; bytes -= 4, in += 4, to += 2 * step) {
        const uint32_t four = neap_load_word(in);
        to[0] = neap_even_bytes(four);
        to[step] = neap_odd_bytes(four);
      }
    } else {
      for (; bytes >= 4; bytes -= 4, in += 4, to += 2 * step) {
        const uint32_t four = neap_load_word(in);
        const uint32_t word = waiting | four << bits;
        to[0] = neap_even_bytes(word);
        to[step] = neap_odd_bytes(word);
        waiting = four >> (32 - bits);
      }
    }
    for (; bytes > 0; --bytes) {
      waiting |= (uint32_t)(uint8_t)*in++ << bits;
      bits += 8;
      if (bits == 32) {
        to[0] = neap_even_bytes(waiting);
        to[step] = neap_odd_bytes(waiting);
        to += 2 * step;
        waiting = 0;
        bits = 0;
      }
    }
  }
  if (bits == 16) {
    to[0] = neap_even_bytes((waiting & 0xffU) | (waiting & 0xff00U) << 8);
  } else if (bits != 0) {
    to[0] = neap_even_bytes(waiting);
    if (bits == 24) to[step] = neap_odd_bytes(waiting) & 0xffffU;
  }
}

#ifdef NEAP_DSP_CORE
/* Four bytes of two pixels. */
#define NEAP_WIDEN_TWO           \
  "ldr r6, [%0], #4 \n\t"        \
  "ldr r8, [%1], #4 \n\t"        \
  "sxtb16 r4, r6 \n\t"           \
  "sxtb16 r5, r8 \n\t"           \
  "sxtb16 r6, r6, ror #8 \n\t"   \
  "sxtb16 r8, r8, ror #8 \n\t"   \
  "stmia %2!, {r4, r5, r6, r8} \n\t"
#endif

/* The same of two pixels at once, whose words alternate, and of one; of taps with a multiple of four
 * inputs. */
static NEAP_APART void neap_packed_widen_fours(const neap_packed* p, const int8_t* const* taps,
                                    const int8_t* const* next_taps, uint32_t skip,
                                    uint32_t next_skip, uint32_t* to, uint32_t pixels) {
  const int8_t* const* const end = taps + p->taps;
  for (; taps != end; ++taps, ++next_taps) {
    const int8_t* in = *taps + skip;
    const int8_t* const last = in + p->inputs;
    if (pixels == 2) {
      const int8_t* next = *next_taps + next_skip;
#ifdef NEAP_DSP_CORE
      __asm__ volatile(
          "tst %4, #4 \n\t"
          "beq 2f \n\t" NEAP_WIDEN_TWO
          "cmp %0, %3 \n\t"
          "beq 3f \n"
          "2: \n\t" NEAP_WIDEN_TWO NEAP_WIDEN_TWO
          "cmp %0, %3 \n\t"
          "bne 2b \n"
          "3: \n\t"
          : "+r"(in), "+r"(next), "+r"(to)
          : "r"(last), "r"(p->inputs)
          : "r4", "r5", "r6", "r8", "cc", "memory");
#else
      for (; in != last; in += 4, next += 4, to += 4) {
        to[0] = neap_even_bytes(neap_load_word(in));
        to[1] = neap_even_bytes(neap_load_word(next));
        to[2] = neap_odd_bytes(neap_load_word(in));
        to[3] = neap_odd_bytes(neap_load_word(next));
      }
#endif
    } else {
      for (; in != last; in += 4, to += 2) {
        const uint32_t four = neap_load_word(in);
        to[0] = neap_even_bytes(four);
        to[1] = neap_odd_bytes(four);
      }
    }
  }
}

#ifdef NEAP_DSP_CORE
#undef NEAP_WIDEN_TWO
#endif

void neap_conv_packed_s8(const neap_op* op, const neap_work* work) {
  const neap_packed* const p = (const neap_packed*)op->params;
  const uint32_t most = op->pixels & (NEAP_ROW_PAIRS - 1U); /* for which there is scratch */
  const uint32_t pairs = p->taps * p->inputs / 2;
  const uint32_t four_channels = work->channels / 4 * 4;
  uint32_t* const in = (uint32_t*)(void*)work->scratch;
  const int8_t* const* taps = work->taps;
  int8_t* out = work->out;
  uint32_t left = work->pixels;
  uint32_t skip = 0;
  neap_fours fours;
  fours.in = in;
  fours.last = p->channels + work->channels / 4 * NEAP_FOUR_CHANNELS;
  fours.rounding = p->rounding;
  fours.single = p->taps * p->inputs % 2;
  while (left > 0) {
    const uint32_t pixels = left > 1 && most > 1 ? 2 : 1;
    const uint32_t* weights = p->weights;
    if (p->inputs % 4 == 0) {
      neap_packed_widen_fours(p, taps, taps + work->tap_pitch, skip, skip + work->step, in, pixels);
    } else {
      for (uint32_t i = 0; i < pixels; ++i) {
        neap_packed_widen(p, taps + i * work->tap_pitch, skip + i * work->step, in + i, pixels);
      }
    }
    if (four_channels != 0) {
      fours.unrolled = in + (pixels == 2 ? pairs / 4 : pairs / 8) * 8;
      fours.end = in + pairs * pixels;
      fours.rest = (p->taps * p->inputs + 1) / 2 - (uint32_t)(fours.unrolled - in) / pixels;
      fours.channels = p->channels;
      fours.out = out;
      fours.next = out + work->out_step;
      fours.weights = weights;
      weights = neap_fours_run(p, &fours, pixels);
    }
    for (uint32_t i = 0; i < pixels; ++i) {
      if (four_channels != work->channels) {
        neap_packed_rest(p, in + i, pixels, weights, fours.last, work->channels - four_channels,
                         out + four_channels);
      }
      neap_packed_clamp(p, out, work->channels);
      out += work->out_step;
    }
    taps += pixels * work->tap_pitch;
    skip += pixels * work->step;
    left -= pixels;
  }
}
