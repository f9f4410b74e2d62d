/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The engine: goes through the segments of a program, one row of a box after the other.
 */
#include "neap_rt.h"

static void neap_moves(const neap_segment* segment, const neap_frame* frame) {
  for (uint32_t i = 0; i < segment->move_count; ++i) {
    const neap_move* const move = &segment->moves[i];
    int8_t* const to = frame->memories[move->to_memory] + move->to;
    const int8_t* const from = frame->memories[move->from_memory] + move->from;
    if (frame->copy != NULL) {
      frame->copy(to, from, move->bytes);
    } else {
      memmove(to, from, move->bytes);
    }
  }
}

/* To the next box: operators, then columns, then rows, then segments. */
static void neap_next_box(const neap_segment* segment, neap_state* state) {
  state->row = 0;
  if (++state->op < segment->op_count) return;
  state->op = 0;
  if (++state->column_step < segment->column_steps) return;
  state->column_step = 0;
  if (++state->row_step < segment->row_steps) return;
  state->row_step = 0;
  state->phase = NEAP_MOVES;
  ++state->segment;
}

/* The moves before a segment, or one row of a box of it; then to what is next. */
static int neap_advance(const neap_program* program, const neap_frame* frame, neap_state* state) {
  const neap_segment* const segment = &program->segments[state->segment];
  const neap_op* op;
  const uint16_t* rows;
  const uint16_t* columns;
  if (state->phase == NEAP_MOVES) {
    neap_moves(segment, frame);
    if (segment->op_count == 0) {
      ++state->segment;
      return NEAP_OK;
    }
    state->phase = NEAP_BOXES;
    if (segment->move_count != 0) return NEAP_OK;
  }
  op = &segment->ops[state->op];
  rows = op->rows + (uint32_t)state->row_step * op->row_pitch;
  columns = op->columns + (uint32_t)state->column_step * op->column_pitch;
  if (columns[0] < columns[1] && rows[0] < rows[1]) {
    const uint32_t row = (uint32_t)rows[0] + state->row;
    const int result = op->driver(op, frame, row, columns[0], columns[1]);
    if (result != NEAP_OK) return result;
    ++state->row;
    if (row + 1 < rows[1]) return NEAP_OK;
  }
  neap_next_box(segment, state);
  return NEAP_OK;
}

static int neap_check_arena(const neap_program* program, const neap_frame* frame) {
  const int8_t* const arena = frame->memories[0];
  if (arena == NULL || (uintptr_t)arena % program->alignment != 0) return NEAP_BAD_ARENA;
  return NEAP_OK;
}

int neap_run(const neap_program* program, const neap_frame* frame) {
  neap_state state = {0, 0, 0, 0, 0, NEAP_MOVES};
  int result = neap_check_arena(program, frame);
  while (result == NEAP_OK && state.segment < program->segment_count) {
    result = neap_advance(program, frame, &state);
  }
  return result;
}

int neap_begin(const neap_program* program, const neap_frame* frame) {
  const neap_state state = {0, 0, 0, 0, 0, NEAP_MOVES};
  const int result = neap_check_arena(program, frame);
  if (result == NEAP_OK) memcpy(frame->memories[0] + program->state, &state, sizeof(state));
  return result;
}

int neap_step(const neap_program* program, const neap_frame* frame) {
  neap_state state;
  int result = neap_check_arena(program, frame);
  if (result != NEAP_OK) return result;
  memcpy(&state, frame->memories[0] + program->state, sizeof(state));
  if (state.phase != NEAP_MOVES && state.phase != NEAP_BOXES) return NEAP_NOT_BEGUN;
  if (state.segment < program->segment_count) result = neap_advance(program, frame, &state);
  if (result == NEAP_OK && state.segment < program->segment_count) result = NEAP_MORE;
  if (result != NEAP_MORE) state.phase = 0;
  memcpy(frame->memories[0] + program->state, &state, sizeof(state));
  return result;
}
