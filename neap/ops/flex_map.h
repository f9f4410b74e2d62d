// SPDX-License-Identifier: Apache-2.0
//
// Options of custom operators of TensorFlow Lite: a FlexBuffers map from names to values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace neap::ops {

// The integer or truth value (0, 1) of `key` in the map that `bytes` is. nullopt: the bytes are no
// map, it lacks the key, or the value is of another kind. Any bytes are safe. O(bytes).
std::optional<std::int64_t> FlexMapInteger(std::span<const std::byte> bytes, std::string_view key);

// The same of a real number, or of an integer as one.
std::optional<double> FlexMapReal(std::span<const std::byte> bytes, std::string_view key);

}  // namespace neap::ops
