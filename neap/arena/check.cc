// SPDX-License-Identifier: Apache-2.0
#include "neap/arena/check.h"

#include <algorithm>
#include <cstddef>

namespace neap::arena {
namespace {

std::string At(std::size_t index, const Buffer& buffer, std::int64_t offset) {
  return "buffer #" + std::to_string(index) + " (" + std::to_string(buffer.bytes) +
         " bytes at offset " + std::to_string(offset) + ", steps [" + std::to_string(buffer.first) +
         ", " + std::to_string(buffer.last) + "))";
}

// Two half-open ranges have a common element.
template <typename T>
bool Meet(T a_first, T a_last, T b_first, T b_last) {
  return std::max(a_first, b_first) < std::min(a_last, b_last);
}

}  // namespace

std::optional<std::string> FindViolation(const Problem& problem, const Placement& placement) {
  const auto& buffers = problem.buffers;
  const auto& offsets = placement.offsets;
  if (offsets.size() != buffers.size()) {
    return "found " + std::to_string(offsets.size()) + " offsets, expected " +
           std::to_string(buffers.size());
  }
  std::int64_t height = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (offsets[i] < 0) return At(i, buffer, offsets[i]) + ": found a negative offset";
    if (buffer.fixed_offset && *buffer.fixed_offset != offsets[i]) {
      return At(i, buffer, offsets[i]) + ": expected its fixed offset " +
             std::to_string(*buffer.fixed_offset);
    }
    if (offsets[i] % buffer.alignment != 0) {
      return At(i, buffer, offsets[i]) + ": expected a multiple of " +
             std::to_string(buffer.alignment);
    }
    std::int64_t end = 0;
    if (__builtin_add_overflow(offsets[i], buffer.bytes, &end)) {
      return At(i, buffer, offsets[i]) + ": ends out of range";
    }
    height = std::max(height, end);
  }
  if (height != placement.height_bytes) {
    return "found height " + std::to_string(placement.height_bytes) + ", expected " +
           std::to_string(height);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = i + 1; j < buffers.size(); ++j) {
      if (Meet(buffers[i].first, buffers[i].last, buffers[j].first, buffers[j].last) &&
          Meet(offsets[i], offsets[i] + buffers[i].bytes, offsets[j],
               offsets[j] + buffers[j].bytes)) {
        return At(i, buffers[i], offsets[i]) + " shares bytes with " +
               At(j, buffers[j], offsets[j]);
      }
    }
  }
  return std::nullopt;
}

}  // namespace neap::arena
