/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Convolutions in portable C; pointwise and fully connected operators have one tap. Four output
 * channels at a time share the loads of the input, and two pixels those of the weights. A group of
 * channels is written after all reads for it, so outputs may overlap inputs as far as under a
 * kernel that computes one at a time: two pixels are computed together where their outputs share no
 * byte with what is read for them.
 */
#include "neap_rt.h"

#ifdef NEAP_SMALL
#define NEAP_PARAMS neap_small
#define NEAP_CONV neap_conv_small_s8
#define NEAP_TWICE neap_conv_twice_small_s8
#define NEAP_POINT neap_conv_point_small_s8
#define NEAP_FOUR neap_conv_four_small_s8
#define NEAP_ONE neap_conv_one_small_s8
#define NEAP_PIXEL neap_conv_pixel_small_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(byte))
#elif defined(NEAP_UINT8)
#define NEAP_CONV neap_conv_u8
#define NEAP_TWICE neap_conv_twice_u8
#define NEAP_POINT neap_conv_point_u8
#define NEAP_POINTS neap_conv_points_u8
#define NEAP_FEW neap_conv_few_u8
#define NEAP_FOUR neap_conv_four_u8
#define NEAP_ONE neap_conv_one_u8
#define NEAP_PIXEL neap_conv_pixel_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(uint8_t)(byte)-conv->weight_zero)
#else
#define NEAP_CONV neap_conv_s8
#define NEAP_TWICE neap_conv_twice_s8
#define NEAP_POINT neap_conv_point_s8
#define NEAP_POINTS neap_conv_points_s8
#define NEAP_FEW neap_conv_few_s8
#define NEAP_FOUR neap_conv_four_s8
#define NEAP_ONE neap_conv_one_s8
#define NEAP_PIXEL neap_conv_pixel_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(byte))
#endif
#ifndef NEAP_SMALL
#define NEAP_PARAMS neap_conv
#define NEAP_OUTPUTS(conv, channel, sums, out, next) \
  neap_conv_outputs(conv, channel, sums, out, next)
#define NEAP_OUTPUT_ONE(conv, channel, sum, out) neap_conv_output_one(conv, channel, sum, out)
#endif

/* Statements that keep compilers from two things: adding up products of several steps before they
 * add them to a sum, and loading ahead more than there are registers for. */
#if defined(__GNUC__) && defined(__thumb2__)
#define NEAP_KEEP(a, b, c, d) __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))
#elif defined(__GNUC__) && !defined(__thumb__)
#define NEAP_KEEP(a, b, c, d) __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : : "memory")
#else
#define NEAP_KEEP(a, b, c, d) (void)0
#endif

/* Input i of a tap, of one pixel and of two. Sums are modulo 2^32. */
#define NEAP_STEP(i)                                            \
  {                                                             \
    const int32_t value = NEAP_VALUE(in[i]);                    \
    NEAP_KEEP(a, b, c, d);                                      \
    a += (uint32_t)(value * NEAP_WEIGHT(weights[4 * (i)]));     \
    b += (uint32_t)(value * NEAP_WEIGHT(weights[4 * (i) + 1])); \
    c += (uint32_t)(value * NEAP_WEIGHT(weights[4 * (i) + 2])); \
    d += (uint32_t)(value * NEAP_WEIGHT(weights[4 * (i) + 3])); \
  }
#define NEAP_STEP_TWICE(i)                          \
  {                                                 \
    const int32_t value = NEAP_VALUE(in[i]);        \
    const int32_t other = NEAP_VALUE(next[i]);      \
    int32_t weight = NEAP_WEIGHT(weights[4 * (i)]); \
    NEAP_KEEP(a, b, c, d);                          \
    NEAP_KEEP(e, f, g, h);                          \
    a += (uint32_t)(value * weight);                \
    e += (uint32_t)(other * weight);                \
    weight = NEAP_WEIGHT(weights[4 * (i) + 1]);     \
    b += (uint32_t)(value * weight);                \
    f += (uint32_t)(other * weight);                \
    weight = NEAP_WEIGHT(weights[4 * (i) + 2]);     \
    c += (uint32_t)(value * weight);                \
    g += (uint32_t)(other * weight);                \
    weight = NEAP_WEIGHT(weights[4 * (i) + 3]);     \
    d += (uint32_t)(value * weight);                \
    h += (uint32_t)(other * weight);                \
  }

/* The sums of four channels. `at`: bytes from the taps to the inputs. */
static NEAP_APART void NEAP_FOUR(const NEAP_PARAMS* conv, const int8_t* weights,
                                 const int8_t* const* taps, uint32_t at, uint32_t* sums) {
  const uint32_t inputs = conv->inputs;
  const int8_t* const* const last = taps + conv->taps;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  do {
    const int8_t* in = *taps++ + at;
    const int8_t* const end = in + inputs;
#ifndef NEAP_FEW_REGISTERS
    for (const int8_t* const fours = in + inputs / 4 * 4; in != fours; in += 4, weights += 16) {
      NEAP_STEP(0) NEAP_STEP(1) NEAP_STEP(2) NEAP_STEP(3)
    }
#endif
    for (; in != end; ++in, weights += 4) NEAP_STEP(0)
  } while (taps != last);
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

/* The same of two pixels. */
static NEAP_APART void NEAP_TWICE(const NEAP_PARAMS* conv, const int8_t* weights,
                                  const int8_t* const* taps, uint32_t at, uint32_t pitch,
                                  uint32_t step, uint32_t* sums) {
  const uint32_t inputs = conv->inputs;
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
    const int8_t* in = *taps + at;
    const int8_t* next = taps[pitch] + at + step;
    const int8_t* const end = in + inputs;
    for (const int8_t* const fours = in + inputs / 4 * 4; in != fours;
         in += 4, next += 4, weights += 16) {
      NEAP_STEP_TWICE(0) NEAP_STEP_TWICE(1) NEAP_STEP_TWICE(2) NEAP_STEP_TWICE(3)
    }
    for (; in != end; ++in, ++next, weights += 4) NEAP_STEP_TWICE(0)
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

#ifndef NEAP_SMALL
/* The same of taps with few inputs. */
static NEAP_APART void NEAP_FEW(const NEAP_PARAMS* conv, const int8_t* weights,
                                const int8_t* const* taps, uint32_t at, uint32_t pitch,
                                uint32_t step, uint32_t* sums) {
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
    const int8_t* in = *taps + at;
    const int8_t* next = taps[pitch] + at + step;
    const int8_t* const end = in + conv->inputs;
    do {
      NEAP_STEP_TWICE(0)
      ++in;
      ++next;
      weights += 4;
    } while (in != end);
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

#endif

/* The same of one tap with a multiple of eight inputs. */
static NEAP_APART void NEAP_POINT(const NEAP_PARAMS* conv, const int8_t* weights, const int8_t* in,
                                  const int8_t* next, uint32_t* sums) {
  const int8_t* const end = in + conv->inputs;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  uint32_t e = 0;
  uint32_t f = 0;
  uint32_t g = 0;
  uint32_t h = 0;
  do {
    NEAP_STEP_TWICE(0)
    NEAP_STEP_TWICE(1)
    NEAP_STEP_TWICE(2)
    NEAP_STEP_TWICE(3)
    NEAP_STEP_TWICE(4) NEAP_STEP_TWICE(5) NEAP_STEP_TWICE(6) NEAP_STEP_TWICE(7) in += 8;
    next += 8;
    weights += 32;
  } while (in != end);
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
  sums[4] = e;
  sums[5] = f;
  sums[6] = g;
  sums[7] = h;
}

/* A channel that is left. */
static NEAP_APART void NEAP_ONE(const NEAP_PARAMS* conv, const int8_t* weights,
                                const int8_t* const* taps, uint32_t at, uint32_t channel,
                                int8_t* out) {
  uint32_t sum = 0;
  for (uint32_t t = 0; t < conv->taps; ++t) {
    const int8_t* in = taps[t] + at;
    const int8_t* const end = in + conv->inputs;
    while (in != end) sum += (uint32_t)(NEAP_VALUE(*in++) * NEAP_WEIGHT(*weights++));
  }
  NEAP_OUTPUT_ONE(conv, channel, sum, out);
}

#ifndef NEAP_SMALL
/* Two pixels of one tap; all channels but those that are left are one group. */
static NEAP_APART void NEAP_POINTS(const NEAP_PARAMS* conv, const int8_t* in, const int8_t* next_in,
                                   uint32_t channels, int8_t* out, int8_t* next) {
  const uint32_t bytes = 4 * conv->inputs;
  const int8_t* weights = conv->weights;
  uint32_t sums[8];
  for (uint32_t channel = 0; channel != channels; channel += 4) {
    NEAP_POINT(conv, weights, in, next_in, sums);
    NEAP_OUTPUTS(conv, channel, sums, out, next);
    weights += bytes;
    out += 4;
    next += 4;
  }
}

#endif

/* All channels of one pixel, or of two where `next` is not `out`. */
static void NEAP_PIXEL(const NEAP_PARAMS* conv, const neap_work* work, const int8_t* const* taps,
                       uint32_t at, int8_t* out, int8_t* next) {
  const uint32_t length = (uint32_t)conv->taps * conv->inputs;
  const int both = next != out;
  const int8_t* weights = conv->weights;
  uint32_t channel = 0;
  uint32_t sums[8];
#ifndef NEAP_SMALL
  if (both && conv->taps == 1 && conv->inputs % 8 == 0 && work->channels == conv->group_outputs) {
    channel = work->channels / 4 * 4;
    NEAP_POINTS(conv, taps[0] + at, taps[work->tap_pitch] + at + work->step, channel, out, next);
    weights += channel * length;
    out += channel;
    next += channel;
  }
#endif
  for (uint32_t begin = 0; begin != work->channels; begin = channel, at += conv->inputs) {
    const uint32_t left = work->channels - begin;
    const uint32_t end = begin + (left < conv->group_outputs ? left : conv->group_outputs);
    for (; end - channel >= 4; channel += 4, out += 4, next += 4, weights += 4 * length) {
      if (!both) {
        NEAP_FOUR(conv, weights, taps, at, sums);
#ifdef NEAP_SMALL
      } else if (conv->taps == 1 && conv->inputs % 8 == 0) {
        NEAP_POINT(conv, weights, taps[0] + at, taps[work->tap_pitch] + at + work->step, sums);
#else
      } else if (conv->inputs < 4) {
        NEAP_FEW(conv, weights, taps, at, work->tap_pitch, work->step, sums);
#endif
      } else {
        NEAP_TWICE(conv, weights, taps, at, work->tap_pitch, work->step, sums);
      }
      NEAP_OUTPUTS(conv, channel, sums, out, next);
    }
    for (; channel != end; ++channel, ++out, ++next, weights += length) {
      NEAP_ONE(conv, weights, taps, at, channel, out);
      if (both) {
        NEAP_ONE(conv, weights, taps + work->tap_pitch, at + work->step, channel, next);
      }
    }
  }
}

void NEAP_CONV(const neap_op* op, const neap_work* work) {
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
    NEAP_PIXEL(conv, work, taps, skip, out, both ? out + work->out_step : out);
    taps += pixels * work->tap_pitch;
    skip += pixels * work->step;
    out += (ptrdiff_t)pixels * work->out_step;
    left -= pixels;
  }
}

#undef NEAP_PARAMS
#undef NEAP_OUTPUTS
#undef NEAP_OUTPUT_ONE
#undef NEAP_CONV
#undef NEAP_TWICE
#undef NEAP_FOUR
#undef NEAP_ONE
#undef NEAP_POINT
#undef NEAP_POINTS
#undef NEAP_FEW
#undef NEAP_PIXEL
#undef NEAP_VALUE
#undef NEAP_WEIGHT
#undef NEAP_KEEP
#undef NEAP_STEP
#undef NEAP_STEP_TWICE
