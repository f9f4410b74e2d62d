// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: which buffers are live at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/arena/problem.h"

namespace neap::arena {

struct LiveRange {
  Step first = 0;
  Step last = 0;
  bool empty() const { return first >= last; }
};

// For every half-open range the others that share a step with it, as compressed rows.
class Neighbours {
 public:
  // nullopt when there are more than `max_pairs` pairs. O(n log n + pairs).
  static std::optional<Neighbours> Build(std::span<const LiveRange> ranges, std::int64_t max_pairs);

  std::span<const BufferIndex> Of(BufferIndex buffer) const {
    const auto i = static_cast<std::size_t>(buffer);
    return std::span(items_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<BufferIndex> items_;
};

}  // namespace neap::arena
