/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The engine: goes through the segments of a program, one row of a box after the other.
 */
#include "neap_rt.h"

#ifdef __GNUC__
typedef uint32_t __attribute__((__may_alias__)) neap_any_word;

/* Words in either direction: libraries of small processors copy bytes. The empty statements keep
 * the compiler from calling them. */
static void neap_move_words(int8_t* to, const int8_t* from, uint32_t bytes) {
  neap_any_word* target = (neap_any_word*)(void*)to;
  const neap_any_word* source = (const neap_any_word*)(const void*)from;
  uint32_t words = bytes / 4;
  if (target <= source) {
    for (; words > 0; --words) {
      *target++ = *source++;
      __asm__ volatile("");
    }
  } else {
    while (words > 0) {
      --words;
      target[words] = source[words];
      __asm__ volatile("");
    }
  }
}
#endif

static void neap_move_bytes(int8_t* to, const int8_t* from, uint32_t bytes) {
#ifdef __GNUC__
  if ((((uintptr_t)to | (uintptr_t)from | bytes) & 3U) == 0) {
    neap_move_words(to, from, bytes);
    return;
  }
#endif
  memmove(to, from, bytes);
}

static void neap_moves(const neap_segment* segment, const neap_frame* frame) {
  for (uint32_t i = 0; i < segment->move_count; ++i) {
    const neap_move* const move = &segment->moves[i];
    int8_t* const to = frame->memories[move->to_memory] + move->to;
    const int8_t* const from = frame->memories[move->from_memory] + move->from;
    if (frame->copy != NULL) {
      frame->copy(to, from, move->bytes);
    } else {
      neap_move_bytes(to, from, move->bytes);
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

/* How many rows from `row` on are computed at once. */
static inline uint32_t neap_rows_together(const neap_op* op, uint32_t row, uint32_t end,
                                          const uint16_t* columns) {
  const int pairs = (op->pixels & NEAP_ROW_PAIRS) != 0;
  return pairs && row + 1 < end && columns[0] + 1 == columns[1] ? 2 : 1;
}
static inline int neap_drive(const neap_op* op, const neap_frame* frame, uint32_t row,
                             uint32_t count, const uint16_t* columns) {
  return op->driver(op, frame, count == 2 ? row + NEAP_TWO_ROWS : row, columns[0], columns[1]);
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
    const uint32_t count = neap_rows_together(op, row, rows[1], columns);
    const int result = neap_drive(op, frame, row, count, columns);
    if (result != NEAP_OK) return result;
    state->row = (uint16_t)(state->row + count);
    if (row + count < rows[1]) return NEAP_OK;
  }
  neap_next_box(segment, state);
  return NEAP_OK;
}

static int neap_check_arena(const neap_program* program, const neap_frame* frame) {
  const int8_t* const arena = frame->memories[0];
  if (arena == NULL || (uintptr_t)arena % program->alignment != 0) return NEAP_BAD_ARENA;
  return NEAP_OK;
}

/* All boxes of a segment. As neap_advance() goes through them, without a state. */
static int neap_run_segment(const neap_segment* segment, const neap_frame* frame) {
  const neap_op* const end = segment->ops + segment->op_count;
  for (uint32_t row_step = 0; row_step < segment->row_steps; ++row_step) {
    for (uint32_t column_step = 0; column_step < segment->column_steps; ++column_step) {
      for (const neap_op* op = segment->ops; op != end; ++op) {
        const uint16_t* const columns = op->columns + column_step * op->column_pitch;
        const uint16_t* rows;
        uint32_t row_end;
        if (columns[0] >= columns[1]) continue;
        rows = op->rows + row_step * op->row_pitch;
        row_end = rows[1];
        for (uint32_t row = rows[0]; row < row_end;) {
          const uint32_t count = neap_rows_together(op, row, row_end, columns);
          const int result = neap_drive(op, frame, row, count, columns);
          if (result != NEAP_OK) return result;
          row += count;
        }
      }
    }
  }
  return NEAP_OK;
}

int neap_run(const neap_program* program, const neap_frame* frame) {
  const neap_segment* segment = program->segments;
  const neap_segment* const end = segment + program->segment_count;
  int result = neap_check_arena(program, frame);
  for (; result == NEAP_OK && segment != end; ++segment) {
    neap_moves(segment, frame);
    result = neap_run_segment(segment, frame);
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
