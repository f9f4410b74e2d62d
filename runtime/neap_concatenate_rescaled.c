/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CONCATENATION along the channels, of inputs whose scales are not the output's.
 */
#include "neap_rt.h"

void neap_concatenate_rescaled(const neap_op* op, const neap_work* work) {
  const neap_rescaled_concatenation* const concatenation =
      (const neap_rescaled_concatenation*)op->params;
  int8_t* out = work->out;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    for (uint32_t i = 0; i < op->inputs; ++i) {
      const uint32_t bytes = concatenation->bytes[i];
      const int32_t first = concatenation->first[i];
      const int8_t* const in = work->taps[i] + p * bytes;
      if (first < 0) {
        memmove(out, in, bytes);
      } else {
        const int8_t* const table = concatenation->tables + first;
        for (uint32_t c = 0; c < bytes; ++c) out[c] = table[(uint8_t)in[c]];
      }
      out += bytes;
    }
  }
}
