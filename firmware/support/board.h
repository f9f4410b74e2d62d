// SPDX-License-Identifier: Apache-2.0
//
// Functions that a program may use on every emulated board and on the host. Files and the console
// are those of the machine that emulates (semihosting), in the folder where the emulator was
// started.

#ifndef NEAP_FIRMWARE_BOARD_H
#define NEAP_FIRMWARE_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Exit code of a program that accessed memory it may not access, or executed an undefined
// instruction.
#define BOARD_FAULT_EXIT 86

// Prints text to the console.
void board_print(const char* text);

// Prints a number in decimal.
void board_print_number(uint32_t number);

// Ends the program; the emulator exits with `code`, 0 to 255. Does not return.
void board_exit(int code);

// Opens a file for reading, or creates it for writing. A handle above 0, or -1.
int board_open_to_read(const char* path);
int board_open_to_write(const char* path);

// The number of bytes read: less than `bytes` at the end of the file.
uint32_t board_read(int file, void* data, uint32_t bytes);

// 0, or -1 if not all bytes were written.
int board_write(int file, const void* data, uint32_t bytes);

void board_close(int file);

// The most bytes of stack that were in use since the start, by the paint that is left. 0 on the
// host.
uint32_t board_stack_used(void);

// The bytes of stack that the caller and its callers use now. 0 on the host.
uint32_t board_stack_depth(void);

// Lets the processor access a memory beside flash and RAM, where it has a unit of memory
// protection. `bytes` is a power of two, of which `begin` is a multiple. Once in a program, on
// Cortex-M alone.
void board_allow(uint32_t begin, uint32_t bytes);

// Empty functions. The emulator's plugin counts the instructions between a call of the first and a
// call of the second.
void board_count_begin(void);
void board_count_end(void);

// The program's own function, called once memory is set up. Its result is the exit code.
int main(void);

#ifdef __cplusplus
}
#endif

#endif  // NEAP_FIRMWARE_BOARD_H
