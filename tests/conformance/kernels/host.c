// SPDX-License-Identifier: Apache-2.0
//
// The host's part of overlap_runner.c.
#include <stdio.h>

void print_line(const char* text);
void print_line(const char* text) { fputs(text, stdout); }
