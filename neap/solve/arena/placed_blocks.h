// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: placed buffers in order of their offsets, tens of thousands of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "neap/solve/arena/neighbours.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

struct PlacedExtent {
  BufferIndex buffer = 0;
  std::int64_t offset = 0;
  std::int64_t end = 0;
};

// In blocks: an insertion moves one block, and a visit skips blocks without a buffer that is
// live with the one to be placed, or that end below an address.
class PlacedBlocks {
 public:
  void Clear() {
    blocks_.clear();
    size_ = 0;
  }

  // After those with the same offset. `live` is not empty.
  void Insert(const PlacedExtent& extent, LiveRange live) {
    auto next = std::upper_bound(blocks_.begin(), blocks_.end(), extent.offset,
                                 [](std::int64_t offset, const Block& block) {
                                   return offset < block.extents.front().offset;
                                 });
    if (next == blocks_.begin()) {
      if (blocks_.empty()) next = blocks_.emplace(next);
    } else {
      --next;
    }
    next->Insert(extent, live);
    ++size_;
    if (next->extents.size() <= kMostInBlock) return;
    Block upper = next->SplitOff();
    blocks_.insert(std::next(next), std::move(upper));
  }

  // Visits what is live at some step of `live` in order of offsets, until `visit` returns false.
  // May leave out those that end at or below `floor()`.
  template <typename Floor, typename Visitor>
  void Visit(LiveRange live, Floor floor, Visitor visit) const {
    for (const Block& block : blocks_) {
      if (!block.live.Meets(live) || block.highest_end <= floor()) continue;
      for (std::size_t i = 0; i < block.extents.size(); ++i) {
        if (block.ranges[i].Meets(live) && !visit(block.extents[i])) return;
      }
    }
  }

  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kMostInBlock = 256;

  struct Block {
    std::vector<PlacedExtent> extents;
    std::vector<LiveRange> ranges;  // of the extents, apart: most are looked at and not visited
    LiveRange live;                 // spans the ranges
    std::int64_t highest_end = 0;

    void Add(const PlacedExtent& extent, LiveRange range) {
      live = extents.empty()
                 ? range
                 : LiveRange{std::min(live.first, range.first), std::max(live.last, range.last)};
      highest_end = std::max(highest_end, extent.end);
    }
    void Insert(const PlacedExtent& extent, LiveRange range) {
      Add(extent, range);
      const auto at = std::upper_bound(
          extents.begin(), extents.end(), extent.offset,
          [](std::int64_t offset, const PlacedExtent& other) { return offset < other.offset; });
      ranges.insert(ranges.begin() + (at - extents.begin()), range);
      extents.insert(at, extent);
    }
    // The upper half.
    Block SplitOff() {
      Block lower;
      Block upper;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        Block& half = i < extents.size() / 2 ? lower : upper;
        half.Add(extents[i], ranges[i]);
        half.extents.push_back(extents[i]);
        half.ranges.push_back(ranges[i]);
      }
      *this = std::move(lower);
      return upper;
    }
  };

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace neap::arena
