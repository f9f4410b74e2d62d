// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/channels/weighted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "neap/base/random.h"
#include "neap/execute/fixed_point.h"
#include "testing/cases.h"

namespace neap::rewrite {
namespace {

// A sum alone: no weights, the sum as bias.
Range RangeOf(std::int32_t sum, double factor, std::int32_t zero) {
  WeightedOp op;
  op.in_channels = 1;
  op.out_channels = 1;
  op.taps = {Tap::kPadding};
  const std::byte weight{0};
  op.weights = std::span<const std::byte>(&weight, 1);
  op.bias = {sum};
  op.out_zero = zero;
  op.factors = {factor};
  return OutputRanges(op, Ranges(1)).front();
}

// Sums at which the result is close to a half, and any sum; factors down to those that TensorFlow
// Lite takes for 0.
TEST(OutputRangesTest, ContainTheResultsOfEveryKernel) {
  Random random(3);
  int constants = 0;
  const int cases = Cases(200'000);
  for (int i = 0; i < cases; ++i) {
    const double factor = std::ldexp(0.5 + random.Unit() / 2, -static_cast<int>(random.Below(36)));
    const double wanted = static_cast<double>(random.Between(-300, 300)) +
                          (random.Below(2) == 0 ? 0.5 : random.Unit());
    double real = std::round(wanted / factor) + static_cast<double>(random.Between(-1, 1));
    if (random.Below(4) == 0)
      real = static_cast<double>(random.Between(-2'000'000'000, 2'000'000'000));
    const auto sum = static_cast<std::int32_t>(std::clamp(real, -2e9, 2e9));
    const auto zero = static_cast<std::int32_t>(random.Between(-128, 127));
    const Range range = RangeOf(sum, factor, zero);
    constants += range.IsConstant() ? 1 : 0;
    const execute::FixedFactor fixed = execute::MakeFixedFactor(factor);
    const float product = static_cast<float>(sum) * static_cast<float>(factor);
    const auto as_float = static_cast<std::int32_t>(std::lrint(std::clamp(product, -1e6F, 1e6F)));
    for (const std::int32_t result :
         {execute::Scale(sum, fixed), execute::ScaleOnce(sum, fixed), as_float}) {
      const std::int32_t value = std::clamp(result + zero, -128, 127);
      EXPECT_TRUE(range.low <= value && value <= range.high)
          << sum << " * " << factor << " + " << zero << ": " << value << " outside " << range.low
          << " to " << range.high;
    }
    EXPECT_LE(range.high - range.low, 1);
  }
  EXPECT_GT(constants, cases / 4);
}

}  // namespace
}  // namespace neap::rewrite
