// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/emit/scaling.h"

namespace neap::emit {
namespace {

// A pointwise product whose weights are all `weight`.
Int8Product Pointwise(std::int64_t outputs, std::int64_t inputs, std::int64_t weight) {
  Int8Product given;
  given.product = {outputs, 1, inputs, outputs, false};
  given.weights.assign(static_cast<std::size_t>(outputs * inputs), weight);
  given.bias.assign(static_cast<std::size_t>(outputs), 0);
  given.factors.assign(static_cast<std::size_t>(outputs), {1 << 30, -8});
  given.out_zero = -128;
  given.range = {-128, 127};
  return given;
}

TEST(Pack, PairsOfChannelsAreOneNumber) {
  Int8Product given = Pointwise(4, 5, 0);
  for (std::size_t i = 0; i < given.weights.size(); ++i) {
    given.weights[i] = static_cast<std::int64_t>(i) - 10;
  }
  const auto packed = Pack(given);
  ASSERT_TRUE(packed.has_value());
  ASSERT_EQ(packed->weights.size(), 5U);  // 20 weights
  const auto half = [&](int even, int k) {
    return 256 * (5 * even + 5 + k - 10) + 5 * even + k - 10;
  };
  const auto word = [&](int low, int high) {
    return (low & 0xffff) | std::int64_t{high & 0xffff} << 16;
  };
  EXPECT_EQ(packed->weights[0], word(half(0, 0), half(0, 2)));
  EXPECT_EQ(packed->weights[1], word(half(2, 0), half(2, 2)));
  EXPECT_EQ(packed->weights[2], word(half(0, 1), half(0, 3)));
  EXPECT_EQ(packed->weights[4], word(half(0, 4), half(2, 4)));
  EXPECT_TRUE(packed->scaled);
  EXPECT_EQ(packed->channels.size(), 8U);
  EXPECT_EQ(packed->rounding, -255);
}

TEST(Pack, TablesAreAsLargeAsTheWeights) {
  for (std::int64_t outputs = 1; outputs <= 9; ++outputs) {
    for (std::int64_t inputs = 1; inputs <= 9; ++inputs) {
      for (const bool depthwise : {false, true}) {
        Int8Product given = Pointwise(outputs, inputs, 1);
        if (depthwise) given.product = {outputs, inputs, 1, 1, true};
        const auto packed = Pack(given);
        ASSERT_TRUE(packed.has_value());
        const auto bytes = static_cast<std::int64_t>(packed->weights.size()) * 4;
        EXPECT_GE(bytes, outputs * inputs);
        EXPECT_LE(bytes, outputs * inputs + 3 * (outputs % 4)) << outputs << " " << inputs;
      }
    }
  }
}

// Each shortcut at the last sum for which it is exact, and one beyond.
TEST(Pack, IsRefusedWhereAShortcutIsNotExact) {
  EXPECT_TRUE(Pack(Pointwise(4, 516, 127)).has_value());  // 516 * 127 * 128 < 2^23
  EXPECT_FALSE(Pack(Pointwise(4, 517, 127)).has_value());
  EXPECT_TRUE(Pack(Pointwise(4, 8, -127)).has_value());
  EXPECT_FALSE(Pack(Pointwise(4, 8, -128)).has_value());  // a pair has more than 16 bits
  Int8Product grouped = Pointwise(4, 8, 1);
  grouped.product.group_outputs = 2;
  EXPECT_FALSE(Pack(grouped).has_value());
  Int8Product large = Pointwise(4, 8, 1);
  large.factors[2] = {1 << 30, 0};  // 1/2
  EXPECT_FALSE(Pack(large).has_value());
  Int8Product bias = Pointwise(4, 516, 127);
  bias.factors[1] = {1 << 30, -23};
  bias.bias[1] = (1 << 30) - 1 - 516 * 127 * 127;
  EXPECT_TRUE(Pack(bias).has_value());
  ++bias.bias[1];
  EXPECT_FALSE(Pack(bias).has_value());
}

// A channel whose sums are too large, but whose output is the same for every input.
TEST(Pack, ConstantChannelsGetWeightsOfZero) {
  Int8Product given = Pointwise(4, 64, 127);
  given.out_zero = 0;
  given.bias[1] = -(1 << 30);
  given.bias[3] = (1 << 30) + 5000;
  const auto packed = Pack(given);
  ASSERT_TRUE(packed.has_value());
  EXPECT_FALSE(packed->scaled);  // values of both signs
  EXPECT_EQ(packed->channels.size(), 9U);
  EXPECT_EQ(packed->channels[2], std::int64_t{8 * -128} & 0xffffffff);
  EXPECT_EQ(packed->channels[6], 8 * 127);
  EXPECT_EQ(packed->channels[0], 0x00070007);
  for (const std::int64_t word : packed->weights) EXPECT_EQ(word, 0x007f007f);
}

TEST(Pack, FoursOfChannelsAreSideBySideInTheirGroup) {
  Product product = {12, 1, 2, 6, false};
  std::vector<std::int64_t> weights;
  for (std::int64_t i = 0; i < 24; ++i) weights.push_back(i);
  const std::vector<std::int64_t> expected = {0,  2,  4,  6,  1,  3,  5,  7,  8,  9,  10, 11,
                                              12, 14, 16, 18, 13, 15, 17, 19, 20, 21, 22, 23};
  EXPECT_EQ(InFours(weights, product), expected);
  const std::vector<std::int64_t> blocks = {0,  2,  4,  6,  1,  3,  5,  7,  8,  9,  10, 11,
                                            12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
  EXPECT_EQ(InFours(weights, product, 9), blocks);
}

TEST(Pack, ScaledProductsAreThoseOfAllChannels) {
  Int8Product given = Pointwise(3, 8, 1);
  given.bias[1] = (1 << 30) + 5000;  // constant
  const auto scaled = ScaleProduct(given);
  ASSERT_TRUE(scaled.has_value());
  ASSERT_EQ(scaled->offsets.size(), 3U);
  ASSERT_EQ(scaled->factors.size(), 3U);
  const std::int64_t gain = scaled->weights[0];
  EXPECT_EQ(scaled->weights[8], 0);
  for (std::int64_t sum = -1024; sum <= 1016; ++sum) {
    const std::int64_t value = (256 * gain * sum + scaled->offsets[0]) * scaled->factors[0] >> 44;
    const Stage stage = {0, given.factors[0], given.out_zero, given.range};
    EXPECT_EQ(std::clamp<std::int64_t>(value, -128, 127), OutputOf(stage, sum)) << sum;
  }
  EXPECT_EQ(std::clamp<std::int64_t>(scaled->offsets[1] * scaled->factors[1] >> 44, -128, 127),
            127);
  given.factors[2] = {1 << 30, 1};
  EXPECT_FALSE(ScaleProduct(given).has_value());
}

}  // namespace
}  // namespace neap::emit
