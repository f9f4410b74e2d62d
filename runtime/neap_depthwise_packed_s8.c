/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Depthwise convolution with a multiplier of one on int8, for cores with Arm's DSP extension; in C
 * elsewhere. Weights: of four channels at a time, a word for each tap. Then, of each channel that is
 * left, words of four taps.
 */
#include "neap_rt.h"

#define NEAP_NINE 9 /* taps of a 3 x 3 window */

#ifdef NEAP_DSP_CORE

/* Two taps, whose addresses are `offset` bytes from r0 on: sums of channels 0, 2, 1 and 3 in r3 to r6. */
#define NEAP_NINE_TWO(offset)              \
  "ldrd r7, r8, [r0, #" offset "] \n\t"    \
  "ldrd r9, r10, [r1], #8 \n\t"            \
  "ldr r7, [r7, r2] \n\t"                  \
  "ldr r8, [r8, r2] \n\t"                  \
  "sxtb16 r11, r7 \n\t"                    \
  "sxtb16 r12, r9 \n\t"                    \
  "smlabb r3, r11, r12, r3 \n\t"           \
  "smlatt r4, r11, r12, r4 \n\t"           \
  "sxtb16 r7, r7, ror #8 \n\t"             \
  "sxtb16 r9, r9, ror #8 \n\t"             \
  "smlabb r5, r7, r9, r5 \n\t"             \
  "smlatt r6, r7, r9, r6 \n\t"             \
  "sxtb16 r11, r8 \n\t"                    \
  "sxtb16 r12, r10 \n\t"                   \
  "smlabb r3, r11, r12, r3 \n\t"           \
  "smlatt r4, r11, r12, r4 \n\t"           \
  "sxtb16 r8, r8, ror #8 \n\t"             \
  "sxtb16 r10, r10, ror #8 \n\t"           \
  "smlabb r5, r8, r10, r5 \n\t"            \
  "smlatt r6, r8, r10, r6 \n\t"
/* Of four channels at a time, all nine taps. In memory from sp on: channels, their end, rounding,
 * address of the output, r7. */
#define NEAP_NINE_RUN(sign)                    \
  "push {r3, r4, r5, r6, r7} \n\t"             \
  "mov r2, #0 \n"                              \
  "1: \n\t"                                    \
  "ldr r7, [r0] \n\t"                          \
  "ldr r9, [r1], #4 \n\t"                      \
  "ldr r7, [r7, r2] \n\t"                      \
  "sxtb16 r11, r7 \n\t"                        \
  "sxtb16 r12, r9 \n\t"                        \
  "smulbb r3, r11, r12 \n\t"                   \
  "smultt r4, r11, r12 \n\t"                   \
  "sxtb16 r7, r7, ror #8 \n\t"                 \
  "sxtb16 r9, r9, ror #8 \n\t"                 \
  "smulbb r5, r7, r9 \n\t"                     \
  "smultt r6, r7, r9 \n\t"                     \
  NEAP_NINE_TWO("4") NEAP_NINE_TWO("12")       \
  NEAP_NINE_TWO("20") NEAP_NINE_TWO("28")      \
  "ldr lr, [sp] \n\t"                          \
  "ldr r12, [sp, #8] \n\t"                     \
  "ldmia lr!, {r7, r8, r9, r10} \n\t"          \
  "add r3, r7, r3, lsl #1 \n\t"                \
  "add r5, r8, r5, lsl #1 \n\t"                \
  "smmulr r3, r3, r9 \n\t"                     \
  "smmulr r5, r5, r10 \n\t"                    \
  "ldmia lr!, {r7, r8, r9, r10, r11} \n\t"     \
  "str lr, [sp] \n\t"                          \
  "add r4, r7, r4, lsl #1 \n\t"                \
  "add r6, r8, r6, lsl #1 \n\t"                \
  "smmulr r4, r4, r9 \n\t"                     \
  "smmulr r6, r6, r10 \n\t"                    \
  sign("r3") sign("r4") sign("r5") sign("r6")  \
  "asr r3, r3, r11 \n\t"                       \
  "lsr r11, r11, #8 \n\t"                      \
  "asr r5, r5, r11 \n\t"                       \
  "lsr r11, r11, #8 \n\t"                      \
  "asr r4, r4, r11 \n\t"                       \
  "lsr r11, r11, #8 \n\t"                      \
  "asr r6, r6, r11 \n\t"                       \
  "add r3, r3, r12 \n\t"                       \
  "add r4, r4, r12 \n\t"                       \
  "add r5, r5, r12 \n\t"                       \
  "add r6, r6, r12 \n\t"                       \
  "ssat r3, #8, r3, asr #1 \n\t"               \
  "ssat r4, #8, r4, asr #1 \n\t"               \
  "ssat r5, #8, r5, asr #1 \n\t"               \
  "ssat r6, #8, r6, asr #1 \n\t"               \
  "ldr r8, [sp, #4] \n\t"                     \
  "ldr r7, [sp, #12] \n\t"                     \
  "add r7, r7, r2 \n\t"                        \
  "strb r3, [r7] \n\t"                         \
  "strb r5, [r7, #1] \n\t"                     \
  "strb r4, [r7, #2] \n\t"                     \
  "strb r6, [r7, #3] \n\t"                     \
  "add r2, r2, #4 \n\t"                        \
  "cmp lr, r8 \n\t"                            \
  "bne 1b \n\t"                                \
  "add sp, sp, #16 \n\t"                       \
  "pop {r7} \n\t"
#define NEAP_SIGN(a) "add " a ", " a ", " a ", asr #31 \n\t"
#define NEAP_NO_SIGN(a)
#define NEAP_NINE_ASM(sign)                                                                       \
  __asm__ volatile(NEAP_NINE_RUN(sign)                                                            \
                   : "+r"(from), "+r"(weights), "+r"(channels), "+r"(last), "+r"(rounding),       \
                     "+r"(to)                                                                     \
                   :                                                                              \
                   : "r2", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory")

/* The channels that are four at a time, from the first one on, of nine taps. */
static void neap_depthwise_nine(const neap_packed* p, const int8_t* const* taps, int8_t* out,
                                uint32_t four_channels) {
  register const int8_t* const* from __asm__("r0") = taps;
  register const uint32_t* weights __asm__("r1") = p->weights;
  register const uint32_t* channels __asm__("r3") = p->channels;
  register const uint32_t* last __asm__("r4") =
      p->channels + four_channels / 4 * NEAP_FOUR_CHANNELS;
  register int32_t rounding __asm__("r5") = p->rounding;
  register int8_t* to __asm__("r6") = out;
  if (p->positive != 0) {
    NEAP_NINE_ASM(NEAP_NO_SIGN);
  } else {
    NEAP_NINE_ASM(NEAP_SIGN);
  }
}

#undef NEAP_NINE_TWO
#undef NEAP_NINE_RUN
#undef NEAP_NINE_ASM
#undef NEAP_SIGN
#undef NEAP_NO_SIGN
#endif

/* One channel; `at`: from the first one that taps begin with. */
static void neap_depthwise_one(const neap_packed* p, const int8_t* const* taps, uint32_t channel,
                               uint32_t at, uint32_t fours, int8_t* out) {
  const uint32_t* weights = p->weights;
  const uint32_t* channels = p->channels;
  uint32_t sum = 0;
  if (channel < fours) {
    const uint32_t lane = channel % 4;
    weights += channel / 4 * p->taps;
    channels += channel / 4 * NEAP_FOUR_CHANNELS;
    for (uint32_t i = 0; i < p->taps; ++i) {
      sum += (uint32_t)(taps[i][at] * (int8_t)(uint8_t)(weights[i] >> 8 * lane));
    }
    *out = neap_packed_output(p, (sum << 1) + channels[lane / 2 * 4 + lane % 2],
                              channels[lane / 2 * 4 + 2 + lane % 2],
                              channels[8] >> 8 * lane & 0xffU);
  } else {
    weights += fours / 4 * p->taps + (channel - fours) * ((p->taps + 3) / 4);
    channels += fours / 4 * NEAP_FOUR_CHANNELS + (channel - fours) * NEAP_ONE_CHANNEL;
    for (uint32_t i = 0; i < p->taps; ++i) {
      sum += (uint32_t)(taps[i][at] * (int8_t)(uint8_t)(weights[i / 4] >> 8 * (i % 4)));
    }
    *out = neap_packed_output(p, (sum << 1) + channels[0], channels[1], channels[2]);
  }
  neap_packed_clamp(p, out, 1);
}

/* Four channels from `channel` on, of any number of taps that begin with channel 0. */
static void neap_depthwise_four(const neap_packed* p, const int8_t* const* taps, uint32_t channel,
                                int8_t* out) {
  const uint32_t* weights = p->weights + channel / 4 * p->taps;
  const uint32_t* const channels = p->channels + channel / 4 * NEAP_FOUR_CHANNELS;
  const int8_t* const* const end = taps + p->taps;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  for (; taps != end; ++taps, ++weights) {
    const uint32_t in = neap_load_word(*taps + channel);
    const uint32_t even = neap_even_bytes(in);
    const uint32_t weight_even = neap_even_bytes(*weights);
    const uint32_t odd = neap_odd_bytes(in);
    const uint32_t weight_odd = neap_odd_bytes(*weights);
    a = neap_add_lower(even, weight_even, a);
    c = neap_add_upper(even, weight_even, c);
    b = neap_add_lower(odd, weight_odd, b);
    d = neap_add_upper(odd, weight_odd, d);
  }
  out[0] = neap_packed_output(p, (a << 1) + channels[0], channels[2], channels[8] & 0xffU);
  out[1] = neap_packed_output(p, (b << 1) + channels[1], channels[3], channels[8] >> 8 & 0xffU);
  out[2] = neap_packed_output(p, (c << 1) + channels[4], channels[6], channels[8] >> 16 & 0xffU);
  out[3] = neap_packed_output(p, (d << 1) + channels[5], channels[7], channels[8] >> 24);
  neap_packed_clamp(p, out, 4);
}

void neap_depthwise_packed_s8(const neap_op* op, const neap_work* work) {
  const neap_packed* const p = (const neap_packed*)op->params;
  const uint32_t pitch = op->views[0]->pixel_bytes;
  const uint32_t fours = pitch / 4 * 4;
  const int8_t* const* taps = work->taps;
  int8_t* out = work->out;
  for (uint32_t pixel = 0; pixel < work->pixels; ++pixel, taps += p->taps, out += pitch) {
    uint32_t at = 0;
    if (work->channels == pitch) {
#ifdef NEAP_DSP_CORE
      if (p->taps == NEAP_NINE && fours != 0) {
        neap_depthwise_nine(p, taps, out, fours);
        neap_packed_clamp(p, out, fours);
        at = fours;
      }
#endif
      for (; at < fours; at += 4) neap_depthwise_four(p, taps, at, out + at);
    }
    for (; at < work->channels; ++at) {
      neap_depthwise_one(p, taps, work->first + at, at, fours, out + at);
    }
  }
}

#undef NEAP_NINE
