// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/first_fit.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kUnplaced = -1;

// Finds the lowest offset while forbidden intervals are shown in order of their low ends.
class GapFinder {
 public:
  explicit GapFinder(std::int64_t alignment) : alignment_(alignment) {}
  // False once the offset is below all intervals that follow.
  bool Pass(std::int64_t low, std::int64_t high) {
    if (lowest_ <= low) return false;
    if (high > lowest_) lowest_ = AlignUp(high, alignment_);
    return true;
  }
  std::int64_t lowest() const { return lowest_; }

 private:
  std::int64_t alignment_;
  std::int64_t lowest_ = 0;
};

std::int64_t LowestAllowed(std::vector<FirstFit::Interval>& forbidden, std::int64_t alignment) {
  std::sort(forbidden.begin(), forbidden.end(),
            [](const FirstFit::Interval& a, const FirstFit::Interval& b) { return a.low < b.low; });
  GapFinder gap(alignment);
  for (const FirstFit::Interval& interval : forbidden) {
    if (interval.high - interval.low > 1 && !gap.Pass(interval.low, interval.high)) break;
  }
  return gap.lowest();
}

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

FirstFit::FirstFit(const Problem& problem, Pairs pairs) : problem_(problem) {
  if (pairs == Pairs::kHonoured && !problem.pairs.empty()) table_.emplace(problem);
  ranges_.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) {
    ranges_.push_back(buffer.bytes > 0 ? LiveRange{buffer.first, buffer.last} : LiveRange{});
  }
  neighbours_ = Neighbours::Build(ranges_, kMaxNeighbours);
}

Placement FirstFit::Place(std::span<const BufferIndex> order) const {
  Pass pass;
  return Place(order, &pass);
}

Placement FirstFit::Place(std::span<const BufferIndex> order, Pass* pass) const {
  Placement result;
  result.offsets.assign(problem_.buffers.size(), kUnplaced);
  pass->placed.Clear();
  for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
    if (!problem_.buffers[i].fixed_offset) continue;
    result.offsets[i] = *problem_.buffers[i].fixed_offset;
    InsertByOffset(static_cast<BufferIndex>(i), result.offsets[i], pass);
  }
  for (const BufferIndex buffer : order) {
    const std::int64_t offset = neighbours_ ? LowestAmongNeighbours(buffer, result.offsets, pass)
                                            : LowestAmongAll(buffer, pass);
    result.offsets[static_cast<std::size_t>(buffer)] = offset;
    InsertByOffset(buffer, offset, pass);
  }
  result.height_bytes = HeightOf(problem_, result.offsets);
  return result;
}

// Adds what the placed `other` at `offset` forbids.
void FirstFit::Forbid(BufferIndex buffer, BufferIndex other, std::int64_t offset,
                      Pass* pass) const {
  if (table_) {
    const auto entries = table_->Between(buffer, other);
    for (const PairTable::Entry& entry : entries) {
      pass->forbidden.push_back({offset + entry.low, offset + entry.high});
    }
    if (!entries.empty()) return;
  }
  pass->forbidden.push_back({offset - problem_.buffers[static_cast<std::size_t>(buffer)].bytes,
                             offset + problem_.buffers[static_cast<std::size_t>(other)].bytes});
}

std::int64_t FirstFit::LowestAmongNeighbours(BufferIndex buffer,
                                             std::span<const std::int64_t> offsets,
                                             Pass* pass) const {
  pass->forbidden.clear();
  const auto neighbours = neighbours_->Of(buffer);
  for (const BufferIndex other : neighbours) {
    const std::int64_t offset = offsets[static_cast<std::size_t>(other)];
    if (offset != kUnplaced) Forbid(buffer, other, offset, pass);
  }
  pass->visits += static_cast<std::int64_t>(neighbours.size()) + 1;
  return LowestAllowed(pass->forbidden,
                       problem_.buffers[static_cast<std::size_t>(buffer)].alignment);
}

std::int64_t FirstFit::LowestAmongAll(BufferIndex buffer, Pass* pass) const {
  const auto b = static_cast<std::size_t>(buffer);
  const LiveRange live = ranges_[b];
  if (live.empty()) return 0;
  if (table_ && !table_->Of(buffer).empty()) return LowestAmongAllWithRules(buffer, pass);
  GapFinder gap(problem_.buffers[b].alignment);
  pass->visits += static_cast<std::int64_t>(pass->placed.size()) + 1;
  // In order of offsets, and so of the low ends of the intervals that each forbids to this buffer.
  // One that ends below the lowest offset so far forbids nothing more.
  pass->placed.Visit(
      live, [&] { return gap.lowest(); },
      [&](const PlacedExtent& other) {
        return gap.Pass(other.offset - problem_.buffers[b].bytes, other.end);
      });
  return gap.lowest();
}

std::int64_t FirstFit::LowestAmongAllWithRules(BufferIndex buffer, Pass* pass) const {
  const LiveRange live = ranges_[static_cast<std::size_t>(buffer)];
  pass->forbidden.clear();
  pass->visits += static_cast<std::int64_t>(pass->placed.size()) + 1;
  pass->placed.Visit(
      live, [] { return kUnplaced; },
      [&](const PlacedExtent& other) {
        Forbid(buffer, other.buffer, other.offset, pass);
        return true;
      });
  return LowestAllowed(pass->forbidden,
                       problem_.buffers[static_cast<std::size_t>(buffer)].alignment);
}

void FirstFit::InsertByOffset(BufferIndex buffer, std::int64_t offset, Pass* pass) const {
  const auto b = static_cast<std::size_t>(buffer);
  if (neighbours_ || ranges_[b].empty()) return;
  pass->placed.Insert({buffer, offset, offset + problem_.buffers[b].bytes}, ranges_[b]);
}

}  // namespace neap::arena
