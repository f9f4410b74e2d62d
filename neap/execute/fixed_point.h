// SPDX-License-Identifier: Apache-2.0
//
// The integer arithmetic that represents real factors in quantised networks: a factor is a 32-bit
// fraction and a power of two, and products round twice (to nearest in the high product, then in
// the shift). Source: the behaviour of the stock TensorFlow Lite reference kernels, whose bytes the
// tests compare with. Private to neap/execute.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace neap::execute {

// factor = fraction / 2^31 * 2^shift; fraction in [2^30, 2^31), or 0.
struct FixedFactor {
  std::int32_t fraction = 0;
  std::int32_t shift = 0;
};

inline FixedFactor MakeFixedFactor(double factor) {
  if (factor == 0 || !std::isfinite(factor)) return {};
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);
  auto fraction = static_cast<std::int64_t>(std::round(mantissa * 0x1p31));
  if (fraction == std::int64_t{1} << 31) {
    fraction /= 2;
    ++exponent;
  }
  if (exponent < -31) return {};
  // Larger factors saturate every product anyway.
  if (exponent > 30) return {std::numeric_limits<std::int32_t>::max(), 30};
  return {static_cast<std::int32_t>(fraction), exponent};
}

// a * b / 2^31, rounded to nearest, saturated.
inline std::int32_t HighProduct(std::int32_t a, std::int32_t b) {
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  if (a == kMin && b == kMin) return std::numeric_limits<std::int32_t>::max();
  const std::int64_t product = std::int64_t{a} * b;
  const std::int64_t nudge = product >= 0 ? (1 << 30) : 1 - (1 << 30);
  return static_cast<std::int32_t>((product + nudge) / (std::int64_t{1} << 31));
}

// x / 2^exponent, rounded to nearest, ties away from zero; exponent in [0, 31].
inline std::int32_t RoundingShift(std::int32_t x, std::int32_t exponent) {
  const auto mask = static_cast<std::int32_t>((std::int64_t{1} << exponent) - 1);
  const std::int32_t remainder = x & mask;
  const std::int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

inline std::int16_t Saturate16(std::int32_t value) {
  return static_cast<std::int16_t>(std::clamp(value, -32768, 32767));
}

// Modulo 2^32: an overflow that a hostile file causes gives some number and is not undefined.
inline std::int32_t ShiftLeft(std::int32_t x, std::int32_t exponent) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << exponent);
}
inline std::int32_t WrapAdd(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
inline std::int32_t WrapSubtract(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}
inline std::int32_t WrapMultiply(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

inline std::int32_t Scale(std::int32_t x, FixedFactor factor) {
  const std::int32_t left = factor.shift > 0 ? factor.shift : 0;
  const std::int32_t right = factor.shift > 0 ? 0 : -factor.shift;
  return RoundingShift(HighProduct(ShiftLeft(x, left), factor.fraction), right);
}

// The same, rounded once, half up.
inline std::int32_t ScaleOnce(std::int32_t x, FixedFactor factor) {
  const std::int32_t shift = 31 - factor.shift;  // in [1, 62]
  const std::int64_t product = std::int64_t{x} * factor.fraction;
  return static_cast<std::int32_t>((product + (std::int64_t{1} << (shift - 1))) >> shift);
}

// The same for wide sums (16-bit activations): a 16-bit fraction, rounded once, half up.
inline std::int32_t ScaleWide(std::int64_t x, FixedFactor factor) {
  const std::int64_t fraction =
      factor.fraction < 0x7fff0000 ? (factor.fraction + (1 << 15)) >> 16 : 0x7fff;
  const std::int32_t shift = 15 - factor.shift;  // in [-15, 46]
  const auto product = static_cast<std::int64_t>(static_cast<std::uint64_t>(x) *
                                                 static_cast<std::uint64_t>(fraction));
  if (shift <= 0) return static_cast<std::int32_t>(static_cast<std::uint64_t>(product) << -shift);
  const auto rounded = static_cast<std::int64_t>(static_cast<std::uint64_t>(product) +
                                                 (std::uint64_t{1} << (shift - 1)));
  return static_cast<std::int32_t>(rounded >> shift);
}

}  // namespace neap::execute
