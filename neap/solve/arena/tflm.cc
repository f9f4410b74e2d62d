// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/first_fit.h"

namespace neap::arena {

std::vector<BufferIndex> TflmOrder(const Problem& problem) {
  std::vector<BufferIndex> order = FreeBuffers(problem);
  // TFLM fills its list from the tail and then bubble-sorts it, which is stable.
  std::reverse(order.begin(), order.end());
  const auto rounded = [&](BufferIndex i) {
    const Buffer& buffer = problem.buffers[static_cast<std::size_t>(i)];
    return AlignUp(buffer.bytes, buffer.alignment);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferIndex a, BufferIndex b) { return rounded(a) > rounded(b); });
  return order;
}

Placement PlaceLikeTflm(const Problem& problem) {
  return FirstFit(problem, FirstFit::Pairs::kIgnored).Place(TflmOrder(problem));
}

}  // namespace neap::arena
