/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with cells and gates of 16 bits, whose functions are
 * interpolated in one table. The images have one column. The output of a step, the hidden state
 * after it, shares no byte with its input or the state before it.
 */
#include "neap_lstm.h"

#define NEAP_INPUT_GATE 0
#define NEAP_FORGET_GATE 1
#define NEAP_CELL_GATE 2
#define NEAP_OUTPUT_GATE 3

static int32_t neap_lstm_limit(int32_t x) { return neap_clamp(x, INT16_MIN, INT16_MAX); }

static uint32_t neap_lstm_sum(const int8_t* weights, const int8_t* values, uint32_t count,
                              int32_t bias) {
  uint32_t sum = (uint32_t)bias;
  for (uint32_t i = 0; i < count; ++i) sum += (uint32_t)((int32_t)weights[i] * values[i]);
  return sum;
}

/* The argument of the function of a gate. */
static int32_t neap_lstm_argument(const neap_lstm* lstm, uint32_t number, uint32_t cell,
                                  const int8_t* in, const int8_t* hidden) {
  const neap_lstm_gate* const gate = &lstm->gates[number];
  const uint32_t of_input = neap_lstm_sum(gate->input_weights + cell * lstm->width, in, lstm->width,
                                          gate->input_bias[cell]);
  const uint32_t of_state = neap_lstm_sum(gate->state_weights + cell * lstm->cells, hidden,
                                          lstm->cells, gate->state_bias[cell]);
  return neap_lstm_limit(
      neap_lstm_limit(neap_scale((int32_t)of_input, gate->input_fraction, gate->input_shift)) +
      neap_lstm_limit(neap_scale((int32_t)of_state, gate->state_fraction, gate->state_shift)));
}

/* 2^bits times the table at `at` / 2^bits; above the last entry, `end`. */
static int32_t neap_lstm_between(const uint16_t* table, int32_t at, int32_t bits, int32_t end) {
  const int32_t index = at >> bits;
  const int32_t rest = at & (((int32_t)1 << bits) - 1);
  if (index >= 255) return end;
  return ((int32_t)table[index] << bits) +
         rest * ((int32_t)table[index + 1] - (int32_t)table[index]);
}

/* x has 3 * 2^12 for 1, the results have 2^15. */
static int32_t neap_lstm_logistic(const uint16_t* table, int32_t x) {
  const int32_t y = neap_lstm_between(table, x < 0 ? -x : x, 9, (int32_t)0x7fff << 10);
  return (x < 0 ? ((int32_t)1 << 25) - y + 511 : y + 512) >> 10;
}
static int32_t neap_lstm_tanh(const uint16_t* table, int32_t x) {
  const int32_t y =
      neap_lstm_between(table, x < 0 ? -x : x, 8, (int32_t)0xffff << 8) - ((int32_t)1 << 23);
  return (x < 0 ? 127 - y : y + 128) >> 8;
}

/* The cell after a step; its function, as a fraction of 2^15, is in *function. */
static int32_t neap_lstm_advance(const neap_lstm* lstm, int32_t cell, int32_t keep, int32_t take,
                                 int32_t value, int32_t* function) {
  const int32_t half = lstm->cell_shift > 0 ? (int32_t)1 << (lstm->cell_shift - 1) : 0;
  const int32_t kept = neap_lstm_limit(neap_scale(keep * cell, (int32_t)1 << 30, -14));
  const int32_t taken =
      neap_lstm_limit(neap_scale(take * value, lstm->take_fraction, lstm->take_shift));
  int32_t next = neap_lstm_limit(kept + taken);
  if (lstm->clip > 0) next = neap_clamp(next, -lstm->clip, lstm->clip);
  *function = neap_lstm_tanh(lstm->logistic, (next * lstm->cell_factor + half) >> lstm->cell_shift);
  return next;
}

static void neap_lstm_step(const neap_lstm* lstm, const int8_t* in, int8_t* hidden, int8_t* cells,
                           int8_t* out) {
  const uint16_t* const table = lstm->logistic;
  for (uint32_t c = 0; c < lstm->cells; ++c) {
    int32_t gates[4];
    int32_t function;
    int16_t cell;
    for (uint32_t i = 0; i < 4; ++i) {
      const int32_t x = neap_lstm_argument(lstm, i, c, in, hidden) * 3;
      gates[i] = i == NEAP_CELL_GATE ? neap_lstm_tanh(table, x) : neap_lstm_logistic(table, x);
    }
    memcpy(&cell, cells + 2 * c, sizeof(cell));
    cell = (int16_t)neap_lstm_advance(lstm, cell, gates[NEAP_FORGET_GATE], gates[NEAP_INPUT_GATE],
                                      gates[NEAP_CELL_GATE], &function);
    memcpy(cells + 2 * c, &cell, sizeof(cell));
    function =
        neap_scale(gates[NEAP_OUTPUT_GATE] * function, lstm->hidden_fraction, lstm->hidden_shift);
    out[c] = (int8_t)neap_clamp((int32_t)((uint32_t)function + (uint32_t)lstm->hidden_zero),
                                INT8_MIN, INT8_MAX);
  }
  memcpy(hidden, out, lstm->cells);
}

void neap_lstm_s8(const neap_op* op, const neap_work* work) {
  const neap_lstm* const lstm = (const neap_lstm*)op->params;
  const int8_t* in = work->taps[0];
  /* Memory of the caller, which is not constant. */
  int8_t* const hidden = (int8_t*)work->taps[1];
  int8_t* const cells = (int8_t*)work->taps[2];
  int8_t* out = work->out;
  for (uint32_t step = 0; step < lstm->steps; ++step) {
    for (uint32_t batch = 0; batch < lstm->batches; ++batch) {
      neap_lstm_step(lstm, in, hidden + batch * lstm->cells, cells + 2 * batch * lstm->cells, out);
      in += lstm->width;
      out += lstm->cells;
    }
  }
}
