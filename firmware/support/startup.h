// SPDX-License-Identifier: Apache-2.0
//
// Between the start-up code of a processor and the rest of the support. Programs include board.h.

#ifndef NEAP_FIRMWARE_STARTUP_H
#define NEAP_FIRMWARE_STARTUP_H

#include <stdint.h>

// Addresses that the linker script defines.
extern uint32_t board_stack_begin[], board_stack_end[];
extern uint32_t board_data_begin[], board_data_end[], board_data_image[];
extern uint32_t board_bss_begin[], board_bss_end[];
extern uint8_t board_flash_begin[], board_flash_end[];
extern uint8_t board_ram_begin[], board_ram_end[];

// Lets the processor fault on every access outside flash and RAM_BYTES of RAM, where it has a unit
// for that.
void board_protect(void);

// Sets up memory, calls main and exits. The stack pointer is at board_stack_end.
void board_start(void);

// Prints what the processor recorded and exits with BOARD_FAULT_EXIT. Called with an empty stack.
void board_report_fault(void);

// Prints ` name=0x...`.
void board_print_register(const char* name, uint32_t value);

#endif  // NEAP_FIRMWARE_STARTUP_H
