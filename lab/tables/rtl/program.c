// SPDX-License-Identifier: Apache-2.0
//
// Runs an emitted network once on a simulated RV32 core (simulate.cc): the input is linked in, the
// output is stored byte by byte at an address that the simulator knows. So are the begin and the
// end of the run, whose cycles are reported.
#include <stddef.h>
#include <stdint.h>

#include "net.h"

extern uint32_t board_data_begin[], board_data_end[], board_data_image[];
extern uint32_t board_bss_begin[], board_bss_end[];

enum { kBegin = 1, kEnd = 2, kDone = 3, kFailed = 4 };
#define PORT ((volatile uint32_t*)0x10000000)
#define OUTPUT ((volatile uint32_t*)0x10000004)

static uint8_t arena[NET_ARENA_BYTES] __attribute__((section(".arena"), aligned(16)));

__asm__(
    ".pushsection .board_inputs,\"a\"\n"
    ".balign 16\n"
    "input_bytes:\n"
    ".incbin \"" INPUT
    "\"\n"
    ".popsection\n"
    ".section .board_entry,\"ax\"\n"
    ".globl board_reset\n"
    "board_reset:\n"
    "la sp, board_stack_end\n"
    "j start\n"
    ".text\n");
extern const uint8_t input_bytes[];

void start(void) {
  uint32_t* to = board_data_begin;
  const uint32_t* from = board_data_image;
  while (to < board_data_end) *to++ = *from++;
  for (to = board_bss_begin; to < board_bss_end; ++to) *to = 0;
  uint8_t* const input = (uint8_t*)net_input(arena);
  for (size_t i = 0; i < NET_INPUT_BYTES; ++i) input[i] = input_bytes[i];
  *PORT = kBegin;
  const int result = net_run(arena);
  *PORT = kEnd;
  const uint8_t* const output = (const uint8_t*)net_output(arena);
  for (size_t i = 0; i < NET_OUTPUT_BYTES; ++i) *OUTPUT = output[i];
  *PORT = result == 0 ? kDone : kFailed;
  for (;;) {
  }
}
