// SPDX-License-Identifier: Apache-2.0
//
// board.h by the C library of the host, so that the programs of boards run there as well.

#include "board.h"

#include <stdio.h>
#include <stdlib.h>

enum { kFiles = 8 };
static FILE* files[kFiles];

void board_print(const char* text) { fputs(text, stdout); }

void board_print_number(uint32_t number) { printf("%lu", (unsigned long)number); }

void board_exit(int code) { exit(code); }

static int open_file(const char* path, const char* mode) {
  for (int file = 1; file < kFiles; ++file) {
    if (files[file] != NULL) continue;
    files[file] = fopen(path, mode);
    return files[file] == NULL ? -1 : file;
  }
  return -1;
}

int board_open_to_read(const char* path) { return open_file(path, "rb"); }

int board_open_to_write(const char* path) { return open_file(path, "wb"); }

uint32_t board_read(int file, void* data, uint32_t bytes) {
  return (uint32_t)fread(data, 1, bytes, files[file]);
}

int board_write(int file, const void* data, uint32_t bytes) {
  return fwrite(data, 1, bytes, files[file]) == bytes ? 0 : -1;
}

void board_close(int file) {
  fclose(files[file]);
  files[file] = NULL;
}

uint32_t board_stack_used(void) { return 0; }

uint32_t board_stack_depth(void) { return 0; }

void board_count_begin(void) {}

void board_count_end(void) {}
