// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/fixed_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "neap/execute/fixed_point.h"

namespace neap::execute {
namespace {

// Arithmetic on numbers of one width: sums wrap around, products keep their high half.
template <typename Raw>
struct Numbers {
  using Wide = std::conditional_t<sizeof(Raw) == 2, std::int32_t, std::int64_t>;
  static constexpr int kBits = 8 * static_cast<int>(sizeof(Raw)) - 1;  // without the sign
  static constexpr Raw kOne = std::numeric_limits<Raw>::max();
  static constexpr Raw kMin = std::numeric_limits<Raw>::min();

  // A constant that is given with 31 bits.
  static Raw Constant(std::int32_t value) {
    return static_cast<Raw>(RoundingShift(value, 31 - kBits));
  }
  static Raw Add(Raw a, Raw b) { return static_cast<Raw>(WrapAdd(a, b)); }
  static Raw Subtract(Raw a, Raw b) { return static_cast<Raw>(WrapSubtract(a, b)); }
  static Raw Saturate(Wide x) {
    return static_cast<Raw>(std::clamp<Wide>(x, Wide{kMin}, Wide{kOne}));
  }
  static Raw Product(Raw a, Raw b) {
    if (a == kMin && b == kMin) return kOne;
    const Wide product = Wide{a} * b;
    const Wide half = Wide{1} << (kBits - 1);
    return static_cast<Raw>((product + (product >= 0 ? half : 1 - half)) / (Wide{1} << kBits));
  }
  static Raw ShiftRight(Raw x, std::int32_t exponent) {
    return static_cast<Raw>(RoundingShift(x, exponent));
  }
  static Raw ShiftLeft(Raw x, std::int32_t exponent) { return Saturate(Wide{x} << exponent); }

  // e^a for a in [-1/4, 0), no integer bits: the Taylor series around -1/8.
  static Raw ExpOfSmall(Raw a) {
    const Raw exp_of_eighth = Constant(1895147668);  // e^(-1/8)
    const Raw x = Add(a, static_cast<Raw>(Raw{1} << (kBits - 3)));
    const Raw x2 = Product(x, x);
    const Raw x3 = Product(x2, x);
    const Raw x4 = Product(x2, x2);
    const Raw sum = Add(Product(Add(ShiftRight(x4, 2), x3), Constant(715827883)), x2);
    const Raw rest = Product(exp_of_eighth, Add(x, ShiftRight(sum, 1)));
    // The narrow one saturates.
    return kBits == 15 ? Saturate(Wide{exp_of_eighth} + rest) : Add(exp_of_eighth, rest);
  }

  static Raw Exp(Raw a, std::int32_t integer_bits) {
    if (a == 0) return kOne;
    const std::int32_t fraction_bits = kBits - integer_bits;
    if (integer_bits > 5 && a < -(std::int64_t{32} << fraction_bits)) return 0;
    const auto quarter = static_cast<Raw>(Raw{1} << (fraction_bits - 2));
    const Raw rest = Subtract(static_cast<Raw>(a & (quarter - 1)), quarter);
    Raw result = ExpOfSmall(ShiftLeft(rest, integer_bits));
    const Raw quarters = Subtract(rest, a);
    // e^-(2^-2), e^-(2^-1), ..., e^-(2^4).
    constexpr std::int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308,
                                         39332535,   720401,     242};
    for (std::int32_t i = 0; i < 7 && i - 2 < integer_bits; ++i) {
      if (((quarters >> (fraction_bits + i - 2)) & 1) != 0) {
        result = Product(result, Constant(kFactors[i]));
      }
    }
    return result;
  }

  // (a + 1) / 2, rounded.
  static Raw HalfDenominator(Raw a) {
    const Wide sum = Wide{a} + kOne;
    return static_cast<Raw>((sum + (sum >= 0 ? 1 : -1)) / 2);
  }

  // 1 / half_denominator with two integer bits: Newton's method from the best line.
  static Raw Reciprocal(Raw half_denominator) {
    Raw x = Add(Constant(1515870810), Product(half_denominator, Constant(-1010580540)));
    for (int round = 0; round < 3; ++round) {
      const Raw error =
          Subtract(static_cast<Raw>(Raw{1} << (kBits - 2)), Product(half_denominator, x));
      x = Add(x, ShiftLeft(Product(x, error), 2));
    }
    return x;
  }

  static Raw ReciprocalOfSum(Raw a) { return ShiftLeft(Reciprocal(HalfDenominator(a)), 1); }
  static Raw MinusMagnitude(Raw a) { return a > 0 ? static_cast<Raw>(-a) : a; }

  static Raw Logistic(Raw a, std::int32_t integer_bits) {
    if (a == 0) return static_cast<Raw>(Raw{1} << (kBits - 1));
    const Raw positive = ReciprocalOfSum(Exp(MinusMagnitude(a), integer_bits));
    return a > 0 ? positive : Subtract(kOne, positive);
  }

  static Raw Tanh(Raw a, std::int32_t integer_bits) {
    if (a == 0) return 0;
    // Twice the argument is the same bits with one more integer bit.
    const Raw exp = Exp(MinusMagnitude(a), integer_bits + 1);
    const Raw x =
        Subtract(Reciprocal(HalfDenominator(exp)), static_cast<Raw>(Raw{1} << (kBits - 2)));
    const Raw magnitude = ShiftLeft(x, 2);
    return a > 0 ? magnitude : Subtract(0, magnitude);
  }
};

// 2^16 logistic(i / 24), raised by half of the largest distance between the curve and the chord to
// the next entry (h^2 / 8 of its second derivative); the last one is the largest number.
std::array<std::int32_t, 256> MakeLogisticTable() {
  std::array<std::int32_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double s = 1 / (1 + std::exp(-static_cast<double>(i) / 24));
    const double chord = s * (1 - s) * (2 * s - 1) / (24 * 24 * 16);
    table[i] = static_cast<std::int32_t>(std::floor(65536 * (s + chord) + 0.5));
  }
  table.back() = 65535;
  return table;
}

// The table between its entries; `at` has `bits` bits behind the index.
std::int32_t Interpolate(std::int32_t at, std::int32_t bits) {
  const auto& table = LogisticTable();
  const auto index = static_cast<std::size_t>(at >> bits);
  const std::int32_t rest = at & ((1 << bits) - 1);
  return (table[index] << bits) + rest * (table[index + 1] - table[index]);
}

std::int32_t Scaled(std::int16_t a, TableArgument argument) {
  const std::int32_t half = argument.shift > 0 ? 1 << (argument.shift - 1) : 0;
  return WrapAdd(WrapMultiply(a, argument.factor), half) >> argument.shift;
}

}  // namespace

std::int32_t FixedExp(std::int32_t a, std::int32_t integer_bits) {
  return Numbers<std::int32_t>::Exp(a, integer_bits);
}
std::int32_t FixedReciprocal(std::int32_t a) { return Numbers<std::int32_t>::ReciprocalOfSum(a); }
std::int32_t FixedLogistic(std::int32_t a, std::int32_t integer_bits) {
  return Numbers<std::int32_t>::Logistic(a, integer_bits);
}
std::int32_t FixedTanh(std::int32_t a, std::int32_t integer_bits) {
  return Numbers<std::int32_t>::Tanh(a, integer_bits);
}
std::int16_t FixedLogistic(std::int16_t a, std::int32_t integer_bits) {
  return Numbers<std::int16_t>::Logistic(a, integer_bits);
}
std::int16_t FixedTanh(std::int16_t a, std::int32_t integer_bits) {
  return Numbers<std::int16_t>::Tanh(a, integer_bits);
}

const std::array<std::int32_t, 256>& LogisticTable() {
  static const std::array<std::int32_t, 256> kTable = MakeLogisticTable();
  return kTable;
}

std::int16_t TableLogistic(std::int16_t a, TableArgument argument) {
  const std::int32_t x = Scaled(a, argument);
  const std::int32_t magnitude = x >= 0 ? x : WrapSubtract(0, x);
  const bool outside = magnitude < 0 || (magnitude >> 9) >= 255;
  const std::int32_t y = outside ? 0x7fff << 10 : Interpolate(magnitude, 9);
  const std::int32_t rounded = x >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1;
  return static_cast<std::int16_t>(rounded >> 10);
}

std::int16_t TableTanh(std::int16_t a, TableArgument argument) {
  const std::int32_t x = Scaled(a, argument);
  const std::int32_t magnitude = x >= 0 ? x : WrapSubtract(0, x);
  const bool outside = magnitude < 0 || (magnitude >> 8) >= 255;
  const std::int32_t y = (outside ? 0xffff << 8 : Interpolate(magnitude, 8)) - (1 << 23);
  const std::int32_t rounded = x >= 0 ? y + (1 << 7) : -y + (1 << 7) - 1;
  return static_cast<std::int16_t>(rounded >> 8);
}

}  // namespace neap::execute
