// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: which buffers are live at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "neap/solve/arena/problem.h"

namespace neap::arena {

struct LiveRange {
  Step first = 0;
  Step last = 0;
  bool empty() const { return first >= last; }
  bool Meets(LiveRange other) const { return first < other.last && other.first < last; }
};

// Most pairs that the heuristics keep: 32 MB of neighbours.
inline constexpr std::int64_t kMaxNeighbours = 4'000'000;

// For every half-open range the others that share a step with it, as compressed rows.
class Neighbours {
 public:
  // nullopt when there are more than `max_pairs` pairs. O(n log n + pairs).
  static std::optional<Neighbours> Build(std::span<const LiveRange> ranges, std::int64_t max_pairs);

  std::span<const BufferIndex> Of(BufferIndex buffer) const {
    const auto i = static_cast<std::size_t>(buffer);
    return std::span(items_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

  // Twice the number of pairs.
  std::int64_t num_entries() const { return static_cast<std::int64_t>(items_.size()); }

  // Leaves out the pairs for which leave_out(a, b), symmetric, is true.
  template <typename LeaveOut>
  void Remove(LeaveOut leave_out) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
      const std::size_t begin = std::exchange(begins_[i], kept);
      const std::size_t end = i + 2 < begins_.size() ? begins_[i + 1] : items_.size();
      for (std::size_t k = begin; k < end; ++k) {
        if (!leave_out(static_cast<BufferIndex>(i), items_[k])) items_[kept++] = items_[k];
      }
    }
    begins_.back() = kept;
    items_.resize(kept);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<BufferIndex> items_;
};

}  // namespace neap::arena
