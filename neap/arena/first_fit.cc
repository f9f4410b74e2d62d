// SPDX-License-Identifier: Apache-2.0
#include "neap/arena/first_fit.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kMostPairs = 4'000'000;  // 32 MB of neighbours
constexpr std::int64_t kUnplaced = -1;

// Finds the lowest gap while occupied extents are shown in order of offset.
class GapFinder {
 public:
  GapFinder(std::int64_t bytes, std::int64_t alignment) : bytes_(bytes), alignment_(alignment) {}
  // False once the buffer fits below `offset`.
  bool Pass(std::int64_t offset, std::int64_t end) {
    if (offset - lowest_ >= bytes_) return false;
    lowest_ = std::max(lowest_, AlignUp(end, alignment_));
    return true;
  }
  std::int64_t lowest() const { return lowest_; }

 private:
  std::int64_t bytes_;
  std::int64_t alignment_;
  std::int64_t lowest_ = 0;
};

}  // namespace

std::int64_t HeightOf(const Problem& problem, std::span<const std::int64_t> offsets) {
  std::int64_t height = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    height = std::max(height, offsets[i] + problem.buffers[i].bytes);
  }
  return height;
}

std::vector<BufferIndex> FreeBuffers(const Problem& problem) {
  std::vector<BufferIndex> result;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (!problem.buffers[i].fixed_offset) result.push_back(static_cast<BufferIndex>(i));
  }
  return result;
}

FirstFit::FirstFit(const Problem& problem) : problem_(problem) {
  ranges_.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) {
    ranges_.push_back(buffer.bytes > 0 ? LiveRange{buffer.first, buffer.last} : LiveRange{});
  }
  neighbours_ = Neighbours::Build(ranges_, kMostPairs);
}

Placement FirstFit::Place(std::span<const BufferIndex> order) {
  Placement result;
  result.offsets.assign(problem_.buffers.size(), kUnplaced);
  placed_.clear();
  for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
    if (!problem_.buffers[i].fixed_offset) continue;
    result.offsets[i] = *problem_.buffers[i].fixed_offset;
    InsertByOffset(static_cast<BufferIndex>(i), result.offsets[i]);
  }
  for (const BufferIndex buffer : order) {
    const std::int64_t offset =
        neighbours_ ? LowestAmongNeighbours(buffer, result.offsets) : LowestAmongAll(buffer);
    result.offsets[static_cast<std::size_t>(buffer)] = offset;
    InsertByOffset(buffer, offset);
  }
  result.height_bytes = HeightOf(problem_, result.offsets);
  return result;
}

std::int64_t FirstFit::LowestAmongNeighbours(BufferIndex buffer,
                                             std::span<const std::int64_t> offsets) {
  extents_.clear();
  const auto neighbours = neighbours_->Of(buffer);
  for (const BufferIndex other : neighbours) {
    const auto i = static_cast<std::size_t>(other);
    if (offsets[i] != kUnplaced) {
      extents_.push_back({offsets[i], offsets[i] + problem_.buffers[i].bytes});
    }
  }
  visits_ += static_cast<std::int64_t>(neighbours.size()) + 1;
  std::sort(extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  const Buffer& wanted = problem_.buffers[static_cast<std::size_t>(buffer)];
  GapFinder gap(wanted.bytes, wanted.alignment);
  for (const Extent& extent : extents_) {
    if (!gap.Pass(extent.offset, extent.end)) break;
  }
  return gap.lowest();
}

std::int64_t FirstFit::LowestAmongAll(BufferIndex buffer) {
  const auto b = static_cast<std::size_t>(buffer);
  const LiveRange live = ranges_[b];
  GapFinder gap(problem_.buffers[b].bytes, problem_.buffers[b].alignment);
  if (live.empty()) return 0;
  visits_ += static_cast<std::int64_t>(placed_.size()) + 1;
  for (const PlacedExtent& other : placed_) {
    if (other.live.last <= live.first || live.last <= other.live.first) continue;
    if (!gap.Pass(other.extent.offset, other.extent.end)) break;
  }
  return gap.lowest();
}

void FirstFit::InsertByOffset(BufferIndex buffer, std::int64_t offset) {
  const auto b = static_cast<std::size_t>(buffer);
  if (neighbours_ || ranges_[b].empty()) return;
  const auto at = std::upper_bound(
      placed_.begin(), placed_.end(), offset,
      [](std::int64_t value, const PlacedExtent& other) { return value < other.extent.offset; });
  placed_.insert(at, {{offset, offset + problem_.buffers[b].bytes}, ranges_[b]});
}

}  // namespace neap::arena
