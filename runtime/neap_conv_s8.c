/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Convolutions in portable C; pointwise and fully connected operators have one tap. Four output
 * channels at a time share the loads of the input. A group of channels is written after all reads
 * for it, so outputs may overlap inputs as far as under a kernel that computes one at a time.
 */
#include "neap_rt.h"

#ifdef NEAP_UINT8
#define NEAP_CONV neap_conv_u8
#define NEAP_FOUR neap_conv_four_u8
#define NEAP_ONE neap_conv_one_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(uint8_t)(byte)-conv->weight_zero)
#else
#define NEAP_CONV neap_conv_s8
#define NEAP_FOUR neap_conv_four_s8
#define NEAP_ONE neap_conv_one_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(byte))
#endif

/* Sums are modulo 2^32: biases near 2^30 occur in channels that are clamped in the end. */
static void NEAP_FOUR(const neap_conv* conv, const int8_t* const* taps, uint32_t channel,
                      uint32_t offset, int8_t* out) {
  const uint32_t length = conv->taps * conv->inputs;
  const int8_t* weights = conv->weights + channel * length;
  uint32_t a = (uint32_t)conv->bias[channel];
  uint32_t b = (uint32_t)conv->bias[channel + 1];
  uint32_t c = (uint32_t)conv->bias[channel + 2];
  uint32_t d = (uint32_t)conv->bias[channel + 3];
  for (uint32_t t = 0; t < conv->taps; ++t) {
    const int8_t* in = taps[t] + offset;
    const int8_t* const end = in + conv->inputs;
    while (in != end) {
      const int32_t value = NEAP_VALUE(*in++);
      a += (uint32_t)(value * NEAP_WEIGHT(weights[0]));
      b += (uint32_t)(value * NEAP_WEIGHT(weights[length]));
      c += (uint32_t)(value * NEAP_WEIGHT(weights[2 * length]));
      d += (uint32_t)(value * NEAP_WEIGHT(weights[3 * length]));
      ++weights;
    }
  }
  out[0] = neap_conv_output(conv, channel, a);
  out[1] = neap_conv_output(conv, channel + 1, b);
  out[2] = neap_conv_output(conv, channel + 2, c);
  out[3] = neap_conv_output(conv, channel + 3, d);
}

static void NEAP_ONE(const neap_conv* conv, const int8_t* const* taps, uint32_t channel,
                     uint32_t offset, int8_t* out) {
  const int8_t* weights = conv->weights + channel * (conv->taps * conv->inputs);
  uint32_t sum = (uint32_t)conv->bias[channel];
  for (uint32_t t = 0; t < conv->taps; ++t) {
    const int8_t* in = taps[t] + offset;
    const int8_t* const end = in + conv->inputs;
    while (in != end) sum += (uint32_t)(NEAP_VALUE(*in++) * NEAP_WEIGHT(*weights++));
  }
  out[0] = neap_conv_output(conv, channel, sum);
}

void NEAP_CONV(const neap_op* op, const neap_work* work) {
  const neap_conv* const conv = (const neap_conv*)op->params;
  const uint32_t pitch = op->views[0]->pixel_bytes;
  const uint32_t last = work->first + work->channels;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* const* const taps = work->taps + p * conv->taps;
    int8_t* out = work->out + p * pitch;
    uint32_t channel = work->first;
    while (channel < last) {
      const uint32_t group = channel / conv->group_outputs;
      const uint32_t offset = group * conv->inputs;
      const uint32_t end = (group + 1) * conv->group_outputs;
      const uint32_t stop = end < last ? end : last;
      for (; stop - channel >= 4; channel += 4, out += 4) {
        NEAP_FOUR(conv, taps, channel, offset, out);
      }
      for (; channel < stop; ++channel) NEAP_ONE(conv, taps, channel, offset, out++);
    }
  }
}

#undef NEAP_CONV
#undef NEAP_FOUR
#undef NEAP_ONE
#undef NEAP_VALUE
#undef NEAP_WEIGHT
