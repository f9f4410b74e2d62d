/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A depthwise convolution by CMSIS-NN.
 */
#include "neap_cmsis_nn_layer.h"

int neap_drive_cmsis_nn_depthwise(const neap_op* op, const neap_frame* frame, uint32_t y,
                                  uint32_t x0, uint32_t x1) {
  const neap_layer* const layer = (const neap_layer*)op->params;
  const neap_call call = neap_call_of(op, frame, 1, layer->out_channels);
  const cmsis_nn_per_channel_quant_params scales = neap_scales_of(layer);
  cmsis_nn_dw_conv_params params;
  (void)y;
  (void)x0;
  (void)x1;
  params.input_offset = layer->in_offset;
  params.output_offset = layer->out_offset;
  params.ch_mult = layer->out_channels / layer->in_channels;
  params.stride = neap_tile_of(layer->stride);
  params.padding = neap_tile_of(layer->pad);
  params.dilation = neap_tile_of(layer->dilation);
  params.activation = neap_range_of(layer);
  if (!neap_buffer_fits(&call, arm_depthwise_conv_wrapper_s8_get_buffer_size(
                                   &params, &call.in_dims, &call.filter_dims, &call.out_dims))) {
    return NEAP_BAD_LIBRARY;
  }
  return neap_result_of(arm_depthwise_conv_wrapper_s8(
      &call.buffer, &params, &scales, &call.in_dims, call.in, &call.filter_dims, layer->weights,
      &call.bias_dims, layer->bias, &call.out_dims, call.out));
}
