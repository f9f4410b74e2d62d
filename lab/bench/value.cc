// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/value.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::bench {

Value None() { return {}; }
Value Text(std::string text) { return {std::move(text), 0}; }
Value Count(std::int64_t count) { return {count, 0}; }
Value Real(double number, int decimals) { return {number, decimals}; }

std::string Shown(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&value.value)) return FormatCount(*count);
  if (const auto* real = std::get_if<double>(&value.value)) {
    if (!std::isfinite(*real)) return "-";
    return fmt::format("{:.{}f}", *real, value.decimals);
  }
  return "-";
}

bool IsNumber(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.value) ||
         std::holds_alternative<double>(value.value);
}

double GeometricMean(const std::vector<double>& ratios) {
  if (ratios.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

double Ratio(std::int64_t before, std::int64_t after) {
  if (after == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(before) / static_cast<double>(after);
}

}  // namespace neap::bench
