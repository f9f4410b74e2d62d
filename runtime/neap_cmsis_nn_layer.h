/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A layer as the structs of CMSIS-NN.
 */
#ifndef NEAP_CMSIS_NN_LAYER_H
#define NEAP_CMSIS_NN_LAYER_H

#include "neap_cmsis_nn.h"

#include "arm_nnfunctions.h"

/* What all functions of the library take. */
typedef struct neap_call {
  const neap_layer* layer;
  const int8_t* in;
  int8_t* out;
  cmsis_nn_context buffer;
  cmsis_nn_dims in_dims;
  cmsis_nn_dims filter_dims;
  cmsis_nn_dims bias_dims;
  cmsis_nn_dims out_dims;
} neap_call;

static inline cmsis_nn_dims neap_dims_of(int32_t n, int32_t h, int32_t w, int32_t c) {
  cmsis_nn_dims dims;
  dims.n = n;
  dims.h = h;
  dims.w = w;
  dims.c = c;
  return dims;
}

/* `filters`, `depth`: the first and last dimension of the filter. */
static inline neap_call neap_call_of(const neap_op* op, const neap_frame* frame, int32_t filters,
                                     int32_t depth) {
  const neap_layer* const layer = (const neap_layer*)op->params;
  uint32_t one = 1;
  neap_call call;
  call.layer = layer;
  call.in = neap_source(op->views[1], frame, 0, 0, &one);
  call.out = neap_target(op->views[0], frame, 0, 0, &one);
  call.buffer.buf = layer->buffer_bytes > 0 ? frame->memories[0] + op->scratch : NULL;
  call.buffer.size = (int32_t)layer->buffer_bytes;
  call.in_dims =
      neap_dims_of(layer->batches, layer->in_size[0], layer->in_size[1], layer->in_channels);
  call.filter_dims = neap_dims_of(filters, layer->window[0], layer->window[1], depth);
  call.bias_dims = neap_dims_of(1, 1, 1, layer->out_channels);
  call.out_dims =
      neap_dims_of(layer->batches, layer->out_size[0], layer->out_size[1], layer->out_channels);
  return call;
}

static inline cmsis_nn_tile neap_tile_of(const uint16_t size[2]) {
  cmsis_nn_tile tile;
  tile.h = size[0];
  tile.w = size[1];
  return tile;
}

static inline cmsis_nn_activation neap_range_of(const neap_layer* layer) {
  cmsis_nn_activation range;
  range.min = layer->low;
  range.max = layer->high;
  return range;
}

/* The library does not write to them. */
static inline cmsis_nn_per_channel_quant_params neap_scales_of(const neap_layer* layer) {
  cmsis_nn_per_channel_quant_params scales;
  scales.multiplier = (int32_t*)(uintptr_t)layer->fractions;
  scales.shift = (int32_t*)(uintptr_t)layer->shifts;
  return scales;
}

static inline int neap_buffer_fits(const neap_call* call, int32_t needed) {
  return needed <= call->buffer.size;
}

static inline int neap_result_of(arm_cmsis_nn_status status) {
  return status == ARM_CMSIS_NN_SUCCESS ? NEAP_OK : NEAP_BAD_LIBRARY;
}

/* Convolutions, and fully connected layers as such of one pixel. */
static inline int neap_convolve(const neap_call* call) {
  const neap_layer* const layer = call->layer;
  const cmsis_nn_per_channel_quant_params scales = neap_scales_of(layer);
  cmsis_nn_conv_params params;
  params.input_offset = layer->in_offset;
  params.output_offset = layer->out_offset;
  params.stride = neap_tile_of(layer->stride);
  params.padding = neap_tile_of(layer->pad);
  params.dilation = neap_tile_of(layer->dilation);
  params.activation = neap_range_of(layer);
  if (!neap_buffer_fits(call, arm_convolve_wrapper_s8_get_buffer_size(
                                  &params, &call->in_dims, &call->filter_dims, &call->out_dims))) {
    return NEAP_BAD_LIBRARY;
  }
  return neap_result_of(arm_convolve_wrapper_s8(
      &call->buffer, &params, &scales, &call->in_dims, call->in, &call->filter_dims, layer->weights,
      &call->bias_dims, layer->bias, &call->out_dims, call->out));
}

#endif
