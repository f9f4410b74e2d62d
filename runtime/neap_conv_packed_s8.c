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
 * Weights. Four output channels at a time: for each word of inputs, a word of channels 0 and 1,
 * then one of channels 2 and 3. Half a word, of one input, is 256 * odd + even as a 16-bit number,
 * where `odd` is the weight of the odd channel. Two sums follow: of the products with the halves,
 * and of those with their sign-extended lower bytes. The second is that of the even channel. The
 * difference is 256 times that of the odd one, which is below 2^23. Of a word with one input, both
 * halves are in one word: channels 0 and 1 lower. Of two channels that are left there are only
 * words of both. Of a last single channel, words of four weights in their order, those of the last
 * inputs in the bytes where the word of inputs has them.
 */
#include "neap_dsp.h"
#include "neap_rt.h"

/* Of four channels at a time, for one or two pixels. The order is known to the code below. */
typedef struct neap_fours {
  const uint32_t* in;
  const uint32_t* unrolled; /* the end of those words of `in` that unrolled loops take */
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
#define NEAP_FOURS_BEGIN                                          \
  "push {r7} \n\t"                                                \
  "ldmia r0, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11} \n\t" \
  "push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10} \n\t"           \
  "mov r1, r11 \n\t"
#define NEAP_FOURS_END   \
  "add sp, sp, #40 \n\t" \
  "pop {r7} \n\t"
#define NEAP_CLOBBERS \
  "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory"

/* One word of inputs of each pixel with both words of four channels: added, or as first products.
 */
#define NEAP_TWO_STEP(take)                                                        \
  "ldrd r10, r11, [r0], #8 \n\t"                                                   \
  "ldrd r12, lr, [r1], #8 \n\t" take("r2", "r10", "r12")                           \
      take("r3", "r11", "r12") "sxtb16 r12, r12 \n\t" take("r4", "r10", "r12")     \
          take("r5", "r11", "r12") take("r6", "r10", "lr")                         \
              take("r7", "r11", "lr") "sxtb16 lr, lr \n\t" take("r8", "r10", "lr") \
                  take("r9", "r11", "lr")
#define NEAP_ADD_PRODUCTS(sum, a, b) "smlad " sum ", " a ", " b ", " sum " \n\t"
#define NEAP_FIRST_PRODUCTS(sum, a, b) "smuad " sum ", " a ", " b " \n\t"
#define NEAP_TWO_ADD NEAP_TWO_STEP(NEAP_ADD_PRODUCTS)
/* Outputs of two channels and pixels, from the sums of halves a and b and of bytes c and d. r0: the
 * channels. */
#define NEAP_TWO_SCALED(a, b, c, d)      \
  "ldmia r0!, {r10, r11, r12, lr} \n\t"  \
  "sub " a ", " a ", " c " \n\t"         \
  "sub " b ", " b ", " d " \n\t"         \
  "add " c ", r10, " c ", lsl #8 \n\t"   \
  "add " d ", r10, " d ", lsl #8 \n\t"   \
  "add " a ", " a ", r11 \n\t"           \
  "add " b ", " b ", r11 \n\t"           \
  "smmul " c ", " c ", r12 \n\t"         \
  "smmul " d ", " d ", r12 \n\t"         \
  "smmul " a ", " a ", lr \n\t"          \
  "smmul " b ", " b ", lr \n\t"          \
  "ssat " c ", #8, " c ", asr #12 \n\t"  \
  "ssat " d ", #8, " d ", asr #12 \n\t"  \
  "ssat " a ", #8, " a ", asr #12 \n\t"  \
  "ssat " b ", #8, " b ", asr #12 \n\t"
#define NEAP_TWO_ALL_SCALED            \
  NEAP_TWO_SCALED("r2", "r3", "r4", "r5") NEAP_TWO_SCALED("r6", "r7", "r8", "r9")
/* lr: the exponents; r12: what is added for rounding. */
#define NEAP_SCALE_SIGN(a, fraction)         \
  "smmulr " a ", " a ", " fraction " \n\t"   \
  "add " a ", " a ", " a ", asr #31 \n\t"
#define NEAP_SHIFT(a, exponent, rounding)    \
  "asr " a ", " a ", " exponent " \n\t"      \
  "add " a ", " a ", " rounding " \n\t"      \
  "ssat " a ", #8, " a ", asr #1 \n\t"
#define NEAP_TWO_ROUNDED(a, b, c, d, next)   \
  "ldmia r0!, {r10, r11} \n\t"               \
  "sub " a ", " a ", " c " \n\t"             \
  "sub " b ", " b ", " d " \n\t"             \
  "add " a ", r11, " a ", asr #7 \n\t"       \
  "add " b ", r11, " b ", asr #7 \n\t"       \
  "add " c ", r10, " c ", lsl #1 \n\t"       \
  "add " d ", r10, " d ", lsl #1 \n\t"       \
  "ldmia r0!, {r10, r11} \n\t"               \
  NEAP_SCALE_SIGN(a, "r11") NEAP_SCALE_SIGN(b, "r11") NEAP_SCALE_SIGN(c, "r10") \
  NEAP_SCALE_SIGN(d, "r10") NEAP_SHIFT(c, "lr", "r12") NEAP_SHIFT(d, "lr", "r12") \
  "lsr lr, lr, #8 \n\t" NEAP_SHIFT(a, "lr", "r12") NEAP_SHIFT(b, "lr", "r12") next
#define NEAP_TWO_ALL_ROUNDED                 \
  "ldr r12, [sp, #28] \n\t"                  \
  "ldr lr, [r0], #4 \n\t"                    \
  NEAP_TWO_ROUNDED("r2", "r3", "r4", "r5", "lsr lr, lr, #8 \n\t") \
  NEAP_TWO_ROUNDED("r6", "r7", "r8", "r9", "")
#define NEAP_TWO(outputs) \
  NEAP_FOURS_BEGIN      \
  "1: \n\t"                                                                   \
  "ldrd r0, lr, [sp] \n\t"                                                    \
  "cmp r0, lr \n\t"                                                           \
  "beq 7f \n\t"                                                               \
  NEAP_TWO_STEP(NEAP_FIRST_PRODUCTS) NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD   \
  "ldr r12, [sp, #4] \n\t"                                                    \
  "subs r12, r12, r0 \n\t"                                                    \
  "beq 3f \n\t"                                                               \
  "tst r12, #32 \n\t"                                                         \
  "bne 10f \n"                                                                \
  "2: \n\t" NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD               \
  "10: \n\t" NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD NEAP_TWO_ADD              \
  "ldr r12, [sp, #4] \n\t"                                                    \
  "cmp r0, r12 \n\t"                                                          \
  "bne 2b \n"                                                                 \
  "3: \n\t"                                                                   \
  "ldr lr, [sp, #32] \n\t"                                                    \
  "cmp lr, #0 \n\t"                                                           \
  "bne 8f \n"                                                                 \
  "6: \n\t"                                                                   \
  "ldr r0, [sp, #12] \n\t"                                                    \
  outputs                                                                     \
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
#define NEAP_ONE_STEP(take) \
  "ldmia r0!, {r7, r8} \n\t"              \
  "ldmia r1!, {r9, r10, r11, r12} \n\t"   \
  take("r2", "r7", "r9")                  \
  "sxtb16 r9, r9 \n\t"                    \
  take("r5", "r7", "r10")                 \
  "sxtb16 r10, r10 \n\t"                  \
  take("r4", "r7", "r9")                  \
  take("r6", "r7", "r10")                 \
  "smlad r2, r8, r11, r2 \n\t"            \
  "sxtb16 r11, r11 \n\t"                  \
  "smlad r5, r8, r12, r5 \n\t"            \
  "sxtb16 r12, r12 \n\t"                  \
  "smlad r4, r8, r11, r4 \n\t"            \
  "smlad r6, r8, r12, r6 \n\t"
#define NEAP_ONE_ADD NEAP_ONE_STEP(NEAP_ADD_PRODUCTS)
/* Outputs of two channels of one pixel, from the sums of halves a and of bytes c. */
#define NEAP_ONE_SCALED(a, c)            \
  "ldmia r0!, {r7, r8, r9, r10} \n\t"    \
  "sub " a ", " a ", " c " \n\t"         \
  "add " c ", r7, " c ", lsl #8 \n\t"    \
  "add " a ", " a ", r8 \n\t"            \
  "smmul " c ", " c ", r9 \n\t"          \
  "smmul " a ", " a ", r10 \n\t"         \
  "ssat " c ", #8, " c ", asr #12 \n\t"  \
  "ssat " a ", #8, " a ", asr #12 \n\t"
#define NEAP_ONE_ALL_SCALED NEAP_ONE_SCALED("r2", "r4") NEAP_ONE_SCALED("r5", "r6")
/* r7: the exponents; r3: what is added for rounding. */
#define NEAP_ONE_ROUNDED(a, c, next)     \
  "sub " a ", " a ", " c " \n\t"         \
  "add " a ", r9, " a ", asr #7 \n\t"    \
  "add " c ", r8, " c ", lsl #1 \n\t"    \
  NEAP_SCALE_SIGN(a, "r11") NEAP_SCALE_SIGN(c, "r10") NEAP_SHIFT(c, "r7", "r3") \
  "lsr r7, r7, #8 \n\t" NEAP_SHIFT(a, "r7", "r3") next
#define NEAP_ONE_ALL_ROUNDED                                \
  "ldmia r0!, {r7, r8, r9, r10, r11} \n\t"                  \
  NEAP_ONE_ROUNDED("r2", "r4", "lsr r7, r7, #8 \n\t")       \
  "ldmia r0!, {r8, r9, r10, r11} \n\t"                      \
  NEAP_ONE_ROUNDED("r5", "r6", "")
#define NEAP_ONE(outputs) \
  NEAP_FOURS_BEGIN      \
  "ldr r3, [sp, #28] \n"                                                      \
  "1: \n\t"                                                                   \
  "ldrd r0, lr, [sp] \n\t"                                                    \
  "cmp r0, lr \n\t"                                                           \
  "beq 7f \n\t"                                                               \
  NEAP_ONE_STEP(NEAP_FIRST_PRODUCTS) NEAP_ONE_ADD NEAP_ONE_ADD NEAP_ONE_ADD   \
  "cmp r0, lr \n\t"                                                           \
  "beq 3f \n"                                                                 \
  "2: \n\t" NEAP_ONE_ADD NEAP_ONE_ADD NEAP_ONE_ADD NEAP_ONE_ADD               \
  "cmp r0, lr \n\t"                                                           \
  "bne 2b \n"                                                                 \
  "3: \n\t"                                                                   \
  "ldr r12, [sp, #32] \n\t"                                                   \
  "cmp r12, #0 \n\t"                                                          \
  "bne 8f \n"                                                                 \
  "6: \n\t"                                                                   \
  "ldr r0, [sp, #12] \n\t"                                                    \
  outputs                                                                     \
  "ldr r10, [sp, #20] \n\t"                                                   \
  "strb r4, [r10], #1 \n\t"                                                   \
  "strb r2, [r10], #1 \n\t"                                                   \
  "strb r6, [r10], #1 \n\t"                                                   \
  "strb r5, [r10], #1 \n\t"                                                   \
  "str r10, [sp, #20] \n\t"                                                   \
  "str r0, [sp, #12] \n\t"                                                    \
  "ldr r12, [sp, #16] \n\t"                                                   \
  "cmp r0, r12 \n\t"                                                          \
  "bne 1b \n\t"                                                               \
  "b 9f \n"                                                                   \
  "7: \n\t"                                                                   \
  "mov r2, #0 \n\t"                                                           \
  "mov r4, #0 \n\t"                                                           \
  "mov r5, #0 \n\t"                                                           \
  "mov r6, #0 \n"                                                             \
  "8: \n\t"                                                                   \
  "ldr lr, [sp, #8] \n\t"                                                     \
  "cmp r0, lr \n\t"                                                           \
  "beq 5f \n"                                                                 \
  "4: \n\t"                                                                   \
  "ldr r7, [r0], #4 \n\t"                                                     \
  "ldmia r1!, {r9, r10} \n\t"                                                 \
  "smlad r2, r7, r9, r2 \n\t"                                                 \
  "sxtb16 r9, r9 \n\t"                                                        \
  "smlad r5, r7, r10, r5 \n\t"                                                \
  "sxtb16 r10, r10 \n\t"                                                      \
  "smlad r4, r7, r9, r4 \n\t"                                                 \
  "smlad r6, r7, r10, r6 \n\t"                                                \
  "cmp r0, lr \n\t"                                                           \
  "bne 4b \n"                                                                 \
  "5: \n\t"                                                                   \
  "ldr r12, [sp, #36] \n\t"                                                   \
  "cmp r12, #0 \n\t"                                                          \
  "beq 6b \n\t"                                                               \
  "ldr r7, [r0] \n\t"                                                         \
  "ldr r9, [r1], #4 \n\t"                                                     \
  "smlabb r2, r7, r9, r2 \n\t"                                                \
  "smlabt r5, r7, r9, r5 \n\t"                                                \
  "sxtb16 r9, r9 \n\t"                                                        \
  "smlabb r4, r7, r9, r4 \n\t"                                                \
  "smlabt r6, r7, r9, r6 \n\t"                                                \
  "b 6b \n"                                                                   \
  "9: \n\t"                                                                   \
  NEAP_FOURS_END

/* Returns the weights that are next. */
static NEAP_APART const uint32_t* neap_fours_run(const neap_packed* p, const neap_fours* fours,
                                                 uint32_t pixels) {
  register const void* at __asm__("r0") = fours;
  register const uint32_t* weights __asm__("r1");
  if (pixels == 2) {
    if (p->scaled != 0) {
      __asm__ volatile(NEAP_TWO(NEAP_TWO_ALL_SCALED) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
    } else {
      __asm__ volatile(NEAP_TWO(NEAP_TWO_ALL_ROUNDED) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
    }
  } else if (p->scaled != 0) {
    __asm__ volatile(NEAP_ONE(NEAP_ONE_ALL_SCALED) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
  } else {
    __asm__ volatile(NEAP_ONE(NEAP_ONE_ALL_ROUNDED) : "+r"(at), "=r"(weights) : : NEAP_CLOBBERS);
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
#undef NEAP_TWO_SCALED
#undef NEAP_TWO_ALL_SCALED
#undef NEAP_TWO_ROUNDED
#undef NEAP_TWO_ALL_ROUNDED
#undef NEAP_TWO
#undef NEAP_ONE_STEP
#undef NEAP_ONE_ADD
#undef NEAP_ONE_SCALED
#undef NEAP_ONE_ALL_SCALED
#undef NEAP_ONE_ROUNDED
#undef NEAP_ONE_ALL_ROUNDED
#undef NEAP_ONE
#undef NEAP_SCALE_SIGN
#undef NEAP_SHIFT

#else

/* Adds the products of one word of inputs to the sums of two channels: of halves, of lower bytes.
 */
static void neap_fours_add(uint32_t in, uint32_t weights, uint32_t* sums) {
  sums[0] = neap_add_products(in, weights, sums[0]);
  sums[1] = neap_add_products(in, neap_even_bytes(weights), sums[1]);
}

/* From the sums of two channels, that of the odd one. */
static uint32_t neap_odd_sum(const uint32_t* sums) {
  return (uint32_t)((int32_t)(sums[0] - sums[1]) >> 8);
}

/* Returns the weights that are next. */
static NEAP_APART const uint32_t* neap_fours_run(const neap_packed* p, const neap_fours* fours,
                                                 uint32_t pixels) {
  const uint32_t* weights = fours->weights;
  const uint32_t* channels = fours->channels;
  for (uint32_t at = 0; channels != fours->last; channels += NEAP_FOUR_CHANNELS(p), at += 4) {
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
        out[i] = neap_four_output(p, channels, i, i % 2 == 0 ? sum[1] : neap_odd_sum(sum));
      }
    }
  }
  return weights;
}

#endif

/* The channels that are no four: a pair, a single one, or both; of one pixel, whose words of inputs
 * are `step` apart. */
static void neap_packed_rest(const neap_packed* p, const uint32_t* in, uint32_t step,
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
    out[0] = neap_one_output(p, channels, bytes);
    channels += NEAP_ONE_CHANNEL(p);
    out[1] = neap_one_output(p, channels, (uint32_t)((int32_t)(halves - bytes) >> 8));
    channels += NEAP_ONE_CHANNEL(p);
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
  out[0] = neap_one_output(p, channels, sum);
}

/* The channels of pixels that are no four, and what is clamped to less than int8. */
static NEAP_APART void neap_packed_finish(const neap_packed* p, const neap_work* work,
                                          const uint32_t* weights, int8_t* out, uint32_t pixels) {
  const uint32_t fours = work->channels / 4 * 4;
  const uint32_t* in = (const uint32_t*)(const void*)work->scratch;
  for (uint32_t i = 0; i < pixels; ++i, ++in, out += work->out_step) {
    if (fours != work->channels) {
      neap_packed_rest(p, in, pixels, weights, p->channels + fours / 4 * NEAP_FOUR_CHANNELS(p),
                       work->channels - fours, out + fours);
    }
    neap_packed_clamp(p, out, work->channels);
  }
}

/* What the four channels of `pixels` pixels have in common. */
static void neap_fours_set(neap_fours* fours, uint32_t pairs, uint32_t pixels) {
  const uint32_t unrolled = (pixels == 2 ? pairs / 4 : pairs / 8) * 8;
  fours->unrolled = fours->in + unrolled;
  fours->end = fours->in + pairs * pixels;
  fours->rest = pairs + fours->single - unrolled / pixels;
}

#define NEAP_FINISHES 1
#define NEAP_NINES 2

void neap_conv_packed_s8(const neap_op* op, const neap_work* work) {
  const neap_packed* const p = (const neap_packed*)op->params;
  const uint32_t length = p->taps * p->inputs;
  const int8_t* const* taps = work->taps;
  const int finishes = work->channels % 4 != 0 || p->low != -128 || p->high != 127;
  const int nines = p->inputs == 3 && work->tap_pitch == 0 && neap_packed_are_nines(p, taps);
  const int flags = (finishes ? NEAP_FINISHES : 0) | (nines ? NEAP_NINES : 0); /* one register */
  uint32_t left = work->pixels;
  /* op->pixels: for how many there is scratch. */
  uint32_t pixels = left > 1 && (op->pixels & (NEAP_ROW_PAIRS - 1U)) > 1 ? 2 : 1;
  uint32_t skip = 0;
  neap_fours fours;
  fours.out = work->out;
  fours.in = (const uint32_t*)(const void*)work->scratch;
  fours.channels = p->channels;
  fours.last = p->channels + work->channels / 4 * NEAP_FOUR_CHANNELS(p);
  fours.rounding = p->rounding;
  fours.single = length % 2;
  fours.weights = p->weights;
  neap_fours_set(&fours, length / 2, pixels);
  for (;;) {
    const uint32_t* weights = fours.weights;
    uint32_t* const in = (uint32_t*)(void*)work->scratch;
    if (p->inputs % 4 == 0) {
      neap_packed_widen_fours(p, taps, taps + work->tap_pitch, skip, skip + work->step, in, pixels);
    } else if ((flags & NEAP_NINES) != 0 && pixels == 2) {
      neap_packed_widen_nines(taps, skip, work->step, in);
    } else if (p->inputs == 1 && pixels == 2 && work->tap_pitch == 0) {
      neap_packed_widen_ones(taps, p->taps, skip, work->step, in);
    } else {
      for (uint32_t i = 0; i < pixels; ++i) {
        neap_packed_widen(p, taps + i * work->tap_pitch, skip + i * work->step, in + i, pixels);
      }
    }
    fours.next = fours.out + work->out_step;
    if (fours.channels != fours.last) weights = neap_fours_run(p, &fours, pixels);
    if ((flags & NEAP_FINISHES) != 0) neap_packed_finish(p, work, weights, fours.out, pixels);
    left -= pixels;
    if (left == 0) break;
    fours.out += (ptrdiff_t)pixels * work->out_step;
    taps += pixels * work->tap_pitch;
    skip += pixels * work->step;
    if (left == 1 && pixels == 2) {
      pixels = 1;
      neap_fours_set(&fours, length / 2, pixels);
    }
  }
}

#undef NEAP_FINISHES
#undef NEAP_NINES
