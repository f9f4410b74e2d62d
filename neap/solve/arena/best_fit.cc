// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/best_fit.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/solve/arena/first_fit.h"

namespace neap::arena {
namespace {

// A few hundred at most, so that moving the others costs less than a tree.
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

void Insert(std::int64_t first, std::int64_t second, Pairs* sorted) {
  const std::pair<std::int64_t, std::int64_t> pair(first, second);
  sorted->insert(std::lower_bound(sorted->begin(), sorted->end(), pair), pair);
}
void Remove(std::int64_t first, std::int64_t second, Pairs* sorted) {
  const std::pair<std::int64_t, std::int64_t> pair(first, second);
  sorted->erase(std::lower_bound(sorted->begin(), sorted->end(), pair));
}

// The bytes below the top that no live buffer occupies.
class Holes {
 public:
  // The offset of `buffer`, at the low or at the high end of its hole, or at the top.
  std::int64_t Take(const Buffer& buffer, bool low) {
    const std::pair<std::int64_t, std::int64_t> least(buffer.bytes, 0);
    for (auto hole = std::lower_bound(by_size_.begin(), by_size_.end(), least);
         hole != by_size_.end(); ++hole) {
      const auto [bytes, begin] = *hole;
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
    if (!by_begin_.empty()) {
      const auto [last, bytes] = *std::prev(by_begin_.end());
      if (last + bytes == top_) {
        begin = last;
        Erase(last, bytes);
      }
    }
    const std::int64_t offset = AlignUp(begin, buffer.alignment);
    Add(begin, offset - begin);
    top_ = offset + buffer.bytes;
    return offset;
  }

  void GiveBack(std::int64_t begin, std::int64_t bytes) {
    auto above = From(begin);
    if (above != by_begin_.begin()) {
      const auto [other, more] = *std::prev(above);
      if (other + more == begin) {
        Erase(other, more);
        begin = other;
        bytes += more;
      }
    }
    above = From(begin);
    if (above != by_begin_.end() && above->first == begin + bytes) {
      const auto [other, more] = *above;
      Erase(other, more);
      bytes += more;
    }
    Add(begin, bytes);
  }

 private:
  Pairs::iterator From(std::int64_t begin) {
    return std::lower_bound(by_begin_.begin(), by_begin_.end(),
                            std::pair<std::int64_t, std::int64_t>(begin, 0));
  }
  void Add(std::int64_t begin, std::int64_t bytes) {
    if (bytes == 0) return;
    Insert(begin, bytes, &by_begin_);
    Insert(bytes, begin, &by_size_);
  }
  void Erase(std::int64_t begin, std::int64_t bytes) {
    Remove(begin, bytes, &by_begin_);
    Remove(bytes, begin, &by_size_);
  }

  Pairs by_begin_;  // first and bytes of each
  Pairs by_size_;   // bytes and first
  std::int64_t top_ = 0;
};

}  // namespace

Placement PlaceByBestFit(const Problem& problem, const BestFitOptions& options) {
  const std::vector<Buffer>& buffers = problem.buffers;
  const auto comes = [&](std::size_t i) {
    return options.from_the_end ? -std::int64_t{buffers[i].last} : std::int64_t{buffers[i].first};
  };
  const auto leaves = [&](std::size_t i) {
    return options.from_the_end ? -std::int64_t{buffers[i].first} : std::int64_t{buffers[i].last};
  };
  std::vector<std::size_t> coming;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].occupies()) coming.push_back(i);
  }
  std::vector<std::size_t> leaving = coming;
  std::stable_sort(coming.begin(), coming.end(), [&](std::size_t a, std::size_t b) {
    return comes(a) != comes(b) ? comes(a) < comes(b) : leaves(a) > leaves(b);
  });
  std::stable_sort(leaving.begin(), leaving.end(),
                   [&](std::size_t a, std::size_t b) { return leaves(a) < leaves(b); });
  Placement placement;
  placement.offsets.assign(buffers.size(), 0);
  Holes holes;
  auto next = leaving.begin();
  for (const std::size_t i : coming) {
    for (; leaves(*next) <= comes(i); ++next) {
      holes.GiveBack(placement.offsets[*next], buffers[*next].bytes);
    }
    const bool low = leaves(i) - comes(i) > options.short_steps;
    placement.offsets[i] = holes.Take(buffers[i], low);
  }
  placement.height_bytes = HeightOf(problem, placement.offsets);
  return placement;
}

}  // namespace neap::arena
