// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "neap/base/random.h"

namespace neap::emit {
namespace {

std::int64_t ValueOf(const Linear& linear, int a, int b, const Range& range) {
  const std::int64_t sum = linear.factors[0] * a + linear.factors[1] * b + linear.offset;
  EXPECT_GE(sum, INT32_MIN);
  EXPECT_LE(sum, INT32_MAX);
  return std::clamp<std::int64_t>(sum >> linear.shift, range.low, range.high);
}

// Sums of scaled operands, rounded to nearest.
TEST(FindLinear, EqualsRoundedSumsForAllOperands) {
  Random random(1);
  int found = 0;
  constexpr int kFunctions = 12;
  for (int i = 0; i < kFunctions; ++i) {
    const double first = static_cast<double>(random.Between(-300, 300)) / 117.0;
    const double second = static_cast<double>(random.Between(-300, 300)) / 211.0;
    const double zero = static_cast<double>(random.Between(-128, 127));
    const Range range = {static_cast<std::int32_t>(random.Between(-128, 0)), 127};
    const auto function = [&](int a, int b) {
      const double value = std::floor(first * a + second * b + zero + 0.5);
      return static_cast<std::int32_t>(
          std::clamp<double>(value, static_cast<double>(range.low), 127.0));
    };
    const auto linear = FindLinear(function, {first, second}, range);
    if (!linear) continue;
    ++found;
    for (int a = -128; a <= 127; ++a) {
      for (int b = -128; b <= 127; ++b) {
        ASSERT_EQ(ValueOf(*linear, a, b, range), function(a, b)) << i << ": " << a << " " << b;
      }
    }
  }
  EXPECT_GT(found, kFunctions / 2);
}

// One pair with another value, anywhere: no form is equal.
TEST(FindLinear, OneOtherPairIsNotAccepted) {
  Random random(2);
  for (int i = 0; i < 6; ++i) {
    const int bad_a = static_cast<int>(random.Between(-60, 60));
    const int bad_b = static_cast<int>(random.Between(-60, 60));
    const auto function = [&](int a, int b) {
      const int sum = a + b + (a == bad_a && b == bad_b ? 2 : 0);
      return std::clamp(sum, -128, 127);
    };
    EXPECT_FALSE(FindLinear(function, {1.0, 1.0}, {-128, 127}).has_value()) << i;
  }
}

TEST(FindLinear, ConstantsAndExtremeSlopes) {
  const auto seven = FindLinear([](int, int) { return 7; }, {0.0, 0.0}, {7, 7});
  ASSERT_TRUE(seven.has_value());
  EXPECT_EQ(ValueOf(*seven, -128, 127, {7, 7}), 7);
  const auto steep = [](int a, int) { return a < 0 ? -128 : 127; };
  (void)FindLinear(steep, {1e30, 0.0}, {-128, 127});
  EXPECT_FALSE(FindLinear(steep, {std::nan(""), 0.0}, {-128, 127}).has_value());
}

}  // namespace
}  // namespace neap::emit
