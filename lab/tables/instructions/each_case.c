// SPDX-License-Identifier: Apache-2.0
//
// Runs the operators of a network of instruction_cases one by one, each as a whole or in blocks,
// and marks each run for the emulator's plugin. The first run executes no operator.

#include <stdint.h>

#include "board.h"
#include "net.c"

typedef struct one_case {
  uint16_t op;
  uint16_t height;  // of the image that is computed
  uint16_t width;
  uint16_t high;  // of a block
  uint16_t wide;
  uint8_t pairs;       // some blocks have one column
  uint8_t sums;        // a mean by running sums
  uint8_t from_rings;  // 0: the input is one after the other
  uint8_t to_rings;
  uint16_t from_pixels;  // of each of them
  uint16_t to_pixels;
} one_case;

static const one_case cases[] = {
#include "cases.h"
};

static int8_t arena[NET_ARENA_BYTES] __attribute__((section(".arena"), aligned(16)));
static const int8_t* taps[512];
static uint16_t rows[512];
static uint16_t columns[512];

// A view with rings of `pixels` at its place. Their contents do not matter.
static void divide(neap_view* view, neap_ring* rings, uint8_t count, uint16_t pixels) {
  if (count == 0) return;
  for (uint32_t i = 0; i < count; ++i) {
    rings[i].offset = view->rings[0].offset;
    rings[i].pixels = pixels;
  }
  view->rings = rings;
  view->ring_count = count;
}

static uint16_t blocks(uint16_t size, uint16_t block, uint16_t* bounds) {
  uint16_t count = 0;
  for (uint32_t at = 0; at < size; at += block) bounds[count++] = (uint16_t)at;
  bounds[count] = size;
  return count;
}

static int run(const neap_op* op, uint16_t op_count, uint16_t row_steps, uint16_t column_steps) {
  int8_t* const memories[] = {arena};
  const neap_frame frame = {memories, NULL, taps, NULL, NULL, NULL};
  const neap_segment segment = {NULL, op, 0, op_count, row_steps, column_steps};
  const neap_program program = {&segment, 0, 1, 4};
  board_count_begin();
  const int result = neap_run(&program, &frame);
  board_count_end();
  return result;
}

int main(void) {
  uint32_t seed = 1;
  for (uint32_t i = 0; i < sizeof(arena); ++i) {
    seed = seed * 1664525U + 1013904223U;
    arena[i] = (int8_t)(uint8_t)(seed >> 24);
  }
  int result = run(net_ops, 0, 1, 1);
  for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const one_case* const c = &cases[i];
    neap_op op = net_ops[c->op];
    neap_mean mean;
    neap_ring rings[2][4];
    neap_view from = *op.views[1];
    neap_view to = *op.views[0];
    const neap_view* const views[] = {&to, &from, op.inputs > 1 ? op.views[2] : NULL};
    divide(&from, rings[0], c->from_rings, c->from_pixels);
    divide(&to, rings[1], c->to_rings, c->to_pixels);
    op.views = views;
    op.rows = rows;
    op.columns = columns;
    op.row_pitch = 1;
    op.column_pitch = 1;
    if (c->pairs != 0) op.pixels = (uint8_t)(op.pixels | NEAP_ROW_PAIRS);
    if (c->sums != 0) {
      mean = *(const neap_mean*)op.params;
      mean.first_row = 0;
      mean.first_column = 0;
      mean.end_row = c->height;
      mean.end_column = c->width;
      mean.sum_bytes = 2;
      op.params = &mean;
      op.driver = neap_drive_sums;
    }
    result |= run(&op, 1, blocks(c->height, c->high, rows), blocks(c->width, c->wide, columns));
  }
  return result == 0 ? 0 : 1;
}
