// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/decision_search.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kNoLevel = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kMaxWeight = 1 << 20;
constexpr int kAreaBits = 36;  // of a size, so that areas of all items add up to less than 2^63

// 1024 * log2(value), interpolated: the same on every machine. value >= 1.
std::int64_t Log2(std::int64_t value) {
  const int bits = 63 - std::countl_zero(static_cast<std::uint64_t>(value));
  const std::int64_t rest = value - (std::int64_t{1} << bits);
  return std::int64_t{bits} * 1024 + (bits > 10 ? rest >> (bits - 10) : rest << (10 - bits));
}

// The least of the floors, the least of the others that is not equal to it, how often the first
// comes, and the greatest. Two passes without branches, which compilers make vectors of.
template <typename Floor>
struct Levels {
  Floor least;
  Floor next;
  Floor greatest;
  std::int32_t count;
};

template <typename Floor>
Levels<Floor> FindLevels(const Floor* floors, std::size_t size) {
  constexpr Floor kNoFloor = std::numeric_limits<Floor>::max();
  Levels<Floor> levels{kNoFloor, kNoFloor, -1, 0};
  for (std::size_t i = 0; i < size; ++i) {
    levels.least = std::min(levels.least, floors[i]);
    levels.greatest = std::max(levels.greatest, floors[i]);
  }
  for (std::size_t i = 0; i < size; ++i) {
    const bool equal = floors[i] == levels.least;
    levels.count += equal ? 1 : 0;
    levels.next = std::min(levels.next, equal ? kNoFloor : floors[i]);
  }
  return levels;
}

std::int64_t DrawNoise(const Rules& rules, Random& random) {
  const std::int64_t most = std::int64_t{rules.noise} * 1024;
  return random.Between(-most, most);
}

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

DecisionSearch::DecisionSearch(const Sections& sections)
    : problem_(sections),
      row_begins_(static_cast<std::size_t>(sections.count) + 1, 0),
      sections_(static_cast<std::size_t>(sections.count)) {
  const std::size_t num_items = sections.items.size();
  position_begins_.assign(num_items + 1, 0);
  for (std::size_t i = 0; i < num_items; ++i) {
    const Sections::Item& item = sections.items[i];
    position_begins_[i + 1] =
        position_begins_[i] + static_cast<std::size_t>(item.last - item.first);
    for (Index t = item.first; t < item.last; ++t) ++row_begins_[static_cast<std::size_t>(t) + 1];
  }
  std::partial_sum(row_begins_.begin(), row_begins_.end(), row_begins_.begin());
  rows_.resize(row_begins_.back());
  positions_.resize(position_begins_.back());
  extents_.resize(num_items);
  ceilings_.resize(num_items);
  is_placed_.resize(num_items);
  priorities_.resize(num_items);
  for (const Sections::Item& item : sections.items) {
    while ((item.units >> area_shift_) >= (std::int64_t{1} << kAreaBits)) ++area_shift_;
  }
  for (std::size_t i = 0; i < num_items; ++i) total_area_ += AreaOf(i);
}

void DecisionSearch::ForgetFailures() {
  for (Section& section : sections_) section.weight = 1;
}

Verdict DecisionSearch::Run(std::int64_t capacity_bytes, const Rules& rules, Random& random,
                            std::int64_t max_nodes, Budget& budget) {
  rules_ = rules;
  random_ = &random;
  budget_ = &budget;
  nodes_left_ = max_nodes;
  aborted_ = false;
  stall_end_ = std::max<std::int64_t>(nodes_left_ - rules.max_stall, 0);
  area_ = 0;
  most_area_ = 0;
  kept_area_ = total_area_ / 32 * 31;
  most_offsets_.clear();
  if (!Start(capacity_bytes)) return Verdict::kImpossible;
  if (!rules.given_priorities) DrawPriorities(rules, random);
  if (Descend(0, problem_.count)) return Verdict::kPlaced;
  return aborted_ ? Verdict::kUndecided : Verdict::kImpossible;
}

// Every item unplaced, with propagation; false when the capacity is refuted already.
bool DecisionSearch::Start(std::int64_t capacity_bytes) {
  capacity_ = CeilDiv(capacity_bytes, problem_.unit);
  narrow_ = capacity_ < std::numeric_limits<std::int32_t>::max();
  narrow_floors_.resize(narrow_ ? rows_.size() : 0);
  wide_floors_.resize(narrow_ ? 0 : rows_.size());
  floor_trail_.clear();
  level_trail_.clear();
  placed_.clear();
  DropQueue();
  std::fill(is_placed_.begin(), is_placed_.end(), std::uint8_t{0});
  for (Section& section : sections_) {
    section = Section{0, kNoLevel, 0, 0, 0, section.weight, false};
  }
  bool fits = true;
  for (std::size_t i = 0; i < problem_.items.size(); ++i) {
    const Sections::Item& item = problem_.items[i];
    if (item.bytes > capacity_bytes) return false;
    const std::int64_t floor = std::max<std::int64_t>(item.fixed, 0);
    extents_[i] = {floor, floor + item.units};
    ceilings_[i] = (capacity_bytes - item.bytes) / problem_.unit;
    if (item.fixed >= 0) ceilings_[i] = std::min(ceilings_[i], item.fixed);
    fits = fits && floor <= ceilings_[i];
    for (Index t = item.first; t < item.last; ++t) {
      Section& section = At(t);
      const std::size_t slot = RowBegin(t) + static_cast<std::size_t>(section.unplaced++);
      rows_[slot] = static_cast<Index>(i);
      SetRowFloor(slot, floor);
      positions_[PositionOf(static_cast<Index>(i), t)] = static_cast<Index>(slot);
    }
  }
  if (!fits) return false;
  ChargeAll();
  for (Index t = 0; t < problem_.count; ++t) MarkDirty(t);
  for (std::size_t i = 0; i < problem_.items.size(); ++i) {
    if (!RaiseFloor(static_cast<Index>(i), extents_[i].floor)) return false;
  }
  return Propagate();
}

// The unplaced bytes of each section: an item counts with the bytes that it adds to those before
// it.
void DecisionSearch::ChargeAll() {
  if (!problem_.gaps.empty()) charges_.assign(positions_.size(), 0);
  for (Index i = 0; i < static_cast<Index>(problem_.items.size()); ++i) {
    const Sections::Item& item = ItemAt(i);
    for (const Sections::Gap& gap : problem_.GapsOf(i)) {
      if (!gap.charged) continue;
      const Sections::Item& other = ItemAt(gap.other);
      const Index last = std::min(item.last, other.last);
      for (Index t = std::max(item.first, other.first); t < last; ++t) {
        charges_[PositionOf(i, t)] += gap.shared;
      }
    }
    for (Index t = item.first; t < item.last; ++t) At(t).remaining += Adds(i, t);
  }
}

// The item has just been placed, or is about to be unplaced: nothing is shared with it, or may be.
void DecisionSearch::ChargePartners(Index item, bool placed) {
  const Sections::Item& data = ItemAt(item);
  for (const Sections::Gap& gap : problem_.GapsOf(item)) {
    if (gap.charged || gap.shared == 0 || IsPlaced(gap.other)) continue;
    const Sections::Item& other = ItemAt(gap.other);
    const Index last = std::min(data.last, other.last);
    for (Index t = std::max(data.first, other.first); t < last; ++t) {
      At(t).remaining -= Adds(gap.other, t);
      charges_[PositionOf(gap.other, t)] += placed ? -gap.shared : gap.shared;
      At(t).remaining += Adds(gap.other, t);
    }
  }
}

void DecisionSearch::DrawPriorities(const Rules& rules, Random& random) {
  for (std::size_t i = 0; i < priorities_.size(); ++i) {
    const Sections::Item& item = problem_.items[i];
    priorities_[i] = rules.length_exponent * Log2(item.last - item.first) +
                     rules.size_exponent * Log2(item.units);
    if (!rules.noise_per_node) priorities_[i] += DrawNoise(rules, random);
  }
}

// Places everything unplaced in the sections [first, last). On false the caller undoes. At most one
// level of recursion per placed item.
bool DecisionSearch::Descend(Index first, Index last) {
  while (true) {
    while (first < last && At(first).unplaced == 0) ++first;
    while (first < last && At(last - 1).unplaced == 0) --last;
    if (first == last) return true;
    // A section without unplaced items separates what is on its two sides: a failure on one side
    // cannot be mended by another placement of the other.
    Index cut = first;
    while (cut < last && At(cut).unplaced > 0) ++cut;
    if (cut < last) {
      if (!Descend(first, cut)) return false;
      first = cut;
      continue;
    }
    if (nodes_left_-- <= stall_end_ || !budget_->Spend(1)) {
      KeepMost();
      aborted_ = true;
      return false;
    }
    const Index item = ChooseCandidate(ChooseSection(first, last));
    const Mark mark = Here();
    if (Place(item) && Propagate()) {
      if (area_ > most_area_) {
        most_area_ = area_;
        stall_end_ = std::max<std::int64_t>(nodes_left_ - rules_.max_stall, 0);
      }
      if (Descend(first, last)) return true;
    }
    if (aborted_) return false;
    KeepMost();
    DropQueue();
    UndoTo(mark);
    if (!RaiseAbove(item) || !Propagate()) {
      DropQueue();
      return false;
    }
  }
}

// What is placed is valid even where the rest does not fit any more.
void DecisionSearch::KeepMost() {
  if (area_ <= kept_area_) return;
  kept_area_ = area_;
  most_offsets_.assign(extents_.size(), -1);
  for (const Index item : placed_) most_offsets_[static_cast<std::size_t>(item)] = FloorOf(item);
}

bool DecisionSearch::Place(Index item) {
  is_placed_[static_cast<std::size_t>(item)] = 1;
  placed_.push_back(item);
  area_ += AreaOf(static_cast<std::size_t>(item));
  RemoveFromSections(item);
  for (Index t = ItemAt(item).first; t < ItemAt(item).last; ++t) MarkDirty(t);
  const std::int64_t top = TopOf(item);
  for (const Index other : problem_.neighbours.Of(item)) {
    if (!IsPlaced(other) && !Raise(other, top)) return false;
  }
  for (const Sections::Gap& gap : problem_.GapsOf(item)) {
    if (!IsPlaced(gap.other) && !Raise(gap.other, FloorOf(item) + gap.above)) return false;
  }
  return true;
}

// The item is not at its floor: it starts at the end of an unplaced neighbour.
bool DecisionSearch::RaiseAbove(Index item) {
  std::int64_t min_top = kNoLevel;
  for (const Index other : problem_.neighbours.Of(item)) {
    if (!IsPlaced(other)) min_top = std::min(min_top, TopOf(other));
  }
  for (const Sections::Gap& gap : problem_.GapsOf(item)) {
    if (IsPlaced(gap.other) || !gap.forbids()) continue;
    min_top = std::min(min_top, FloorOf(gap.other) + gap.below);
  }
  if (min_top == kNoLevel) return false;
  return Raise(item, std::max(min_top, FloorOf(item) + 1));
}

bool DecisionSearch::Raise(Index item, std::int64_t floor) {
  if (floor <= FloorOf(item)) return true;
  return RaiseFloor(item, floor);
}

// Also where the floor stays: the twins above it follow.
bool DecisionSearch::RaiseFloor(Index item, std::int64_t floor) {
  while (true) {
    const auto i = static_cast<std::size_t>(item);
    const Sections::Item& data = ItemAt(item);
    const std::int64_t raised = data.fixed >= 0 ? floor : AlignUp(floor, data.alignment);
    if (raised > ceilings_[i]) return false;
    const std::int64_t old = extents_[i].floor;
    if (raised > old) {
      floor_trail_.push_back({item, old});
      extents_[i] = {raised, raised + data.units};
      const Index* const positions = positions_.data() + position_begins_[i];
      for (Index t = data.first; t < data.last; ++t) {
        const Section& section = At(t);
        SetRowFloor(static_cast<std::size_t>(positions[t - data.first]), raised);
        // Otherwise neither the level nor what follows from the sum changes.
        if (old <= section.next_level ||
            (rules_.raises > 0 && raised + section.remaining > capacity_)) {
          MarkDirty(t);
        }
      }
    }
    if (data.twin < 0) return true;
    floor = extents_[i].top;
    item = data.twin;
    if (IsPlaced(item) || floor <= FloorOf(item)) return true;
  }
}

void DecisionSearch::DropQueue() {
  for (std::size_t i = queue_head_; i < queue_.size(); ++i) At(queue_[i]).dirty = false;
  queue_.clear();
  queue_head_ = 0;
}

bool DecisionSearch::Propagate() {
  // Floors could creep upwards by the size of the smallest buffer; weaker, but still sound without.
  raises_left_ = static_cast<std::int64_t>(problem_.items.size()) * rules_.raises / 64;
  while (queue_head_ < queue_.size()) {
    const Index t = queue_[queue_head_++];
    At(t).dirty = false;
    if (!Refresh(t)) {
      if (rules_.learn) At(t).weight = std::min(At(t).weight + 1, kMaxWeight);
      return false;
    }
  }
  DropQueue();
  return true;
}

DecisionSearch::Survey DecisionSearch::SurveyOf(Index section) const {
  const auto size = static_cast<std::size_t>(At(section).unplaced);
  const auto survey = [size](const auto* floors) {
    const auto levels = FindLevels(floors, size);
    const auto level = [](auto value) {
      return value == std::numeric_limits<decltype(value)>::max() ? kNoLevel : std::int64_t{value};
    };
    return Survey{level(levels.least), level(levels.next), levels.greatest, levels.count};
  };
  const std::size_t begin = RowBegin(section);
  return narrow_ ? survey(narrow_floors_.data() + begin) : survey(wide_floors_.data() + begin);
}

DecisionSearch::Tops DecisionSearch::TopsOf(Index section) const {
  Tops tops{kNoLevel, kNoLevel, -1};
  const Index* const row = Row(section);
  const Index* const end = row + At(section).unplaced;
  for (const Index* item = row; item != end; ++item) {
    const std::int64_t top = extents_[static_cast<std::size_t>(*item)].top;
    tops.next = std::min(tops.next, std::max(tops.least, top));
    tops.item = top < tops.least ? *item : tops.item;
    tops.least = std::min(tops.least, top);
  }
  return tops;
}

// Recomputes the level and propagates it; false when the unplaced items of the section do not fit
// above it.
bool DecisionSearch::Refresh(Index section) {
  Section& data = At(section);
  const Survey survey = SurveyOf(section);
  level_trail_.push_back({section, data.candidates, data.level, data.next_level});
  data.level = survey.level;
  data.next_level = survey.next_level;
  data.candidates = survey.candidates;
  if (data.unplaced == 0) return true;
  if (survey.level + data.remaining > capacity_) return false;
  if (raises_left_ <= 0) return true;
  if (survey.greatest_floor + data.remaining <= capacity_) return true;
  return RaiseNotLowest(section);
}

// An item that does not fit with all other unplaced items of the section above it starts at the end
// of one.
bool DecisionSearch::RaiseNotLowest(Index section) {
  const Tops tops = TopsOf(section);
  const Section& data = At(section);
  const Index* row = Row(section);
  for (Index i = 0; i < data.unplaced; ++i) {
    const std::int64_t floor = RowFloor(RowBegin(section) + static_cast<std::size_t>(i));
    if (floor + data.remaining <= capacity_) continue;
    std::int64_t top = row[i] == tops.item ? tops.next : tops.least;
    for (const Sections::Gap& gap : problem_.GapsOf(row[i])) {
      const Sections::Item& other = ItemAt(gap.other);
      if (IsPlaced(gap.other) || section < other.first || section >= other.last) continue;
      top = std::min(top, FloorOf(gap.other) + gap.below);
    }
    if (top <= floor) continue;
    --raises_left_;
    if (!Raise(row[i], top)) return false;
  }
  return true;
}

void DecisionSearch::UndoTo(const Mark& mark) {
  for (; placed_.size() > mark.placed; placed_.pop_back()) {
    is_placed_[static_cast<std::size_t>(placed_.back())] = 0;
    area_ -= AreaOf(static_cast<std::size_t>(placed_.back()));
    ReturnToSections(placed_.back());
  }
  for (; floor_trail_.size() > mark.floors; floor_trail_.pop_back()) {
    const auto& [item, floor] = floor_trail_.back();
    extents_[static_cast<std::size_t>(item)] = {floor, floor + ItemAt(item).units};
    SetRowFloors(item, floor);
  }
  for (; level_trail_.size() > mark.levels; level_trail_.pop_back()) {
    const LevelChange& change = level_trail_.back();
    Section& section = At(change.section);
    section.level = change.level;
    section.next_level = change.next_level;
    section.candidates = change.candidates;
  }
}

void DecisionSearch::SetRowFloors(Index item, std::int64_t floor) {
  const std::size_t end = position_begins_[static_cast<std::size_t>(item) + 1];
  for (std::size_t p = position_begins_[static_cast<std::size_t>(item)]; p < end; ++p) {
    SetRowFloor(static_cast<std::size_t>(positions_[p]), floor);
  }
}

void DecisionSearch::RemoveFromSections(Index item) {
  const Sections::Item& data = ItemAt(item);
  const std::size_t begin = position_begins_[static_cast<std::size_t>(item)];
  for (Index t = data.first; t < data.last; ++t) {
    Section& section = At(t);
    section.remaining -= Adds(item, t);
    Index& position = positions_[begin + static_cast<std::size_t>(t - data.first)];
    const auto mine = static_cast<std::size_t>(position);
    const std::size_t last = RowBegin(t) + static_cast<std::size_t>(--section.unplaced);
    const Index moved = rows_[last];
    const std::int64_t moved_floor = RowFloor(last);
    positions_[PositionOf(moved, t)] = position;
    position = static_cast<Index>(last);
    rows_[mine] = moved;
    rows_[last] = item;
    SetRowFloor(last, RowFloor(mine));
    SetRowFloor(mine, moved_floor);
  }
  ChargePartners(item, true);
}

// In the reverse order of removal the item is right behind the unplaced ones.
void DecisionSearch::ReturnToSections(Index item) {
  const Sections::Item& data = ItemAt(item);
  ChargePartners(item, false);
  for (Index t = data.first; t < data.last; ++t) {
    ++At(t).unplaced;
    At(t).remaining += Adds(item, t);
  }
}

// The ripe section with the fewest ways on, those that failed often first.
DecisionSearch::Index DecisionSearch::ChooseSection(Index first, Index last) const {
  Index best = -1;
  std::int64_t best_ways = 0;
  std::int64_t best_slack = 0;
  for (Index t = first; t < last; ++t) {
    const Section& section = At(t);
    const std::int64_t slack = capacity_ - section.level - section.remaining;
    const bool may_waste = section.next_level - section.level <= slack;
    const std::int64_t ways = section.candidates + (may_waste ? 1 : 0);
    if (best >= 0) {
      const Section& other = At(best);
      if (rules_.lowest_level) {
        if (std::pair(section.level, slack) >= std::pair(other.level, best_slack)) continue;
      } else {
        // ways / weight, compared without division
        const std::int64_t mine = ways * other.weight;
        const std::int64_t theirs = best_ways * section.weight;
        if (mine > theirs || (mine == theirs && slack >= best_slack)) continue;
      }
    }
    if (!IsRipe(t)) continue;
    best = t;
    best_ways = ways;
    best_slack = slack;
  }
  return best;
}

// An unplaced item at the same floor counts as lower at equal offsets, so it is placed first.
bool DecisionSearch::IsBlocked(Index item) const {
  const auto row = problem_.GapsOf(item);
  return std::any_of(row.begin(), row.end(), [&](const Sections::Gap& gap) {
    return gap.other_goes_first() && !IsPlaced(gap.other) && FloorOf(gap.other) == FloorOf(item);
  });
}

// Also that one of its candidates is not blocked.
bool DecisionSearch::IsRipe(Index section) const {
  const Index* row = Row(section);
  const std::int64_t level = At(section).level;
  bool open = false;
  for (Index i = 0; i < At(section).unplaced; ++i) {
    if (RowFloor(RowBegin(section) + static_cast<std::size_t>(i)) != level) continue;
    const Sections::Item& item = ItemAt(row[i]);
    for (Index t = item.first; t < item.last; ++t) {
      if (At(t).level != level) return false;
    }
    open = open || !IsBlocked(row[i]);
  }
  return open;
}

// How many steps the item makes at its floor: an item across one, from its top to the lower side,
// leaves space below that only items that end there fill. Beside a higher section there is none.
DecisionSearch::Index DecisionSearch::StepsBeside(Index item) const {
  const Sections::Item& data = ItemAt(item);
  const auto is_step = [&](Index beside) {
    return beside >= 0 && beside < problem_.count && At(beside).unplaced > 0 &&
           At(beside).level <= FloorOf(item);
  };
  return Index{is_step(data.first - 1)} + Index{is_step(data.last)};
}

DecisionSearch::Index DecisionSearch::ChooseCandidate(Index section) {
  const Index* row = Row(section);
  Index best = -1;
  Index min_steps = 0;
  std::int64_t best_priority = 0;
  for (Index i = 0; i < At(section).unplaced; ++i) {
    if (FloorOf(row[i]) != At(section).level || IsBlocked(row[i])) continue;
    const Index steps = rules_.flush ? StepsBeside(row[i]) : 0;
    std::int64_t priority = priorities_[static_cast<std::size_t>(row[i])];
    if (rules_.noise_per_node) {
      priority += DrawNoise(rules_, *random_);
    }
    const auto better = std::tuple(-steps, priority, -row[i]);
    if (best < 0 || better > std::tuple(-min_steps, best_priority, -best)) {
      best = row[i];
      min_steps = steps;
      best_priority = priority;
    }
  }
  return best;
}

}  // namespace neap::arena
