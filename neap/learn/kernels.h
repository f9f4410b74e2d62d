// SPDX-License-Identifier: Apache-2.0
//
// The loops of the network over rows of floats whose length is a multiple of eight. Private to
// neap/learn. One source compiled for more than one instruction set and chosen at run time; without
// fused multiply-add, so that all of them give the same bits.
#pragma once

#include <cstddef>

namespace neap::learn {

struct Kernels {
  // out[c] = bias[c] + sum over r of x[r] * matrix[r * columns + c]. bias may be null: zeros.
  void (*multiply)(const float* x, std::size_t rows, const float* matrix, const float* bias,
                   std::size_t columns, float* out);
  // sum over c of v[c] * tanh(reference[c] + query[c])
  float (*score)(const float* v, const float* reference, const float* query, std::size_t columns);
  // out[c] += factor * x[c]
  void (*add)(float factor, const float* x, std::size_t columns, float* out);
  float (*dot)(const float* a, const float* b, std::size_t columns);
  // values[i] = e^(values[i] - most); any count. Returns their sum.
  float (*exponentials)(float most, std::size_t count, float* values);
  float (*tangent)(float x);  // tanh(x)
  // One step of an LSTM from the sums of its four gates (input, forget, cell, output).
  void (*cell)(const float* gates, std::size_t hidden, float* h, float* c);
};

const Kernels& BestKernels();
// Those that every machine of the architecture has.
const Kernels& PlainKernels();

}  // namespace neap::learn
