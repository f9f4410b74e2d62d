/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * UNIDIRECTIONAL_SEQUENCE_LSTM. Its state is in variables: tensors of the arena that keep their
 * values from run to run.
 */
#ifndef NEAP_LSTM_H
#define NEAP_LSTM_H

#include "neap_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Weights are [cell][input] and [cell][hidden]. Biases have the zero points of the input and of the
 * hidden state. The argument of the gate has 12 bits behind the point: a sum of inputs * fraction /
 * 2^31 * 2^shift, and the same of the state. */
typedef struct neap_lstm_gate {
  const int8_t* input_weights;
  const int8_t* state_weights;
  const int32_t* input_bias;
  const int32_t* state_bias;
  int32_t input_fraction;
  int32_t input_shift;
  int32_t state_fraction;
  int32_t state_shift;
} neap_lstm_gate;

typedef struct neap_lstm {
  neap_lstm_gate gates[4];  /* input, forget, cell, output */
  const uint16_t* logistic; /* 256 values of 1 / (1 + e^-(i / 24)), as fractions of 2^16 */
  uint32_t width;           /* of an input */
  uint32_t cells;           /* also of the hidden state */
  uint32_t steps;           /* in a pixel, one after the other */
  uint32_t batches;         /* in a step, each with its state */
  int32_t take_fraction;    /* of input gate times cell gate */
  int32_t take_shift;
  int32_t hidden_fraction; /* of output gate times function of the cell */
  int32_t hidden_shift;
  int32_t hidden_zero;
  int32_t clip;        /* of the cell; 0: none */
  int32_t cell_factor; /* the argument of its function: cell * cell_factor / 2^cell_shift */
  int32_t cell_shift;
} neap_lstm;

/* Inputs: data, hidden state, cell of 16 bits. It writes the last two. */
void neap_lstm_s8(const neap_op* op, const neap_work* work);

#ifdef __cplusplus
}
#endif

#endif
