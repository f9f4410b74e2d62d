// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/clause_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kTicksPerNode = 1000;  // so that a node costs about as much as elsewhere
constexpr std::int64_t kFailuresPerRestart = 64;
constexpr std::int64_t kFirstBump = std::int64_t{1} << 20;

// Luby, Sinclair, Zuckerman 1993: 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...; index >= 1.
std::int64_t Luby(std::int64_t index) {
  while (true) {
    const int bits = 64 - std::countl_zero(static_cast<std::uint64_t>(index));
    if (index == (std::int64_t{1} << bits) - 1) return std::int64_t{1} << (bits - 1);
    index -= (std::int64_t{1} << (bits - 1)) - 1;
  }
}

std::int64_t RoundDown(std::int64_t value, std::int64_t grid) {
  return value >= 0 ? value / grid * grid : -AlignUp(-value, grid);
}

const Buffer& BufferAt(const Problem& problem, std::span<const BufferIndex> buffers,
                       std::size_t item) {
  return problem.buffers[static_cast<std::size_t>(buffers[item])];
}

}  // namespace

ClauseSearch::ClauseSearch(const Problem& problem, const PairTable& table,
                           std::span<const BufferIndex> buffers) {
  const std::size_t num_items = buffers.size();
  NEAP_CHECK(num_items <= kMaxBuffers, "a part is too large for the learning search");
  grid_ = 0;
  for (std::size_t i = 0; i < num_items; ++i) {
    grid_ = std::gcd(grid_, BufferAt(problem, buffers, i).alignment);
  }
  for (std::size_t i = 0; i < num_items; ++i) {
    const Buffer& buffer = BufferAt(problem, buffers, i);
    items_.push_back({AlignUp(buffer.bytes, grid_), buffer.bytes, buffer.alignment,
                      buffer.fixed_offset.value_or(-1), 0, 0, 0});
  }
  sides_.resize(num_items);
  disjoint_.assign(num_items * num_items, kNone);
  for (Index a = 0; a < static_cast<Index>(num_items); ++a) {
    const Buffer& first = BufferAt(problem, buffers, static_cast<std::size_t>(a));
    for (Index b = a + 1; b < static_cast<Index>(num_items); ++b) {
      const Buffer& second = BufferAt(problem, buffers, static_cast<std::size_t>(b));
      if (second.last <= first.first || first.last <= second.first) continue;
      AddVariables(table, buffers, a, b);
    }
  }
  AddSections(problem, table, buffers);
  OrderTwins(problem, table, buffers);
  watches_.resize(2 * variables_.size());
  activities_.resize(variables_.size());
  phases_.assign(variables_.size(), 0);
  is_dirty_.assign(sections_.size(), 0);
  is_dirty_node_.assign(2 * num_items, 0);
}

// One between any two neighbours of the closed ranges in which offset(b) - offset(a) may be.
void ClauseSearch::AddVariables(const PairTable& table, std::span<const BufferIndex> buffers,
                                Index a, Index b) {
  const auto entries =
      table.Between(buffers[static_cast<std::size_t>(b)], buffers[static_cast<std::size_t>(a)]);
  // All distances of the two are multiples of it.
  const std::int64_t grid = std::gcd(At(a).alignment, At(b).alignment);
  if (entries.empty()) {
    const auto variable = static_cast<Index>(variables_.size());
    const auto n = items_.size();
    disjoint_[static_cast<std::size_t>(a) * n + static_cast<std::size_t>(b)] = variable;
    disjoint_[static_cast<std::size_t>(b) * n + static_cast<std::size_t>(a)] = variable;
    AddVariable(a, b, AlignUp(At(a).bytes, grid), AlignUp(At(b).bytes, grid));
    return;
  }
  std::int64_t low = 0;
  std::int64_t high = -kFar;
  const auto close = [&] {
    if (high > -kFar && high - low > grid) AddVariable(a, b, high, -low);
  };
  for (const PairTable::Entry& entry : entries) {
    if (entry.high - entry.low <= 1) continue;
    const std::int64_t from = RoundDown(entry.low, grid);
    const std::int64_t to = -RoundDown(-entry.high, grid);
    if (from >= high) {
      close();
      low = from;
    }
    high = std::max(high, to);
  }
  close();
}

void ClauseSearch::AddVariable(Index a, Index b, std::int64_t when_true, std::int64_t when_false) {
  const auto variable = static_cast<Index>(variables_.size());
  variables_.push_back({a, b, when_true, when_false});
  const std::int64_t a_larger = At(a).size - At(b).size;
  sides_[static_cast<std::size_t>(a)].push_back(
      {b, 2 * variable, when_true, when_false + a_larger});
  sides_[static_cast<std::size_t>(b)].push_back(
      {a, 2 * variable + 1, when_false, when_true - a_larger});
}

// The maximal sets of buffers that are live at once. Counted by first step and index, a buffer
// adds what is left of it when all that it may share with each of those before it is taken off.
void ClauseSearch::AddSections(const Problem& problem, const PairTable& table,
                               std::span<const BufferIndex> buffers) {
  const LiveSections live = FindSections(problem, buffers);
  sections_.resize(static_cast<std::size_t>(live.count));
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(BufferAt(problem, buffers, a).first, a) <
           std::pair(BufferAt(problem, buffers, b).first, b);
  });
  for (const std::size_t i : order) {
    Item& item = items_[i];
    item.first_section = static_cast<std::size_t>(live.ranges[i].first);
    item.last_section = static_cast<std::size_t>(live.ranges[i].last);
    item.first_adds = adds_.size();
    for (std::size_t t = item.first_section; t < item.last_section; ++t) {
      std::int64_t adds = item.size;
      for (const Member& before : sections_[t]) {
        adds -=
            table.MostShared(buffers[i], item.size, buffers[static_cast<std::size_t>(before.item)],
                             At(before.item).size);
      }
      adds = std::max<std::int64_t>(adds, 0);
      sections_[t].push_back({static_cast<Index>(i), adds});
      adds_.push_back(adds);
    }
  }
}

// Those that differ by their index only may be swapped in every placement.
void ClauseSearch::OrderTwins(const Problem& problem, const PairTable& table,
                              std::span<const BufferIndex> buffers) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (items_[i].fixed < 0 && table.Of(buffers[i]).empty()) order.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    const Buffer& buffer = BufferAt(problem, buffers, i);
    return std::tie(buffer.first, buffer.last, buffer.bytes, buffer.alignment);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t k = 1; k < order.size(); ++k) {
    if (key(order[k - 1]) != key(order[k])) continue;
    const auto below = static_cast<Index>(order[k - 1]);
    known_.push_back(LiteralOf(DisjointVariable(below, static_cast<Index>(order[k])), below, 0));
  }
}

Verdict ClauseSearch::Run(std::int64_t capacity_bytes, Random& random, std::int64_t max_nodes,
                          Budget& budget) {
  if (!budget.Spend(1)) return Verdict::kUndecided;
  if (capacity_bytes != capacity_bytes_) {
    refuted_ = !Start(capacity_bytes, random);
  }
  ticks_ = 0;
  while (!refuted_) {
    if (!Propagate()) {
      ticks_ += static_cast<std::int64_t>(trail_.size());
      refuted_ = !Learn();
      --failures_left_;
    } else if (failures_left_ <= 0) {
      BackTo(0);
      ForgetClauses();
      failures_left_ = kFailuresPerRestart * Luby(++num_restarts_);
    } else {
      const Index literal = ChooseLiteral();
      ticks_ += static_cast<std::int64_t>(variables_.size()) / 2;
      if (literal == kNone) return Verdict::kPlaced;
      level_begins_.push_back(trail_.size());
      level_atoms_.push_back(atoms_.size());
      Assign(literal, Reason::kDecision, 0, 0);
    }
    const std::int64_t nodes = 1 + ticks_ / kTicksPerNode;
    ticks_ = 0;
    max_nodes -= nodes;
    if (!refuted_ && (!budget.Spend(nodes) || max_nodes <= 0)) return Verdict::kUndecided;
  }
  return Verdict::kImpossible;
}

// Nothing chosen; false when the capacity is refuted by that alone.
bool ClauseSearch::Start(std::int64_t capacity_bytes, Random& random) {
  if (capacity_bytes > capacity_bytes_) {
    // Learned clauses are not valid for a larger capacity.
    clauses_.clear();
    units_.clear();
    for (auto& row : watches_) row.clear();
  }
  capacity_bytes_ = capacity_bytes;
  capacity_ = AlignUp(capacity_bytes, grid_);
  bump_ = kFirstBump;
  clause_bump_ = kFirstBump;
  num_restarts_ = 0;
  failures_left_ = 0;
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    activities_[v] = random.Between(0, kFirstBump - 1);
  }
  trail_.clear();
  marked_.clear();
  needed_.clear();
  atoms_.clear();
  level_begins_.clear();
  level_atoms_.clear();
  head_ = 0;
  DropQueues();
  assigned_.assign(variables_.size(), 0);
  is_below_.assign(2 * items_.size() * items_.size(), 0);
  literal_entries_.assign(variables_.size(), kNone);
  floor_entries_.assign(2 * items_.size(), kNone);
  first_floors_.clear();
  for (const Item& item : items_) {
    const std::int64_t floor = std::max<std::int64_t>(item.fixed, 0);
    std::int64_t ceiling = (capacity_bytes - item.bytes) / item.alignment * item.alignment;
    if (item.fixed >= 0) ceiling = std::min(ceiling, item.fixed);
    if (item.bytes > capacity_bytes || floor > ceiling) return false;
    first_floors_.push_back(floor);
    first_floors_.push_back(capacity_ - item.size - ceiling);
  }
  floors_ = first_floors_;
  for (const Index literal : known_) {
    if (!Assign(literal, Reason::kDecision, 0, 0)) return false;
  }
  for (const Index literal : units_) {
    if (!Assign(literal, Reason::kDecision, 0, 0)) return false;
  }
  for (Index item = 0; item < static_cast<Index>(items_.size()); ++item) {
    MarkDirty(item);
    if (!PropagateFloor(2 * item) || !PropagateFloor(2 * item + 1)) return false;
  }
  return true;
}

void ClauseSearch::SetBelow(Index literal, std::uint8_t holds) {
  const Variable& data = variables_[static_cast<std::size_t>(VariableOf(literal))];
  if (DisjointVariable(data.a, data.b) == kNone) return;
  const Index below = (literal & 1) == 0 ? data.a : data.b;
  const Index above = (literal & 1) == 0 ? data.b : data.a;
  const auto place = [this](Index node, Index item) {
    return static_cast<std::size_t>(node) * items_.size() + static_cast<std::size_t>(item);
  };
  is_below_[place(2 * above, below)] = holds;
  is_below_[place(2 * below + 1, above)] = holds;
}

bool ClauseSearch::IsBroken(Index variable) const {
  const Variable& data = variables_[static_cast<std::size_t>(variable)];
  const std::int64_t apart = Floor(2 * data.b) - Floor(2 * data.a);
  return apart < data.when_true && -apart < data.when_false;
}

// The variable that was part of contradictions most, as it was last time, else with the lower item
// below; kNone when the floors break no rule.
ClauseSearch::Index ClauseSearch::ChooseLiteral() const {
  Index best = kNone;
  bool broken = false;
  for (Index v = 0; v < static_cast<Index>(variables_.size()); ++v) {
    if (IsAssigned(v)) continue;
    broken = broken || IsBroken(v);
    if (best == kNone ||
        activities_[static_cast<std::size_t>(v)] > activities_[static_cast<std::size_t>(best)]) {
      best = v;
    }
  }
  if (!broken) return kNone;
  const std::uint8_t phase = phases_[static_cast<std::size_t>(best)];
  if (phase != 0) return 2 * best + (phase - 1);
  const Variable& data = variables_[static_cast<std::size_t>(best)];
  const auto key = [&](Index item) {
    const Item& it = At(item);
    const auto sections = static_cast<std::int64_t>(it.last_section - it.first_section);
    return std::tuple(Floor(2 * item), -sections, -it.size);
  };
  return 2 * best + (key(data.a) <= key(data.b) ? 0 : 1);
}

void ClauseSearch::BackTo(Index level) {
  DropQueues();
  if (Level() <= level) return;
  const std::size_t begin = level_begins_[static_cast<std::size_t>(level)];
  atoms_.resize(level_atoms_[static_cast<std::size_t>(level)]);
  level_begins_.resize(static_cast<std::size_t>(level));
  level_atoms_.resize(static_cast<std::size_t>(level));
  while (trail_.size() > begin) {
    const Entry& entry = trail_.back();
    if (entry.subject >= 0) {
      const auto v = static_cast<std::size_t>(VariableOf(entry.subject));
      SetBelow(entry.subject, 0);
      phases_[v] = assigned_[v];
      assigned_[v] = 0;
      literal_entries_[v] = kNone;
    } else {
      const Index raised = ~entry.subject;
      const auto node = static_cast<std::size_t>(raised);
      floor_entries_[node] = entry.previous;
      floors_[node] = entry.previous == kNone
                          ? first_floors_[node]
                          : trail_[static_cast<std::size_t>(entry.previous)].value;
    }
    trail_.pop_back();
  }
  marked_.resize(begin);
  needed_.resize(begin);
  head_ = begin;
}

}  // namespace neap::arena
