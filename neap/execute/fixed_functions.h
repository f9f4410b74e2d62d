// SPDX-License-Identifier: Apache-2.0
//
// exp, logistic and tanh on 32-bit fixed-point numbers, bit by bit as the stock TensorFlow Lite
// reference kernels compute them. A number with `i` integer bits is raw / 2^(31 - i). Private to
// neap/execute.
#pragma once

#include <cstdint>

namespace neap::execute {

// e^a for a <= 0 with `integer_bits` (at most 5); the result has none.
std::int32_t FixedExp(std::int32_t a, std::int32_t integer_bits);

// 1 / (1 + a) for a in [0, 1); neither has integer bits.
std::int32_t FixedReciprocal(std::int32_t a);

// The results have no integer bits; a has `integer_bits`, at most 4.
std::int32_t FixedLogistic(std::int32_t a, std::int32_t integer_bits);
std::int32_t FixedTanh(std::int32_t a, std::int32_t integer_bits);

}  // namespace neap::execute
