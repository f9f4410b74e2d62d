// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/linear.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace neap::emit {
namespace {

constexpr int kFirst = -128;
constexpr int kLast = 127;
constexpr int kMaxShift = 22;
constexpr int kMinShift = 12;

class Search {
 public:
  Search(const std::function<std::int32_t(int a, int b)>& function, const Range& range)
      : range_(range) {
    values_.reserve(std::size_t{256} * 256);
    for (int a = kFirst; a <= kLast; ++a) {
      for (int b = kFirst; b <= kLast; ++b) values_.push_back(function(a, b));
    }
  }

  // The offsets for which the form is equal are an interval: each pair limits it.
  std::optional<Linear> With(std::int64_t first, std::int64_t second, int shift) const {
    std::int64_t low = INT64_MIN;
    std::int64_t end = INT64_MAX;
    std::int64_t least = INT64_MAX;
    std::int64_t most = INT64_MIN;
    const std::int64_t unit = std::int64_t{1} << shift;
    const std::int32_t* value = values_.data();
    for (int a = kFirst; a <= kLast; ++a) {
      for (int b = kFirst; b <= kLast; ++b, ++value) {
        const std::int64_t sum = first * a + second * b;
        least = std::min(least, sum);
        most = std::max(most, sum);
        if (*value > range_.low) low = std::max(low, *value * unit - sum);
        if (*value < range_.high) end = std::min(end, (*value + std::int64_t{1}) * unit - sum);
      }
      if (low >= end) return std::nullopt;
    }
    if (least < INT32_MIN || most > INT32_MAX) return std::nullopt;
    // A constant function may have no limit on a side.
    low = std::max(low, INT32_MIN - least);
    end = std::min(end, INT32_MAX - most + 1);
    if (low >= end) return std::nullopt;
    return Linear{{first, second}, low + (end - low) / 2, shift};
  }

 private:
  Range range_;
  std::vector<std::int32_t> values_;
};

}  // namespace

std::optional<Linear> FindLinear(const std::function<std::int32_t(int a, int b)>& function,
                                 const std::array<double, 2>& slopes, const Range& range) {
  constexpr double kLimit = 1 << 23;
  const Search search(function, range);
  for (int shift = kMaxShift; shift >= kMinShift; --shift) {
    const double first = std::ldexp(slopes[0], shift);
    const double second = std::ldexp(slopes[1], shift);
    if (!(std::abs(first) < kLimit && std::abs(second) < kLimit)) continue;
    for (const int i : {0, 1, -1}) {
      for (const int j : {0, 1, -1}) {
        auto found = search.With(std::llround(first) + i, std::llround(second) + j, shift);
        if (found) return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace neap::emit
