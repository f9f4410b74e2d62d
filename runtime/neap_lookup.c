/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Element-wise functions of one byte, by a table.
 */
#include "neap_rt.h"

void neap_lookup(const neap_op* op, const neap_work* work) {
  const neap_table* const table = (const neap_table*)op->params;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* in = work->taps[0] + p * table->stride.pixel;
    int8_t* const out = work->out + p * op->views[0]->pixel_bytes;
    for (uint32_t c = 0; c < work->channels; ++c, in += table->stride.channel) {
      out[c] = table->values[(uint8_t)*in];
    }
  }
}
