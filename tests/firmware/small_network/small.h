/* SPDX-License-Identifier: Apache-2.0 */
/* A network written by hand in the interface of `neap emit`: tests of the firmware support need no
 * emitter. The input has 12 rows of 16 bytes. Output byte x is the sum, from 100 on, of the
 * products of column x with a constant per row; additions and products wrap. */
#ifndef SMALL_H
#define SMALL_H

#include <stdint.h>

#define SMALL_ARENA_BYTES 208
#define SMALL_ARENA_ALIGN 4
#define SMALL_INPUT_BYTES 192
#define SMALL_INPUT_SHAPE \
  { 1, 12, 16, 1 }
#define SMALL_OUTPUT_BYTES 16

typedef int (*small_row_fn)(void* user, int row, int8_t* dst);

int8_t* small_input(void* arena);
const int8_t* small_output(const void* arena);
int small_run(void* arena);
int small_run_rows(void* arena, small_row_fn rows, void* user);

#endif
