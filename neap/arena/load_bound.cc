// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "neap/arena/arena.h"
#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

struct Event {
  Step step = 0;
  bool starts = false;  // ends come first: ranges are half-open
  std::int64_t bytes = 0;
};

}  // namespace

// All offsets are multiples of the greatest common divisor of the alignments, so at one step every
// buffer but the topmost takes its bytes rounded up to that divisor.
std::int64_t LoadLowerBound(const Problem& problem) {
  std::int64_t grid = 0;
  std::int64_t bound = 0;
  std::vector<Event> events;
  for (const Buffer& buffer : problem.buffers) {
    grid = std::gcd(grid, buffer.alignment);
    bound = std::max(bound, buffer.fixed_offset.value_or(0) + buffer.bytes);
    if (buffer.bytes == 0 || buffer.first == buffer.last) continue;
    events.push_back({buffer.first, true, buffer.bytes});
    events.push_back({buffer.last, false, buffer.bytes});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.step, a.starts, a.bytes) < std::tie(b.step, b.starts, b.bytes);
  });
  std::int64_t load = 0;
  std::multiset<std::int64_t> paddings;  // of the live buffers; only those above zero
  for (const Event& event : events) {
    const std::int64_t rounded = AlignUp(event.bytes, grid);
    const std::int64_t padding = rounded - event.bytes;
    if (event.starts) {
      load += rounded;
      if (padding > 0) paddings.insert(padding);
      bound = std::max(bound, load - (paddings.empty() ? 0 : *paddings.rbegin()));
    } else {
      load -= rounded;
      if (padding > 0) paddings.erase(paddings.find(padding));
    }
  }
  return bound;
}

}  // namespace neap::arena
