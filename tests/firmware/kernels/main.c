// SPDX-License-Identifier: Apache-2.0
//
// Random operators by the kernels of vectors.c and of scalars.c, whose outputs and bytes beside them
// must be equal. Prints `cases N vectors V` or the first case that differs.

#include <string.h>

#include "board.h"
#include "neap_mve.h"

#ifndef CASES
#define CASES 400
#endif
enum { kCases = CASES, kMemory = 16384, kMiddle = 4096, kWeights = 24576, kRows = 64, kTaps = 16 };

int has_vectors(void);
void scalar_add_s8(const neap_op* op, const neap_work* work);
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
      // Biases of all sizes: sums are any int32. Most scaled sums are around a byte.
      const uint32_t bits = below(4) == 0 ? between(1, 31) : sum_bits;
      const uint32_t around = bits > 8 ? between(bits - 8, bits > 30 ? 31 : bits) : between(1, 8);
      const uint32_t exponent = below(8) ? around : between(1, 31); // some are far from a byte
      words[lane] = (random_word() & ((2U << bits) - 1U)) - (1U << bits);
      words[4 + lane] = below(4) == 0 ? 0x40000000U : between(0x40000000U, 0x7fffffffU);
      words[8] |= ((0U - exponent) & 0xffU) << 8 * lane;
      if (below(8) == 0) {
        // Products of which the first rounding counts.
        words[4 + lane] = between(0x1000U, 0x7fffU);
        words[8] = (words[8] & ~(0xffU << 8 * lane)) | 0xffU << 8 * lane;
      }
    }
  }
}

// Of fewer than 16 channels that divide 16: the same ones again.
static void repeat_channels(uint32_t outputs, uint32_t taps) {
  static const uint8_t row_of[4] = {0, 2, 1, 3};
  for (uint32_t lane = outputs; lane < 16; ++lane) {
    const uint32_t from = lane % outputs;
    const uint32_t* const source = channels + row_of[from % 4] * NEAP_MVE_ROW;
    uint32_t* const target = channels + row_of[lane % 4] * NEAP_MVE_ROW;
    const uint32_t exponent = source[8] >> 8 * (from / 4) & 0xffU;
    for (uint32_t i = 0; i < taps; ++i) weights[i * 16 + lane] = weights[i * 16 + from];
    target[lane / 4] = source[from / 4];
    target[4 + lane / 4] = source[4 + from / 4];
    target[8] = (target[8] & ~(0xffU << 8 * (lane / 4))) | exponent << 8 * (lane / 4);
  }
}

static void print_number(const char* what, uint32_t number) {
  board_print(what);
  board_print_number(number);
  board_print(" ");
}

static int run_case(uint32_t number) {
  const int is_depthwise = number % 2;
  const uint32_t taps = below(2) ? 9 : below(2) ? 1 : between(1, kTaps);
  const uint32_t outputs = below(2) ? 4 * between(1, 10) : between(1, 40);
  const uint32_t some = between(1, below(2) ? 512 / taps : 16);
  // Whole vectors are read where they are.
  const uint32_t whole = taps == 1 && below(2) ? (some + 15) / 16 * 16 : some;
  const uint32_t inputs = is_depthwise ? outputs : whole;
  const uint32_t row_taps = taps % 3 == 0 ? 3 : taps % 2 == 0 ? 2 : 1;
  // Two pixels with taps of their own, as of two rows.
  const int is_pair = !is_depthwise && below(3) == 0;
  const uint32_t pixels = is_pair ? 2 : between(1, 5);
  const uint32_t step = inputs * between(1, 2);
  const uint32_t skip = below(16);
  const int8_t* taps_at[2 * kTaps];
  const neap_view out = {NULL, NULL, outputs, 1, (uint16_t)pixels, 1, 0};
  const neap_view* views[] = {&out};
  neap_mve params = {weights, channels, taps, is_depthwise ? 1 : inputs, row_taps, step, 0, -128, 127,
                     0};
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
  if (is_depthwise && outputs < 16 && 16 % outputs == 0) repeat_channels(outputs, taps);
  params.out_zero = (int32_t)between(0, 255) - 128;
  if (below(2)) {
    params.low = params.out_zero;
    params.positive = 1;
  } else if (below(2)) {
    params.low = (int32_t)between(0, 127) - 128;
    params.high = (int32_t)between(0, 127);
  }
  for (uint32_t i = 0; i < 2 * taps; ++i) {
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
  work.tap_pitch = is_pair ? taps : 0;
  work.step = is_pair ? 0 : step;
  work.out_step = (ptrdiff_t)outputs;
  if (is_pair) work.out_step += below(2) ? (ptrdiff_t)below(64) : -(ptrdiff_t)(2 * outputs + below(64));
  work.out = expected + kMiddle + skip;
  (is_depthwise ? scalar_depthwise_s8 : scalar_conv_s8)(&op, &work);
  work.out = found + kMiddle + skip;
  (is_depthwise ? neap_depthwise_mve_s8 : neap_conv_mve_s8)(&op, &work);
  if (memcmp(expected, found, kMemory) == 0) {
    if (is_depthwise || is_pair || taps > 1 || step != inputs || outputs > inputs) return 0;
    // The same with the input directly behind the first output pixel: outputs replace inputs that
    // have been read.
    memcpy(work.out + outputs, taps_at[0], pixels * step);
    taps_at[0] = work.out + outputs;
    neap_conv_mve_s8(&op, &work);
    if (memcmp(expected + kMiddle + skip, work.out, pixels * outputs) == 0) return 0;
    board_print("in place ");
  }
  print_number("case ", number);
  print_number("taps ", taps);
  print_number("inputs ", inputs);
  print_number("outputs ", outputs);
  print_number("pixels ", pixels);
  for (uint32_t i = 0; i < kMemory; ++i) {
    if (expected[i] != found[i]) {
      print_number("at ", i - kMiddle - skip);
      print_number("expected ", (uint8_t)expected[i]);
      print_number("found ", (uint8_t)found[i]);
      break;
    }
  }
  return 1;
}

static void run_add_case(void) {
  const uint32_t bytes = between(1, 40);
  const uint32_t pixels = between(1, 4);
  const neap_view out = {NULL, NULL, bytes, 1, (uint16_t)pixels, 1, 0};
  const neap_view* views[] = {&out};
  const int8_t* operands[] = {input + below(64), input + 1000 + below(64)};
  neap_add params;
  neap_op op;
  neap_work work;
  memset(&op, 0, sizeof(op));
  op.params = &params;
  op.views = views;
  fill(input, kMemory);
  fill(found, 512);
  memcpy(expected, found, 512);
  for (uint32_t i = 0; i < 2; ++i) {
    params.strides[i].pixel = below(4) ? bytes : 0;
    params.strides[i].channel = below(8) ? 1 : 0;
    params.zeros[i] = (int32_t)between(0, 255) - 128;
    params.fractions[i] = (int32_t)(below(2) ? 0x40000000U : between(0x40000000U, 0x7fffffffU));
    params.shifts[i] = -(int32_t)below(4);
  }
  params.sign = below(4) ? 1 : -1;
  params.out_fraction = (int32_t)(below(2) ? 0x40000000U : between(0x40000000U, 0x7fffffffU));
  params.out_shift = -(int32_t)between(14, 20);
  if (below(2)) {
    // Small operands, whose rounding counts.
    for (uint32_t i = 0; i < 2; ++i) {
      if (below(2)) {
        params.fractions[i] = (int32_t)between(0x4, 0x1ff);
        params.shifts[i] = 0;
      } else {
        params.shifts[i] = -(int32_t)between(18, 27);
      }
    }
    params.out_shift = -(int32_t)between(1, 3);
  }
  params.out_zero = (int32_t)between(0, 255) - 128;
  params.low = below(2) ? -128 : params.out_zero;
  params.high = below(2) || params.low > 100 ? 127 : 100;
  work.taps = operands;
  work.scratch = scratch;
  work.pixels = pixels;
  work.first = 0;
  work.channels = bytes;
  work.out = expected + 7;
  scalar_add_s8(&op, &work);
  work.out = found + 7;
  neap_add_mve_s8(&op, &work);
}

int main(void) {
  for (uint32_t number = 0; number < kCases; ++number) {
    run_add_case();
    if (memcmp(expected, found, 512) != 0) {
      print_number("sum ", number);
      return 1;
    }
  }
  for (uint32_t number = 0; number < kCases; ++number) {
    if (run_case(number)) return 1;
  }
  print_number("cases ", kCases);
  print_number("vectors ", (uint32_t)has_vectors());
  return 0;
}
