/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * FULLY_CONNECTED of float32, pixel by pixel, which are the rows.
 */
#include "neap_float.h"

void neap_fully_connected_f32(const neap_op* op, const neap_work* work) {
  const neap_float_product* const product = (const neap_float_product*)op->params;
  const float low = neap_load_float(&product->low, 0);
  const float high = neap_load_float(&product->high, 0);
  for (uint32_t pixel = 0; pixel < work->pixels; ++pixel) {
    const int8_t* const in = work->taps[0] + (size_t)4 * pixel * product->inputs;
    int8_t* const out = work->out + (size_t)4 * pixel * product->outputs;
    for (uint32_t c = 0; c < product->outputs; ++c) {
      float sum = 0.0F;
      for (uint32_t i = 0; i < product->inputs; ++i) {
        sum += neap_load_float(in, i) * neap_load_float(product->weights, c * product->inputs + i);
      }
      if (product->bias != NULL) sum += neap_load_float(product->bias, c);
      sum = sum < low ? low : sum;
      neap_store_float(out, c, sum > high ? high : sum);
    }
  }
}
