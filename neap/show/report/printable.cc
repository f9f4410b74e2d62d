// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace neap::report {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // bytes; 0: not UTF-8
};

// The code point at the start of `text`, which is not empty.
CodePoint Decode(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  constexpr std::array<std::uint32_t, 3> kSmallest = {0x80, 0x800, 0x10000};
  std::size_t length = 0;
  if (lead >= 0xc2 && lead < 0xe0) length = 2;
  if (lead >= 0xe0 && lead < 0xf0) length = 3;
  if (lead >= 0xf0 && lead < 0xf5) length = 4;
  if (length == 0 || text.size() < length) return {};
  std::uint32_t value = lead & (0xffU >> (length + 1));
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0U) != 0x80U) return {};
    value = value << 6U | (byte(at) & 0x3fU);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest.at(length - 2) || value > 0x10ffff || surrogate) return {};
  return {value, length};
}

// Would change the text around it.
bool IsUnfit(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0) || value == 0x200e || value == 0x200f ||
         (value >= 0x2028 && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069) ||
         value == 0xfeff;
}

}  // namespace

std::string Printable(std::string_view name, std::size_t max_columns) {
  std::vector<std::string> pieces;
  std::size_t columns = 0;
  for (std::string_view rest = name; !rest.empty();) {
    const CodePoint point = Decode(rest);
    const std::size_t length = std::max<std::size_t>(point.length, 1);
    if (point.length == 0) {
      pieces.push_back(fmt::format("\\x{:02x}", static_cast<unsigned char>(rest[0])));
    } else if (IsUnfit(point.value)) {
      pieces.push_back(point.value < 0x100 ? fmt::format("\\x{:02x}", point.value)
                                           : fmt::format("\\u{:04x}", point.value));
    } else {
      pieces.emplace_back(rest.substr(0, length));
    }
    columns += ColumnsOf(pieces.back());
    rest.remove_prefix(length);
  }
  std::string front;
  std::string back;
  if (columns <= max_columns) {
    for (const std::string& piece : pieces) front += piece;
    return front;
  }
  // The beginning names the part of the network, the end names the tensor: keep more of the end.
  const std::size_t max_front = (max_columns - 3) / 3;
  const std::size_t max_back = max_columns - 3 - max_front;
  std::size_t used = 0;
  for (const std::string& piece : pieces) {
    used += ColumnsOf(piece);
    if (used > max_front) break;
    front += piece;
  }
  used = 0;
  std::size_t first_back = pieces.size();
  while (first_back > 0) {
    used += ColumnsOf(pieces[first_back - 1]);
    if (used > max_back) break;
    --first_back;
  }
  for (std::size_t at = first_back; at < pieces.size(); ++at) back += pieces[at];
  return front + "..." + back;
}

std::size_t ColumnsOf(std::string_view printable) {
  return static_cast<std::size_t>(std::count_if(printable.begin(), printable.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

}  // namespace neap::report
