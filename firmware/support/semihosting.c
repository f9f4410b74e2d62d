// SPDX-License-Identifier: Apache-2.0
//
// board.h by semihosting, on Arm and RISC-V: numbers and arguments of the calls are those of
// "Semihosting for AArch32 and AArch64" (Arm), which RISC-V shares.

#include "board.h"

enum {
  kOpen = 0x01,
  kClose = 0x02,
  kPrintCharacter = 0x03,
  kWrite = 0x05,
  kRead = 0x06,
  kExitExtended = 0x20
};
enum { kModeRead = 1, kModeWrite = 5, kApplicationExit = 0x20026 };

static uintptr_t call(uintptr_t operation, uintptr_t argument) {
#if defined(__riscv)
  register uintptr_t a0 __asm__("a0") = operation;
  register uintptr_t a1 __asm__("a1") = argument;
  // The three instructions are in one page and not compressed.
  __asm__ volatile(
      ".option push\n"
      ".option norvc\n"
      ".balign 16\n"
      "slli x0, x0, 0x1f\n"
      "ebreak\n"
      "srai x0, x0, 7\n"
      ".option pop\n"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
#else
  register uintptr_t r0 __asm__("r0") = operation;
  register uintptr_t r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
#endif
}

static uintptr_t call_with(uintptr_t operation, uintptr_t first, uintptr_t second,
                           uintptr_t third) {
  const uintptr_t arguments[3] = {first, second, third};
  return call(operation, (uintptr_t)arguments);
}

// Character by character: QEMU 7.2 finds no string in a page of RISC-V that is protected in part.
void board_print(const char* text) {
  while (*text != '\0') call(kPrintCharacter, (uintptr_t)text++);
}

void board_print_number(uint32_t number) {
  char text[11];
  char* at = text + 10;
  *at = '\0';
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  board_print(at);
}

void board_exit(int code) {
  call_with(kExitExtended, kApplicationExit, (uintptr_t)code, 0);
  for (;;) {
  }
}

static int open_file(const char* path, uintptr_t mode) {
  uintptr_t length = 0;
  while (path[length] != '\0') ++length;
  return (int)call_with(kOpen, (uintptr_t)path, mode, length);
}

int board_open_to_read(const char* path) { return open_file(path, kModeRead); }

int board_open_to_write(const char* path) { return open_file(path, kModeWrite); }

// Both calls return the number of bytes that were not transferred.
uint32_t board_read(int file, void* data, uint32_t bytes) {
  return bytes - (uint32_t)call_with(kRead, (uintptr_t)file, (uintptr_t)data, bytes);
}

int board_write(int file, const void* data, uint32_t bytes) {
  return call_with(kWrite, (uintptr_t)file, (uintptr_t)data, bytes) == 0 ? 0 : -1;
}

void board_close(int file) { call_with(kClose, (uintptr_t)file, 0, 0); }

__attribute__((noinline)) void board_count_begin(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) void board_count_end(void) { __asm__ volatile("" ::: "memory"); }
