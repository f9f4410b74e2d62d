// SPDX-License-Identifier: Apache-2.0
//
// The output of a channel as one product. The stock kernels multiply a sum by a fraction, round,
// shift and round again. Where no output depends on how, a kernel does with less: the output of a
// sum is a step function of at most 256 steps, and many products round down to the same steps.
// Pure. Private to neap/emit.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/emit/quantization.h"
#include "neap/execute/fixed_point.h"

namespace neap::emit {

// From `low` to `high`.
struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// What the stock kernels do with a sum.
struct Stage {
  std::int64_t bias = 0;
  execute::FixedFactor factor;
  std::int32_t out_zero = 0;
  Range range;
};
std::int32_t OutputOf(const Stage& stage, std::int64_t sum);

// (256 * gain * sum + offset) * factor / 2^44, rounded down. The first factor has 32 bits, the
// second one is positive and has 31.
struct Scaling {
  std::int64_t offset = 0;
  std::int64_t factor = 0;
};
inline constexpr int kScalingBits = 44;

// Of all sums in `sums`, after which outputs below and above the range of `stage` are clamped to
// it. `gain`: of the weights, where these are multiplied by it; small sums need one. nullopt: no
// such numbers were found. O(steps).
std::optional<Scaling> FindScaling(const Stage& stage, const Interval& sums, std::int64_t gain = 1);

// A fraction with the same outputs of all sums in `sums` that is a multiple of 2^(30 - bits), with
// the fewest bits. Conditions: `stage` is monotonic over `sums`, its fraction at least 2^30.
// O(steps * bits).
struct ShortFraction {
  std::int32_t fraction = 0;
  int bits = 0;  // at least 1
};
ShortFraction ShortestFraction(const Stage& stage, const Interval& sums);

}  // namespace neap::emit
