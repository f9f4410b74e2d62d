// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels of CMSIS-NN or ESP-NN with their output over their input. test_library_overlap.py
// compiles this with cases.h, for the host and for emulated boards; the libraries come from an
// installed package. For each case one line: its number, how many of SEEDS inputs gave equal
// outputs with the output `distance` bytes below the input, and how many with one byte less.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cases.h"  // struct Case, kCases, kCaseCount, SEEDS, *_BYTES

void print_line(const char* text);

#ifdef USE_CMSIS_NN
#include "arm_nnfunctions.h"
#else
#include "esp_nn.h"
#include "esp_nn_ansi_headers.h"
void esp_nn_conv_s8_opt(const data_dims_t*, const int8_t*, const data_dims_t*, const int8_t*,
                        const int32_t*, const data_dims_t*, int8_t*, const conv_params_t*,
                        const quant_data_t*);
void esp_nn_depthwise_conv_s8_opt(const data_dims_t*, const int8_t*, const data_dims_t*,
                                  const int8_t*, const int32_t*, const data_dims_t*, int8_t*,
                                  const dw_conv_params_t*, const quant_data_t*);
#endif

enum Kernel { kConvolution, kDepthwise, kFullyConnected, kAveragePool, kMaxPool, kAdd, kMul };

static int8_t input[INPUT_BYTES];
static int8_t second[INPUT_BYTES];
static int8_t expected[OUTPUT_BYTES];
static int8_t shared_memory[SHARED_BYTES];
static int8_t weights[WEIGHT_BYTES];
static int32_t bias[CHANNELS], multiplier[CHANNELS], shift[CHANNELS];
static int32_t scratch[SCRATCH_WORDS];

static uint32_t state;
static int32_t Random(void) {
  state = state * 1664525u + 1013904223u;
  return (int8_t)(state >> 24);
}

static int32_t InputBytes(const struct Case* c) { return c->n * c->h * c->w * c->c; }
static int32_t OutputBytes(const struct Case* c) { return c->n * c->oh * c->ow * c->oc; }

// Sums of `terms` products of random bytes become bytes.
static int32_t ShiftFor(int32_t terms) {
  int32_t bits = 6;
  while (terms > 1) {
    terms /= 4;
    ++bits;
  }
  return -bits;
}

static void Prepare(const struct Case* c, uint32_t seed) {
  state = seed * 2654435761u + 12345u;
  for (int32_t i = 0; i < InputBytes(c); ++i) input[i] = (int8_t)Random();
  for (int32_t i = 0; i < InputBytes(c); ++i) second[i] = (int8_t)Random();
  int32_t terms = c->kh * c->kw * c->c;
  int32_t count = terms * c->oc;
  if (c->kernel == kDepthwise) {
    terms = c->kh * c->kw;
    count = terms * c->oc;
  } else if (c->kernel == kFullyConnected) {
    terms = c->h * c->w * c->c;
    count = terms * c->oc;
  } else if (c->kernel >= kAveragePool) {
    count = 0;
  }
  for (int32_t i = 0; i < count; ++i) weights[i] = (int8_t)Random();
  for (int32_t i = 0; i < c->oc; ++i) {
    bias[i] = Random() * 16;
    multiplier[i] = 0x40000000 + (Random() << 20);
    shift[i] = ShiftFor(terms);
  }
}

#ifdef USE_CMSIS_NN

static void Run(const struct Case* c, const int8_t* in, int8_t* out) {
  const cmsis_nn_context context = {scratch, sizeof scratch};
  const cmsis_nn_dims in_dims = {c->n, c->h, c->w, c->c};
  const cmsis_nn_dims out_dims = {c->n, c->oh, c->ow, c->oc};
  const cmsis_nn_dims bias_dims = {1, 1, 1, c->oc};
  const cmsis_nn_per_channel_quant_params each = {multiplier, shift};
  const cmsis_nn_activation range = {-128, 127};
  if (c->kernel == kConvolution) {
    const cmsis_nn_conv_params params = {3,    -2, {c->sw, c->sh}, {c->pw, c->ph}, {c->dw, c->dh},
                                         range};
    const cmsis_nn_dims filter = {c->oc, c->kh, c->kw, c->c};
    arm_convolve_wrapper_s8(&context, &params, &each, &in_dims, in, &filter, weights, &bias_dims,
                            bias, &out_dims, out);
  } else if (c->kernel == kDepthwise) {
    const cmsis_nn_dw_conv_params params = {
        3, -2, c->oc / c->c, {c->sw, c->sh}, {c->pw, c->ph}, {c->dw, c->dh}, range};
    const cmsis_nn_dims filter = {1, c->kh, c->kw, c->oc};
    arm_depthwise_conv_wrapper_s8(&context, &params, &each, &in_dims, in, &filter, weights,
                                  &bias_dims, bias, &out_dims, out);
  } else if (c->kernel == kFullyConnected) {
    const cmsis_nn_fc_params params = {3, 0, -2, range};
    const cmsis_nn_per_tensor_quant_params all = {multiplier[0], shift[0]};
    const cmsis_nn_dims filter = {c->h * c->w * c->c, 1, 1, c->oc};
    arm_fully_connected_s8(&context, &params, &all, &in_dims, in, &filter, weights, &bias_dims,
                           bias, &out_dims, out);
  } else {
    const cmsis_nn_pool_params params = {{c->sw, c->sh}, {c->pw, c->ph}, range};
    const cmsis_nn_dims filter = {1, c->kh, c->kw, 1};
    if (c->kernel == kMaxPool) {
      arm_max_pool_s8(&context, &params, &in_dims, in, &filter, &out_dims, out);
    } else {
      arm_avgpool_s8(&context, &params, &in_dims, in, &filter, &out_dims, out);
    }
  }
}

#else

// `c->variant` 0: ANSI, 1: generic optimisations. The runtime calls a kernel once for each image.
static void Run(const struct Case* c, const int8_t* in, int8_t* out) {
  const data_dims_t in_dims = {c->w, c->h, c->c, 1};
  const data_dims_t out_dims = {c->ow, c->oh, c->oc, 1};
  const quant_data_t each = {shift, multiplier};
  const int32_t in_image = c->h * c->w * c->c;
  const int32_t out_image = c->oh * c->ow * c->oc;
  for (int32_t b = 0; b < c->n; ++b, in += in_image, out += out_image) {
    if (c->kernel == kConvolution) {
      const data_dims_t filter = {c->kw, c->kh, c->c, 1};
      const conv_params_t params = {3, -2, {c->sw, c->sh}, {c->pw, c->ph}, {1, 1}, {-128, 127}};
      (c->variant ? esp_nn_conv_s8_opt : esp_nn_conv_s8_ansi)(&in_dims, in, &filter, weights, bias,
                                                              &out_dims, out, &params, &each);
    } else if (c->kernel == kDepthwise) {
      const data_dims_t filter = {c->kw, c->kh, 0, 0};
      const dw_conv_params_t params = {
          3, -2, c->oc / c->c, {c->sw, c->sh}, {c->pw, c->ph}, {1, 1}, {-128, 127}};
      (c->variant ? esp_nn_depthwise_conv_s8_opt : esp_nn_depthwise_conv_s8_ansi)(
          &in_dims, in, &filter, weights, bias, &out_dims, out, &params, &each);
    } else if (c->kernel == kFullyConnected) {
      esp_nn_fully_connected_s8_ansi(in, 3, (uint16_t)in_image, weights, 0, bias, out,
                                     (uint16_t)c->oc, -2, shift[0], multiplier[0], -128, 127);
    } else if (c->kernel == kAdd) {
      // The second input stays apart.
      esp_nn_add_elementwise_s8_ansi(in, second + b * in_image, 3, -5, 1 << 30, 1 << 30, 0, 0, 8,
                                     out, 1, 1 << 30, -8, -128, 127, in_image);
    } else if (c->kernel == kMul) {
      esp_nn_mul_elementwise_s8_ansi(in, second + b * in_image, 3, -5, out, 1, 1 << 30, -6, -128, 127,
                                     in_image);
    } else {
      (c->kernel == kMaxPool ? esp_nn_max_pool_s8_ansi : esp_nn_avg_pool_s8_ansi)(
          in, (uint16_t)c->w, (uint16_t)c->h, out, (uint16_t)c->ow, (uint16_t)c->oh,
          (uint16_t)c->sw, (uint16_t)c->sh, (uint16_t)c->kw, (uint16_t)c->kh, (uint16_t)c->pw,
          (uint16_t)c->ph, -128, 127, (uint16_t)c->c);
    }
  }
}

#endif

// Whether the output is equal with its start `distance` bytes below the input's.
static int IsEqual(const struct Case* c, int32_t distance) {
  int8_t* const out = shared_memory + 64;
  int8_t* const in = out + distance;
  memset(shared_memory, 0, (size_t)(64 + OutputBytes(c)));
  memcpy(in, input, (size_t)InputBytes(c));
  Run(c, in, out);
  return memcmp(out, expected, (size_t)OutputBytes(c)) == 0;
}

static char* Number(char* at, int32_t value) {
  char digits[12];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  while (count > 0) *at++ = digits[--count];
  *at++ = ' ';
  return at;
}

int main(void) {
  for (int32_t i = 0; i < kCaseCount; ++i) {
    const struct Case* c = &kCases[i];
    int32_t equal = 0;
    int32_t equal_beyond = 0;
    for (uint32_t seed = 0; seed < SEEDS; ++seed) {
      Prepare(c, seed + 1);
      memset(expected, 0, (size_t)OutputBytes(c));
      Run(c, input, expected);
      equal += IsEqual(c, c->distance);
      equal_beyond += IsEqual(c, c->distance - 1);
    }
    char line[48];
    char* at = Number(line, i);
    at = Number(at, equal);
    at = Number(at, equal_beyond);
    at[-1] = '\n';
    *at = 0;
    print_line(line);
  }
  return 0;
}
