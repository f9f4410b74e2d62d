// SPDX-License-Identifier: Apache-2.0
//
// Start, faults and memory protection of Cortex-M: Armv6-M, Armv7-M, Armv8-M.

#include "board.h"
#include "startup.h"

void board_reset(void);
void board_fault(void);

// Every exception but the reset is a fault: programs use no interrupts.
__attribute__((section(".board_entry"), used)) static const struct {
  const void* stack;
  void (*handlers[15])(void);
} vectors = {board_stack_end,
             {board_reset, board_fault, board_fault, board_fault, board_fault, board_fault,
              board_fault, board_fault, board_fault, board_fault, board_fault, board_fault,
              board_fault, board_fault, board_fault}};

// The floating-point and vector unit is enabled before any code of the compiler, which may use it
// for copies.
__attribute__((naked)) void board_reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  __asm__ volatile(
      "ldr r0, =0xe000ed88\n"  // CPACR: full access to coprocessors 10 and 11
      "ldr r1, [r0]\n"
      "orr r1, r1, #0xf00000\n"
      "str r1, [r0]\n"
      "dsb\n"
      "isb\n");
#endif
  __asm__ volatile(
      "ldr r0, =board_start\n"
      "bx r0\n"
      ".ltorg\n");
}

// The stack pointer may be what faulted: the report begins with an empty stack.
__attribute__((naked)) void board_fault(void) {
  __asm__ volatile(
      "ldr r0, =board_stack_end\n"
      "mov sp, r0\n"
      "ldr r0, =board_report_fault\n"
      "bx r0\n"
      ".ltorg\n");
}

#if __ARM_ARCH >= 7
#define SYSTEM(offset) (*(volatile uint32_t*)(0xe000e000u + (offset)))
#define CFSR SYSTEM(0xd28)   // cause of a configurable fault
#define HFSR SYSTEM(0xd2c)   // cause of a hard fault
#define MMFAR SYSTEM(0xd34)  // address of a fault of memory protection
#define BFAR SYSTEM(0xd38)   // address of a bus fault
#define MPU_TYPE SYSTEM(0xd90)
#define MPU_CTRL SYSTEM(0xd94)
#define MPU_RNR SYSTEM(0xd98)
#define MPU_RBAR SYSTEM(0xd9c)
#define MPU_RASR SYSTEM(0xda0)  // Armv7-M
#define MPU_RLAR SYSTEM(0xda0)  // Armv8-M
#define MPU_MAIR0 SYSTEM(0xdc0)
#endif

void board_report_fault(void) {
  board_print("fault:");
#if __ARM_ARCH >= 7
  board_print_register("CFSR", CFSR);
  board_print_register("HFSR", HFSR);
  board_print_register("MMFAR", MMFAR);
  board_print_register("BFAR", BFAR);
#endif
  board_print("\n");
  board_exit(BOARD_FAULT_EXIT);
}

#if __ARM_ARCH >= 8

static void allow(uint32_t region, uint32_t begin, uint32_t end, uint32_t access) {
  MPU_RNR = region;
  MPU_RBAR = begin | access;
  MPU_RLAR = ((end - 1) & ~31u) | 1u;
}

void board_protect(void) {
  if (((MPU_TYPE >> 8) & 255u) < 2) return;
  MPU_MAIR0 = 0x44;  // normal memory, not cached
  allow(0, (uint32_t)board_flash_begin, (uint32_t)board_flash_end, 3u << 1);     // read only
  allow(1, (uint32_t)board_ram_begin, (uint32_t)board_ram_end, (1u << 1) | 1u);  // not executable
  MPU_CTRL = 1;
  __asm__ volatile("dsb\nisb" ::: "memory");
}

void board_allow(uint32_t begin, uint32_t bytes) {
  if (((MPU_TYPE >> 8) & 255u) < 3) return;
  allow(2, begin, begin + bytes, (1u << 1) | 1u);  // not executable
  __asm__ volatile("dsb\nisb" ::: "memory");
}

#elif __ARM_ARCH == 7

// Allows [begin, begin + bytes), of which begin is a multiple of the next power of two and bytes
// one of 32. A region is a power of two, of which eighths from 256 bytes on can be left out; a
// region for three bits of `bytes`. The next free region.
static uint32_t allow(uint32_t region, uint32_t begin, uint32_t bytes, uint32_t access) {
  while (bytes > 0 && region < ((MPU_TYPE >> 8) & 255u)) {
    uint32_t bits = 5;
    while (bits < 31 && (1u << bits) < bytes) ++bits;
    uint32_t covered = 1u << bits;
    uint32_t left_out = 0;
    if (covered > bytes && bits >= 8) {
      const uint32_t eighths = bytes >> (bits - 3);
      covered = eighths << (bits - 3);
      left_out = 0xffu & ~((1u << eighths) - 1u);
    } else if (covered > bytes) {
      covered = 1u << --bits;
    }
    MPU_RNR = region++;
    MPU_RBAR = begin;
    MPU_RASR = access | (left_out << 8) | ((bits - 1) << 1) | 1u;
    begin += covered;
    bytes -= covered;
  }
  return region;
}

void board_protect(void) {
  if (((MPU_TYPE >> 8) & 255u) == 0) return;
  const uint32_t normal = 2u << 16;  // write-through, not shared
  const uint32_t flash = (uint32_t)board_flash_begin;
  const uint32_t ram = (uint32_t)board_ram_begin;
  const uint32_t next = allow(0, flash, (uint32_t)board_flash_end - flash, (6u << 24) | normal);
  allow(next, ram, (uint32_t)board_ram_end - ram, (1u << 28) | (3u << 24) | normal);
  MPU_CTRL = 1;
  __asm__ volatile("dsb\nisb" ::: "memory");
}

// The last region; board_protect() fills them from the first one on.
void board_allow(uint32_t begin, uint32_t bytes) {
  const uint32_t regions = (MPU_TYPE >> 8) & 255u;
  if (regions == 0) return;
  (void)allow(regions - 1, begin, bytes, (1u << 28) | (3u << 24) | (2u << 16));
  __asm__ volatile("dsb\nisb" ::: "memory");
}

#else

// Armv6-M boards: the bus faults past the end of RAM.
void board_protect(void) {}
void board_allow(uint32_t begin, uint32_t bytes) {
  (void)begin;
  (void)bytes;
}

#endif
