// SPDX-License-Identifier: Apache-2.0
//
// The part of overlap_runner.c of a board that QEMU emulates: vectors, start, output by
// semihosting. No C library but memcpy, memset and memcmp.
#include <stddef.h>
#include <stdint.h>

int main(void);
void print_line(const char* text);
void Start(void);
extern char kStackTop[];

static int Semihosting(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void print_line(const char* text) { Semihosting(0x04, text); }

static void Exit(uint32_t status) {
  const uint32_t block[2] = {0x20026, status};
  Semihosting(0x20, block);
  for (;;) {
  }
}

void Start(void) {
  *(volatile uint32_t*)0xE000ED88 |= 0xFU << 20;  // coprocessors 10 and 11: floats and vectors
  __asm__ volatile("dsb; isb");
  Exit((uint32_t)main());
}

static void Fault(void) {
  print_line("fault\n");
  Exit(1);
}

__attribute__((section(".vectors"), used)) static const void* const kVectors[16] = {
    kStackTop, (void*)Start, (void*)Fault, (void*)Fault, (void*)Fault, (void*)Fault, (void*)Fault,
};

void* memcpy(void* to, const void* from, size_t bytes) {
  volatile char* out = to;
  const volatile char* in = from;
  for (size_t i = 0; i < bytes; ++i) out[i] = in[i];
  return to;
}

void* memset(void* to, int value, size_t bytes) {
  volatile char* out = to;
  for (size_t i = 0; i < bytes; ++i) out[i] = (char)value;
  return to;
}

int memcmp(const void* a, const void* b, size_t bytes) {
  const unsigned char* x = a;
  const unsigned char* y = b;
  for (size_t i = 0; i < bytes; ++i) {
    if (x[i] != y[i]) return x[i] - y[i];
  }
  return 0;
}
