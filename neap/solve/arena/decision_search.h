// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: can one part of a problem be placed within a capacity?
//
// A depth-first search over the placements in which every free buffer starts at 0 or at the end of
// another one (see Sections; if any placement fits, one of those does). `floor` of an unplaced item
// is a proven lower bound on its offset. A section's level is the lowest floor of its unplaced
// items; those at the level are its candidates. A section is ripe when each of its candidates is at
// the level of *all* its sections. In a ripe section:
//   - if a candidate is placed at its floor, every unplaced item around it is above it, since an
//     item's offset is at least its floor, which is at least the level of the shared section;
//   - if it is not placed there, it starts at the end of an unplaced item around it, so its floor
//     rises to the lowest end that such an item can have.
// The two cases are the branches; neither is valid in a section that is not ripe. A section with
// the globally lowest level is ripe, so there always is one. Propagation: level + unplaced sizes of
// a section must fit; an item that would not fit with all others of a section above it starts at
// the end of one of them. Twins (equal items) keep the order of their index. An item with a fixed
// place is an item whose floor and ceiling are that place. There is no table of refuted states: the
// order of twins is sound alone, not together with such a table. Pair rules:
// docs/algorithms/placement.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/sections.h"

namespace neap::arena {

// How a run chooses; no rule can make an answer wrong.
struct Rules {
  std::int32_t length_exponent = 0;  // in 1/1000: candidates go by length^a * size^b, largest first
  std::int32_t size_exponent = 0;
  std::int32_t noise = 0;       // in 1/1000 of a factor 2, drawn once per item
  bool noise_per_node = false;  // drawn at every choice instead
  std::int32_t raises = 16;     // most of the second propagation rule at a node, in items / 64
  bool flush = true;            // candidates that leave the fewest steps first
  bool learn = true;            // prefer sections that failed often
  bool lowest_level = false;    // branch in the ripe section with the lowest level
  std::int64_t max_stall = INT64_MAX;  // nodes in a row that place no more than before
  bool given_priorities = false;       // those in priorities(); none are drawn
};

enum class Verdict {
  kPlaced,
  kImpossible,  // proven: the search tree was exhausted
  kUndecided,   // the node limit ended the run
};

class DecisionSearch {
 public:
  explicit DecisionSearch(const Sections& sections);  // keeps a reference

  // Every item ends at or below `capacity_bytes`? At most `max_nodes` placed items.
  Verdict Run(std::int64_t capacity_bytes, const Rules& rules, Random& random,
              std::int64_t max_nodes, Budget& budget);

  // After kPlaced: the offset of an item, in units.
  std::int64_t OffsetOf(std::size_t item) const { return extents_[item].floor; }

  // Of the candidates of a section, the one with the largest is placed first. One per item.
  std::vector<std::int64_t>& priorities() { return priorities_; }
  void DrawPriorities(const Rules& rules, Random& random);
  // Size times sections, in units of its own: of an item, of all, and the most that the last run
  // placed at once.
  std::int64_t AreaOf(std::size_t item) const {
    const Sections::Item& data = problem_.items[item];
    return ((data.units >> area_shift_) + 1) * (data.last - data.first);
  }
  std::int64_t total_area() const { return total_area_; }
  std::int64_t most_area() const { return most_area_; }
  // The offsets in the last run when it had placed the most, in units; -1: not placed. Empty where
  // that was never 31/32 of the area.
  const std::vector<std::int64_t>& most_offsets() const { return most_offsets_; }

  // Forgets which sections failed.
  void ForgetFailures();

 private:
  using Index = std::int32_t;
  struct Section {
    std::int64_t level = 0;       // least floor of the unplaced items
    std::int64_t next_level = 0;  // second least floor, or kNoLevel
    std::int64_t remaining = 0;   // sum of unplaced sizes, less what they may share
    Index candidates = 0;         // items at the level
    Index unplaced = 0;           // the first entries of its row in rows_
    std::int64_t weight = 1;      // 1 + failures
    bool dirty = false;
  };
  struct Extent {
    std::int64_t floor = 0;  // of a placed item: the offset
    std::int64_t top = 0;    // floor + units
  };
  // Summary of the unplaced items of a section.
  struct Survey {
    std::int64_t level;
    std::int64_t next_level;
    std::int64_t greatest_floor;
    Index candidates;
  };
  struct Tops {
    std::int64_t least;
    std::int64_t next;  // least of the others
    Index item;         // with the least top
  };
  struct FloorChange {
    Index item;
    std::int64_t floor;
  };
  struct LevelChange {
    Index section;
    Index candidates;
    std::int64_t level;
    std::int64_t next_level;
  };
  struct Mark {
    std::size_t floors;
    std::size_t levels;
    std::size_t placed;
  };

  bool Start(std::int64_t capacity_bytes);
  bool Descend(Index first, Index last);
  void KeepMost();
  bool Place(Index item);
  bool RaiseAbove(Index item);
  bool Raise(Index item, std::int64_t floor);
  bool RaiseFloor(Index item, std::int64_t floor);
  void MarkDirty(Index section) {
    Section& data = At(section);
    if (data.dirty) return;
    data.dirty = true;
    queue_.push_back(section);
  }
  bool Propagate();
  Survey SurveyOf(Index section) const;
  bool Refresh(Index section);
  Tops TopsOf(Index section) const;
  bool RaiseNotLowest(Index section);
  void DropQueue();
  Mark Here() const { return {floor_trail_.size(), level_trail_.size(), placed_.size()}; }
  void UndoTo(const Mark& mark);
  Index ChooseSection(Index first, Index last) const;
  bool IsRipe(Index section) const;
  Index ChooseCandidate(Index section);
  Index StepsBeside(Index item) const;
  bool IsBlocked(Index item) const;
  void ChargeAll();
  void ChargePartners(Index item, bool placed);
  std::int64_t Adds(Index item, Index section) const {
    const std::int64_t units = ItemAt(item).units;
    if (charges_.empty()) return units;
    return std::max<std::int64_t>(0, units - charges_[PositionOf(item, section)]);
  }
  std::size_t PositionOf(Index item, Index section) const {
    return position_begins_[static_cast<std::size_t>(item)] +
           static_cast<std::size_t>(section - ItemAt(item).first);
  }
  void SetRowFloor(std::size_t slot, std::int64_t floor) {
    if (narrow_) {
      narrow_floors_[slot] = static_cast<std::int32_t>(floor);
    } else {
      wide_floors_[slot] = floor;
    }
  }
  std::int64_t RowFloor(std::size_t slot) const {
    return narrow_ ? narrow_floors_[slot] : wide_floors_[slot];
  }
  void SetRowFloors(Index item, std::int64_t floor);
  bool IsPlaced(Index item) const { return is_placed_[static_cast<std::size_t>(item)] != 0; }
  void RemoveFromSections(Index item);
  void ReturnToSections(Index item);

  std::size_t RowBegin(Index section) const {
    return row_begins_[static_cast<std::size_t>(section)];
  }
  const Index* Row(Index section) const { return rows_.data() + RowBegin(section); }
  Section& At(Index section) { return sections_[static_cast<std::size_t>(section)]; }
  const Section& At(Index section) const { return sections_[static_cast<std::size_t>(section)]; }
  const Sections::Item& ItemAt(Index item) const {
    return problem_.items[static_cast<std::size_t>(item)];
  }
  std::int64_t FloorOf(Index item) const { return extents_[static_cast<std::size_t>(item)].floor; }
  std::int64_t TopOf(Index item) const { return extents_[static_cast<std::size_t>(item)].top; }

  const Sections& problem_;
  std::vector<std::size_t> row_begins_;       // section -> its row in rows_
  std::vector<Index> rows_;                   // unplaced items of a section first
  std::vector<std::size_t> position_begins_;  // item -> its positions, one per section
  std::vector<Index> positions_;              // in rows_, within the row of that section
  // Floors of the items of rows_, side by side: the hottest loops read nothing else. One of the two
  // is in use: half as wide where the capacity allows it.
  std::vector<std::int32_t> narrow_floors_;
  std::vector<std::int64_t> wide_floors_;
  bool narrow_ = true;
  std::vector<std::int64_t> charges_;  // at the same places: may be shared with unplaced ones there
  std::vector<Section> sections_;
  std::vector<Extent> extents_;
  std::vector<std::int64_t> ceilings_;  // greatest offset within the capacity
  std::vector<std::uint8_t> is_placed_;
  std::vector<std::int64_t> priorities_;

  std::vector<FloorChange> floor_trail_;
  std::vector<LevelChange> level_trail_;
  std::vector<Index> placed_;
  std::vector<Index> queue_;
  std::size_t queue_head_ = 0;
  std::int64_t raises_left_ = 0;

  std::int64_t capacity_ = 0;  // in units, rounded up
  Rules rules_;
  Random* random_ = nullptr;
  Budget* budget_ = nullptr;
  std::int64_t nodes_left_ = 0;
  std::int64_t stall_end_ = 0;  // nodes_left_ at which the run ends unless more is placed
  int area_shift_ = 0;
  std::int64_t total_area_ = 0;
  std::int64_t area_ = 0;  // placed
  std::int64_t most_area_ = 0;
  std::int64_t kept_area_ = 0;  // of most_offsets_
  std::vector<std::int64_t> most_offsets_;
  bool aborted_ = false;
};

}  // namespace neap::arena
