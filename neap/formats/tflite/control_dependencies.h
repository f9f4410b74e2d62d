// SPDX-License-Identifier: Apache-2.0
//
// The metadata entry "model_control_dependencies": which operators must keep their order for
// reasons that no tensor shows. Its bytes, as LiteRT writes and reads them: varint version (1),
// varint number of subgraphs, and for each subgraph varint number of edges and two zigzag varints
// per edge, the indices of the operators in the file. Private to neap/formats/tflite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace neap::formats::tflite {

inline constexpr char kControlDependenciesKey[] = "model_control_dependencies";

struct OperatorEdge {
  std::int32_t from = 0;  // runs before `to`
  std::int32_t to = 0;
  friend bool operator==(const OperatorEdge&, const OperatorEdge&) = default;
};
using ControlDependencies = std::vector<std::vector<OperatorEdge>>;  // by subgraph

// nullopt: not such a message, or of another version. O(bytes) for any bytes.
std::optional<ControlDependencies> ParseControlDependencies(std::span<const std::byte> bytes);

// Exactly `size` bytes that parse to `dependencies`: a varint may carry continuation bytes that add
// nothing, so a message can be padded. nullopt: it needs more than `size`, or `size` is more than
// five bytes a number.
std::optional<std::vector<std::byte>> SerializeControlDependencies(
    const ControlDependencies& dependencies, std::size_t size);

// The shortest encoding.
std::size_t ShortestControlDependencies(const ControlDependencies& dependencies);

}  // namespace neap::formats::tflite
