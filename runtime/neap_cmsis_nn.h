/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Whole layers by the functions of CMSIS-NN, where the user has that library: its header
 * arm_nnfunctions.h must be found, and its objects linked. Each driver asks the library for the
 * size of its buffer before it calls it.
 */
#ifndef NEAP_CMSIS_NN_H
#define NEAP_CMSIS_NN_H

#include "neap_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The library refuses its arguments, or needs a larger buffer than the arena has: it is another
 * version, or compiled for another processor than that of the emitted code. */
#define NEAP_BAD_LIBRARY (-4)

/* Tensors are whole; each view is one pixel that contains all bytes. Rows before columns. */
typedef struct neap_layer {
  const int8_t* weights; /* null of pooling, with the three tables below */
  const int32_t* bias;
  const int32_t* fractions; /* one for each output channel, as shifts */
  const int32_t* shifts;
  uint32_t buffer_bytes; /* of the scratch */
  int32_t in_offset;
  int32_t out_offset;
  int32_t low;
  int32_t high;
  uint16_t batches; /* of fully connected layers: rows of the input */
  uint16_t in_size[2];
  uint16_t in_channels;
  uint16_t out_size[2];
  uint16_t out_channels;
  uint16_t window[2];
  uint16_t stride[2];
  uint16_t dilation[2];
  uint16_t pad[2];
  uint16_t one_scale; /* 1: fractions and shifts are equal for all channels */
} neap_layer;

int neap_drive_cmsis_nn_conv(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                             uint32_t x1);
int neap_drive_cmsis_nn_depthwise(const neap_op* op, const neap_frame* frame, uint32_t y,
                                  uint32_t x0, uint32_t x1);
int neap_drive_cmsis_nn_fully_connected(const neap_op* op, const neap_frame* frame, uint32_t y,
                                        uint32_t x0, uint32_t x1);
int neap_drive_cmsis_nn_average_pool(const neap_op* op, const neap_frame* frame, uint32_t y,
                                     uint32_t x0, uint32_t x1);
int neap_drive_cmsis_nn_max_pool(const neap_op* op, const neap_frame* frame, uint32_t y,
                                 uint32_t x0, uint32_t x1);

#ifdef __cplusplus
}
#endif

#endif
