// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/small.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/execute/fixed_point.h"
#include "testing/cases.h"

namespace neap::emit {
namespace {

// What a kernel reads of a channel.
struct Channel {
  std::int64_t bias = 0;
  execute::FixedFactor factor;
};

std::int64_t BitsAt(const std::vector<std::int64_t>& bytes, std::int64_t at, int count) {
  std::int64_t value = 0;
  for (int bit = 0; bit < count; ++bit) {
    const auto byte = bytes[static_cast<std::size_t>((at + bit) / 8)];
    EXPECT_LE(byte, 255);
    value += ((byte >> ((at + bit) % 8)) % 2) << bit;
  }
  return value;
}

Channel ChannelOf(const SmallChannels& small, std::int64_t number) {
  const int bits = small.bias_bits + small.exponent_bits + small.fraction_bits;
  const std::int64_t at = number * bits;
  EXPECT_GE(std::ssize(small.channels), at / 8 + 8);
  EXPECT_LE(bits, 57);
  Channel channel;
  channel.bias = small.bias + BitsAt(small.channels, at, small.bias_bits);
  const std::int64_t exponent =
      small.exponent + BitsAt(small.channels, at + small.bias_bits, small.exponent_bits);
  const std::int64_t fraction =
      BitsAt(small.channels, at + bits - small.fraction_bits, small.fraction_bits);
  EXPECT_GE(exponent, 1);
  channel.factor.shift = static_cast<std::int32_t>(-exponent);
  channel.factor.fraction =
      static_cast<std::int32_t>((1 << 30) + (fraction << (30 - small.fraction_bits)));
  return channel;
}

std::int32_t OutputFrom(const Int8Product& given, const Channel& channel, std::int64_t sum) {
  const std::int32_t scaled =
      execute::Scale(static_cast<std::int32_t>(sum + channel.bias), channel.factor);
  return std::clamp(scaled + given.out_zero, given.range.low, given.range.high);
}

// Weights, biases and factors as trained networks have them: an output of 256 steps is of few
// standard deviations of the sums.
Int8Product RandomProduct(Random* random, std::int64_t outputs) {
  Int8Product given;
  const std::int64_t inputs = random->Between(1, 12);
  given.product = {outputs, 1, inputs, outputs, false};
  for (std::int64_t i = 0; i < outputs * inputs; ++i) {
    given.weights.push_back(random->Between(-40, 40));
  }
  const auto exponent = static_cast<std::int32_t>(random->Between(2, 9));
  for (std::int64_t i = 0; i < outputs; ++i) {
    given.bias.push_back(random->Between(-30'000, 30'000));
    const std::int64_t fraction = random->Between(1 << 30, INT32_MAX);
    given.factors.push_back({static_cast<std::int32_t>(fraction),
                             static_cast<std::int32_t>(-exponent - random->Between(0, 2))});
  }
  const std::int64_t kind = random->Between(0, 2);
  given.out_zero = kind == 0 ? -128 : static_cast<std::int32_t>(random->Between(-128, 127));
  given.range = kind == 1 ? Range{given.out_zero, 127} : Range{-128, 127};
  return given;
}

// The least and the largest sum of inputs from -128 to 127.
struct Sums {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
Sums AllSums(const Int8Product& given, std::int64_t output) {
  Sums sums;
  for (std::int64_t k = 0; k < given.product.inputs; ++k) {
    const std::int64_t weight = given.weights[given.product.At(output, k)];
    sums.low += std::min(-128 * weight, 127 * weight);
    sums.high += std::max(-128 * weight, 127 * weight);
  }
  return sums;
}

// Rounding of both signs too: every sum of thousands of channels.
TEST(Small, EverySumHasTheOutputOfTheStockKernels) {
  Random random(1);
  std::int64_t bits = 0;
  const int products = Cases(400);
  constexpr std::int64_t kOutputs = 5;
  for (int i = 0; i < products; ++i) {
    const Int8Product given = RandomProduct(&random, kOutputs);
    const auto small = FindSmall(given);
    ASSERT_TRUE(small.has_value());
    EXPECT_EQ(small->weights, given.weights);
    bits += small->fraction_bits;
    for (std::int64_t output = 0; output < kOutputs; ++output) {
      const auto at = static_cast<std::size_t>(output);
      const Channel stock = {given.bias[at], given.factors[at]};
      const Channel found = ChannelOf(*small, output);
      const Sums sums = AllSums(given, output);
      for (std::int64_t sum = sums.low; sum <= sums.high; ++sum) {
        ASSERT_EQ(OutputFrom(given, found, sum), OutputFrom(given, stock, sum)) << "sum " << sum;
      }
    }
  }
  EXPECT_LT(bits, std::int64_t{24} * products);
}

// One bit less of the fraction of some channel gives another output for some sum.
TEST(Small, FractionsHaveTheFewestBits) {
  Random random(2);
  const int channels = Cases(100);
  for (int i = 0; i < channels; ++i) {
    const Int8Product given = RandomProduct(&random, 1);
    const auto small = FindSmall(given);
    ASSERT_TRUE(small.has_value());
    if (small->fraction_bits == 1) continue;
    const Channel stock = {given.bias[0], given.factors[0]};
    const std::int64_t unit = std::int64_t{1} << (31 - small->fraction_bits);
    const std::int64_t below = stock.factor.fraction / unit * unit;
    for (const std::int64_t fraction : {below, below + unit}) {
      if (fraction > INT32_MAX) continue;
      Channel other = stock;
      other.factor.fraction = static_cast<std::int32_t>(fraction);
      const Sums sums = AllSums(given, 0);
      bool differs = false;
      for (std::int64_t sum = sums.low; sum <= sums.high && !differs; ++sum) {
        differs = OutputFrom(given, other, sum) != OutputFrom(given, stock, sum);
      }
      EXPECT_TRUE(differs);
    }
  }
}

TEST(Small, IsRefusedWhereTheKernelWouldComputeOtherBytes) {
  Random random(3);
  const Int8Product given = RandomProduct(&random, 2);
  ASSERT_TRUE(FindSmall(given).has_value());
  Int8Product other = given;
  other.factors[1].shift = 0;  // not below 1/2
  EXPECT_FALSE(FindSmall(other).has_value());
  other = given;
  other.factors[1] = {};
  EXPECT_FALSE(FindSmall(other).has_value());
  other = given;
  other.bias = {0, INT32_MAX};  // sums wrap around
  EXPECT_FALSE(FindSmall(other).has_value());
  // The kernel takes bias and exponent from 32 bits, and shifts by their number.
  constexpr std::int64_t kFar = std::int64_t{1} << 29;
  other = given;
  other.bias = {-kFar, kFar};
  other.factors[1].shift = other.factors[0].shift - 1;
  EXPECT_FALSE(FindSmall(other).has_value());
  other.factors[1].shift = other.factors[0].shift;
  const auto widest = FindSmall(other);
  ASSERT_TRUE(widest.has_value());
  EXPECT_EQ(widest->bias_bits, 31);
}

TEST(Small, TheFastFormHasWordsOfScaledOutputs) {
  Random random(4);
  Int8Product given = RandomProduct(&random, 3);
  given.out_zero = -128;
  given.range = {-128, 127};
  const auto scaled = ScaleProduct(given);
  const auto fast = FastSmall(given);
  ASSERT_TRUE(scaled && fast);
  EXPECT_EQ(fast->fraction_bits, 0);
  ASSERT_EQ(fast->channels.size(), 24U);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(static_cast<std::int32_t>(BitsAt(fast->channels, 64 * i, 32)), scaled->offsets[at]);
    EXPECT_EQ(BitsAt(fast->channels, 64 * i + 32, 32), scaled->factors[at]);
  }
  EXPECT_EQ(fast->weights, scaled->weights);
}

}  // namespace
}  // namespace neap::emit
