// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/control_dependencies.h"

#include <algorithm>

namespace neap::formats::tflite {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMaxVarintBytes = 5;  // 32 bits, 7 a byte

class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::optional<std::uint32_t> Unsigned() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kMaxVarintBytes && !bytes_.empty(); ++i) {
      const auto byte = std::to_integer<std::uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      value |= (byte & 0x7fU) << (7 * i);
      if ((byte & 0x80U) == 0) {
        if (value > UINT32_MAX) return std::nullopt;
        return static_cast<std::uint32_t>(value);
      }
    }
    return std::nullopt;
  }
  // 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
  std::optional<std::int32_t> Signed() {
    const auto value = Unsigned();
    if (!value) return std::nullopt;
    const auto magnitude = static_cast<std::int32_t>(*value >> 1U);
    return (*value & 1U) != 0 ? -magnitude - 1 : magnitude;
  }
  std::size_t Left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

std::uint32_t Zigzag(std::int32_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  return value < 0 ? ~(bits << 1U) : bits << 1U;
}

std::size_t VarintBytes(std::uint32_t value) {
  std::size_t count = 1;
  for (; value >= 0x80U; value >>= 7U) ++count;
  return count;
}

}  // namespace

std::optional<ControlDependencies> ParseControlDependencies(std::span<const std::byte> bytes) {
  Input input(bytes);
  if (input.Unsigned() != kVersion) return std::nullopt;
  const auto subgraphs = input.Unsigned();
  // Each list takes at least a byte, each edge two: no count can exceed the bytes.
  if (!subgraphs || *subgraphs > input.Left()) return std::nullopt;
  ControlDependencies dependencies(*subgraphs);
  for (auto& edges : dependencies) {
    const auto count = input.Unsigned();
    if (!count || *count > input.Left() / 2) return std::nullopt;
    edges.resize(*count);
    for (OperatorEdge& edge : edges) {
      const auto from = input.Signed();
      const auto to = input.Signed();
      if (!from || !to) return std::nullopt;
      edge = {*from, *to};
    }
  }
  if (input.Left() != 0) return std::nullopt;
  return dependencies;
}

namespace {

std::vector<std::uint32_t> WordsOf(const ControlDependencies& dependencies) {
  std::vector<std::uint32_t> numbers = {kVersion, static_cast<std::uint32_t>(dependencies.size())};
  for (const auto& edges : dependencies) {
    numbers.push_back(static_cast<std::uint32_t>(edges.size()));
    for (const OperatorEdge& edge : edges) {
      numbers.push_back(Zigzag(edge.from));
      numbers.push_back(Zigzag(edge.to));
    }
  }
  return numbers;
}

std::size_t ShortestBytes(const std::vector<std::uint32_t>& numbers) {
  std::size_t bytes = 0;
  for (const std::uint32_t number : numbers) bytes += VarintBytes(number);
  return bytes;
}

}  // namespace

std::size_t ShortestControlDependencies(const ControlDependencies& dependencies) {
  return ShortestBytes(WordsOf(dependencies));
}

std::optional<std::vector<std::byte>> SerializeControlDependencies(
    const ControlDependencies& dependencies, std::size_t size) {
  const std::vector<std::uint32_t> numbers = WordsOf(dependencies);
  const std::size_t needed = ShortestBytes(numbers);
  if (needed > size || size > numbers.size() * kMaxVarintBytes) return std::nullopt;

  std::size_t padding = size - needed;
  std::vector<std::byte> out;
  out.reserve(size);
  for (std::uint32_t number : numbers) {
    const std::size_t shortest = VarintBytes(number);
    const std::size_t extra = std::min(padding, kMaxVarintBytes - shortest);
    padding -= extra;
    for (std::size_t i = 0; i < shortest + extra; ++i) {
      const bool last = i + 1 == shortest + extra;
      out.push_back(static_cast<std::byte>((number & 0x7fU) | (last ? 0U : 0x80U)));
      number >>= 7U;
    }
  }
  return out;
}

}  // namespace neap::formats::tflite
