// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/scaling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "neap/base/random.h"
#include "testing/cases.h"

namespace neap::emit {
namespace {

// What the kernels compute.
std::int64_t Scaled(const Stage& stage, const Scaling& scaling, std::int64_t sum) {
  const std::int64_t term = 256 * sum + scaling.offset;
  EXPECT_GE(term, INT32_MIN);
  EXPECT_LE(term, INT32_MAX);
  EXPECT_GT(scaling.factor, 0);
  EXPECT_LE(scaling.factor, INT32_MAX);
  return std::clamp<std::int64_t>((term * scaling.factor) >> kScalingBits, stage.range.low,
                                  stage.range.high);
}

void ExpectEqual(const Stage& stage, const Interval& sums, const Scaling& scaling) {
  for (std::int64_t sum = sums.low; sum <= sums.high; ++sum) {
    ASSERT_EQ(Scaled(stage, scaling, sum), OutputOf(stage, sum)) << "sum " << sum;
  }
}

// Every sum of random channels as they are behind a ReLU: nearly all have one product.
TEST(Scaling, EverySumHasTheOutputOfTheStockKernels) {
  Random random(1);
  int found = 0;
  const int channels = Cases(300);
  for (int i = 0; i < channels; ++i) {
    Stage stage;
    stage.bias = random.Between(-20'000, 20'000);
    stage.factor = {static_cast<std::int32_t>(random.Between(1 << 30, INT32_MAX)),
                    static_cast<std::int32_t>(random.Between(-10, -5))};
    stage.out_zero = -128;
    stage.range = {-128, random.Between(0, 3) == 0 ? 100 : 127};
    const std::int64_t most = random.Between(1000, 300'000);
    const Interval sums{-most, most};
    const auto scaling = FindScaling(stage, sums);
    if (!scaling) continue;
    ++found;
    ExpectEqual(stage, sums, *scaling);
  }
  EXPECT_GE(found, channels * 9 / 10);
}

// Rounding of negative numbers is symmetric: with values of both signs there is no such product,
// unless the sums reach few of them.
TEST(Scaling, IsRefusedWhereRoundingIsSymmetric) {
  Stage stage{0, {0x5a82799a, -8}, 0, {-128, 127}};
  EXPECT_FALSE(FindScaling(stage, {-100'000, 100'000}).has_value());
  const Interval few{-2000, 2000};
  const auto scaling = FindScaling(stage, few);
  ASSERT_TRUE(scaling.has_value());
  ExpectEqual(stage, few, *scaling);
}

TEST(Scaling, OfExtremeChannels) {
  const Interval sums{-100'000, 100'000};
  for (const std::int64_t bias : {-500'000'000, 500'000'000}) {  // constant
    const Stage stage{bias, {1 << 30, -8}, 3, {-128, 127}};
    const auto scaling = FindScaling(stage, sums);
    if (scaling) ExpectEqual(stage, sums, *scaling);
  }
  const Stage zero{0, {0, 0}, 5, {-128, 127}};  // a factor of 0
  const auto constant = FindScaling(zero, sums);
  if (constant) ExpectEqual(zero, sums, *constant);
  const Stage single{700, {1 << 30, -1}, 0, {-128, 127}};
  const auto one = FindScaling(single, {0, 0});
  ASSERT_TRUE(one.has_value());
  ExpectEqual(single, {0, 0}, *one);
  // Terms of more than 32 bits; biases where a stock kernel would wrap; a shift to the left.
  EXPECT_FALSE(FindScaling({0, {1 << 30, -22}, -128, {-128, 127}}, {-10'000'000, 10'000'000}));
  EXPECT_FALSE(FindScaling({INT32_MAX, {1 << 30, -8}, -128, {-128, 127}}, sums));
  EXPECT_FALSE(FindScaling({0, {1 << 30, 1}, -128, {-128, 127}}, sums));
}

}  // namespace
}  // namespace neap::emit
