// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/first_fit.h"
#include "neap/solve/arena/neighbours.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kNoGap = std::numeric_limits<std::int64_t>::max();

std::vector<BufferIndex> Order(const Problem& problem, Step whole_run_last) {
  std::vector<BufferIndex> order = FreeBuffers(problem);
  const auto whole_run = [&](const Buffer& buffer) {
    return buffer.first == 0 && buffer.last == whole_run_last;
  };
  std::stable_sort(order.begin(), order.end(), [&](BufferIndex i, BufferIndex j) {
    const Buffer& a = problem.buffers[static_cast<std::size_t>(i)];
    const Buffer& b = problem.buffers[static_cast<std::size_t>(j)];
    if (whole_run(a) != whole_run(b)) return whole_run(a);
    if (whole_run(a)) return false;
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.first < b.first;
  });
  return order;
}

// The real arena measures a candidate gap from the aligned offset but remembers the one it took
// from the unaligned offset; kept, because it decides between gaps.
std::int64_t BestFit(const Problem& problem, std::span<const std::int64_t> offsets,
                     std::span<const BufferIndex> by_offset, const Buffer& wanted) {
  std::int64_t best = kNoGap;
  std::int64_t best_gap = kNoGap;
  std::int64_t end = 0;
  for (const BufferIndex i : by_offset) {
    const Buffer& other = problem.buffers[static_cast<std::size_t>(i)];
    if (other.last <= wanted.first || wanted.last <= other.first) continue;
    const std::int64_t offset = offsets[static_cast<std::size_t>(i)];
    const std::int64_t start = AlignUp(end, wanted.alignment);
    if (start + wanted.bytes <= offset && offset - start < best_gap) {
      best = start;
      best_gap = offset - end;
    }
    end = std::max(end, offset + other.bytes);
    if (best_gap == 0) break;
  }
  return best == kNoGap ? AlignUp(end, wanted.alignment) : best;
}

// Placed buffers by offset: those that a buffer may meet. Among the buffers of one offset the order
// changes nothing, because all of them end above it.
class ByOffset {
 public:
  ByOffset(const Problem& problem, const std::vector<std::int64_t>& offsets)
      : offsets_(offsets), placed_(problem.buffers.size(), 0) {
    std::vector<LiveRange> ranges;
    ranges.reserve(problem.buffers.size());
    for (const Buffer& buffer : problem.buffers) {
      ranges.push_back(buffer.occupies() ? LiveRange{buffer.first, buffer.last} : LiveRange{});
    }
    neighbours_ = Neighbours::Build(ranges, kMaxNeighbours);
  }

  void Insert(BufferIndex buffer) {
    placed_[static_cast<std::size_t>(buffer)] = 1;
    if (neighbours_) return;
    list_.insert(std::upper_bound(list_.begin(), list_.end(), buffer, Below{offsets_}), buffer);
  }

  // At least those that are live together with `buffer`.
  std::span<const BufferIndex> Near(BufferIndex buffer) {
    if (!neighbours_) return list_;
    list_.clear();
    for (const BufferIndex other : neighbours_->Of(buffer)) {
      if (placed_[static_cast<std::size_t>(other)] != 0) list_.push_back(other);
    }
    std::sort(list_.begin(), list_.end(), Below{offsets_});
    return list_;
  }

 private:
  // Whether one is below another.
  struct Below {
    const std::vector<std::int64_t>& offsets;
    bool operator()(BufferIndex a, BufferIndex b) const {
      return offsets[static_cast<std::size_t>(a)] < offsets[static_cast<std::size_t>(b)];
    }
  };

  const std::vector<std::int64_t>& offsets_;
  std::optional<Neighbours> neighbours_;  // none: there are too many pairs
  std::vector<char> placed_;
  std::vector<BufferIndex> list_;  // all that are placed; with neighbours, those of the last look
};

}  // namespace

Placement PlaceLikeTflite(const Problem& problem, Step whole_run_last) {
  Placement result;
  result.offsets.assign(problem.buffers.size(), 0);
  ByOffset by_offset(problem, result.offsets);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (!problem.buffers[i].fixed_offset) continue;
    result.offsets[i] = *problem.buffers[i].fixed_offset;
    if (problem.buffers[i].occupies()) by_offset.Insert(static_cast<BufferIndex>(i));
  }
  for (const BufferIndex i : Order(problem, whole_run_last)) {
    const Buffer& buffer = problem.buffers[static_cast<std::size_t>(i)];
    if (!buffer.occupies()) continue;
    result.offsets[static_cast<std::size_t>(i)] =
        BestFit(problem, result.offsets, by_offset.Near(i), buffer);
    by_offset.Insert(i);
  }
  result.height_bytes = HeightOf(problem, result.offsets);
  return result;
}

}  // namespace neap::arena
