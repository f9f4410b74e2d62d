/* SPDX-License-Identifier: Apache-2.0 */
#include "small.h"

#include <string.h>

/* Attributes of weights. */
#ifndef SMALL_WEIGHTS
#define SMALL_WEIGHTS
#endif

enum { kRows = 12, kColumns = 16, kInput = SMALL_OUTPUT_BYTES };

SMALL_WEIGHTS static const int8_t weights[kRows] = {3,   -7, 11,  -2, 5,   -128,
                                                    127, 1,  -64, 9,  -31, 17};

int8_t* small_input(void* arena) { return (int8_t*)arena + kInput; }

const int8_t* small_output(const void* arena) { return (const int8_t*)arena; }

static void add_row(int8_t* sums, const int8_t* row, int weight) {
  for (int x = 0; x < kColumns; ++x)
    sums[x] = (int8_t)((uint8_t)sums[x] + (unsigned)(row[x] * weight));
}

int small_run(void* arena) {
  int8_t* const sums = (int8_t*)arena;
  memset(sums, 100, kColumns);
  for (int y = 0; y < kRows; ++y) add_row(sums, sums + kInput + y * kColumns, weights[y]);
  return 0;
}

int small_run_rows(void* arena, small_row_fn rows, void* user) {
  int8_t* const sums = (int8_t*)arena;
  memset(sums, 100, kColumns);
  for (int y = 0; y < kRows; ++y) {
    const int result = rows(user, y, sums + kInput);
    if (result != 0) return result;
    add_row(sums, sums + kInput, weights[y]);
  }
  return 0;
}
