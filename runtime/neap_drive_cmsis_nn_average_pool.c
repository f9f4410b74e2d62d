/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An average pooling by CMSIS-NN.
 */
#include "neap_cmsis_nn_layer.h"

int neap_drive_cmsis_nn_average_pool(const neap_op* op, const neap_frame* frame, uint32_t y,
                                     uint32_t x0, uint32_t x1) {
  const neap_layer* const layer = (const neap_layer*)op->params;
  const neap_call call = neap_call_of(op, frame, 1, 1);
  cmsis_nn_pool_params params;
  (void)y;
  (void)x0;
  (void)x1;
  params.stride = neap_tile_of(layer->stride);
  params.padding = neap_tile_of(layer->pad);
  params.activation = neap_range_of(layer);
  if (!neap_buffer_fits(&call,
                        arm_avgpool_s8_get_buffer_size(layer->out_size[1], layer->in_channels))) {
    return NEAP_BAD_LIBRARY;
  }
  return neap_result_of(arm_avgpool_s8(&call.buffer, &params, &call.in_dims, call.in,
                                       &call.filter_dims, &call.out_dims, call.out));
}
