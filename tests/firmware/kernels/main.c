// SPDX-License-Identifier: Apache-2.0
//
// Random operators by the kernels of vectors.c and of scalars.c, whose outputs and bytes beside them
// must be equal. Prints `cases N vectors V` or the first case that differs.

#include <string.h>

#include "board.h"
#include "neap_mve.h"

enum { kCases = 400, kMemory = 16384, kWeights = 24576, kRows = 64, kTaps = 16 };

int has_vectors(void);
void scalar_conv_s8(const neap_op* op, const neap_work* work);
void scalar_depthwise_s8(const neap_op* op, const neap_work* work);

static int8_t weights[kWeights];
static uint32_t channels[kRows * NEAP_MVE_ROW];
static int8_t input[kMemory];
static int8_t expected[kMemory];
static int8_t found[kMemory];
static int8_t scratch[kMemory];

static uint32_t state = 1;
static uint32_t random_word(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}
static uint32_t below(uint32_t limit) { return (random_word() >> 8) % limit; }
static uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }

static void fill(int8_t* bytes, uint32_t count) {
  // Extremes of bytes are as frequent as all other values.
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t word = random_word();
    bytes[i] = (int8_t)(word & 0x300U ? word & 0xffU : word & 0x400U ? 0x7fU : 0x80U);
  }
}

static void fill_channels(uint32_t rows, uint32_t sum_bits) {
  for (uint32_t row = 0; row < rows; ++row) {
    uint32_t* const words = channels + row * NEAP_MVE_ROW;
    words[8] = 0;
    for (uint32_t lane = 0; lane < 4; ++lane) {
      // Biases of all sizes: sums are any int32. Scaled sums are around a byte, or ties.
      const uint32_t bits = below(4) == 0 ? between(1, 31) : sum_bits;
      const uint32_t exponent = bits > 8 ? between(bits - 8, bits > 30 ? 31 : bits) : between(1, 8);
      words[lane] = (random_word() & ((2U << bits) - 1U)) - (1U << bits);
      words[4 + lane] = below(4) == 0 ? 0x40000000U : between(0x40000000U, 0x7fffffffU);
      words[8] |= ((0U - exponent) & 0xffU) << 8 * lane;
    }
  }
}

static void print_number(const char* what, uint32_t number) {
  board_print(what);
  board_print_number(number);
  board_print(" ");
}

static int run_case(uint32_t number) {
  const int is_depthwise = number % 2;
  const uint32_t taps = below(2) ? 9 : between(1, kTaps);
  const uint32_t outputs = below(2) ? 4 * between(1, 10) : between(1, 40);
  const uint32_t inputs = is_depthwise ? outputs : between(1, below(2) ? 512 / taps : 16);
  const uint32_t pixels = between(1, 5);
  const uint32_t step = inputs * between(1, 2);
  const uint32_t skip = below(16);
  const int8_t* taps_at[kTaps];
  const neap_view out = {NULL, NULL, outputs, 1, (uint16_t)pixels, 1, 0};
  const neap_view* views[] = {&out};
  neap_mve params = {weights, channels, taps, is_depthwise ? 1 : inputs, step, 0, -128, 127, 0};
  neap_op op;
  neap_work work;
  memset(&op, 0, sizeof(op));
  op.params = &params;
  op.views = views;
  fill(weights, kWeights);
  fill(input, kMemory);
  fill(found, kMemory);
  memcpy(expected, found, kMemory);
  if (is_depthwise) {
    for (uint32_t i = 0; i < kWeights; ++i) {
      if (weights[i] == -128) weights[i] = -127;
    }
  } else {
    // Zeros behind the inputs.
    const uint32_t length = taps * inputs;
    const uint32_t count = (length + 15) / 16;
    for (uint32_t channel = 0; channel < outputs; ++channel) {
      const uint32_t first = channel / 4 * 4;
      const uint32_t together = outputs - first < 4 ? outputs - first : 4;
      for (uint32_t k = length; k < count * 16; ++k) {
        weights[(first * count + k / 16 * together + channel % 4) * 16 + k % 16] = 0;
      }
    }
  }
  fill_channels((outputs + 15) / 16 * 4, is_depthwise ? 16 : 18);
  params.out_zero = (int32_t)between(0, 255) - 128;
  if (below(2)) {
    params.low = params.out_zero;
    params.positive = 1;
  } else if (below(2)) {
    params.low = (int32_t)between(0, 127) - 128;
    params.high = (int32_t)between(0, 127);
  }
  for (uint32_t i = 0; i < taps; ++i) {
    // Taps beside each other, and apart.
    taps_at[i] = i > 0 && below(2) ? taps_at[i - 1] + inputs
                                   : input + below(kMemory - (kTaps + 10) * inputs - 16);
    if (taps_at[i] + 10 * inputs > input + kMemory) taps_at[i] = input;
  }
  work.taps = taps_at;
  work.scratch = scratch + 5;
  work.pixels = pixels;
  work.first = 0;
  work.channels = outputs;
  work.out = expected + skip;
  (is_depthwise ? scalar_depthwise_s8 : scalar_conv_s8)(&op, &work);
  work.out = found + skip;
  (is_depthwise ? neap_depthwise_mve_s8 : neap_conv_mve_s8)(&op, &work);
  if (memcmp(expected, found, kMemory) == 0) return 0;
  print_number("case ", number);
  print_number("taps ", taps);
  print_number("inputs ", inputs);
  print_number("outputs ", outputs);
  print_number("pixels ", pixels);
  for (uint32_t i = 0; i < kMemory; ++i) {
    if (expected[i] != found[i]) {
      print_number("at ", i - skip);
      print_number("expected ", (uint8_t)expected[i]);
      print_number("found ", (uint8_t)found[i]);
      break;
    }
  }
  return 1;
}

int main(void) {
  for (uint32_t number = 0; number < kCases; ++number) {
    if (run_case(number)) return 1;
  }
  print_number("cases ", kCases);
  print_number("vectors ", (uint32_t)has_vectors());
  return 0;
}
