// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/skyline.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/solve/arena/first_fit.h"

namespace neap::arena {
namespace {

// The height over every step, as a segment tree whose nodes know the greatest height below them and
// perhaps one that holds for all below them.
class Skyline {
 public:
  explicit Skyline(std::size_t steps) : size_(std::bit_ceil(std::max<std::size_t>(steps, 1))) {
    highest_.assign(2 * size_, 0);
    raised_.assign(2 * size_, 0);
  }
  std::int64_t Highest(std::size_t first, std::size_t last) const {
    return Highest(1, 0, size_, first, last);
  }
  // All heights in between become at least `height`.
  void Raise(std::size_t first, std::size_t last, std::int64_t height) {
    Raise(1, 0, size_, first, last, height);
  }

 private:
  std::int64_t Highest(std::size_t node, std::size_t begin, std::size_t end, std::size_t first,
                       std::size_t last) const {
    if (last <= begin || end <= first) return 0;
    if (first <= begin && end <= last) return highest_[node];
    const std::size_t middle = begin + (end - begin) / 2;
    return std::max({raised_[node], Highest(2 * node, begin, middle, first, last),
                     Highest(2 * node + 1, middle, end, first, last)});
  }
  void Raise(std::size_t node, std::size_t begin, std::size_t end, std::size_t first,
             std::size_t last, std::int64_t height) {
    if (last <= begin || end <= first) return;
    highest_[node] = std::max(highest_[node], height);
    if (first <= begin && end <= last) {
      raised_[node] = std::max(raised_[node], height);
      return;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    Raise(2 * node, begin, middle, first, last, height);
    Raise(2 * node + 1, middle, end, first, last, height);
  }

  std::size_t size_;
  std::vector<std::int64_t> highest_;
  std::vector<std::int64_t> raised_;
};

}  // namespace

Placement PlaceOnSkyline(const Problem& problem, std::span<const BufferIndex> order) {
  std::vector<Step> steps;
  for (const Buffer& buffer : problem.buffers) {
    steps.push_back(buffer.first);
    steps.push_back(buffer.last);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const auto rank = [&](Step step) {
    return static_cast<std::size_t>(std::lower_bound(steps.begin(), steps.end(), step) -
                                    steps.begin());
  };
  Skyline skyline(steps.size());
  Placement placement;
  placement.offsets.assign(problem.buffers.size(), 0);
  const auto put = [&](std::size_t i, std::int64_t offset) {
    const Buffer& buffer = problem.buffers[i];
    placement.offsets[i] = offset;
    if (buffer.bytes > 0) {
      skyline.Raise(rank(buffer.first), rank(buffer.last), offset + buffer.bytes);
    }
  };
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (problem.buffers[i].fixed_offset) put(i, *problem.buffers[i].fixed_offset);
  }
  for (const BufferIndex index : order) {
    const auto i = static_cast<std::size_t>(index);
    const Buffer& buffer = problem.buffers[i];
    const std::int64_t top = skyline.Highest(rank(buffer.first), rank(buffer.last));
    put(i, AlignUp(top, buffer.alignment));
  }
  placement.height_bytes = HeightOf(problem, placement.offsets);
  return placement;
}

}  // namespace neap::arena
