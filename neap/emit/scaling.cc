// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/scaling.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace neap::emit {
namespace {

constexpr std::int64_t kUnit = 256;  // of a sum, with a gain of 1
constexpr std::int64_t kMaxFactor = INT32_MAX;
constexpr std::int64_t kMaxTerm = std::int64_t{1} << 31;  // exclusive, of the first factor
constexpr std::int64_t kMaxBiased = std::int64_t{1} << 30;

std::int64_t FloorOf(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
std::int64_t CeilingOf(std::int64_t a, std::int64_t b) { return -FloorOf(-a, b); }

// An output is at least `value` from sum `first` on; that of `before` is less.
struct Step {
  std::int64_t value = 0;
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> before;
};

// The smallest sum with an output of at least `value`: behind sums.low, at most sums.high, and
// probably about `distance` behind sums.low.
std::int64_t FirstSumOf(const Stage& stage, const Interval& sums, std::int64_t value,
                        std::int64_t distance) {
  std::int64_t low = sums.low;
  std::int64_t high = sums.high;
  for (; distance < high - low; distance *= 2) {
    if (OutputOf(stage, low + distance) >= value) {
      high = low + distance;
      break;
    }
    low += distance;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (OutputOf(stage, middle) < value ? low : high) = middle;
  }
  return high;
}

// All steps, and the ends of the interval where their outputs are not clamped.
std::vector<Step> StepsOf(const Stage& stage, const Interval& sums) {
  const std::int64_t lowest = OutputOf(stage, sums.low);
  const std::int64_t highest = OutputOf(stage, sums.high);
  std::vector<Step> steps;
  if (lowest > stage.range.low) steps.push_back({lowest, sums.low, std::nullopt});
  Interval rest = sums;
  std::int64_t distance = 1;
  for (std::int64_t value = lowest + 1; value <= highest; ++value) {
    const std::int64_t first = FirstSumOf(stage, rest, value, distance);
    steps.push_back({value, first, first - 1});
    distance = first - rest.low + 1;
    rest.low = first - 1;
  }
  if (highest < stage.range.high) steps.push_back({highest + 1, std::nullopt, sums.high});
  return steps;
}

// The factors for which all steps are where they should be.
Interval FactorsFor(const std::vector<Step>& steps, std::int64_t unit, std::int64_t offset) {
  Interval factors{1, kMaxFactor};
  for (const Step& step : steps) {
    const std::int64_t bound = step.value * (std::int64_t{1} << kScalingBits);
    if (step.first) {  // term * factor >= bound
      const std::int64_t term = unit * *step.first + offset;
      if (term > 0) {
        factors.low = std::max(factors.low, CeilingOf(bound, term));
      } else if (term < 0) {
        factors.high = std::min(factors.high, FloorOf(bound, term));
      } else if (bound > 0) {
        return {1, 0};
      }
    }
    if (step.before) {  // term * factor < bound
      const std::int64_t term = unit * *step.before + offset;
      if (term > 0) {
        factors.high = std::min(factors.high, CeilingOf(bound, term) - 1);
      } else if (term < 0) {
        factors.low = std::max(factors.low, FloorOf(bound, term) + 1);
      } else if (bound <= 0) {
        return {1, 0};
      }
    }
    if (factors.low > factors.high) break;
  }
  return factors;
}

// Offsets with which all terms have 32 bits.
Interval OffsetsFor(const Interval& sums, std::int64_t unit) {
  return {-kMaxTerm - unit * sums.low, kMaxTerm - 1 - unit * sums.high};
}

// The middle of the offsets that suit `factor`, or about there if there are none.
std::int64_t OffsetFor(const std::vector<Step>& steps, const Interval& all, std::int64_t unit,
                       std::int64_t factor) {
  Interval offsets = all;
  for (const Step& step : steps) {
    const std::int64_t term = CeilingOf(step.value * (std::int64_t{1} << kScalingBits), factor);
    if (step.first) offsets.low = std::max(offsets.low, term - unit * *step.first);
    if (step.before) offsets.high = std::min(offsets.high, term - 1 - unit * *step.before);
  }
  return std::clamp(offsets.low + (offsets.high - offsets.low) / 2, all.low, all.high);
}

// An offset near the best one for `factor`, and the middle of the factors that suit it.
std::optional<Scaling> FindNear(const std::vector<Step>& steps, const Interval& all,
                                std::int64_t unit, std::int64_t factor) {
  constexpr std::int64_t kFarthest = 16;
  const std::int64_t middle = OffsetFor(steps, all, unit, factor);
  for (std::int64_t i = 0; i <= 2 * kFarthest; ++i) {
    const std::int64_t offset = middle + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
    if (offset < all.low || offset > all.high) continue;
    const Interval factors = FactorsFor(steps, unit, offset);
    if (factors.low <= factors.high) {
      return Scaling{offset, factors.low + (factors.high - factors.low) / 2};
    }
  }
  return std::nullopt;
}

}  // namespace

std::int32_t OutputOf(const Stage& stage, std::int64_t sum) {
  const std::int32_t scaled =
      execute::Scale(static_cast<std::int32_t>(sum + stage.bias), stage.factor);
  return std::clamp(execute::WrapAdd(scaled, stage.out_zero), stage.range.low, stage.range.high);
}

std::optional<Scaling> FindScaling(const Stage& stage, const Interval& sums, std::int64_t gain) {
  if (stage.factor.shift > 0 || std::abs(sums.low + stage.bias) >= kMaxBiased ||
      std::abs(sums.high + stage.bias) >= kMaxBiased) {
    return std::nullopt;  // an output might be less than that of a smaller sum
  }
  const std::vector<Step> steps = StepsOf(stage, sums);
  // The fraction of 31 bits, without its own shift.
  constexpr int kShift = 5;
  const int shift = kShift + stage.factor.shift;
  std::int64_t factor = stage.factor.fraction;
  factor = shift >= 0 ? factor << shift : factor >> std::min(-shift, 31);
  factor = std::clamp<std::int64_t>(factor / gain, 1, kMaxFactor);
  const std::int64_t unit = kUnit * gain;
  const Interval all = OffsetsFor(sums, unit);
  // Few steps leave the factor open: a larger one needs smaller offsets.
  constexpr std::size_t kFew = 8;
  for (;;) {
    if (const auto found = FindNear(steps, all, unit, factor)) return found;
    if (steps.size() > kFew || factor > kMaxFactor / 2) return std::nullopt;
    factor *= 2;
  }
}

namespace {

// Outputs do not fall from sum to sum: those at the steps decide about all others.
bool HasSteps(const Stage& stage, const std::vector<Step>& steps) {
  return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
    return (!step.first || OutputOf(stage, *step.first) >= step.value) &&
           (!step.before || OutputOf(stage, *step.before) < step.value);
  });
}

}  // namespace

ShortFraction ShortestFraction(const Stage& stage, const Interval& sums) {
  constexpr int kBits = 30;
  const std::vector<Step> steps = StepsOf(stage, sums);
  // Fractions with the same steps are an interval around the given one: if there is a multiple in
  // it, one of the two beside the given fraction is.
  for (int bits = 1; bits < kBits; ++bits) {
    const std::int64_t unit = std::int64_t{1} << (kBits - bits);
    const std::int64_t below = stage.factor.fraction / unit * unit;
    for (const std::int64_t fraction : {below, below + unit}) {
      if (fraction > INT32_MAX) continue;
      Stage other = stage;
      other.factor.fraction = static_cast<std::int32_t>(fraction);
      if (HasSteps(other, steps)) return {other.factor.fraction, bits};
    }
  }
  return {stage.factor.fraction, kBits};
}

}  // namespace neap::emit
