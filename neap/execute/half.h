// SPDX-License-Identifier: Apache-2.0
//
// 16-bit floats. Private to neap/execute.
#pragma once

#include <cmath>
#include <cstdint>

#include "neap/base/bit_cast.h"

namespace neap::execute {

// IEEE binary16, exactly.
inline float FloatOfHalf(std::uint16_t half) {
  const std::uint32_t exponent = (half >> 10U) & 31U;
  const std::uint32_t fraction = half & 1023U;
  float value = 0;
  if (exponent == 31) {
    value = BitCast<float>(0x7f800000U | (fraction << 13U));
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = BitCast<float>(((exponent + 112U) << 23U) | (fraction << 13U));
  }
  return (half >> 15U) != 0 ? -value : value;
}

// The nearest binary16, ties to even.
inline std::uint16_t HalfOfFloat(float value) {
  const auto bits = BitCast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint32_t>((bits >> 16U) & 0x8000U);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x1p-14F) {
    // Subnormal: a whole number of 2^-24.
    const float scaled = std::nearbyint(std::ldexp(magnitude, 24));
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(scaled));
  }
  const std::uint32_t rest = bits & 0x7fffffffU;
  const std::uint32_t rounded = rest + 0xfffU + ((rest >> 13U) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13U) - (112U << 10U)));
}

}  // namespace neap::execute
