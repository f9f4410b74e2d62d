// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/pair_table.h"

namespace neap::arena {
namespace {

// The change at a step; ends come first, since ranges are half-open.
struct Event {
  Step step = 0;
  bool starts = false;
  BufferIndex buffer = 0;
  std::int64_t shared = 0;  // > 0: not the buffer, but its bytes shared with an earlier one
};

std::vector<Event> EventsOf(const Problem& problem, const PairTable& table, std::int64_t grid) {
  const auto at = [&](BufferIndex i) -> const Buffer& {
    return problem.buffers[static_cast<std::size_t>(i)];
  };
  std::vector<Event> events;
  const auto add = [&](BufferIndex buffer, Step first, Step last, std::int64_t shared) {
    events.push_back({first, true, buffer, shared});
    events.push_back({last, false, buffer, shared});
  };
  for (BufferIndex i = 0; i < static_cast<BufferIndex>(problem.buffers.size()); ++i) {
    const Buffer& buffer = at(i);
    if (buffer.bytes == 0 || buffer.first == buffer.last) continue;
    add(i, buffer.first, buffer.last, 0);
    BufferIndex before = -1;
    for (const PairTable::Entry& entry : table.Of(i)) {
      const Buffer& other = at(entry.other);
      if (std::exchange(before, entry.other) == entry.other) continue;
      if (std::tie(other.first, entry.other) > std::tie(buffer.first, i)) continue;
      const std::int64_t shared =
          table.MostShared(i, AlignUp(buffer.bytes, grid), entry.other, AlignUp(other.bytes, grid));
      if (shared > 0) add(i, buffer.first, std::min(buffer.last, other.last), shared);
    }
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.step, a.starts, a.buffer, a.shared) <
           std::tie(b.step, b.starts, b.buffer, b.shared);
  });
  return events;
}

}  // namespace

// All offsets are multiples of the greatest common divisor of the alignments, so at one step every
// buffer but the topmost takes its bytes rounded up to that divisor. Counted one after the other,
// by first step and index, a buffer adds to the bytes in use at least what is left of it when all
// that it may share with each of those before it is taken off.
std::int64_t LoadLowerBound(const Problem& problem) {
  std::int64_t grid = 0;
  std::int64_t bound = 0;
  for (const Buffer& buffer : problem.buffers) {
    grid = std::gcd(grid, buffer.alignment);
    bound = std::max(bound, buffer.fixed_offset.value_or(0) + buffer.bytes);
  }
  const PairTable table(problem);
  const std::vector<Event> events = EventsOf(problem, table, grid);
  std::vector<std::int64_t> shared(table.empty() ? 0 : problem.buffers.size(), 0);
  std::int64_t load = 0;
  std::multiset<std::int64_t> paddings;  // of the live buffers; only those above zero
  for (std::size_t e = 0; e < events.size(); ++e) {
    const Event& event = events[e];
    const auto i = static_cast<std::size_t>(event.buffer);
    const std::int64_t bytes = problem.buffers[i].bytes;
    const std::int64_t rounded = AlignUp(bytes, grid);
    if (event.shared > 0) {
      load += std::min(rounded, shared[i]);
      shared[i] += event.starts ? event.shared : -event.shared;
      load -= std::min(rounded, shared[i]);
    } else {
      load += event.starts ? rounded : -rounded;
      if (rounded > bytes && event.starts) paddings.insert(rounded - bytes);
      if (rounded > bytes && !event.starts) paddings.erase(paddings.find(rounded - bytes));
    }
    if (e + 1 < events.size() && events[e + 1].step == event.step) continue;
    bound = std::max(bound, load - (paddings.empty() ? 0 : *paddings.rbegin()));
  }
  return bound;
}

}  // namespace neap::arena
