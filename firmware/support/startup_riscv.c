// SPDX-License-Identifier: Apache-2.0
//
// Start, faults and memory protection of RV32 in machine mode.

#include "board.h"
#include "startup.h"

void board_reset(void);
void board_fault(void);

// Control and status registers are an extension of their own, which the flags of the compiler leave
// out, as its libraries are chosen by them.
__asm__(".option arch, +zicsr");

__attribute__((naked, section(".board_entry"), used)) void board_reset(void) {
  __asm__ volatile(
      "la sp, board_stack_end\n"
      "la t0, board_fault\n"
      "csrw mtvec, t0\n"
      "j board_start\n");
}

// The stack pointer may be what faulted: the report begins with an empty stack.
__attribute__((naked, aligned(4))) void board_fault(void) {
  __asm__ volatile(
      "la sp, board_stack_end\n"
      "j board_report_fault\n");
}

#define READ_REGISTER(name, value) __asm__ volatile("csrr %0, " name : "=r"(value))
#define WRITE_REGISTER(name, value) __asm__ volatile("csrw " name ", %0" ::"r"(value))

void board_report_fault(void) {
  uint32_t cause, value, address;
  READ_REGISTER("mcause", cause);
  READ_REGISTER("mtval", value);
  READ_REGISTER("mepc", address);
  board_print("fault:");
  board_print_register("mcause", cause);
  board_print_register("mtval", value);
  board_print_register("mepc", address);
  board_print("\n");
  board_exit(BOARD_FAULT_EXIT);
}

// Locked entries of the physical memory protection bind machine mode as well. An entry with a top
// of range begins where the address of the entry before it ends; the first that matches decides.
void board_protect(void) {
  enum {
    kRead = 1,
    kWrite = 2,
    kExecute = 4,
    kTop = 1 << 3,
    kPowerOfTwo = 3 << 3,
    kLocked = 1 << 7
  };
  WRITE_REGISTER("pmpaddr0", (uint32_t)board_flash_begin >> 2);
  WRITE_REGISTER("pmpaddr1", (uint32_t)board_flash_end >> 2);
  WRITE_REGISTER("pmpaddr2", (uint32_t)board_ram_begin >> 2);
  WRITE_REGISTER("pmpaddr3", (uint32_t)board_ram_end >> 2);
  WRITE_REGISTER("pmpaddr4", 0xffffffffu);  // everything else: no access
  WRITE_REGISTER("pmpcfg0", ((uint32_t)(kLocked | kTop | kRead | kWrite) << 24) |
                                ((uint32_t)(kLocked | kTop | kRead | kExecute) << 8));
  // Last, as this code may be executed only once the entries above are valid.
  WRITE_REGISTER("pmpcfg1", (uint32_t)(kLocked | kPowerOfTwo));
}
