/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels of float32. Of the C library they call expf and tanhf. Tables of floats are words of
 * their bits, and nothing in memory is aligned: a float is copied before it is used. Sums are in
 * the order of `neap run`, and no product is contracted with a sum.
 */
#ifndef NEAP_FLOAT_H
#define NEAP_FLOAT_H

#include <math.h>

#include "neap_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* GCC contracts nothing with -std=c99, and does not know the pragma. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Float `index` from `bytes` on. */
NEAP_INLINE float neap_load_float(const void* bytes, uint32_t index) {
  float value;
  memcpy(&value, (const int8_t*)bytes + (size_t)4 * index, sizeof(value));
  return value;
}
NEAP_INLINE void neap_store_float(int8_t* bytes, uint32_t index, float value) {
  memcpy(bytes + (size_t)4 * index, &value, sizeof(value));
}

/* FULLY_CONNECTED. */
typedef struct neap_float_product {
  const uint32_t* weights; /* [output][input] */
  const uint32_t* bias;    /* null: none */
  uint32_t inputs;
  uint32_t outputs;
  uint32_t low; /* the bits of the limits of the fused activation */
  uint32_t high;
} neap_float_product;
void neap_fully_connected_f32(const neap_op* op, const neap_work* work);

/* SOFTMAX of rows that follow each other in a pixel. */
typedef struct neap_float_softmax {
  uint32_t rows;
  uint32_t length;
  uint32_t beta; /* bits */
} neap_float_softmax;
void neap_softmax_f32(const neap_op* op, const neap_work* work);

/* UNIDIRECTIONAL_SEQUENCE_LSTM: as neap_lstm.h has it. Without weights of the input gate, its value
 * is one less that of the forget gate. */
typedef struct neap_float_gate {
  const uint32_t* input_weights;
  const uint32_t* state_weights;
  const uint32_t* bias;
} neap_float_gate;
typedef struct neap_float_lstm {
  neap_float_gate gates[4]; /* input, forget, cell, output */
  uint32_t width;
  uint32_t cells;
  uint32_t steps;
  uint32_t batches;
  uint32_t clip; /* bits; 0: none */
} neap_float_lstm;
void neap_lstm_f32(const neap_op* op, const neap_work* work);

#ifdef __cplusplus
}
#endif

#endif
