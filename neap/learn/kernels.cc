// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/kernels.h"

#include "neap/learn/lanes.h"

namespace neap::learn {
namespace {

NEAP_LANES void MultiplyBody(const float* x, std::size_t rows, const float* matrix,
                             const float* bias, std::size_t columns, float* out) {
  // Four vectors of the result at a time stay in registers.
  constexpr std::size_t kBlock = 4;
  std::size_t column = 0;
  for (; column + kBlock * kLanes <= columns; column += kBlock * kLanes) {
    Lanes sums[kBlock];
    for (std::size_t k = 0; k < kBlock; ++k) {
      sums[k] = bias == nullptr ? Fill(0) : Load(bias + column + k * kLanes);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const Lanes factor = Fill(x[row]);
      const float* at = matrix + row * columns + column;
      for (std::size_t k = 0; k < kBlock; ++k) sums[k] += factor * Load(at + k * kLanes);
    }
    for (std::size_t k = 0; k < kBlock; ++k) Store(sums[k], out + column + k * kLanes);
  }
  for (; column < columns; column += kLanes) {
    Lanes sum = bias == nullptr ? Fill(0) : Load(bias + column);
    for (std::size_t row = 0; row < rows; ++row) {
      sum += Fill(x[row]) * Load(matrix + row * columns + column);
    }
    Store(sum, out + column);
  }
}

NEAP_LANES float ScoreBody(const float* v, const float* reference, const float* query,
                           std::size_t columns) {
  Lanes sum = Fill(0);
  for (std::size_t column = 0; column < columns; column += kLanes) {
    sum += Load(v + column) * Tanh(Load(reference + column) + Load(query + column));
  }
  return Sum(sum);
}

NEAP_LANES void AddBody(float factor, const float* x, std::size_t columns, float* out) {
  for (std::size_t column = 0; column < columns; column += kLanes) {
    Store(Load(out + column) + Fill(factor) * Load(x + column), out + column);
  }
}

NEAP_LANES float DotBody(const float* a, const float* b, std::size_t columns) {
  Lanes sum = Fill(0);
  for (std::size_t column = 0; column < columns; column += kLanes) {
    sum += Load(a + column) * Load(b + column);
  }
  return Sum(sum);
}

NEAP_LANES float ExponentialsBody(float most, std::size_t count, float* values) {
  float sum = 0;
  for (std::size_t i = 0; i < count; i += kLanes) {
    const std::size_t here = count - i < kLanes ? count - i : kLanes;
    float block[kLanes] = {};
    std::memcpy(block, values + i, here * sizeof(float));
    Store(Exp(Load(block) - Fill(most)), block);
    std::memcpy(values + i, block, here * sizeof(float));
    for (std::size_t k = 0; k < here; ++k) sum += block[k];
  }
  return sum;
}

NEAP_LANES float TangentBody(float x) { return Tanh(Fill(x))[0]; }

NEAP_LANES void CellBody(const float* gates, std::size_t hidden, float* h, float* c) {
  for (std::size_t i = 0; i < hidden; i += kLanes) {
    const Lanes input = Sigmoid(Load(gates + i));
    const Lanes forget = Sigmoid(Load(gates + hidden + i));
    const Lanes cell = Tanh(Load(gates + 2 * hidden + i));
    const Lanes output = Sigmoid(Load(gates + 3 * hidden + i));
    const Lanes next = forget * Load(c + i) + input * cell;
    Store(next, c + i);
    Store(output * Tanh(next), h + i);
  }
}

// The functions of one instruction set.
// NOLINTBEGIN(bugprone-macro-parentheses): names and attributes, no expressions
#define NEAP_KERNELS(NAME, ATTRIBUTE)                                                       \
  namespace NAME {                                                                          \
  ATTRIBUTE void Multiply(const float* x, std::size_t rows, const float* matrix,            \
                          const float* bias, std::size_t columns, float* out) {             \
    MultiplyBody(x, rows, matrix, bias, columns, out);                                      \
  }                                                                                         \
  ATTRIBUTE float Score(const float* v, const float* reference, const float* query,         \
                        std::size_t columns) {                                              \
    return ScoreBody(v, reference, query, columns);                                         \
  }                                                                                         \
  ATTRIBUTE void Add(float factor, const float* x, std::size_t columns, float* out) {       \
    AddBody(factor, x, columns, out);                                                       \
  }                                                                                         \
  ATTRIBUTE float Dot(const float* a, const float* b, std::size_t columns) {                \
    return DotBody(a, b, columns);                                                          \
  }                                                                                         \
  ATTRIBUTE float Exponentials(float most, std::size_t count, float* values) {              \
    return ExponentialsBody(most, count, values);                                           \
  }                                                                                         \
  ATTRIBUTE float Tangent(float x) { return TangentBody(x); }                               \
  ATTRIBUTE void Cell(const float* gates, std::size_t hidden, float* h, float* c) {         \
    CellBody(gates, hidden, h, c);                                                          \
  }                                                                                         \
  constexpr Kernels kAll = {&Multiply, &Score, &Add, &Dot, &Exponentials, &Tangent, &Cell}; \
  }
// NOLINTEND(bugprone-macro-parentheses)

NEAP_KERNELS(plain, )
#if defined(__x86_64__)
NEAP_KERNELS(avx2, __attribute__((target("avx2"))))
#endif

}  // namespace

const Kernels& PlainKernels() { return plain::kAll; }

const Kernels& BestKernels() {
#if defined(__x86_64__)
  static const bool kWide = __builtin_cpu_supports("avx2") != 0;
  if (kWide) return avx2::kAll;
#endif
  return PlainKernels();
}

}  // namespace neap::learn
