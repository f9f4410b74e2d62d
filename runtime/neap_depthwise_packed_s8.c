/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Depthwise convolution with a multiplier of one on int8, for cores with Arm's DSP extension; in C
 * elsewhere. Weights: of four channels at a time, for two taps at a time a word with those of
 * channels 0 and 1 of the first tap, then of the second, and such a word of channels 2 and 3; of a
 * last single tap a word of all channels. Then, of each channel that is left, words of four taps.
 *
 * Two taps of a channel are one product: the lower halves of two words of inputs together are
 * channels 0 and 1 of two taps, of which the even and the odd bytes are one channel each.
 */
#include "neap_dsp.h"
#include "neap_rt.h"

#define NEAP_NINE 9 /* taps of a 3 x 3 window */

#ifdef NEAP_DSP_CORE

/* Two taps, whose addresses are `offset` bytes from r0 on: sums of four channels in r3 to r6. */
#define NEAP_NINE_TWO(offset, take) \
  "ldrd r7, r8, [r0, #" offset "] \n\t"   \
  "ldr r7, [r7, r2] \n\t"                 \
  "ldr r8, [r8, r2] \n\t"                 \
  "ldrd r9, r10, [r1], #8 \n\t"           \
  "pkhbt r11, r7, r8, lsl #16 \n\t"       \
  "pkhtb r8, r8, r7, asr #16 \n\t"        \
  "sxtb16 r7, r11 \n\t"                   \
  "sxtb16 r12, r9 \n\t"                   \
  take("r3", "r7", "r12")                 \
  "sxtb16 r11, r11, ror #8 \n\t"          \
  "sxtb16 r9, r9, ror #8 \n\t"            \
  take("r4", "r11", "r9")                 \
  "sxtb16 r7, r8 \n\t"                    \
  "sxtb16 r12, r10 \n\t"                  \
  take("r5", "r7", "r12")                 \
  "sxtb16 r8, r8, ror #8 \n\t"            \
  "sxtb16 r10, r10, ror #8 \n\t"          \
  take("r6", "r8", "r10")
#define NEAP_ADD_PRODUCTS(sum, a, b) "smlad " sum ", " a ", " b ", " sum " \n\t"
#define NEAP_FIRST_PRODUCTS(sum, a, b) "smuad " sum ", " a ", " b " \n\t"
/* The last tap, then the outputs. r2: from the taps to the first channel; lr: channels. In memory
 * from sp on: the end of channels, the address of the output less r2, what is added for rounding,
 * r7. */
#define NEAP_NINE_RUN(outputs) \
  "push {r3, r4, r5, r7} \n"                                                      \
  "1: \n\t"                                                                       \
  NEAP_NINE_TWO("0", NEAP_FIRST_PRODUCTS) NEAP_NINE_TWO("8", NEAP_ADD_PRODUCTS)   \
  NEAP_NINE_TWO("16", NEAP_ADD_PRODUCTS) NEAP_NINE_TWO("24", NEAP_ADD_PRODUCTS)   \
  "ldr r7, [r0, #32] \n\t"                                                        \
  "ldr r9, [r1], #4 \n\t"                                                         \
  "ldr r7, [r7, r2] \n\t"                                                         \
  "sxtb16 r11, r7 \n\t"                                                           \
  "sxtb16 r12, r9 \n\t"                                                           \
  "smlabb r3, r11, r12, r3 \n\t"                                                  \
  "smlatt r5, r11, r12, r5 \n\t"                                                  \
  "sxtb16 r7, r7, ror #8 \n\t"                                                    \
  "sxtb16 r9, r9, ror #8 \n\t"                                                    \
  "smlabb r4, r7, r9, r4 \n\t"                                                    \
  "smlatt r6, r7, r9, r6 \n\t"                                                    \
  outputs                                                                         \
  "ldrd r7, r8, [sp] \n\t"                                                        \
  "strb r3, [r8, r2] \n\t"                                                        \
  "add r8, r8, r2 \n\t"                                                           \
  "strb r4, [r8, #1] \n\t"                                                        \
  "strb r5, [r8, #2] \n\t"                                                        \
  "strb r6, [r8, #3] \n\t"                                                        \
  "add r2, r2, #4 \n\t"                                                           \
  "cmp lr, r7 \n\t"                                                               \
  "bne 1b \n\t"                                                                   \
  "add sp, sp, #12 \n\t"                                                          \
  "pop {r7} \n\t"
/* Two channels: their offsets and their factors. */
#define NEAP_SCALED_TWO(a, b)                                                    \
  "ldmia lr!, {r7, r8, r9, r10} \n\t"                                            \
  "add " a ", r7, " a ", lsl #8 \n\t"                                            \
  "add " b ", r8, " b ", lsl #8 \n\t"                                            \
  "smmul " a ", " a ", r9 \n\t"                                                  \
  "smmul " b ", " b ", r10 \n\t"                                                 \
  "ssat " a ", #8, " a ", asr #12 \n\t"                                          \
  "ssat " b ", #8, " b ", asr #12 \n\t"
#define NEAP_SCALED NEAP_SCALED_TWO("r3", "r4") NEAP_SCALED_TWO("r5", "r6")
/* Twice their biases, their fractions. The exponent of each channel is the lowest byte of r12: r11
 * is added after the shift. */
#define NEAP_ROUNDED_ONE(a, bias, fraction)                                      \
  "add " a ", " bias ", " a ", lsl #1 \n\t"                                      \
  "smmulr " a ", " a ", " fraction " \n\t"                                       \
  "add " a ", " a ", " a ", asr #31 \n\t"                                        \
  "asr " a ", " a ", r12 \n\t"                                                   \
  "add " a ", " a ", r11 \n\t"                                                   \
  "lsr r12, r12, #8 \n\t"                                                        \
  "ssat " a ", #8, " a ", asr #1 \n\t"
#define NEAP_ROUNDED_TWO(a, b)                                                   \
  "ldmia lr!, {r7, r8, r9, r10} \n\t"                                            \
  NEAP_ROUNDED_ONE(a, "r7", "r9") NEAP_ROUNDED_ONE(b, "r8", "r10")
#define NEAP_ROUNDED                                                             \
  "ldr r11, [sp, #8] \n\t"                                                       \
  "ldr r12, [lr], #4 \n\t"                                                       \
  NEAP_ROUNDED_TWO("r3", "r4") NEAP_ROUNDED_TWO("r5", "r6")
#define NEAP_NINE_ASM(outputs)                                                                  \
  __asm__ volatile(NEAP_NINE_RUN(outputs)                                                       \
                   : "+r"(from), "+r"(weights), "+r"(at), "+r"(last), "+r"(to), "+r"(rounding), \
                     "+r"(channels)                                                             \
                   :                                                                            \
                   : "r6", "r8", "r9", "r10", "r11", "r12", "cc", "memory")

#endif

/* One channel, `at` bytes behind the taps. */
static NEAP_APART void neap_depthwise_one(const neap_packed* p, const int8_t* const* taps,
                                          uint32_t channel, uint32_t at, uint32_t fours,
                                          int8_t* out) {
  const uint32_t* weights = p->weights;
  const uint32_t* channels = p->channels;
  uint32_t sum = 0;
  if (channel < fours) {
    const uint32_t lane = channel % 4;
    const uint32_t pairs = p->taps / 2 * 2;
    weights += channel / 4 * p->taps;
    channels += channel / 4 * NEAP_FOUR_CHANNELS(p);
    for (uint32_t i = 0; i < p->taps; ++i) {
      const uint32_t word = i < pairs ? weights[i / 2 * 2 + lane / 2] : weights[i];
      const uint32_t byte = i < pairs ? i % 2 * 2 + lane % 2 : lane;
      sum += (uint32_t)(taps[i][at] * (int8_t)(uint8_t)(word >> 8 * byte));
    }
    *out = neap_four_output(p, channels, lane, sum);
  } else {
    weights += fours / 4 * p->taps + (channel - fours) * ((p->taps + 3) / 4);
    channels += fours / 4 * NEAP_FOUR_CHANNELS(p) + (channel - fours) * NEAP_ONE_CHANNEL(p);
    const int8_t* const* const end = taps + p->taps;
    for (; end - taps >= 4; taps += 4, ++weights) {
      sum += (uint32_t)(taps[0][at] * (int8_t)(uint8_t)*weights);
      sum += (uint32_t)(taps[1][at] * (int8_t)(uint8_t)(*weights >> 8));
      sum += (uint32_t)(taps[2][at] * (int8_t)(uint8_t)(*weights >> 16));
      sum += (uint32_t)(taps[3][at] * (int8_t)(uint8_t)(*weights >> 24));
    }
    for (uint32_t bits = 0; taps != end; ++taps, bits += 8) {
      sum += (uint32_t)((*taps)[at] * (int8_t)(uint8_t)(*weights >> bits));
    }
    *out = neap_one_output(p, channels, sum);
  }
  neap_packed_clamp(p, out, 1);
}

/* Four channels from `channel` on, of any number of taps; channel 0 is `skip` bytes behind them. */
static void neap_depthwise_four(const neap_packed* p, const int8_t* const* taps, uint32_t skip,
                                uint32_t channel, int8_t* out) {
  const uint32_t* weights = p->weights + channel / 4 * p->taps;
  const uint32_t* const channels = p->channels + channel / 4 * NEAP_FOUR_CHANNELS(p);
  const int8_t* const* const end = taps + p->taps / 2 * 2;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  for (; taps != end; taps += 2, weights += 2) {
    const uint32_t first = neap_load_word(taps[0] + skip + channel);
    const uint32_t second = neap_load_word(taps[1] + skip + channel);
    const uint32_t lower = (first & 0xffffU) | second << 16;
    const uint32_t upper = first >> 16 | (second & 0xffff0000U);
    a = neap_add_products(neap_even_bytes(lower), neap_even_bytes(weights[0]), a);
    b = neap_add_products(neap_odd_bytes(lower), neap_odd_bytes(weights[0]), b);
    c = neap_add_products(neap_even_bytes(upper), neap_even_bytes(weights[1]), c);
    d = neap_add_products(neap_odd_bytes(upper), neap_odd_bytes(weights[1]), d);
  }
  if (p->taps % 2 != 0) {
    const uint32_t in = neap_load_word(taps[0] + skip + channel);
    a = neap_add_lower(neap_even_bytes(in), neap_even_bytes(weights[0]), a);
    c = neap_add_upper(neap_even_bytes(in), neap_even_bytes(weights[0]), c);
    b = neap_add_lower(neap_odd_bytes(in), neap_odd_bytes(weights[0]), b);
    d = neap_add_upper(neap_odd_bytes(in), neap_odd_bytes(weights[0]), d);
  }
  out[0] = neap_four_output(p, channels, 0, a);
  out[1] = neap_four_output(p, channels, 1, b);
  out[2] = neap_four_output(p, channels, 2, c);
  out[3] = neap_four_output(p, channels, 3, d);
  neap_packed_clamp(p, out, 4);
}

#ifdef NEAP_DSP_CORE
/* All channels of all pixels, of nine taps. */
static void neap_depthwise_nine(const neap_packed* p, const neap_work* work) {
  const uint32_t four_channels = work->channels / 4 * 4;
  const int8_t* const* taps = work->taps;
  const uint32_t* const all_weights = p->weights;
  const uint32_t* const first_channel = p->channels;
  const uint32_t* const end = first_channel + four_channels / 4 * NEAP_FOUR_CHANNELS(p);
  const uint32_t scaled = p->scaled;
  const int finishes = four_channels != work->channels || p->low != -128 || p->high != 127;
  int8_t* out = work->out;
  uint32_t skip = 0;
  for (uint32_t pixel = work->pixels; pixel > 0; --pixel) {
    register const int8_t* const* from __asm__("r0") = taps;
    register const uint32_t* weights __asm__("r1") = all_weights;
    register uint32_t at __asm__("r2") = skip;
    register const uint32_t* last __asm__("r3") = end;
    register int8_t* to __asm__("r4") = out - skip;
    register int32_t rounding __asm__("r5") = p->rounding;
    register const uint32_t* channels __asm__("lr") = first_channel;
    if (scaled != 0) {
      NEAP_NINE_ASM(NEAP_SCALED);
    } else {
      NEAP_NINE_ASM(NEAP_ROUNDED);
    }
    if (finishes) {
      neap_packed_clamp(p, out, four_channels);
      for (uint32_t i = four_channels; i < work->channels; ++i) {
        neap_depthwise_one(p, taps, i, skip + i, four_channels, out + i);
      }
    }
    taps += work->tap_pitch;
    skip += work->step;
    out += work->out_step;
  }
}

#undef NEAP_NINE_TWO
#undef NEAP_ADD_PRODUCTS
#undef NEAP_FIRST_PRODUCTS
#undef NEAP_SCALED_TWO
#undef NEAP_SCALED
#undef NEAP_ROUNDED_ONE
#undef NEAP_ROUNDED_TWO
#undef NEAP_ROUNDED
#undef NEAP_NINE_RUN
#undef NEAP_NINE_ASM
#endif

void neap_depthwise_packed_s8(const neap_op* op, const neap_work* work) {
  const neap_packed* const p = (const neap_packed*)op->params;
  const uint32_t all = op->views[0]->pixel_bytes;
  const uint32_t fours = all / 4 * 4;
  const int8_t* const* taps = work->taps;
  int8_t* out = work->out;
  uint32_t skip = 0;
#ifdef NEAP_DSP_CORE
  if (p->taps == NEAP_NINE && work->channels == all && fours != 0) {
    neap_depthwise_nine(p, work);
    return;
  }
#endif
  for (uint32_t pixel = 0; pixel < work->pixels; ++pixel) {
    uint32_t at = 0;
    if (work->channels == all) {
      for (; at < fours; at += 4) neap_depthwise_four(p, taps, skip, at, out + at);
    }
    for (; at < work->channels; ++at) {
      neap_depthwise_one(p, taps, work->first + at, skip + at, fours, out + at);
    }
    taps += work->tap_pitch;
    skip += work->step;
    out += work->out_step;
  }
}

#undef NEAP_NINE
