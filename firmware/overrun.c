// SPDX-License-Identifier: Apache-2.0
//
// Shows that the board enforces its limit of RAM: the first byte of input.bin chooses an access.
// The accesses inside memory end with exit code 0, those outside with BOARD_FAULT_EXIT.

#include "board.h"
#include "startup.h"

// Volatile, so that the accesses are those written here.
static volatile uint8_t sink;
static volatile uint32_t depth = 100000;

static uint32_t recurse(uint32_t levels) {
  volatile uint32_t frame[8];
  frame[levels & 7u] = levels;
  const uint32_t below = levels == 0 ? 0 : recurse(levels - 1);
  return below + frame[levels & 7u];
}

int main(void) {
  uint8_t access = 0;
  const int file = board_open_to_read("input.bin");
  if (file < 0 || board_read(file, &access, 1) != 1) return 1;
  volatile uint8_t* begin = board_ram_begin;
  volatile uint8_t* end = board_ram_end;
  // Hides from the compiler that the accesses are outside of objects.
  __asm__ volatile("" : "+r"(begin), "+r"(end));
  switch (access) {
    case 'i':  // inside: first and last byte; the first belongs to the stack, far below its use
               // here
      begin[0] = 1;
      end[-1] = 2;
      sink = begin[0];
      return sink == 1 && end[-1] == 2 ? 0 : 2;
    case 'w':
      *end = 1;
      break;
    case 'r':
      sink = *end;
      break;
    case 'b':
      begin[-1] = 1;
      break;
    case 's':
      sink = (uint8_t)recurse(depth);
      break;
    case 'n':
      sink = *(volatile uint8_t*)0x60000000u;
      break;  // no board has memory there
    default:
      return 3;
  }
  return 4;  // the access was not noticed
}
