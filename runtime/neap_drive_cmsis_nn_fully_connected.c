/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A fully connected layer by CMSIS-NN. Where channels have scales of their own, and where the
 * library wants a buffer for sums that its caller computes, it is a convolution of one pixel.
 */
#include "neap_cmsis_nn_layer.h"

/* A plan may overlap them as arm_fully_connected_s8() permits. */
static inline int neap_are_apart(const neap_call* call) {
  const uintptr_t in = (uintptr_t)call->in;
  const uintptr_t out = (uintptr_t)call->out;
  const uintptr_t rows = (uintptr_t)call->in_dims.n;
  return in + rows * (uintptr_t)call->in_dims.c <= out ||
         out + rows * (uintptr_t)call->out_dims.c <= in;
}

int neap_drive_cmsis_nn_fully_connected(const neap_op* op, const neap_frame* frame, uint32_t y,
                                        uint32_t x0, uint32_t x1) {
  const neap_layer* const layer = (const neap_layer*)op->params;
  neap_call call = neap_call_of(op, frame, layer->in_channels, layer->out_channels);
  cmsis_nn_fc_params params;
  cmsis_nn_per_tensor_quant_params scale;
  (void)y;
  (void)x0;
  (void)x1;
  if (layer->one_scale == 0 || arm_fully_connected_s8_get_buffer_size(&call.filter_dims) > 0) {
    if (layer->one_scale != 0 && !neap_are_apart(&call)) return NEAP_BAD_LIBRARY;
    call.filter_dims.n = layer->out_channels;
    call.filter_dims.c = layer->in_channels;
    return neap_convolve(&call);
  }
  params.input_offset = layer->in_offset;
  params.filter_offset = 0;
  params.output_offset = layer->out_offset;
  params.activation = neap_range_of(layer);
  scale.multiplier = layer->fractions[0];
  scale.shift = layer->shifts[0];
  return neap_result_of(arm_fully_connected_s8(
      &call.buffer, &params, &scale, &call.in_dims, call.in, &call.filter_dims, layer->weights,
      &call.bias_dims, layer->bias, &call.out_dims, call.out));
}
