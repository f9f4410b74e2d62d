// SPDX-License-Identifier: Apache-2.0
//
// Eight floats at a time, and the few functions of them that a network needs. Only additions,
// multiplications, divisions and bit operations in a fixed order: the same bits on every machine,
// which std::exp and std::tanh do not promise. Private to neap/learn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "neap/base/bit_cast.h"

namespace neap::learn {

inline constexpr std::size_t kLanes = 8;

// The compiler splits these where the machine's registers are narrower.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using BitLanes = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));

// Passing Lanes by value between functions would depend on the machine: everything is inlined.
#define NEAP_LANES inline __attribute__((always_inline))

NEAP_LANES Lanes Load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
NEAP_LANES void Store(Lanes lanes, float* to) { std::memcpy(to, &lanes, sizeof(lanes)); }
NEAP_LANES Lanes Fill(float value) {
  return Lanes{value, value, value, value, value, value, value, value};
}
NEAP_LANES float Sum(Lanes a) {
  return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}
NEAP_LANES Lanes Clamp(Lanes x, float low, float high) {
  x = x < Fill(low) ? Fill(low) : x;
  return x > Fill(high) ? Fill(high) : x;
}

// e^x to about one unit in the last place: 2^n times a polynomial of the rest, |rest| <= ln2 / 2.
// Arguments beyond +-87 are those.
NEAP_LANES Lanes Exp(Lanes x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // few bits: n times this is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  x = Clamp(x, -87.0F, 87.0F);
  const Lanes shifted = x * Fill(kLog2E) + Fill(kRound);
  const Lanes n = shifted - Fill(kRound);
  const Lanes r = (x - n * Fill(kLn2High)) - n * Fill(kLn2Low);
  Lanes sum = Fill(1.0F / 5040.0F);
  sum = sum * r + Fill(1.0F / 720.0F);
  sum = sum * r + Fill(1.0F / 120.0F);
  sum = sum * r + Fill(1.0F / 24.0F);
  sum = sum * r + Fill(1.0F / 6.0F);
  sum = sum * r + Fill(0.5F);
  sum = sum * r * r + r + Fill(1.0F);
  const BitLanes bits = BitCast<BitLanes>(shifted) - BitCast<BitLanes>(Fill(kRound));
  return BitCast<Lanes>(BitCast<BitLanes>(sum) + (bits << 23));
}

NEAP_LANES Lanes Tanh(Lanes x) {
  // Beyond 10 a float has no digits left between tanh and one.
  const Lanes power = Exp(Clamp(x, -10.0F, 10.0F) * Fill(2.0F));
  return (power - Fill(1.0F)) / (power + Fill(1.0F));
}

NEAP_LANES Lanes Sigmoid(Lanes x) { return Fill(1.0F) / (Fill(1.0F) + Exp(-x)); }

}  // namespace neap::learn
