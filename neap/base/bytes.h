// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "neap/base/result.h"

namespace neap {

// Sizes are std::int64_t and never negative. Sums and products of sizes that come from a file go
// through these: nullopt means that the result does not fit.
inline std::optional<std::int64_t> CheckedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
inline std::optional<std::int64_t> CheckedMultiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// No tensor and no sum of tensors may be larger: 4 EiB, so that a sum of two still fits.
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

// The least multiple of `alignment` (>= 1) that is at least `bytes` (<= kMaxBytes).
inline std::int64_t AlignUp(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// "262144", "256KiB", "256K", "256KB" (1000), "1.5MiB" is refused: sizes are whole numbers.
// K, M, G alone mean KiB, MiB, GiB.
Result<std::int64_t> ParseBytes(std::string_view text);

// "301,056 B (294.0 KiB)"; below 1024 only "768 B".
std::string FormatBytes(std::int64_t bytes);
// "301,056"
std::string FormatCount(std::int64_t count);

}  // namespace neap
