// SPDX-License-Identifier: Apache-2.0
#include "neap/arena/orientation_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kMostRaises = 1 << 16;  // of one propagation: conditions may form a cycle

}  // namespace

OrientationSearch::OrientationSearch(const Problem& problem, const PairTable& table,
                                     std::span<const BufferIndex> buffers) {
  const auto num_items = static_cast<Index>(buffers.size());
  const auto at = [&](Index i) -> const Buffer& {
    return problem.buffers[static_cast<std::size_t>(buffers[static_cast<std::size_t>(i)])];
  };
  for (Index i = 0; i < num_items; ++i) {
    items_.push_back({at(i).bytes, at(i).alignment, at(i).fixed_offset.value_or(-1), 0, 0, 0});
    std::vector<Index> clique;
    for (Index j = 0; j < num_items; ++j) {
      if (at(j).last <= at(i).first || at(i).last <= at(j).first) continue;
      if (j > i) AddRanges(problem, table, buffers, i, j);
      const bool live = at(j).first <= at(i).first;
      const bool ruled = std::any_of(clique.begin(), clique.end(), [&](Index k) {
        return !table
                    .Between(buffers[static_cast<std::size_t>(j)],
                             buffers[static_cast<std::size_t>(k)])
                    .empty();
      });
      if (live && !ruled) clique.push_back(j);
    }
    cliques_.push_back(std::move(clique));
  }
  one_alignment_ = std::all_of(items_.begin(), items_.end(), [this](const Item& item) {
    return item.alignment == items_.front().alignment;
  });
  above_.resize(items_.size());
  below_.resize(items_.size());
}

void OrientationSearch::AddRanges(const Problem& problem, const PairTable& table,
                                  std::span<const BufferIndex> buffers, Index a, Index b) {
  const BufferIndex first = buffers[static_cast<std::size_t>(a)];
  const BufferIndex second = buffers[static_cast<std::size_t>(b)];
  const auto entries = table.Between(second, first);
  Pair pair{a, b, ranges_.size(), 0};
  std::int64_t from = -kFar;
  const auto forbid = [&](std::int64_t low, std::int64_t high) {
    if (high - low <= 1) return;
    ranges_.push_back({from, low});
    from = high;
  };
  for (const PairTable::Entry& entry : entries) forbid(entry.low, entry.high);
  if (entries.empty()) {
    forbid(-problem.buffers[static_cast<std::size_t>(second)].bytes,
           problem.buffers[static_cast<std::size_t>(first)].bytes);
  }
  if (ranges_.size() == pair.first_range) return;  // nothing is forbidden
  ranges_.push_back({from, kFar});
  pair.num_ranges = ranges_.size() - pair.first_range;
  pairs_.push_back(pair);
}

Verdict OrientationSearch::Run(std::int64_t capacity_bytes, Random& random, std::int64_t max_nodes,
                               Budget& budget) {
  if (!budget.Spend(1)) return Verdict::kUndecided;
  for (Item& item : items_) item.priority = random.Between(0, 1 + item.bytes / 4) + item.bytes;
  if (!Start(capacity_bytes)) return gave_up_ ? Verdict::kUndecided : Verdict::kImpossible;
  while (true) {
    const std::size_t pair = Choose();
    if (pair == pairs_.size()) return Verdict::kPlaced;
    const Pair& chosen = pairs_[pair];
    const bool upwards = At(chosen.a).priority < At(chosen.b).priority;
    branches_.push_back({pair, 0, upwards, changes_.size(), conditions_.size()});
    while (!branches_.empty() && !TakeNext(branches_.back())) {
      if (branches_.back().next_range >= pairs_[branches_.back().pair].num_ranges) {
        branches_.pop_back();
      }
    }
    if (gave_up_) {
      budget.Spend(kMostRaises / 256);
      return Verdict::kUndecided;
    }
    if (branches_.empty()) return Verdict::kImpossible;
    const std::int64_t moved = kMostRaises - std::max<std::int64_t>(raises_left_, 0);
    if (max_nodes-- <= 0 || !budget.Spend(1 + moved / 256)) return Verdict::kUndecided;
  }
}

bool OrientationSearch::Start(std::int64_t capacity_bytes) {
  capacity_ = capacity_bytes;
  gave_up_ = false;
  changes_.clear();
  conditions_.clear();
  branches_.clear();
  for (auto& row : above_) row.clear();
  for (auto& row : below_) row.clear();
  for (Item& item : items_) {
    item.floor = std::max<std::int64_t>(item.fixed, 0);
    item.ceiling = (capacity_bytes - item.bytes) / item.alignment * item.alignment;
    if (item.bytes > capacity_bytes) return false;
    if (item.fixed >= 0) item.ceiling = std::min(item.ceiling, item.fixed);
    if (item.floor > item.ceiling) return false;
  }
  return !ExceedsLoad();
}

bool OrientationSearch::IsBroken(const Pair& pair) const {
  const std::int64_t apart = At(pair.b).floor - At(pair.a).floor;
  for (std::size_t r = 0; r < pair.num_ranges; ++r) {
    const Range& range = ranges_[pair.first_range + r];
    if (range.low <= apart && apart <= range.high) return false;
  }
  return true;
}

bool OrientationSearch::IsPossible(const Pair& pair, std::size_t range) const {
  const Range& allowed = ranges_[pair.first_range + range];
  return At(pair.b).ceiling - At(pair.a).floor >= allowed.low &&
         At(pair.b).floor - At(pair.a).ceiling <= allowed.high;
}

// The broken pair with the fewest ways on, large ones first; pairs_.size() when none is broken.
std::size_t OrientationSearch::Choose() {
  std::size_t best = pairs_.size();
  std::tuple<std::size_t, std::int64_t> best_key;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const Pair& pair = pairs_[p];
    if (!IsBroken(pair)) continue;
    std::size_t ways = 0;
    for (std::size_t r = 0; r < pair.num_ranges; ++r) ways += IsPossible(pair, r) ? 1 : 0;
    const std::tuple key(ways, -std::min(At(pair.a).priority, At(pair.b).priority));
    if (best == pairs_.size() || key < best_key) {
      best = p;
      best_key = key;
    }
    if (ways == 0) break;
  }
  return best;
}

// Undoes what followed from the last range of the branch and takes the next one; false when that
// one is impossible or none is left.
bool OrientationSearch::TakeNext(Branch& branch) {
  UndoTo(branch.changes, branch.conditions);
  const Pair& pair = pairs_[branch.pair];
  if (branch.next_range >= pair.num_ranges) return false;
  const std::size_t taken = branch.next_range++;
  const std::size_t range = branch.upwards ? taken : pair.num_ranges - 1 - taken;
  if (!IsPossible(pair, range)) return false;
  const Range allowed = ranges_[pair.first_range + range];
  if (allowed.low > -kFar && !Require(pair.a, pair.b, allowed.low)) return false;
  if (allowed.high < kFar && !Require(pair.b, pair.a, -allowed.high)) return false;
  return !ExceedsLoad();
}

// offset(to) >= offset(from) + apart
bool OrientationSearch::Require(Index from, Index to, std::int64_t apart) {
  above_[static_cast<std::size_t>(from)].push_back({to, apart});
  below_[static_cast<std::size_t>(to)].push_back({from, apart});
  conditions_.emplace_back(from, to);
  return Raise(to, At(from).floor + apart) && Lower(from, At(to).ceiling - apart) &&
         Propagate(from, to);
}

bool OrientationSearch::MayRaise() {
  if (--raises_left_ >= 0) return true;
  gave_up_ = true;
  return false;
}

bool OrientationSearch::Raise(Index item, std::int64_t floor) {
  Item& data = At(item);
  if (floor <= data.floor) return true;
  const std::int64_t raised = data.fixed >= 0 ? floor : AlignUp(floor, data.alignment);
  if (raised > data.ceiling) return false;
  if (!MayRaise()) return false;
  changes_.push_back({item, data.floor, data.ceiling});
  data.floor = raised;
  queue_.push_back(item);
  return true;
}

bool OrientationSearch::Lower(Index item, std::int64_t ceiling) {
  Item& data = At(item);
  if (ceiling >= data.ceiling) return true;
  if (ceiling < data.floor) return false;
  if (!MayRaise()) return false;
  changes_.push_back({item, data.floor, data.ceiling});
  data.ceiling = data.fixed >= 0 ? ceiling : ceiling / data.alignment * data.alignment;
  queue_.push_back(item);
  return data.ceiling >= data.floor;
}

// What follows from the condition from -> to, which was added last. Where all alignments are equal,
// a condition that in the end moves its own cause is part of a cycle that never ends.
bool OrientationSearch::Propagate(Index from, Index to) {
  while (!queue_.empty()) {
    const Index item = queue_.back();
    queue_.pop_back();
    for (const Condition& condition : above_[static_cast<std::size_t>(item)]) {
      const std::int64_t floor = At(item).floor + condition.apart;
      if (one_alignment_ && condition.other == from && floor > At(from).floor) return false;
      if (!Raise(condition.other, floor)) return false;
    }
    for (const Condition& condition : below_[static_cast<std::size_t>(item)]) {
      const std::int64_t ceiling = At(item).ceiling - condition.apart;
      if (one_alignment_ && condition.other == to && ceiling < At(to).ceiling) return false;
      if (!Lower(condition.other, ceiling)) return false;
    }
  }
  return true;
}

// Buffers of a clique are disjoint: those above some floor need their bytes above it.
bool OrientationSearch::ExceedsLoad() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> stack;  // floor, bytes
  for (const auto& clique : cliques_) {
    stack.clear();
    for (const Index item : clique) stack.emplace_back(At(item).floor, At(item).bytes);
    std::sort(stack.begin(), stack.end());
    std::int64_t bytes = 0;
    for (std::size_t i = stack.size(); i-- > 0;) {
      bytes += stack[i].second;
      if (stack[i].first + bytes > capacity_) return true;
    }
  }
  return false;
}

void OrientationSearch::UndoTo(std::size_t changes, std::size_t conditions) {
  for (; changes_.size() > changes; changes_.pop_back()) {
    const Change& change = changes_.back();
    At(change.item).floor = change.floor;
    At(change.item).ceiling = change.ceiling;
  }
  for (; conditions_.size() > conditions; conditions_.pop_back()) {
    above_[static_cast<std::size_t>(conditions_.back().first)].pop_back();
    below_[static_cast<std::size_t>(conditions_.back().second)].pop_back();
  }
  queue_.clear();
  raises_left_ = kMostRaises;
}

}  // namespace neap::arena
