/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Outputs of the portable kernels of convolutions from sums of products, and whether pixels may be
 * computed together.
 */
#include "neap_rt.h"

/* (256 * sum + offset) * factor / 2^44, between -128 and 127. Compilers for Thumb-2 know one
 * instruction that clamps, but only if its limits are in no other one: callers have others each,
 * `late` bits higher. */
static inline int8_t neap_conv_scaled(uint32_t sum, int32_t offset, int32_t factor, int late) {
#ifdef __thumb2__
  const int bits = late;
#else
  const int bits = 0 * late;
#endif
  const int32_t term = (int32_t)(256U * sum + (uint32_t)offset);
  const int32_t value = (int32_t)(((int64_t)term * factor) >> 32) >> (12 - bits);
  const int32_t low = -(128 << bits);
  const int32_t high = (128 << bits) - 1;
  const int32_t upper = value < high ? value : high;
  return (int8_t)((upper > low ? upper : low) >> bits);
}

void neap_conv_output_one(const neap_conv* conv, uint32_t channel, uint32_t sum, int8_t* out) {
  const int32_t bias = conv->bias[channel];
  if (conv->shifts != NULL) {
    *out = neap_conv_output(conv, channel, sum + (uint32_t)bias);
  } else {
    const int32_t value = neap_conv_scaled(sum, bias, conv->fractions[channel], 0);
    *out = (int8_t)neap_clamp(value, conv->low, conv->high);
  }
}

/* Those of four channels that neap_conv_outputs() does not compute itself. */
static NEAP_APART void neap_conv_other_outputs(const neap_conv* conv, uint32_t channel,
                                               const uint32_t* sums, int8_t* out) {
  for (uint32_t i = 0; i < 4; ++i) neap_conv_output_one(conv, channel + i, sums[i], out + i);
}

void neap_conv_outputs(const neap_conv* conv, uint32_t channel, const uint32_t* sums, int8_t* out,
                       int8_t* next) {
  const int32_t* const offsets = conv->bias + channel;
  const int32_t* const factors = conv->fractions + channel;
  if (conv->shifts != NULL || conv->low != -128 || conv->high != 127) {
    neap_conv_other_outputs(conv, channel, sums, out);
    if (next != out) neap_conv_other_outputs(conv, channel, sums + 4, next);
  } else if (next == out) {
    out[0] = neap_conv_scaled(sums[0], offsets[0], factors[0], 1);
    out[1] = neap_conv_scaled(sums[1], offsets[1], factors[1], 2);
    out[2] = neap_conv_scaled(sums[2], offsets[2], factors[2], 3);
    out[3] = neap_conv_scaled(sums[3], offsets[3], factors[3], 4);
  } else {
    int32_t offset = offsets[0];
    int32_t factor = factors[0];
    out[0] = neap_conv_scaled(sums[0], offset, factor, 1);
    next[0] = neap_conv_scaled(sums[4], offset, factor, 5);
    offset = offsets[1];
    factor = factors[1];
    out[1] = neap_conv_scaled(sums[1], offset, factor, 2);
    next[1] = neap_conv_scaled(sums[5], offset, factor, 6);
    offset = offsets[2];
    factor = factors[2];
    out[2] = neap_conv_scaled(sums[2], offset, factor, 3);
    next[2] = neap_conv_scaled(sums[6], offset, factor, 7);
    offset = offsets[3];
    factor = factors[3];
    out[3] = neap_conv_scaled(sums[3], offset, factor, 4);
    next[3] = neap_conv_scaled(sums[7], offset, factor, 8);
  }
}

int neap_pixels_are_apart(const neap_op* op, uint32_t tap_count, const neap_work* work,
                   const int8_t* const* taps, uint32_t skip, const int8_t* out, uint32_t pixels) {
#ifdef NEAP_FEW_REGISTERS
  (void)op;
  (void)tap_count;
  (void)work;
  (void)taps;
  (void)skip;
  (void)out;
  return pixels == 1;
#else
  const uint32_t more = pixels - 1;
  const int8_t* const* const end = taps + more * work->tap_pitch + tap_count;
  const ptrdiff_t ahead = (ptrdiff_t)more * work->out_step;
  /* Bytes of inputs and of outputs, less one. */
  const uintptr_t inputs = (uintptr_t)more * work->step + op->views[1]->pixel_bytes - 1;
  const uintptr_t outputs = (uintptr_t)(ahead < 0 ? -ahead : ahead) + work->channels - 1;
  const uintptr_t lowest = (uintptr_t)out + (uintptr_t)(ahead < 0 ? ahead : 0) - inputs - skip;
  for (; taps != end; ++taps) {
    if ((uintptr_t)*taps - lowest <= inputs + outputs) return 0;
  }
  return 1;
#endif
}
