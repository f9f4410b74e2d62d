// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/pack_mve.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace neap::emit {
namespace {

// A product whose weight `k` of an output channel is its number.
Int8Product Numbered(const Product& product) {
  Int8Product given;
  given.product = product;
  given.weights.assign(static_cast<std::size_t>(product.outputs * product.length()), 0);
  for (std::int64_t output = 0; output < product.outputs; ++output) {
    for (std::int64_t k = 0; k < product.length(); ++k) {
      given.weights[product.At(output, k)] = 10 * output + k;
    }
    given.bias.push_back(-output);
    given.factors.push_back({(1 << 30) + static_cast<std::int32_t>(output), -8});
  }
  given.out_zero = -128;
  given.range = {-128, 127};
  return given;
}

TEST(PackMve, FourChannelsAlternateInVectors) {
  const auto packed = PackMve(Numbered({5, 1, 18, 5, false}));
  ASSERT_TRUE(packed.has_value());
  // 18 inputs are two vectors; the fifth channel is alone.
  ASSERT_EQ(packed->weights.size(), 5U * 32U);
  EXPECT_EQ(packed->weights[1], 1);
  EXPECT_EQ(packed->weights[16], 10);
  EXPECT_EQ(packed->weights[3 * 16 + 15], 45);
  EXPECT_EQ(packed->weights[64 + 16 + 1], 27);
  EXPECT_EQ(packed->weights[64 + 16 + 2], 0);
  EXPECT_EQ(packed->weights[128 + 15], 55);
  EXPECT_EQ(packed->weights[128 + 16], 56);
  ASSERT_EQ(packed->channels.size(), 18U);
  EXPECT_EQ(packed->channels[3], 0xfffffffd);
  EXPECT_EQ(packed->channels[5], (1 << 30) + 1);
  EXPECT_EQ(packed->channels[8], 0xf8f8f8f8);
  EXPECT_EQ(packed->channels[17], 0x000000f8);
  EXPECT_TRUE(packed->positive);
}

TEST(PackMve, DepthwiseChannelsAreInTheOrderOfNarrowedSums) {
  const auto packed = PackMve(Numbered({7, 9, 1, 1, true}));
  ASSERT_TRUE(packed.has_value());
  ASSERT_EQ(packed->weights.size(), 9U * 16U);
  EXPECT_EQ(packed->weights[16 + 6], 61);
  EXPECT_EQ(packed->weights[16 + 7], 0);
  ASSERT_EQ(packed->channels.size(), 36U);
  EXPECT_EQ(packed->channels[4], 1 << 30);
  EXPECT_EQ(packed->channels[5], (1 << 30) + 4);
  EXPECT_EQ(packed->channels[9 + 5], (1 << 30) + 6);
  EXPECT_EQ(packed->channels[18 + 4], (1 << 30) + 1);
  EXPECT_EQ(packed->channels[27 + 4], (1 << 30) + 3);
  EXPECT_EQ(packed->channels[27 + 5], 0);
}

TEST(PackMve, IsRefusedWhereTheKernelsAreNotExact) {
  const Product depthwise = {4, 3, 1, 1, true};
  Int8Product given = Numbered(depthwise);
  given.weights[given.product.At(2, 0)] = -128;
  given.weights[given.product.At(2, 1)] = -127;
  EXPECT_TRUE(PackMve(given).has_value());
  given.weights[given.product.At(2, 1)] = -128;  // 2 * 128 * 128 has 17 bits
  EXPECT_FALSE(PackMve(given).has_value());
  given.weights[given.product.At(2, 1)] = 0;
  given.weights[given.product.At(2, 2)] = -128;  // of another pair
  EXPECT_TRUE(PackMve(given).has_value());
  given.factors[1].shift = 0;
  EXPECT_FALSE(PackMve(given).has_value());
  given.factors[1] = {0, 0};
  EXPECT_TRUE(PackMve(given).has_value());
  given.product.group_outputs = 2;
  EXPECT_FALSE(PackMve(given).has_value());
}

}  // namespace
}  // namespace neap::emit
