// SPDX-License-Identifier: Apache-2.0
//
// exp, logistic and tanh on fixed-point numbers, bit by bit as the stock TensorFlow Lite kernels
// compute them. A number with `i` integer bits is raw / 2^(31 - i), or raw / 2^(15 - i) where it
// has 16 bits. Private to neap/execute.
#pragma once

#include <array>
#include <cstdint>

namespace neap::execute {

// e^a for a <= 0 with `integer_bits`; the result has none.
std::int32_t FixedExp(std::int32_t a, std::int32_t integer_bits);

// 1 / (1 + a) for a in [0, 1); neither has integer bits.
std::int32_t FixedReciprocal(std::int32_t a);

// The results have no integer bits; a has `integer_bits`, at most 6.
std::int32_t FixedLogistic(std::int32_t a, std::int32_t integer_bits);
std::int32_t FixedTanh(std::int32_t a, std::int32_t integer_bits);
std::int16_t FixedLogistic(std::int16_t a, std::int32_t integer_bits);
std::int16_t FixedTanh(std::int16_t a, std::int32_t integer_bits);

// By interpolation in a table of logistic(i / 24), which most 16-bit kernels use. The results have
// no integer bits; `a` has three (3.12) after it was multiplied by factor / 3 / 2^shift.
struct TableArgument {
  std::int32_t factor = 3;
  std::int32_t shift = 0;
};
std::int16_t TableLogistic(std::int16_t a, TableArgument argument);
std::int16_t TableTanh(std::int16_t a, TableArgument argument);
// The table, as fractions of 2^16.
const std::array<std::int32_t, 256>& LogisticTable();

}  // namespace neap::execute
