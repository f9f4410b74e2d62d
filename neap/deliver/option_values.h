// SPDX-License-Identifier: Apache-2.0
//
// How the values of options are read. Private to neap/deliver.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/result.h"
#include "neap/deliver/options.h"

namespace neap::deliver {

template <typename Names>
std::string JoinedBy(const Names& names, std::string_view between) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += between;
    out += name;
  }
  return out;
}

Status NotOneOf(std::string_view text, const std::string& names);

template <typename Names>
Status SetName(std::string_view text, const Names& names, std::string* out) {
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    return NotOneOf(text, JoinedBy(names, "|"));
  }
  *out = std::string(text);
  return {};
}
inline Status SetName(std::string_view text, std::initializer_list<std::string_view> names,
                      std::string* out) {
  return SetName<std::initializer_list<std::string_view>>(text, names, out);
}

template <typename Number>
Status SetNumber(std::string_view text, Number low, Number high, Number* out) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < low || value > high) {
    return Fail(UsageError("'" + std::string(text) + "' is not a whole number from " +
                           std::to_string(low) + " to " + std::to_string(high)));
  }
  *out = value;
  return {};
}

inline Status SetBytes(std::string_view text, std::int64_t* out) {
  auto bytes = ParseBytes(text);
  if (!bytes) return Fail(UsageError(bytes.error().message));
  *out = *bytes;
  return {};
}

inline Status SetBytes(std::string_view text, std::optional<std::int64_t>* out) {
  std::int64_t bytes = 0;
  NEAP_CHECK_OK(SetBytes(text, &bytes));
  *out = bytes;
  return {};
}

// Items may be empty.
std::vector<std::string> SplitAtCommas(std::string_view text);

// Setters of the table (Option::set) that take more than one line.
Status SetRuntime(std::string_view text, Words* words);
Status SetTarget(std::string_view text, Words* words);
Status SetBoard(std::string_view text, Words* words);
Status SetOverlap(std::string_view text, Words* words);
Status SetSoftBudget(std::string_view text, Words* words);
Status AddMemory(std::string_view text, Words* words);
Status SetSkippedSteps(std::string_view text, Words* words);
Status SetRules(std::string_view text, Words* words);
Status SetRecompute(std::string_view text, Words* words);
Status SetMaxMacs(std::string_view text, Words* words);
Status SetBlockColumns(std::string_view text, Words* words);
Status SetTimeLimit(std::string_view text, Words* words);
Status SetTileGrids(std::string_view text, Words* words);

}  // namespace neap::deliver
