/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Depthwise convolution in portable C: output channel c reads channel c / multiplier of every tap.
 * With a multiplier of one, four channels at a time.
 */
#include "neap_rt.h"

#ifdef NEAP_UINT8
#define NEAP_DEPTHWISE neap_depthwise_u8
#define NEAP_FOUR neap_depthwise_four_u8
#define NEAP_VALUE(byte) ((int32_t)(uint8_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(uint8_t)(byte)-conv->weight_zero)
#else
#define NEAP_DEPTHWISE neap_depthwise_s8
#define NEAP_FOUR neap_depthwise_four_s8
#define NEAP_VALUE(byte) ((int32_t)(byte))
#define NEAP_WEIGHT(byte) ((int32_t)(byte))
#endif

/* `outputs` is the number of channels of the whole operator, `at` that of the first tap's. */
static void NEAP_FOUR(const neap_conv* conv, const int8_t* const* taps, uint32_t outputs,
                      uint32_t channel, uint32_t at, int8_t* out) {
  const int8_t* weights = conv->weights + channel;
  uint32_t a = (uint32_t)conv->bias[channel];
  uint32_t b = (uint32_t)conv->bias[channel + 1];
  uint32_t c = (uint32_t)conv->bias[channel + 2];
  uint32_t d = (uint32_t)conv->bias[channel + 3];
  for (uint32_t t = 0; t < conv->taps; ++t, weights += outputs) {
    const int8_t* const in = taps[t] + at;
    a += (uint32_t)(NEAP_VALUE(in[0]) * NEAP_WEIGHT(weights[0]));
    b += (uint32_t)(NEAP_VALUE(in[1]) * NEAP_WEIGHT(weights[1]));
    c += (uint32_t)(NEAP_VALUE(in[2]) * NEAP_WEIGHT(weights[2]));
    d += (uint32_t)(NEAP_VALUE(in[3]) * NEAP_WEIGHT(weights[3]));
  }
  out[0] = neap_conv_output(conv, channel, a);
  out[1] = neap_conv_output(conv, channel + 1, b);
  out[2] = neap_conv_output(conv, channel + 2, c);
  out[3] = neap_conv_output(conv, channel + 3, d);
}

void NEAP_DEPTHWISE(const neap_op* op, const neap_work* work) {
  const neap_conv* const conv = (const neap_conv*)op->params;
  const uint32_t outputs = op->views[0]->pixel_bytes;
  const uint32_t base = work->first / conv->group_outputs; /* taps begin with this channel */
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* const* const taps = work->taps + p * conv->taps;
    int8_t* out = work->out + p * outputs;
    const uint32_t last = work->first + work->channels;
    uint32_t channel = work->first;
    if (conv->group_outputs == 1) {
      for (; last - channel >= 4; channel += 4, out += 4) {
        NEAP_FOUR(conv, taps, outputs, channel, channel - base, out);
      }
    }
    for (; channel < last; ++channel) {
      const uint32_t at = channel / conv->group_outputs - base;
      const int8_t* weights = conv->weights + channel;
      uint32_t sum = (uint32_t)conv->bias[channel];
      for (uint32_t t = 0; t < conv->taps; ++t, weights += outputs) {
        sum += (uint32_t)(NEAP_VALUE(taps[t][at]) * NEAP_WEIGHT(*weights));
      }
      *out++ = neap_conv_output(conv, channel, sum);
    }
  }
}

#undef NEAP_DEPTHWISE
#undef NEAP_FOUR
#undef NEAP_VALUE
#undef NEAP_WEIGHT
