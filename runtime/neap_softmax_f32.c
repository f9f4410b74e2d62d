/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * SOFTMAX of float32. Element i is read a last time before it is written.
 */
#include "neap_float.h"

void neap_softmax_f32(const neap_op* op, const neap_work* work) {
  const neap_float_softmax* const softmax = (const neap_float_softmax*)op->params;
  const float beta = neap_load_float(&softmax->beta, 0);
  const int8_t* in = work->taps[0];
  int8_t* out = work->out;
  for (uint32_t row = 0; row < softmax->rows * work->pixels; ++row) {
    float most = neap_load_float(in, 0);
    float sum = 0.0F;
    for (uint32_t i = 1; i < softmax->length; ++i) {
      const float value = neap_load_float(in, i);
      most = most < value ? value : most;
    }
    for (uint32_t i = 0; i < softmax->length; ++i) {
      sum += expf((neap_load_float(in, i) - most) * beta);
    }
    for (uint32_t i = 0; i < softmax->length; ++i) {
      neap_store_float(out, i, expf((neap_load_float(in, i) - most) * beta) / sum);
    }
    in += (size_t)4 * softmax->length;
    out += (size_t)4 * softmax->length;
  }
}
