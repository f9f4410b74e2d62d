/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * UNIDIRECTIONAL_SEQUENCE_LSTM of float32. The images have one column. The output of a step, the
 * hidden state after it, shares no byte with its input or the state before it.
 */
#include "neap_float.h"

/* In four sums. */
static float neap_float_dot(const uint32_t* weights, uint32_t first, const int8_t* values,
                            uint32_t count) {
  float sums[4] = {0, 0, 0, 0};
  uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (uint32_t j = 0; j < 4; ++j) {
      sums[j] += neap_load_float(weights, first + i + j) * neap_load_float(values, i + j);
    }
  }
  for (; i < count; ++i) {
    sums[0] += neap_load_float(weights, first + i) * neap_load_float(values, i);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static NEAP_APART float neap_float_argument(const neap_float_lstm* lstm,
                                            const neap_float_gate* gate, uint32_t cell,
                                            const int8_t* in, const int8_t* hidden) {
  float sum = neap_load_float(gate->bias, cell) +
              neap_float_dot(gate->input_weights, cell * lstm->width, in, lstm->width);
  for (uint32_t i = 0; i < lstm->cells; ++i) {
    sum +=
        neap_load_float(gate->state_weights, cell * lstm->cells + i) * neap_load_float(hidden, i);
  }
  return sum;
}

static float neap_float_logistic(float x) { return 1.0F / (1.0F + expf(-x)); }

static void neap_float_step(const neap_float_lstm* lstm, const int8_t* in, int8_t* hidden,
                            int8_t* cells, int8_t* out) {
  const neap_float_gate* const gates = lstm->gates;
  const float clip = neap_load_float(&lstm->clip, 0);
  for (uint32_t c = 0; c < lstm->cells; ++c) {
    const float keep = neap_float_logistic(neap_float_argument(lstm, &gates[1], c, in, hidden));
    const float value = tanhf(neap_float_argument(lstm, &gates[2], c, in, hidden));
    const float give = neap_float_logistic(neap_float_argument(lstm, &gates[3], c, in, hidden));
    float take = 1.0F - keep;
    float cell;
    if (gates[0].input_weights != NULL) {
      take = neap_float_logistic(neap_float_argument(lstm, &gates[0], c, in, hidden));
    }
    cell = keep * neap_load_float(cells, c) + value * take;
    if (clip > 0.0F) cell = cell < -clip ? -clip : clip < cell ? clip : cell;
    neap_store_float(cells, c, cell);
    neap_store_float(out, c, give * tanhf(cell));
  }
  memcpy(hidden, out, (size_t)4 * lstm->cells);
}

void neap_lstm_f32(const neap_op* op, const neap_work* work) {
  const neap_float_lstm* const lstm = (const neap_float_lstm*)op->params;
  const int8_t* in = work->taps[0];
  /* Memory of the caller, which is not constant. */
  int8_t* const hidden = (int8_t*)work->taps[1];
  int8_t* const cells = (int8_t*)work->taps[2];
  int8_t* out = work->out;
  const size_t state = (size_t)4 * lstm->cells;
  for (uint32_t step = 0; step < lstm->steps; ++step) {
    for (uint32_t batch = 0; batch < lstm->batches; ++batch) {
      neap_float_step(lstm, in, hidden + batch * state, cells + batch * state, out);
      in += (size_t)4 * lstm->width;
      out += state;
    }
  }
}
