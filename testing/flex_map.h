// SPDX-License-Identifier: Apache-2.0
//
// Options of custom operators of TensorFlow Lite, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "neap/base/bit_cast.h"

namespace neap::property {

// A FlexBuffers map of integers and reals, every value in four bytes; names in ascending order.
inline std::vector<std::byte> FlexMap(
    const std::map<std::string, std::variant<int, float>>& values) {
  std::vector<std::byte> bytes;
  const auto add = [&](std::uint32_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(std::byte(value >> 8 * i & 0xffU));
  };
  std::vector<std::size_t> names;
  for (const auto& [name, value] : values) {
    names.push_back(bytes.size());
    for (const char letter : name) bytes.push_back(static_cast<std::byte>(letter));
    bytes.push_back({});
  }
  const auto back_to = [&](std::size_t at) {
    return static_cast<std::uint32_t>(bytes.size() - at);
  };
  const auto count = static_cast<std::uint32_t>(values.size());
  add(count, 4);
  const std::size_t keys = bytes.size();
  for (const std::size_t name : names) add(back_to(name), 4);
  add(back_to(keys), 4);
  add(4, 4);
  add(count, 4);
  const std::size_t map = bytes.size();
  for (const auto& [name, value] : values) {
    const float* const real = std::get_if<float>(&value);
    add(real == nullptr ? static_cast<std::uint32_t>(std::get<int>(value))
                        : BitCast<std::uint32_t>(*real),
        4);
  }
  constexpr std::uint32_t kFourBytes = 2;
  for (const auto& [name, value] : values) {
    add((std::holds_alternative<float>(value) ? 3U : 1U) << 2U | kFourBytes, 1);
  }
  add(back_to(map), 4);
  add(9U << 2U | kFourBytes, 1);
  add(4, 1);
  return bytes;
}

}  // namespace neap::property
