// SPDX-License-Identifier: Apache-2.0
#include "neap/arena/problem.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

std::string Name(std::size_t index) { return "buffer #" + std::to_string(index); }

std::optional<std::string> ValidateBuffer(const Buffer& buffer, const std::string& name) {
  if (buffer.bytes < 0) return name + ": found " + std::to_string(buffer.bytes) + " bytes";
  if (buffer.bytes > kMostBytes) return name + ": too large";
  if (buffer.first > buffer.last) {
    return name + ": found first step " + std::to_string(buffer.first) + " after its last " +
           std::to_string(buffer.last);
  }
  if (buffer.alignment < 1 || buffer.alignment > kMostBytes) {
    return name + ": found alignment " + std::to_string(buffer.alignment) + ", expected at least 1";
  }
  if (!buffer.fixed_offset) return std::nullopt;
  const std::int64_t offset = *buffer.fixed_offset;
  if (offset < 0 || offset > kMostBytes) {
    return name + ": found fixed offset " + std::to_string(offset);
  }
  if (offset % buffer.alignment != 0) {
    return name + ": found fixed offset " + std::to_string(offset) + ", expected a multiple of " +
           std::to_string(buffer.alignment);
  }
  return std::nullopt;
}

// Whatever order buffers are placed in, lowest first, no offset goes above the highest fixed buffer
// plus all others with their padding: when that fits, no sum in the solvers overflows.
std::optional<std::string> ValidateSum(const Problem& problem) {
  std::int64_t highest_fixed = 0;
  std::int64_t total = 0;
  for (const Buffer& buffer : problem.buffers) {
    const auto padded = CheckedAdd(buffer.bytes, buffer.alignment - 1);
    const auto sum = padded ? CheckedAdd(total, *padded) : std::nullopt;
    const auto end = CheckedAdd(buffer.fixed_offset.value_or(0), buffer.bytes);
    if (!sum || !end) return "the buffers together are too large";
    total = *sum;
    highest_fixed = std::max(highest_fixed, *end);
  }
  const auto most = CheckedAdd(total, highest_fixed);
  if (!most || *most > kMostBytes) return "the buffers together are too large";
  return std::nullopt;
}

// A sweep over time with the live fixed buffers sorted by offset: a new one can only collide with
// the one below it and the one above.
std::optional<std::string> ValidateFixed(const Problem& problem) {
  std::vector<std::size_t> fixed;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.fixed_offset && buffer.bytes > 0 && buffer.first < buffer.last) fixed.push_back(i);
  }
  std::vector<std::size_t> by_last = fixed;
  const auto& buffers = problem.buffers;
  std::stable_sort(fixed.begin(), fixed.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].first < buffers[b].first;
  });
  std::stable_sort(by_last.begin(), by_last.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].last < buffers[b].last; });
  std::map<std::int64_t, std::size_t> live;  // offset -> buffer
  auto next_end = by_last.begin();
  for (const std::size_t i : fixed) {
    for (; buffers[*next_end].last <= buffers[i].first; ++next_end) {
      live.erase(*buffers[*next_end].fixed_offset);
    }
    const std::int64_t offset = *buffers[i].fixed_offset;
    const auto above = live.lower_bound(offset);
    if (above != live.end() && above->first < offset + buffers[i].bytes) {
      return Name(i) + ": its fixed place overlaps that of " + Name(above->second);
    }
    if (above != live.begin()) {
      const auto below = std::prev(above);
      if (below->first + buffers[below->second].bytes > offset) {
        return Name(i) + ": its fixed place overlaps that of " + Name(below->second);
      }
    }
    live.emplace(offset, i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Validate(const Problem& problem) {
  if (problem.buffers.size() > static_cast<std::size_t>(std::numeric_limits<BufferIndex>::max())) {
    return "too many buffers";
  }
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (auto wrong = ValidateBuffer(problem.buffers[i], Name(i))) return wrong;
  }
  if (auto wrong = ValidateSum(problem)) return wrong;
  return ValidateFixed(problem);
}

}  // namespace neap::arena
