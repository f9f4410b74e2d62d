// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/stream_sums.h"

#include <cstring>

namespace neap::execute {
namespace {

constexpr std::int32_t kHalf = 128;

std::int32_t SumAt(std::span<const std::byte> sums, std::size_t size, std::size_t channel) {
  const std::byte* const from = sums.data() + channel * size;
  std::int32_t sum = 0;
  if (size == sizeof(sum)) {
    std::memcpy(&sum, from, sizeof(sum));
    return sum;
  }
  std::int16_t small = 0;
  std::memcpy(&small, from, sizeof(small));
  return small;
}

void Put(std::int32_t sum, std::size_t size, std::size_t channel, std::span<std::byte> sums) {
  std::byte* const to = sums.data() + channel * size;
  const auto small = static_cast<std::int16_t>(sum);
  if (size == sizeof(sum)) {
    std::memcpy(to, &sum, sizeof(sum));
  } else {
    std::memcpy(to, &small, sizeof(small));
  }
}

// The offset that maps a value of `type` to 0 to 255.
std::int32_t FirstOf(graph::ElementType type) {
  return type == graph::ElementType::kInt8 ? kHalf : 0;
}

// Floats are added as kernels add them, from 0 on.
void AddFloats(std::span<const std::byte> pixels, bool first, std::span<std::byte> sums) {
  for (std::size_t at = 0; at < sums.size(); at += sizeof(float)) {
    float sum = 0.0F;
    if (!first) std::memcpy(&sum, sums.data() + at, sizeof(float));
    for (std::size_t from = at; from < pixels.size(); from += sums.size()) {
      float value = 0.0F;
      std::memcpy(&value, pixels.data() + from, sizeof(float));
      sum += value;
    }
    std::memcpy(sums.data() + at, &sum, sizeof(float));
  }
}

}  // namespace

void AddPixels(std::span<const std::byte> pixels, graph::ElementType type, bool first,
               std::size_t size, std::span<std::byte> sums) {
  if (type == graph::ElementType::kFloat32) return AddFloats(pixels, first, sums);
  const std::size_t channels = sums.size() / size;
  const bool is_signed = type == graph::ElementType::kInt8;
  for (std::size_t c = 0; c < channels; ++c) {
    std::int32_t sum = first ? 0 : SumAt(sums, size, c);
    for (std::size_t at = c; at < pixels.size(); at += channels) {
      const auto bits = static_cast<std::uint8_t>(pixels[at]);
      sum += is_signed ? static_cast<std::int8_t>(bits) : bits - kHalf;
    }
    Put(sum, size, c, sums);
  }
}

std::vector<std::byte> ImageOfSums(std::span<const std::byte> sums, std::size_t size,
                                   graph::ElementType type, std::int64_t places) {
  if (type == graph::ElementType::kFloat32) {
    // The sums and zeros: to add these changes nothing.
    std::vector<std::byte> pixels(sums.begin(), sums.end());
    pixels.resize(sums.size() * static_cast<std::size_t>(places));
    return pixels;
  }
  const std::size_t channels = sums.size() / size;
  std::vector<std::byte> pixels(static_cast<std::size_t>(places) * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    // As evenly as possible, so that every value is between two that were added.
    const std::int64_t sum = SumAt(sums, size, c) + kHalf * places;  // of values from 0 on
    for (std::int64_t p = 0; p < places; ++p) {
      const std::int64_t value = sum / places + (p < sum % places ? 1 : 0) - FirstOf(type);
      pixels[static_cast<std::size_t>(p) * channels + c] =
          static_cast<std::byte>(static_cast<std::uint8_t>(value));
    }
  }
  return pixels;
}

}  // namespace neap::execute
