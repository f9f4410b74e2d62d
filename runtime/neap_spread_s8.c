/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Transposed convolutions: as convolutions, but most taps are padding, which is left out, so the
 * input's zero point is no part of the bias.
 */
#include "neap_rt.h"

void neap_spread_s8(const neap_op* op, const neap_work* work) {
  const neap_conv* const conv = (const neap_conv*)op->params;
  const int8_t* const padding = op->window->padding;
  const int32_t zero = padding[0];
  const uint32_t last = work->first + work->channels;
  int8_t* out = work->out;
  for (uint32_t channel = work->first; channel < last; ++channel) {
    const int8_t* weights = conv->weights + channel * (conv->taps * conv->inputs);
    uint32_t sum = (uint32_t)conv->bias[channel];
    for (uint32_t t = 0; t < conv->taps; ++t, weights += conv->inputs) {
      const int8_t* const in = work->taps[t];
      if (in == padding) continue;
      for (uint32_t i = 0; i < conv->inputs; ++i) {
        sum += (uint32_t)((in[i] - zero) * weights[i]);
      }
    }
    *out++ = neap_conv_output(conv, channel, sum);
  }
}
