// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/fixed_functions.h"

#include <limits>

#include "neap/execute/fixed_point.h"

namespace neap::execute {
namespace {

constexpr std::int32_t kOne = std::numeric_limits<std::int32_t>::max();

std::int32_t SaturatingShiftLeft(std::int32_t x, std::int32_t exponent) {
  const std::int64_t wide = std::int64_t{x} << exponent;
  if (wide > kOne) return kOne;
  if (wide < std::numeric_limits<std::int32_t>::min()) {
    return std::numeric_limits<std::int32_t>::min();
  }
  return static_cast<std::int32_t>(wide);
}

// e^a for a in [-1/4, 0), no integer bits: the Taylor series around -1/8.
std::int32_t ExpOfSmall(std::int32_t a) {
  constexpr std::int32_t kExpOfEighth = 1895147668;  // e^(-1/8)
  constexpr std::int32_t kThird = 715827883;
  const std::int32_t x = WrapAdd(a, 1 << 28);
  const std::int32_t x2 = HighProduct(x, x);
  const std::int32_t x3 = HighProduct(x2, x);
  const std::int32_t x4 = HighProduct(x2, x2);
  const std::int32_t sum = WrapAdd(HighProduct(WrapAdd(RoundingShift(x4, 2), x3), kThird), x2);
  return WrapAdd(kExpOfEighth, HighProduct(kExpOfEighth, WrapAdd(x, RoundingShift(sum, 1))));
}

// (a + 1) / 2, rounded.
std::int32_t HalfDenominator(std::int32_t a) {
  const std::int64_t sum = std::int64_t{a} + kOne;
  return static_cast<std::int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
}

// 1 / half_denominator with two integer bits: Newton's method from the best line.
std::int32_t Reciprocal(std::int32_t half_denominator) {
  constexpr std::int32_t k48Over17 = 1515870810;
  constexpr std::int32_t kMinus32Over17 = -1010580540;
  std::int32_t x = WrapAdd(k48Over17, HighProduct(half_denominator, kMinus32Over17));
  for (int round = 0; round < 3; ++round) {
    const std::int32_t error = WrapSubtract(1 << 29, HighProduct(half_denominator, x));
    x = WrapAdd(x, SaturatingShiftLeft(HighProduct(x, error), 2));
  }
  return x;
}

}  // namespace

std::int32_t FixedExp(std::int32_t a, std::int32_t integer_bits) {
  if (a == 0) return kOne;
  const std::int32_t fraction_bits = 31 - integer_bits;
  const std::int32_t quarter = 1 << (fraction_bits - 2);
  const std::int32_t rest = (a & (quarter - 1)) - quarter;
  std::int32_t result = ExpOfSmall(SaturatingShiftLeft(rest, integer_bits));
  const std::int32_t quarters = WrapSubtract(rest, a);
  // e^-(2^-2), e^-(2^-1), ..., e^-(2^4).
  constexpr std::int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308,
                                       39332535,   720401,     242};
  for (std::int32_t i = 0; i < 7 && i - 2 < integer_bits; ++i) {
    if ((quarters & (1 << (fraction_bits + i - 2))) != 0) {
      result = HighProduct(result, kFactors[i]);
    }
  }
  return result;
}

std::int32_t FixedReciprocal(std::int32_t a) {
  return SaturatingShiftLeft(Reciprocal(HalfDenominator(a)), 1);
}

std::int32_t FixedLogistic(std::int32_t a, std::int32_t integer_bits) {
  if (a == 0) return 1 << 30;
  const std::int32_t positive = FixedReciprocal(FixedExp(a > 0 ? -a : a, integer_bits));
  return a > 0 ? positive : kOne - positive;
}

std::int32_t FixedTanh(std::int32_t a, std::int32_t integer_bits) {
  if (a == 0) return 0;
  // Twice the argument is the same bits with one more integer bit.
  const std::int32_t exp = FixedExp(a > 0 ? -a : a, integer_bits + 1);
  const std::int32_t x = WrapSubtract(Reciprocal(HalfDenominator(exp)), 1 << 29);
  const std::int32_t negated = SaturatingShiftLeft(x, 2);
  return a > 0 ? negated : -negated;
}

}  // namespace neap::execute
