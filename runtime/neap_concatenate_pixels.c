/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CONCATENATION along the channels.
 */
#include "neap_rt.h"

void neap_concatenate_pixels(const neap_op* op, const neap_work* work) {
  const neap_concatenation* const concatenation = (const neap_concatenation*)op->params;
  int8_t* out = work->out;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    for (uint32_t i = 0; i < op->inputs; ++i) {
      const uint32_t bytes = concatenation->bytes[i];
      memmove(out, work->taps[i] + p * bytes, bytes);
      out += bytes;
    }
  }
}
