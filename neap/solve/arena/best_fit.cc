// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/best_fit.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/solve/arena/first_fit.h"

namespace neap::arena {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

// Pairs in ascending order, in blocks: a few hundred are moved with less effort than a tree takes
// for one of them.
class SortedPairs {
 public:
  // Of a pair; the end is at block == number of blocks.
  struct Place {
    std::size_t block = 0;
    std::size_t at = 0;
  };

  bool IsEnd(const Place& place) const { return place.block == blocks_.size(); }
  const Pair& At(const Place& place) const { return blocks_[place.block][place.at]; }
  void Next(Place* place) const {
    if (++place->at == blocks_[place->block].size()) *place = {place->block + 1, 0};
  }
  // The pair before the one at `place`, or before the end; nullptr: there is none.
  const Pair* Before(const Place& place) const {
    if (place.at > 0) return &blocks_[place.block][place.at - 1];
    return place.block > 0 ? &blocks_[place.block - 1].back() : nullptr;
  }
  // The first one that is not less.
  Place From(const Pair& pair) const {
    const auto block = std::lower_bound(
        blocks_.begin(), blocks_.end(), pair,
        [](const std::vector<Pair>& pairs, const Pair& other) { return pairs.back() < other; });
    if (block == blocks_.end()) return {blocks_.size(), 0};
    const auto at = std::lower_bound(block->begin(), block->end(), pair);
    return {static_cast<std::size_t>(block - blocks_.begin()),
            static_cast<std::size_t>(at - block->begin())};
  }

  void Insert(const Pair& pair) {
    Place place = From(pair);
    if (IsEnd(place)) {
      if (blocks_.empty()) blocks_.emplace_back();
      place = {blocks_.size() - 1, blocks_.back().size()};
    }
    std::vector<Pair>& block = blocks_[place.block];
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(place.at), pair);
    if (block.size() < kMost) return;
    const auto middle = block.begin() + kMost / 2;
    std::vector<Pair> upper(middle, block.end());
    block.erase(middle, block.end());
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block) + 1,
                   std::move(upper));
  }
  // A pair that is in it.
  void Erase(const Pair& pair) {
    const Place place = From(pair);
    std::vector<Pair>& block = blocks_[place.block];
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(place.at));
    if (block.empty()) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block));
  }

 private:
  static constexpr std::ptrdiff_t kMost = 256;
  std::vector<std::vector<Pair>> blocks_;  // none is empty
};

// The bytes below the top that no live buffer occupies.
class Holes {
 public:
  // The offset of `buffer`, at the low or at the high end of its hole, or at the top.
  std::int64_t Take(const Buffer& buffer, bool low) {
    for (auto hole = by_size_.From({buffer.bytes, 0}); !by_size_.IsEnd(hole);
         by_size_.Next(&hole)) {
      const auto [bytes, begin] = by_size_.At(hole);
      const std::int64_t end = begin + bytes;
      const std::int64_t highest = (end - buffer.bytes) / buffer.alignment * buffer.alignment;
      if (highest < begin) continue;
      const std::int64_t offset = low ? AlignUp(begin, buffer.alignment) : highest;
      Erase(begin, bytes);
      Add(begin, offset - begin);
      Add(offset + buffer.bytes, end - offset - buffer.bytes);
      return offset;
    }
    // The uppermost hole, if it ends at the top, and more.
    std::int64_t begin = top_;
    if (const Pair* const last = by_begin_.Before(by_begin_.From({top_, 0}))) {
      const auto [other, bytes] = *last;
      if (other + bytes == top_) {
        begin = other;
        Erase(other, bytes);
      }
    }
    const std::int64_t offset = AlignUp(begin, buffer.alignment);
    Add(begin, offset - begin);
    top_ = offset + buffer.bytes;
    return offset;
  }

  void GiveBack(std::int64_t begin, std::int64_t bytes) {
    const auto above = by_begin_.From({begin, 0});
    if (!by_begin_.IsEnd(above)) {
      const auto [other, more] = by_begin_.At(above);
      if (other == begin + bytes) {
        Erase(other, more);
        bytes += more;
      }
    }
    if (const Pair* const below = by_begin_.Before(by_begin_.From({begin, 0}))) {
      const auto [other, more] = *below;
      if (other + more == begin) {
        Erase(other, more);
        begin = other;
        bytes += more;
      }
    }
    Add(begin, bytes);
  }

 private:
  void Add(std::int64_t begin, std::int64_t bytes) {
    if (bytes == 0) return;
    by_begin_.Insert({begin, bytes});
    by_size_.Insert({bytes, begin});
  }
  void Erase(std::int64_t begin, std::int64_t bytes) {
    by_begin_.Erase({begin, bytes});
    by_size_.Erase({bytes, begin});
  }

  SortedPairs by_begin_;  // first and bytes of each
  SortedPairs by_size_;   // bytes and first
  std::int64_t top_ = 0;
};

// In steps that grow in the direction of the placement.
std::int64_t ComesAt(const Buffer& buffer, bool from_the_end) {
  return from_the_end ? -std::int64_t{buffer.last} : std::int64_t{buffer.first};
}
std::int64_t LeavesAt(const Buffer& buffer, bool from_the_end) {
  return from_the_end ? -std::int64_t{buffer.first} : std::int64_t{buffer.last};
}

}  // namespace

BestFitPlacer::BestFitPlacer(const Problem& problem)
    : problem_(problem), directions_{Sorted(false), Sorted(true)} {}

BestFitPlacer::Direction BestFitPlacer::Sorted(bool from_the_end) const {
  const std::vector<Buffer>& buffers = problem_.buffers;
  Direction sorted;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].occupies()) sorted.coming.push_back(i);
  }
  sorted.leaving = sorted.coming;
  std::stable_sort(sorted.coming.begin(), sorted.coming.end(), [&](std::size_t a, std::size_t b) {
    const std::int64_t comes_a = ComesAt(buffers[a], from_the_end);
    const std::int64_t comes_b = ComesAt(buffers[b], from_the_end);
    if (comes_a != comes_b) return comes_a < comes_b;
    return LeavesAt(buffers[a], from_the_end) > LeavesAt(buffers[b], from_the_end);
  });
  std::stable_sort(sorted.leaving.begin(), sorted.leaving.end(), [&](std::size_t a, std::size_t b) {
    return LeavesAt(buffers[a], from_the_end) < LeavesAt(buffers[b], from_the_end);
  });
  return sorted;
}

Placement BestFitPlacer::Place(const BestFitOptions& options) const {
  const std::vector<Buffer>& buffers = problem_.buffers;
  const Direction& sorted = directions_[options.from_the_end ? 1 : 0];
  Placement placement;
  placement.offsets.assign(buffers.size(), 0);
  Holes holes;
  auto next = sorted.leaving.begin();
  for (const std::size_t i : sorted.coming) {
    const std::int64_t comes = ComesAt(buffers[i], options.from_the_end);
    for (; LeavesAt(buffers[*next], options.from_the_end) <= comes; ++next) {
      holes.GiveBack(placement.offsets[*next], buffers[*next].bytes);
    }
    const bool low = std::int64_t{buffers[i].last} - buffers[i].first > options.short_steps;
    placement.offsets[i] = holes.Take(buffers[i], low);
  }
  placement.height_bytes = HeightOf(problem_, placement.offsets);
  return placement;
}

}  // namespace neap::arena
