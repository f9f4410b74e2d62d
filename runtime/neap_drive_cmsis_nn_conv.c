/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A convolution by CMSIS-NN.
 */
#include "neap_cmsis_nn_layer.h"

int neap_drive_cmsis_nn_conv(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                             uint32_t x1) {
  const neap_layer* const layer = (const neap_layer*)op->params;
  const neap_call call = neap_call_of(op, frame, layer->out_channels, layer->in_channels);
  (void)y;
  (void)x0;
  (void)x1;
  return neap_convolve(&call);
}
