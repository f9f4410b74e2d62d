/* SPDX-License-Identifier: Apache-2.0
 *
 * The device of device.c as firmware: it requests plans over its UART. bridge.py passes its requests
 * on to the server. Lines of text in both directions; counted bytes follow some of them:
 *
 *   INPUT bytes                 the input of the network       answer: the bytes
 *   ASK model-sha256 bytes      a plan for that much memory    answer: PLAN bytes, and the bytes; or NONE
 *   OUTPUT bytes, the bytes     the output of the network
 *   END code
 */
#include <string.h>

#include "board.h"
#include "net.h"

/* The UART of the boards mps2-an385 and mps2-an386. */
#define UART ((volatile uint32_t*)UART_ORIGIN)
enum { kData, kState, kControl, kDivisor = 4 };
enum { kTransmitFull = 1, kReceiveFull = 2 };

/* Memory protection allows RAM and flash alone: a region for the UART, device memory of 4 KiB. */
static void open_uart(void) {
  volatile uint32_t* const mpu = (volatile uint32_t*)0xe000ed98U;
  mpu[0] = 7;
  mpu[1] = UART_ORIGIN;
  mpu[2] = (1U << 28) | (3U << 24) | (1U << 16) | (11U << 1) | 1U;
  __asm__ volatile("dsb\nisb" ::: "memory");
  UART[kDivisor] = 16;
  UART[kControl] = 3;
}

static void put(uint8_t byte) {
  while ((UART[kState] & kTransmitFull) != 0) {
  }
  UART[kData] = byte;
}
static uint8_t get(void) {
  while ((UART[kState] & kReceiveFull) == 0) {
  }
  return (uint8_t)UART[kData];
}

static void put_bytes(const void* bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) put(((const uint8_t*)bytes)[i]);
}
static void get_bytes(uint8_t* to, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) to[i] = get();
}
static void put_text(const char* text) { put_bytes(text, (uint32_t)strlen(text)); }
static void put_number(uint32_t number) {
  char digits[10];
  uint32_t count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) put((uint8_t)digits[--count]);
}
static void put_hash(const unsigned char* hash) {
  for (int i = 0; i < 32; ++i) {
    put((uint8_t) "0123456789abcdef"[hash[i] >> 4]);
    put((uint8_t) "0123456789abcdef"[hash[i] & 15]);
  }
}

static uint8_t arena[ARENA_BYTES] __attribute__((section(".arena"), aligned(NET_ARENA_ALIGN)));
static void* work[(NET_WORK_BYTES + sizeof(void*) - 1) / sizeof(void*)];
static uint8_t plan[PLAN_BYTES];
static uint8_t input[NET_INPUT_BYTES];

/* The bytes of a plan for `capacity` bytes; 0: there is none. */
static uint32_t ask(uint32_t capacity) {
  uint32_t bytes = 0;
  uint8_t byte;
  put_text("ASK ");
  put_hash(net_model());
  put_text(" ");
  put_number(capacity);
  put_text("\n");
  if (get() != 'P') {
    while (get() != '\n') {
    }
    return 0;
  }
  while ((byte = get()) != '\n') {
    if (byte >= '0' && byte <= '9') bytes = bytes * 10 + (uint32_t)(byte - '0');
  }
  if (bytes > sizeof(plan)) return 0;
  get_bytes(plan, bytes);
  return bytes;
}

static int run(uint32_t capacity) {
  const void* const inputs[] = {input};
  const void* outputs[NET_OUTPUTS];
  const uint32_t bytes = ask(capacity);
  int result;
  if (bytes == 0) return 3;
  result = net_apply(plan, bytes, arena, capacity, work, inputs, outputs);
  if (result != 0) return -result;
  put_text("OUTPUT ");
  put_number(NET_OUTPUT_BYTES);
  put_text("\n");
  put_bytes(outputs[0], NET_OUTPUT_BYTES);
  return 0;
}

int main(void) {
  int result;
  open_uart();
  put_text("INPUT ");
  put_number(NET_INPUT_BYTES);
  put_text("\n");
  get_bytes(input, sizeof(input));
  result = run(ARENA_BYTES);
  /* Another task takes memory. */
  if (result == 0) result = run(ARENA_BYTES / 10 * 7);
  put_text("END ");
  put_number((uint32_t)result);
  put_text("\n");
  return result;
}
