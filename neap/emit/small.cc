// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/small.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "neap/emit/scaling.h"

namespace neap::emit {
namespace {

constexpr int kMaxBits = 57;       // of a channel: 64 less those before it in a byte
constexpr int kMaxShortBits = 32;  // of exponent and fraction
constexpr int kMaxFirstBits = 31;  // of bias and exponent, which the kernel takes from one word
constexpr std::int64_t kMaxExponent = 31;
constexpr int kFractionBits = 30;      // behind the first one
constexpr std::int64_t kReadable = 8;  // bytes from the first one of a channel on
constexpr std::int64_t kByteBits = 8;

int BitsOf(std::int64_t value) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
}

void AddBits(std::int64_t value, int count, std::size_t* at, std::vector<std::int64_t>* bytes) {
  for (int bit = 0; bit < count; ++bit, ++*at) {
    (*bytes)[*at / kByteBits] |= (value >> bit & 1) << *at % kByteBits;
  }
}

}  // namespace

std::optional<SmallChannels> FindSmall(const Int8Product& given) {
  Int8Product exact = given;
  SmallChannels small;
  std::int64_t most_bias = INT32_MIN;
  std::int64_t most_exponent = 0;
  small.bias = INT32_MAX;
  small.exponent = INT32_MAX;
  small.fraction_bits = 1;
  for (std::int64_t output = 0; output < given.product.outputs; ++output) {
    const auto channel = static_cast<std::size_t>(output);
    execute::FixedFactor& factor = exact.factors[channel];
    if (!MakeExact(&exact, output) || factor.fraction == 0) return std::nullopt;
    const ShortFraction found = ShortestFraction(StageOf(exact, output), SumsOf(exact, output));
    factor.fraction = found.fraction;
    small.fraction_bits = std::max(small.fraction_bits, found.bits);
    small.bias = std::min(small.bias, exact.bias[channel]);
    most_bias = std::max(most_bias, exact.bias[channel]);
    small.exponent = std::min<std::int64_t>(small.exponent, -factor.shift);
    most_exponent = std::max<std::int64_t>(most_exponent, -factor.shift);
  }
  small.bias_bits = BitsOf(most_bias - small.bias);
  small.exponent_bits = BitsOf(most_exponent - small.exponent);
  const int bits = small.bias_bits + small.exponent_bits + small.fraction_bits;
  if (bits > kMaxBits || small.bias_bits + small.exponent_bits > kMaxFirstBits ||
      small.exponent_bits + small.fraction_bits > kMaxShortBits || most_exponent > kMaxExponent) {
    return std::nullopt;
  }
  small.channels.resize(
      static_cast<std::size_t>((given.product.outputs - 1) * bits / kByteBits + kReadable));
  std::size_t at = 0;
  for (std::size_t i = 0; i < exact.bias.size(); ++i) {
    const std::int64_t fraction = exact.factors[i].fraction - (std::int64_t{1} << kFractionBits);
    AddBits(exact.bias[i] - small.bias, small.bias_bits, &at, &small.channels);
    AddBits(-exact.factors[i].shift - small.exponent, small.exponent_bits, &at, &small.channels);
    AddBits(fraction >> (kFractionBits - small.fraction_bits), small.fraction_bits, &at,
            &small.channels);
  }
  small.weights = std::move(exact.weights);
  return small;
}

std::optional<SmallChannels> FastSmall(const Int8Product& given) {
  auto scaled = ScaleProduct(given);
  if (!scaled) return std::nullopt;
  constexpr int kWordBits = 32;
  SmallChannels small;
  small.channels.resize(scaled->offsets.size() * static_cast<std::size_t>(kReadable));
  std::size_t at = 0;
  for (std::size_t i = 0; i < scaled->offsets.size(); ++i) {
    AddBits(scaled->offsets[i], kWordBits, &at, &small.channels);
    AddBits(scaled->factors[i], kWordBits, &at, &small.channels);
  }
  small.weights = std::move(scaled->weights);
  return small;
}

}  // namespace neap::emit
