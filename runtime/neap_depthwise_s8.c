/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Depthwise convolution in portable C: output channel c reads channel c / multiplier of every tap.
 * With a multiplier of one, four channels at a time, of two pixels where their outputs share no
 * byte with what is read for them.
 */
#include "neap_rt.h"

#ifdef NEAP_SMALL
#define NEAP_PARAMS neap_small
#define NEAP_DEPTHWISE neap_depthwise_small_s8
#define NEAP_TWICE neap_depthwise_twice_small_s8
#define NEAP_FOUR neap_depthwise_four_small_s8
#define NEAP_REST neap_depthwise_rest_small_s8
#define NEAP_PIXEL neap_depthwise_pixel_small_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(byte))
#elif defined(NEAP_UINT8)
#define NEAP_DEPTHWISE neap_depthwise_u8
#define NEAP_TWICE neap_depthwise_twice_u8
#define NEAP_FOUR neap_depthwise_four_u8
#define NEAP_REST neap_depthwise_rest_u8
#define NEAP_PIXEL neap_depthwise_pixel_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(uint8_t)(byte)-conv->weight_zero)
#else
#define NEAP_DEPTHWISE neap_depthwise_s8
#define NEAP_TWICE neap_depthwise_twice_s8
#define NEAP_FOUR neap_depthwise_four_s8
#define NEAP_REST neap_depthwise_rest_s8
#define NEAP_PIXEL neap_depthwise_pixel_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(byte))
#endif
#ifndef NEAP_SMALL
#define NEAP_PARAMS neap_conv
#define NEAP_OUTPUTS(conv, channel, sums, out, next) \
  neap_conv_outputs(conv, channel, sums, out, next)
#define NEAP_OUTPUT_ONE(conv, channel, sum, out) neap_conv_output_one(conv, channel, sum, out)
#endif

/* A statement that keeps compilers from loading ahead more than there are registers for. */
#if defined(__GNUC__) && (defined(__thumb2__) || defined(__riscv))
#define NEAP_KEEP(a, b, c, d) __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))
#else
#define NEAP_KEEP(a, b, c, d) (void)0
#endif

/* Sums of four channels. `outputs` is the number of channels of the whole operator; taps begin with
 * channel `at`. */
static NEAP_APART void NEAP_FOUR(const NEAP_PARAMS* conv, const int8_t* const* taps,
                                 const int8_t* weights, uint32_t outputs, uint32_t at,
                                 uint32_t* sums) {
  const int8_t* const* const last = taps + conv->taps;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  for (; taps != last; weights += outputs) {
    const int8_t* const in = *taps++ + at;
    a += (uint32_t)(NEAP_VALUE(in[0]) * NEAP_WEIGHT(weights[0]));
    b += (uint32_t)(NEAP_VALUE(in[1]) * NEAP_WEIGHT(weights[1]));
    c += (uint32_t)(NEAP_VALUE(in[2]) * NEAP_WEIGHT(weights[2]));
    d += (uint32_t)(NEAP_VALUE(in[3]) * NEAP_WEIGHT(weights[3]));
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

/* The same of two pixels, which share the loads of weights. */
static NEAP_APART void NEAP_TWICE(const NEAP_PARAMS* conv, const int8_t* const* taps,
                                  const int8_t* weights, uint32_t outputs, uint32_t at,
                                  uint32_t pitch, uint32_t step, uint32_t* sums) {
  const int8_t* const* const last = taps + conv->taps;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  uint32_t e = 0;
  uint32_t f = 0;
  uint32_t g = 0;
  uint32_t h = 0;
  do {
    const int8_t* const next = taps[pitch] + at + step;
    const int8_t* in = *taps + at;
    int32_t weight = NEAP_WEIGHT(weights[0]);
    a += (uint32_t)(NEAP_VALUE(in[0]) * weight);
    e += (uint32_t)(NEAP_VALUE(next[0]) * weight);
    NEAP_KEEP(weights, in, a, e);
    weight = NEAP_WEIGHT(weights[1]);
    b += (uint32_t)(NEAP_VALUE(in[1]) * weight);
    f += (uint32_t)(NEAP_VALUE(next[1]) * weight);
    NEAP_KEEP(weights, in, b, f);
    weight = NEAP_WEIGHT(weights[2]);
    c += (uint32_t)(NEAP_VALUE(in[2]) * weight);
    g += (uint32_t)(NEAP_VALUE(next[2]) * weight);
    NEAP_KEEP(weights, in, c, g);
    weight = NEAP_WEIGHT(weights[3]);
    d += (uint32_t)(NEAP_VALUE(in[3]) * weight);
    h += (uint32_t)(NEAP_VALUE(next[3]) * weight);
    NEAP_KEEP(weights, in, d, h);
    weights += outputs;
  } while (++taps != last);
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
  sums[4] = e;
  sums[5] = f;
  sums[6] = g;
  sums[7] = h;
}

/* The channels of a pixel from `channel` on, one at a time; taps begin with channel `base`. */
static NEAP_APART void NEAP_REST(const NEAP_PARAMS* conv, const int8_t* const* taps, uint32_t skip,
                                 uint32_t outputs, uint32_t channel, uint32_t last, uint32_t base,
                                 int8_t* out) {
  for (; channel < last; ++channel, ++out) {
    const uint32_t at = channel / conv->group_outputs - base + skip;
    const int8_t* weights = conv->weights + channel;
    uint32_t sum = 0;
    for (uint32_t t = 0; t < conv->taps; ++t, weights += outputs) {
      sum += (uint32_t)(NEAP_VALUE(taps[t][at]) * NEAP_WEIGHT(*weights));
    }
    NEAP_OUTPUT_ONE(conv, channel, sum, out);
  }
}

/* One pixel, or two where `next` is not `out`. */
static void NEAP_PIXEL(const neap_op* op, const neap_work* work, const int8_t* const* taps,
                       uint32_t skip, int8_t* out, int8_t* next) {
  const NEAP_PARAMS* const conv = (const NEAP_PARAMS*)op->params;
  const uint32_t outputs = op->views[0]->pixel_bytes;
  const uint32_t base = work->first / conv->group_outputs;
  const uint32_t last = work->first + work->channels;
  const int both = next != out;
  uint32_t channel = work->first;
  uint32_t at = channel - base + skip;
  uint32_t sums[8];
  if (conv->group_outputs == 1) {
    for (; last - channel >= 4; channel += 4, at += 4, out += 4, next += 4) {
      const int8_t* const weights = conv->weights + channel;
      if (both) {
        NEAP_TWICE(conv, taps, weights, outputs, at, work->tap_pitch, work->step, sums);
      } else {
        NEAP_FOUR(conv, taps, weights, outputs, at, sums);
      }
      NEAP_OUTPUTS(conv, channel, sums, out, next);
    }
  }
  if (channel == last) return;
  NEAP_REST(conv, taps, skip, outputs, channel, last, base, out);
  if (both) {
    NEAP_REST(conv, taps + work->tap_pitch, skip + work->step, outputs, channel, last, base, next);
  }
}

void NEAP_DEPTHWISE(const neap_op* op, const neap_work* work) {
  const NEAP_PARAMS* const conv = (const NEAP_PARAMS*)op->params;
  const int8_t* const* taps = work->taps;
  int8_t* out = work->out;
  uint32_t skip = 0;
  uint32_t left = work->pixels;
  const int apart = left > 1 && neap_pixels_are_apart(op, conv->taps, work, taps, 0, out, left);
  while (left > 0) {
    const int both =
        left > 1 &&
        (apart || (work->pixels > 2 && neap_pixels_are_apart(op, conv->taps, work, taps, skip, out, 2)));
    const uint32_t pixels = both ? 2 : 1;
    NEAP_PIXEL(op, work, taps, skip, out, both ? out + work->out_step : out);
    taps += pixels * work->tap_pitch;
    skip += pixels * work->step;
    out += (ptrdiff_t)pixels * work->out_step;
    left -= pixels;
  }
}

#undef NEAP_PARAMS
#undef NEAP_OUTPUTS
#undef NEAP_OUTPUT_ONE
#undef NEAP_DEPTHWISE
#undef NEAP_TWICE
#undef NEAP_FOUR
#undef NEAP_REST
#undef NEAP_KEEP
#undef NEAP_PIXEL
#undef NEAP_VALUE
#undef NEAP_WEIGHT
