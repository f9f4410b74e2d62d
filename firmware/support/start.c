// SPDX-License-Identifier: Apache-2.0
//
// The part of the start that all processors share, and the paint on the stack.

#include "board.h"
#include "startup.h"

#define PAINT 0xa5c35a3cu

static inline uint32_t* stack_pointer(void) {
  uint32_t* pointer;
#if defined(__riscv)
  __asm__ volatile("mv %0, sp" : "=r"(pointer));
#else
  __asm__ volatile("mov %0, sp" : "=r"(pointer));
#endif
  return pointer;
}

void board_start(void) {
  uint32_t* to = board_data_begin;
  const uint32_t* from = board_data_image;
  while (to < board_data_end) *to++ = *from++;
  for (to = board_bss_begin; to < board_bss_end; ++to) *to = 0;
  // All below the stack pointer is free: this function calls nothing before the paint is done.
  uint32_t* const top = stack_pointer();
  for (to = board_stack_begin; to < top; ++to) *to = PAINT;
  board_protect();
  board_exit(main());
}

uint32_t board_stack_used(void) {
  const uint32_t* at = board_stack_begin;
  while (at < board_stack_end && *at == PAINT) ++at;
  return (uint32_t)((const uint8_t*)board_stack_end - (const uint8_t*)at);
}

uint32_t board_stack_depth(void) {
  return (uint32_t)((const uint8_t*)board_stack_end - (const uint8_t*)stack_pointer());
}

void board_print_register(const char* name, uint32_t value) {
  char text[11];
  text[0] = '0';
  text[1] = 'x';
  for (int digit = 0; digit < 8; ++digit) {
    text[2 + digit] = "0123456789abcdef"[(value >> (28 - 4 * digit)) & 15u];
  }
  text[10] = '\0';
  board_print(" ");
  board_print(name);
  board_print("=");
  board_print(text);
}
