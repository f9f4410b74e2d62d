// SPDX-License-Identifier: Apache-2.0
#include "neap/base/bytes.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace neap {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<Unit, 14> kUnits = {{
    {"", 1},
    {"B", 1},
    {"K", std::int64_t{1} << 10},
    {"M", std::int64_t{1} << 20},
    {"G", std::int64_t{1} << 30},
    {"KiB", std::int64_t{1} << 10},
    {"MiB", std::int64_t{1} << 20},
    {"GiB", std::int64_t{1} << 30},
    {"KB", 1'000},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"Ki", std::int64_t{1} << 10},
    {"Mi", std::int64_t{1} << 20},
}};

}  // namespace

Result<std::int64_t> ParseBytes(std::string_view text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (error == std::errc() && count >= 0) {
    for (const Unit& known : kUnits) {
      if (known.name != unit) continue;
      const auto bytes = CheckedMultiply(count, known.bytes);
      if (bytes && *bytes <= kMaxBytes) return *bytes;
      return Fail(UsageError("size '" + std::string(text) + "' is too large"));
    }
  }
  return Fail(UsageError("'" + std::string(text) +
                         "' is not a size: expected a whole number with B, KiB, MiB, GiB, or KB, "
                         "MB, GB (powers of 1000), such as 256KiB or 262144"));
}

std::string FormatCount(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string FormatBytes(std::int64_t bytes) {
  std::string out = FormatCount(bytes) + " B";
  if (bytes < 1024) return out;
  // Tenths, rounded half up, in integers: the same text on every machine.
  constexpr std::array<std::string_view, 3> kNames = {"KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  std::int64_t scale = 1024;
  while (unit + 1 < kNames.size() && bytes / scale >= 10 * std::int64_t{1024}) {
    scale *= 1024;
    ++unit;
  }
  const std::int64_t whole = bytes / scale;
  std::int64_t tenths = ((bytes % scale) * 10 + scale / 2) / scale;
  const std::int64_t carry = tenths / 10;
  tenths %= 10;
  return out + " (" + FormatCount(whole + carry) + "." + std::to_string(tenths) + " " +
         std::string(kNames[unit]) + ")";
}

}  // namespace neap
