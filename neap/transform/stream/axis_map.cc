// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/axis_map.h"

#include <algorithm>
#include <cstddef>

namespace neap::stream {

plan::StreamRange AxisMap::Need(std::int64_t first, std::int64_t last, std::int64_t size) const {
  if (listed) {
    return {(*listed)[static_cast<std::size_t>(first)].first,
            (*listed)[static_cast<std::size_t>(last - 1)].last};
  }
  plan::StreamRange need{first * scale - pad, (last - 1) * scale - pad + extent};
  need.first = std::clamp<std::int64_t>(need.first, 0, size);
  need.last = std::clamp<std::int64_t>(need.last, need.first, size);
  return need;
}

}  // namespace neap::stream
