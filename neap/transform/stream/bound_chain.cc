// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/bound_chain.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace neap::stream {
namespace {

constexpr std::int64_t kUnit = kProgressUnit;
constexpr std::int64_t kFine = 1024;  // parts of a byte
constexpr std::int64_t kNoPlan = std::numeric_limits<std::int64_t>::max() / 8;
constexpr std::size_t kMaxChain = 400;

class Chain {
 public:
  explicit Chain(std::vector<Link> links) : links_(std::move(links)), places_(links_.size()) {}

  std::int64_t Bound() {
    if (links_.empty() || links_.size() > kMaxChain) return 0;
    FindPlaces();
    const std::size_t count = links_.size();
    // Of the tensors before tensor l, and of tensor l and the later ones.
    std::vector<std::vector<std::int64_t>> before(count);
    std::vector<std::vector<std::int64_t>> behind(count);
    before[0].assign(places_[0].size(), 0);
    for (std::size_t i = 0; i < places_[0].size(); ++i) {
      if (links_[0].resident && places_[0][i] != links_[0].rows) before[0][i] = kNoPlan;
    }
    for (std::size_t l = 1; l < count; ++l) before[l] = Before(l, before[l - 1]);
    for (std::size_t l = count; l-- > 0;) {
      if (l + 1 < count) {
        behind[l] = Behind(l, behind[l + 1]);
        continue;
      }
      for (const std::int64_t rows : places_[l]) behind[l].push_back(FineBytes(l, rows));
    }
    std::int64_t bound = 0;
    for (std::size_t l = 0; l < count; ++l) {
      for (std::size_t i = 0; i < places_[l].size(); ++i) {
        const std::int64_t sum = before[l][i] + behind[l][i];
        if (sum < kNoPlan) bound = std::max(bound, sum);
      }
    }
    // Rounding of each tensor's bytes.
    return std::max<std::int64_t>(0, bound / kFine - static_cast<std::int64_t>(count));
  }

 private:
  // The live part of tensor l is FineBytes() of its progress minus the part that is dead when the
  // next one is at `next`: the minimum over all sufficient progress is that of a suffix.
  struct Next {
    bool done = false;      // nothing of tensor l counts any more
    std::size_t first = 0;  // place of tensor l that is far enough
    std::int64_t dead = 0;  // rows
  };
  Next NextOf(std::size_t l, std::int64_t next) const {
    const std::int64_t need = NeedHigh(l, next);
    const auto first = std::lower_bound(places_[l].begin(), places_[l].end(), need);
    return {links_[l].external || next >= links_[l + 1].rows,
            static_cast<std::size_t>(first - places_[l].begin()), Dead(l, next)};
  }
  // No operator reads the rows between windows.
  bool HasGaps(std::size_t l) const { return links_[l].map.extent < links_[l].map.scale; }

  std::vector<std::int64_t> Before(std::size_t l, const std::vector<std::int64_t>& last) const {
    const std::vector<std::int64_t>& from = places_[l - 1];
    std::vector<std::int64_t> with = last;  // least of the suffix, with all rows of tensor l - 1
    std::vector<std::int64_t> without = last;
    for (std::size_t k = from.size(); k-- > 0;) {
      with[k] = std::min(kNoPlan, last[k] + FineBytes(l - 1, Counted(l - 1, from[k])));
      if (k + 1 == from.size()) continue;
      with[k] = std::min(with[k], with[k + 1]);
      without[k] = std::min(without[k], without[k + 1]);
    }
    std::vector<std::int64_t> sums;
    for (const std::int64_t next : places_[l]) {
      const Next at = NextOf(l - 1, next);
      std::int64_t least = kNoPlan;
      if (at.done || !HasGaps(l - 1)) {
        if (at.first < from.size()) least = at.done ? without[at.first] : with[at.first];
        if (!at.done && least < kNoPlan) {
          least = std::max(without[at.first], least - FineBytesUp(l - 1, at.dead));
        }
      } else {
        for (std::size_t k = at.first; k < from.size(); ++k) {
          least = std::min(least, last[k] + Live(l - 1, from[k], at.dead));
        }
      }
      sums.push_back(std::min(kNoPlan, least));
    }
    return sums;
  }

  std::vector<std::int64_t> Behind(std::size_t l, const std::vector<std::int64_t>& next) const {
    const std::vector<std::int64_t>& from = places_[l];
    const std::vector<std::int64_t>& to = places_[l + 1];
    // The further tensor l is, the more places of the next one it is far enough for: the least over
    // those so far, without what tensor l has itself.
    std::vector<std::int64_t> dead(from.size(), kNoPlan);
    std::vector<std::int64_t> done(from.size(), kNoPlan);
    std::vector<std::int64_t> gaps(from.size(), kNoPlan);
    for (std::size_t k = 0; k < to.size(); ++k) {
      const Next at = NextOf(l, to[k]);
      if (at.first >= from.size()) continue;
      if (at.done) {
        done[at.first] = std::min(done[at.first], next[k]);
      } else if (HasGaps(l)) {
        for (std::size_t i = at.first; i < from.size(); ++i) {
          gaps[i] = std::min(gaps[i], next[k] + Live(l, from[i], at.dead));
        }
      } else {
        dead[at.first] = std::min(dead[at.first], next[k] - FineBytesUp(l, at.dead));
      }
    }
    std::vector<std::int64_t> sums;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (i > 0) {
        dead[i] = std::min(dead[i], dead[i - 1]);
        done[i] = std::min(done[i], done[i - 1]);
      }
      const std::int64_t counted = FineBytes(l, Counted(l, from[i]));
      const std::int64_t kept = dead[i] < kNoPlan / 2 ? dead[i] + counted : kNoPlan;
      sums.push_back(std::min({kNoPlan, std::max<std::int64_t>(kept, 0), done[i], gaps[i]}));
    }
    return sums;
  }

  // In parts of a byte, down and up.
  std::int64_t FineBytes(std::size_t l, std::int64_t rows) const {
    const std::int64_t row = links_[l].row_bytes * kFine;
    return rows / kUnit * row + rows % kUnit * row / kUnit;
  }
  std::int64_t FineBytesUp(std::size_t l, std::int64_t rows) const {
    const std::int64_t row = links_[l].row_bytes * kFine;
    return rows / kUnit * row + (rows % kUnit * row + kUnit - 1) / kUnit;
  }
  // The rows among these that some operator reads.
  std::int64_t Counted(std::size_t l, std::int64_t rows) const {
    return std::min(rows, links_[l].rows_read);
  }

  // Whole rows of tensor l that the next one needs for its first y rows, and those that its rows
  // [y, ...) no longer need.
  std::int64_t HighOf(std::size_t l, std::int64_t y) const {
    if (y <= 0) return 0;
    const AxisMap& map = links_[l].map;
    return std::clamp<std::int64_t>((y - 1) * map.scale - map.pad + map.extent, 0,
                                    links_[l].rows / kUnit);
  }
  std::int64_t LowOf(std::size_t l, std::int64_t y) const {
    const std::int64_t rows = links_[l].rows / kUnit;
    if (y >= links_[l + 1].rows / kUnit) return rows;
    return std::clamp<std::int64_t>(y * links_[l].map.scale - links_[l].map.pad, 0, rows);
  }

  // Rows [first, last] of the next tensor between which `rows_of` goes up by `map.scale` a row.
  struct Straight {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  Straight StraightHigh(std::size_t l) const {
    const AxisMap& map = links_[l].map;
    const std::int64_t most = links_[l].rows / kUnit + map.pad - map.extent;
    return {std::max<std::int64_t>(1, 1 + (map.pad - map.extent + map.scale - 1) / map.scale),
            most < 0 ? 0 : most / map.scale + 1};
  }
  Straight StraightLow(std::size_t l) const {
    const AxisMap& map = links_[l].map;
    return {
        std::max<std::int64_t>(0, (map.pad + map.scale - 1) / map.scale),
        std::min(links_[l + 1].rows / kUnit - 1, (links_[l].rows / kUnit + map.pad) / map.scale)};
  }

  // A block of rows [a, b) grows column by column: its needs, and the freed rows, are between those
  // of a rows and of b rows. Calls `chord` with all blocks that are not too high and compute row y,
  // as far as they matter: from a given row to one on the straight line, or the other way round,
  // the longest and the shortest of them are the minimum and the maximum anywhere between.
  template <typename Chord>
  void ForBlocks(std::size_t l, std::int64_t y, const Straight& straight,
                 const Chord& chord) const {
    const std::int64_t size = links_[l + 1].rows / kUnit;
    const std::int64_t most = links_[l + 1].block_rows;
    const std::int64_t lowest = std::max<std::int64_t>(0, y - most + 1);
    const auto ends = [](std::int64_t first, std::int64_t last, const auto& at) {
      if (first > last) return;
      at(first);
      if (first != last) at(last);
    };
    if (straight.first <= y && y < straight.last) chord(y, y + 1);
    for (std::int64_t a = lowest; a <= y; ++a) {
      if (a >= straight.first && a <= straight.last) continue;
      const std::int64_t last = std::min(size, a + most);
      ends(std::max(y + 1, straight.first), std::min(last, straight.last),
           [&](std::int64_t b) { chord(a, b); });
      for (std::int64_t b = y + 1; b <= last; ++b) {
        if (b < straight.first || b > straight.last) chord(a, b);
      }
    }
    for (std::int64_t b = y + 1; b <= std::min(size, y + most); ++b) {
      if (b >= straight.first && b <= straight.last) continue;
      ends(std::max({lowest, straight.first, b - most}), std::min(y, straight.last),
           [&](std::int64_t a) { chord(a, b); });
    }
  }

  // The least or the most of them at `next`.
  template <typename Rows, typename Better>
  std::int64_t OverBlocks(std::size_t l, std::int64_t next, const Straight& straight,
                          const Rows& rows_of, const Better& better) const {
    const std::int64_t y = std::min(next, links_[l + 1].rows - 1) / kUnit;
    std::int64_t best = -1;
    ForBlocks(l, y, straight, [&](std::int64_t a, std::int64_t b) {
      const std::int64_t from = rows_of(a) * kUnit;
      const std::int64_t value =
          from + (rows_of(b) * kUnit - from) / (b - a) * (next - a * kUnit) / kUnit;
      if (best < 0 || better(value, best)) best = value;
    });
    return best;
  }

  // Rows of tensor l that the next one needs to get to `next`.
  std::int64_t NeedHigh(std::size_t l, std::int64_t next) const {
    if (next <= 0) return 0;
    return OverBlocks(
        l, next, StraightHigh(l), [&](std::int64_t y) { return HighOf(l, y); },
        [](std::int64_t a, std::int64_t b) { return a < b; });
  }
  // Rows of it that are dead then.
  std::int64_t Dead(std::size_t l, std::int64_t next) const {
    return OverBlocks(
        l, next, StraightLow(l), [&](std::int64_t y) { return LowOf(l, y); },
        [](std::int64_t a, std::int64_t b) { return a > b; });
  }
  // How far the next one gets with `rows` of tensor l: NeedHigh() of it is at most that.
  std::int64_t Reach(std::size_t l, std::int64_t rows) const {
    std::int64_t low = 0;  // in whole rows first
    std::int64_t high = links_[l + 1].rows / kUnit;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (NeedHigh(l, middle * kUnit) <= rows) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low >= links_[l + 1].rows / kUnit) return links_[l + 1].rows;
    std::int64_t reach = low * kUnit;
    ForBlocks(l, low, StraightHigh(l), [&](std::int64_t a, std::int64_t b) {
      const std::int64_t from = HighOf(l, a) * kUnit;
      if (from > rows) return;
      const std::int64_t slope = (HighOf(l, b) * kUnit - from) / (b - a);
      const std::int64_t end = (low + 1) * kUnit - 1;
      const std::int64_t most =
          slope == 0 ? end : a * kUnit + ((rows - from + 1) * kUnit - 1) / slope;
      reach = std::max(reach, std::min(most, end));
    });
    return reach;
  }

  // Of tensor l, whose rows have gaps, when the next one has left `dead` rows of it behind.
  std::int64_t Live(std::size_t l, std::int64_t rows, std::int64_t dead) const {
    const AxisMap& map = links_[l].map;
    const std::int64_t live = std::max<std::int64_t>(Counted(l, rows) - dead, 0);
    return FineBytes(l,
                     std::max<std::int64_t>(live - map.scale * kUnit, 0) / map.scale * map.extent);
  }

  void Add(std::size_t l, std::int64_t rows) {
    std::vector<std::int64_t>& list = places_[l];
    if (rows >= 0 && rows <= links_[l].rows) list.push_back(rows);
  }

  // A progress of tensor l, and the progress of all others that it allows and needs.
  void AddWithImages(std::size_t l, std::int64_t rows) {
    Add(l, rows);
    std::int64_t at = rows;
    for (std::size_t k = l; k + 1 < links_.size(); ++k) {
      at = Reach(k, at);
      Add(k + 1, at);
    }
    at = rows;
    for (std::size_t k = l; k-- > 0;) {
      at = NeedHigh(k, at);
      Add(k, at);
    }
  }

  void FindPlaces() {
    const std::size_t samples = std::max<std::size_t>(4, 400 / links_.size());
    for (std::size_t l = 0; l < links_.size(); ++l) {
      AddWithImages(l, 0);
      AddWithImages(l, links_[l].rows);
      if (l > 0) {  // where the first row of the one before begins to be freed
        const AxisMap& map = links_[l - 1].map;
        const std::int64_t most = links_[l].block_rows;
        for (std::int64_t more = 0; more <= most + 1; ++more) {
          if (more > 2 && more < most - 1) continue;
          AddWithImages(l, std::min(links_[l].rows, (map.pad / map.scale + more) * kUnit));
          AddWithImages(l, std::max<std::int64_t>(0, links_[l].rows - more * kUnit));
        }
      }
      if (links_[l].resident) continue;
      for (std::size_t s = 0; s < samples; ++s) {
        // Most relevant changes are in the first rows.
        const auto part = static_cast<std::int64_t>(s);
        const auto all = static_cast<std::int64_t>(samples);
        AddWithImages(l, std::min(links_[l].rows, 8 * kUnit) / all * part);
        AddWithImages(l, links_[l].rows / all * part);
      }
    }
    for (std::size_t l = 0; l < links_.size(); ++l) {
      std::vector<std::int64_t>& list = places_[l];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  std::vector<Link> links_;
  std::vector<std::vector<std::int64_t>> places_;
};

}  // namespace

std::int64_t BoundOfChain(std::vector<Link> links) { return Chain(std::move(links)).Bound(); }

}  // namespace neap::stream
