// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/sections.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

const Buffer& At(const Problem& problem, BufferIndex buffer) {
  return problem.buffers[static_cast<std::size_t>(buffer)];
}

// See Sections: the common divisor of the alignments, and the unit.
struct Grid {
  std::int64_t rounding = 1;
  std::int64_t unit = 1;
};

Grid FindGrid(const Problem& problem, const PairTable& table,
              std::span<const BufferIndex> buffers) {
  Grid grid{0, 0};
  for (const BufferIndex i : buffers)
    grid.rounding = std::gcd(grid.rounding, At(problem, i).alignment);
  for (const BufferIndex i : buffers) {
    grid.unit = std::gcd(grid.unit, AlignUp(At(problem, i).bytes, grid.rounding));
    grid.unit = std::gcd(grid.unit, At(problem, i).fixed_offset.value_or(0));
    for (const PairTable::Entry& entry : table.Of(i)) {
      grid.unit =
          std::gcd(grid.unit, AlignUp(std::max<std::int64_t>(entry.high, 0), grid.rounding));
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const BufferIndex i : buffers) {
      const std::int64_t alignment = At(problem, i).alignment;
      if (grid.unit % alignment == 0 || alignment % grid.unit == 0) continue;
      grid.unit = std::gcd(grid.unit, alignment);
      changed = true;
    }
  }
  return grid;
}

// The entries of one pair as gaps between two items; nullopt when they are not regular.
std::optional<Sections::Gap> GapOf(std::span<const PairTable::Entry> entries, const Grid& grid,
                                   const Sections::Item& mine, const Sections::Item& theirs) {
  Sections::Gap gap;
  const std::int64_t low = entries.front().low;
  const std::int64_t high = entries.back().high;
  if (high - low > 1) {
    if (low > 0 || high < 0) return std::nullopt;
    gap.above = AlignUp(-low, grid.rounding) / grid.unit;
    gap.below = AlignUp(high, grid.rounding) / grid.unit;
  }
  // The bytes that two extents share fall with their distance, from the nearest allowed one on.
  gap.shared = std::max({std::min(mine.units - gap.above, theirs.units),
                         std::min(theirs.units - gap.below, mine.units), std::int64_t{0}});
  return gap;
}

// Fills gaps, gap_begins and tightened; false when the rules are not regular and must not be
// tightened, or cannot.
bool FindGaps(const Problem& problem, const PairTable& table, const Grid& grid,
              Sections::Irregular irregular, Sections& sections) {
  const auto& sources = sections.sources;
  std::vector<std::int32_t> item_of(problem.buffers.size(), -1);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    item_of[static_cast<std::size_t>(sources[i])] = static_cast<std::int32_t>(i);
  }
  sections.gap_begins.assign(1, 0);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const BufferIndex self = sources[i];
    for (auto row = table.Of(self); !row.empty();) {
      const BufferIndex partner = row.front().other;
      const auto entries = table.Between(self, partner);
      row = row.subspan(entries.size());
      const std::int32_t other = item_of[static_cast<std::size_t>(partner)];
      if (other < 0) continue;
      if (entries.size() > 1 && irregular == Sections::Irregular::kRefuse) return false;
      sections.tightened = sections.tightened || entries.size() > 1;
      auto gap =
          GapOf(entries, grid, sections.items[i], sections.items[static_cast<std::size_t>(other)]);
      if (!gap) return false;
      gap->other = other;
      gap->charged =
          std::tie(At(problem, partner).first, partner) < std::tie(At(problem, self).first, self);
      sections.gaps.push_back(*gap);
    }
    sections.gap_begins.push_back(sections.gaps.size());
  }
  return true;
}

// Whether the items can be sorted so that at equal offsets the lower ones come first.
bool OrdersEqualOffsets(const Sections& sections) {
  const std::size_t num_items = sections.items.size();
  std::vector<std::int32_t> waits(num_items, 0);
  std::vector<std::int32_t> ready;
  const auto first_ones = [&](std::size_t item) {
    const auto row = sections.GapsOf(static_cast<std::int32_t>(item));
    return std::count_if(row.begin(), row.end(),
                         [](const Sections::Gap& gap) { return gap.other_goes_first(); });
  };
  for (std::size_t i = 0; i < num_items; ++i) {
    waits[i] = static_cast<std::int32_t>(first_ones(i));
    if (waits[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (const Sections::Gap& gap : sections.GapsOf(ready[next])) {
      const bool waits_for_this = gap.above == 0 && gap.below > 0;
      if (waits_for_this && --waits[static_cast<std::size_t>(gap.other)] == 0) {
        ready.push_back(gap.other);
      }
    }
  }
  return ready.size() == num_items;
}

void LinkTwins(Sections& sections) {
  auto& items = sections.items;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool ruled = !sections.GapsOf(static_cast<std::int32_t>(i)).empty();
    if (items[i].fixed < 0 && !ruled) order.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    const Sections::Item& item = items[i];
    return std::tie(item.first, item.last, item.bytes, item.alignment);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (key(order[i - 1]) == key(order[i])) {
      items[order[i - 1]].twin = static_cast<std::int32_t>(order[i]);
    }
  }
}

}  // namespace

std::vector<std::vector<BufferIndex>> SplitByTime(const Problem& problem) {
  std::vector<BufferIndex> order;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.occupies()) {
      order.push_back(static_cast<BufferIndex>(i));
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](BufferIndex a, BufferIndex b) {
    return At(problem, a).first < At(problem, b).first;
  });
  std::vector<std::vector<BufferIndex>> parts;
  Step end = 0;
  for (const BufferIndex i : order) {
    const Buffer& buffer = At(problem, i);
    if (parts.empty() || buffer.first >= end) {
      parts.emplace_back();
      end = buffer.last;
    }
    parts.back().push_back(i);
    end = std::max(end, buffer.last);
  }
  return parts;
}

// One is closed before an end if something started since the last one was closed.
LiveSections FindSections(const Problem& problem, std::span<const BufferIndex> buffers) {
  struct Boundary {
    Step step;
    bool starts;
    std::size_t item;
  };
  std::vector<Boundary> events;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    events.push_back({At(problem, buffers[i]).first, true, i});
    events.push_back({At(problem, buffers[i]).last, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Boundary& a, const Boundary& b) {
    return std::tie(a.step, a.starts, a.item) < std::tie(b.step, b.starts, b.item);
  });
  LiveSections sections{0, std::vector<LiveRange>(buffers.size())};
  bool started = false;
  for (const Boundary& event : events) {
    if (event.starts) {
      sections.ranges[event.item].first = sections.count;
      started = true;
    } else {
      if (std::exchange(started, false)) ++sections.count;
      sections.ranges[event.item].last = sections.count;
    }
  }
  return sections;
}

std::optional<Sections> Sections::Build(const Problem& problem, const PairTable& table,
                                        std::span<const BufferIndex> buffers, Irregular irregular) {
  Sections result;
  std::vector<LiveRange> ranges;
  for (const BufferIndex i : buffers) {
    ranges.push_back({At(problem, i).first, At(problem, i).last});
  }
  auto neighbours = Neighbours::Build(ranges, kMaxNeighbours);
  if (!neighbours) return std::nullopt;
  result.neighbours = std::move(*neighbours);
  const Grid grid = FindGrid(problem, table, buffers);
  result.unit = grid.unit;
  result.sources.assign(buffers.begin(), buffers.end());
  for (const BufferIndex i : buffers) {
    const Buffer& buffer = At(problem, i);
    Item item;
    item.bytes = buffer.bytes;
    item.units = AlignUp(buffer.bytes, grid.rounding) / grid.unit;
    item.alignment = buffer.alignment % grid.unit == 0 ? buffer.alignment / grid.unit : 1;
    if (buffer.fixed_offset) item.fixed = *buffer.fixed_offset / grid.unit;
    result.exact_units = result.exact_units && buffer.bytes % grid.unit == 0;
    result.items.push_back(item);
  }
  const LiveSections live = FindSections(problem, buffers);
  result.count = live.count;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    result.items[i].first = live.ranges[i].first;
    result.items[i].last = live.ranges[i].last;
  }
  if (!table.empty()) {
    if (!FindGaps(problem, table, grid, irregular, result)) return std::nullopt;
    if (!OrdersEqualOffsets(result)) return std::nullopt;
    result.neighbours.Remove([&](BufferIndex a, BufferIndex b) {
      const auto row = result.GapsOf(a);
      return std::any_of(row.begin(), row.end(), [b](const Gap& gap) { return gap.other == b; });
    });
  }
  LinkTwins(result);
  return result;
}

}  // namespace neap::arena
