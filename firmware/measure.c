// SPDX-License-Identifier: Apache-2.0
//
// Runs a network that `neap emit` wrote on every input of a file, and writes the outputs to
// output.bin. Then prints `runs N stack N`, the number of inputs and the bytes of stack that were
// in use.
//
// NETWORK_HEADER, NETWORK_PREFIX, NETWORK_MACROS name the network. Its inputs come, one after the
// other, from
// - input.bin, written to the arena before a run, by default;
// - input.bin, row by row during a run, with NETWORK_FED_BY_ROWS;
// - the file NETWORK_INPUTS, linked into flash and read in place.
// With NETWORK_HAS_SLOW_MEMORY, inputs and outputs are in the slow memory of the network: that of
// the board, from BOARD_SLOW_ORIGIN on, or any on the host. With NETWORK_HAS_VARIABLES, each run
// begins a sequence.

#include NETWORK_HEADER

#include <stddef.h>

#include "board.h"

#define JOIN_NAMES(a, b) a##_##b
#define JOIN(a, b) JOIN_NAMES(a, b)
#define NAME(suffix) JOIN(NETWORK_PREFIX, suffix)
#define MACRO(suffix) JOIN(NETWORK_MACROS, suffix)

#ifndef NETWORK_INPUT_TYPE
#define NETWORK_INPUT_TYPE int8_t
#endif

static uint8_t arena[MACRO(ARENA_BYTES)]
    __attribute__((section(".arena"), aligned(MACRO(ARENA_ALIGN) < 4 ? 4 : MACRO(ARENA_ALIGN))));

#if defined(NETWORK_HAS_SLOW_MEMORY)
static uint8_t slow[MACRO(SLOW_BYTES)] __attribute__((section(".slow")));
#define MEMORIES arena, slow
#define HOME slow
#else
#define MEMORIES arena
#define HOME arena
#endif

// Exit codes; a fault has BOARD_FAULT_EXIT.
enum { kBadFiles = 2, kNetworkFailed = 3 };
// Results of run_next beside those of the network.
enum { kNoMoreInputs = 1000, kPartOfAnInput };

#if defined(NETWORK_INPUTS)

#if defined(__APPLE__)
#error "inputs are linked by the directives of ELF"
#endif
__asm__(
    ".pushsection .board_inputs,\"a\"\n"
    ".balign 16\n"
    "measure_inputs:\n"
    ".incbin \"" NETWORK_INPUTS
    "\"\n"
    "measure_inputs_end:\n"
    ".popsection\n");
extern const NETWORK_INPUT_TYPE measure_inputs[] __asm__("measure_inputs");
extern const NETWORK_INPUT_TYPE measure_inputs_end[] __asm__("measure_inputs_end");

static int run_next(int input, uint32_t number) {
  (void)input;
  const uint32_t size = MACRO(INPUT_BYTES) / (uint32_t)sizeof(NETWORK_INPUT_TYPE);
  const NETWORK_INPUT_TYPE* const next = measure_inputs + number * size;
  if (next == measure_inputs_end) return kNoMoreInputs;
  if (measure_inputs_end - next < (ptrdiff_t)size) return kPartOfAnInput;
  board_count_begin();
  const int result = NAME(run)(arena, next);
  board_count_end();
  return result;
}

#elif defined(NETWORK_FED_BY_ROWS)

static const uint32_t shape[] = MACRO(INPUT_SHAPE);  // batch, rows, ...

static int read_row(void* user, int row, NETWORK_INPUT_TYPE* to) {
  const uint32_t row_bytes = MACRO(INPUT_BYTES) / shape[1];
  const uint32_t read = board_read(*(const int*)user, to, row_bytes);
  if (read == row_bytes) return 0;
  return row == 0 && read == 0 ? kNoMoreInputs : kPartOfAnInput;
}

static int run_next(int input, uint32_t number) {
  (void)number;
  board_count_begin();
  const int result = NAME(run_rows)(arena, read_row, &input);
  if (result != kNoMoreInputs) board_count_end();  // without a first row there was no run to count
  return result;
}

#else

static int run_next(int input, uint32_t number) {
  (void)number;
  const uint32_t read = board_read(input, NAME(input)(HOME), MACRO(INPUT_BYTES));
  if (read != MACRO(INPUT_BYTES)) return read == 0 ? kNoMoreInputs : kPartOfAnInput;
  board_count_begin();
  const int result = NAME(run)(MEMORIES);
  board_count_end();
  return result;
}

#endif

static int fail(const char* message, int code) {
  board_print(message);
  board_print("\n");
  return code;
}

int main(void) {
#if defined(BOARD_SLOW_ORIGIN)
  board_allow(BOARD_SLOW_ORIGIN, BOARD_SLOW_BYTES);
#endif
  const int input = board_open_to_read("input.bin");
  const int output = board_open_to_write("output.bin");
  if (input < 0) return fail("input.bin cannot be read", kBadFiles);
  if (output < 0) return fail("output.bin cannot be written", kBadFiles);
  uint32_t number = 0;
  for (;; ++number) {
#if defined(NETWORK_HAS_VARIABLES)
    NAME(reset)(MEMORIES);
#endif
    const int result = run_next(input, number);
    if (result == kNoMoreInputs && number > 0) break;
    if (result == kNoMoreInputs) return fail("no input", kBadFiles);
    if (result == kPartOfAnInput) return fail("the inputs end within an input", kBadFiles);
    if (result != 0) return fail("the network returned an error", kNetworkFailed);
    if (board_write(output, NAME(output)(HOME), MACRO(OUTPUT_BYTES)) != 0) {
      return fail("output.bin cannot be written", kBadFiles);
    }
  }
  board_close(output);
  // Printed first, so that the measured stack includes the stack of printing.
  board_print("runs ");
  board_print_number(number);
  board_print(" stack ");
  board_print_number(board_stack_used());
  // run_next has one caller, so that it is part of this function: the rest of the stack is the
  // network's.
  board_print(" caller ");
  board_print_number(board_stack_depth());
  board_print("\n");
  return 0;
}
