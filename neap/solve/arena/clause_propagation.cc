// SPDX-License-Identifier: Apache-2.0
//
// Propagation of literals and floors in a ClauseSearch. Every rule is written for the arena and
// also applies to its mirror image: node 2 i is the floor of item i, node 2 i + 1 that of its top,
// from the capacity downwards.
#include <algorithm>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/solve/arena/clause_search.h"

namespace neap::arena {

// Floors are rounded to offsets that alignments allow.
std::int64_t ClauseSearch::Rounded(Index node, std::int64_t raw) const {
  const Item& item = At(ItemOf(node));
  if (item.alignment == grid_ || item.fixed >= 0) return raw;
  if ((node & 1) == 0) return AlignUp(raw, item.alignment);
  const std::int64_t ceiling = capacity_ - item.size - raw;
  return ceiling < 0 ? raw : capacity_ - item.size - ceiling / item.alignment * item.alignment;
}

// The smallest value that Rounded maps to `value` or above.
std::int64_t ClauseSearch::LeastRaw(Index node, std::int64_t value) const {
  const Item& item = At(ItemOf(node));
  if (item.alignment == grid_ || item.fixed >= 0) return value;
  if ((node & 1) == 0) {
    return value <= 0 ? value : AlignUp(value, item.alignment) - item.alignment + 1;
  }
  const std::int64_t ceiling = capacity_ - item.size - value;
  if (ceiling < 0) return value;
  return capacity_ - item.size - (ceiling / item.alignment * item.alignment + item.alignment - 1);
}

bool ClauseSearch::Assign(Index literal, Reason reason, Index first, Index last) {
  if (IsTrue(literal)) return true;
  const auto v = static_cast<std::size_t>(VariableOf(literal));
  if (assigned_[v] != 0) {
    // Its negation holds, and so does what it follows from.
    conflict_.assign(1, {Not(literal), 0});
    if (reason == Reason::kClause) {
      for (const Index other : clauses_[static_cast<std::size_t>(first)].literals) {
        if (other != literal) conflict_.push_back({Not(other), 0});
      }
    } else {
      conflict_.insert(conflict_.end(), atoms_.begin() + first, atoms_.begin() + last);
    }
    return false;
  }
  assigned_[v] = static_cast<std::uint8_t>(1 + (literal & 1));
  literal_entries_[v] = static_cast<Index>(trail_.size());
  SetBelow(literal, 1);
  Push({literal, kNone, Level(), reason, first, last, 0, 0, 0});
  return true;
}

void ClauseSearch::Push(const Entry& entry) {
  trail_.push_back(entry);
  marked_.push_back(0);
  needed_.push_back(0);
}

bool ClauseSearch::RaiseFloor(Index node, std::int64_t raw, const Cause& cause) {
  const auto n = static_cast<std::size_t>(node);
  const std::int64_t value = Rounded(node, raw);
  if (value <= floors_[n]) return true;
  if (cause.reason == Reason::kDistance && FindCycle(node, cause)) return false;
  const auto position = static_cast<Index>(trail_.size());
  Push({~node, floor_entries_[n], Level(), cause.reason, cause.first, cause.last, raw, value,
        cause.floor});
  floor_entries_[n] = position;
  floors_[n] = value;
  const std::int64_t excess = value + Floor(Mirror(node)) + At(ItemOf(node)).size - capacity_;
  if (excess <= 0) return true;
  conflict_.assign({{~node, value - excess + 1}, {~Mirror(node), Floor(Mirror(node))}});
  return false;
}

// Whether the floor is about to be raised by a floor that it raised itself, along distances whose
// sum is above zero. That would go on until the capacity is reached, step by step.
bool ClauseSearch::FindCycle(Index node, const Cause& cause) {
  std::int64_t length = 0;
  Index literal = cause.first;
  Index from = cause.last;
  std::int64_t apart = cause.apart;
  conflict_.clear();
  for (Index limit = 2 * static_cast<Index>(items_.size()); limit-- > 0;) {
    length += apart;
    conflict_.push_back({literal, 0});
    if (from == node) return length > 0;
    const Index position = floor_entries_[static_cast<std::size_t>(from)];
    if (position == kNone) return false;
    const Entry& entry = trail_[static_cast<std::size_t>(position)];
    if (entry.reason != Reason::kDistance) return false;
    literal = entry.first;
    from = entry.last;
    apart = entry.raw - entry.cause;
  }
  return false;
}

void ClauseSearch::MarkDirty(Index item) {
  for (std::size_t t = At(item).first_section; t < At(item).last_section; ++t) {
    if (std::exchange(is_dirty_[t], std::uint8_t{1}) == 0) {
      dirty_sections_.push_back(static_cast<Index>(t));
    }
  }
}

void ClauseSearch::MarkDirtyNode(Index node) {
  if (std::exchange(is_dirty_node_[static_cast<std::size_t>(node)], std::uint8_t{1}) == 0) {
    dirty_nodes_.push_back(node);
  }
}

void ClauseSearch::DropQueues() {
  for (const Index node : dirty_nodes_) is_dirty_node_[static_cast<std::size_t>(node)] = 0;
  dirty_nodes_.clear();
  for (const Index section : dirty_sections_) is_dirty_[static_cast<std::size_t>(section)] = 0;
  dirty_sections_.clear();
  head_ = trail_.size();
}

bool ClauseSearch::Propagate() {
  while (true) {
    while (head_ < trail_.size()) {
      const Index subject = trail_[head_++].subject;
      ++ticks_;
      const bool holds = subject >= 0 ? PropagateClauses(Not(subject)) && PropagateLiteral(subject)
                                      : PropagateFloor(~subject);
      if (!holds) return false;
    }
    if (!dirty_nodes_.empty()) {
      const Index node = dirty_nodes_.back();
      dirty_nodes_.pop_back();
      is_dirty_node_[static_cast<std::size_t>(node)] = 0;
      if (!StackBelow(node)) return false;
      continue;
    }
    if (dirty_sections_.empty()) return true;
    const Index section = dirty_sections_.back();
    dirty_sections_.pop_back();
    is_dirty_[static_cast<std::size_t>(section)] = 0;
    if (!FindEdges(sections_[static_cast<std::size_t>(section)])) return false;
  }
}

// `literal` has turned false: clauses that watch it watch another one, or their last one follows.
bool ClauseSearch::PropagateClauses(Index literal) {
  auto& row = watches_[static_cast<std::size_t>(literal)];
  std::size_t kept = 0;
  bool holds = true;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const Index clause = row[k];
    auto& literals = clauses_[static_cast<std::size_t>(clause)].literals;
    if (literals[0] == literal) std::swap(literals[0], literals[1]);
    ++ticks_;
    row[kept++] = clause;
    if (!holds || IsTrue(literals[0])) continue;
    const auto other = std::find_if(literals.begin() + 2, literals.end(),
                                    [this](Index each) { return !IsTrue(Not(each)); });
    ticks_ += other - literals.begin();
    if (other != literals.end()) {
      std::swap(literals[1], *other);
      watches_[static_cast<std::size_t>(literals[1])].push_back(clause);
      --kept;
      continue;
    }
    holds = Assign(literals[0], Reason::kClause, clause, 0);
  }
  row.resize(kept);
  return holds;
}

bool ClauseSearch::PropagateLiteral(Index literal) {
  const Variable& data = variables_[static_cast<std::size_t>(VariableOf(literal))];
  const bool holds = (literal & 1) == 0;
  const Index below = holds ? data.a : data.b;
  const Index above = holds ? data.b : data.a;
  const std::int64_t apart = holds ? data.when_true : data.when_false;
  const std::int64_t mirrored = apart + At(above).size - At(below).size;
  const auto raise = [&](Index to, Index from, std::int64_t distance) {
    return RaiseFloor(to, Floor(from) + distance,
                      {Reason::kDistance, literal, from, Floor(from), distance});
  };
  if (!raise(2 * above, 2 * below, apart)) return false;
  if (!raise(2 * below + 1, 2 * above + 1, mirrored)) return false;
  if (DisjointVariable(below, above) == kNone) return true;
  MarkDirtyNode(2 * above);
  MarkDirtyNode(2 * below + 1);
  return PropagateOrder(below, above, literal);
}

// Items below the lower one are below the upper one, and the other way round.
bool ClauseSearch::PropagateOrder(Index below, Index above, Index literal) {
  for (const Side& side : sides_[static_cast<std::size_t>(below)]) {
    const Index third = side.other;
    ++ticks_;
    if (third == above) continue;
    const Index with_below = DisjointVariable(below, third);
    const Index with_above = DisjointVariable(above, third);
    if (with_below == kNone || with_above == kNone) continue;
    const auto follows = [&](Index cause, Index consequence) {
      if (!IsTrue(cause) || IsTrue(consequence)) return true;
      const Index first = BeginReason();
      atoms_.push_back({literal, 0});
      atoms_.push_back({cause, 0});
      return Assign(consequence, Reason::kAtoms, first, BeginReason());
    };
    if (!follows(LiteralOf(with_below, third, 0), LiteralOf(with_above, third, 0))) return false;
    if (!follows(LiteralOf(with_above, above, 0), LiteralOf(with_below, below, 0))) return false;
  }
  return true;
}

// The floor has risen: so do those above it, and items that no longer fit below it are above it.
bool ClauseSearch::PropagateFloor(Index node) {
  const Index item = ItemOf(node);
  const Index mirror = node & 1;
  for (const Side& side : sides_[static_cast<std::size_t>(item)]) {
    // Seen from this node, that puts the item below the other one.
    const Index literal = side.below ^ mirror;
    const Index other = 2 * side.other + mirror;
    ++ticks_;
    const std::int64_t distance = mirror == 0 ? side.apart : side.mirrored;
    if (IsTrue(literal)) {
      if (!RaiseFloor(other, Floor(node) + distance,
                      {Reason::kDistance, literal, node, Floor(node), distance})) {
        return false;
      }
      if (BelowRow(other)[item] != 0) MarkDirtyNode(other);
      continue;
    }
    if (IsAssigned(VariableOf(literal))) continue;
    const std::int64_t excess =
        Floor(node) + distance + At(side.other).size + Floor(Mirror(other)) - capacity_;
    if (excess <= 0) continue;
    const Index first = BeginReason();
    atoms_.push_back({~node, Floor(node) - excess + 1});
    atoms_.push_back({~Mirror(other), Floor(Mirror(other))});
    if (!Assign(Not(literal), Reason::kAtoms, first, BeginReason())) return false;
  }
  MarkDirty(item);
  return true;
}

// Edge finding: items that are all in a window [low, high) fill it up to some slack. Another one
// that starts in it and is larger than that ends above them all; one that ends in it starts below.
bool ClauseSearch::FindEdges(std::span<const Member> members) {
  window_.clear();
  for (const Member& member : members) {
    window_.push_back({member, Floor(2 * member.item), capacity_ - Floor(2 * member.item + 1)});
  }
  std::sort(window_.begin(), window_.end(), [](const Extent& a, const Extent& b) {
    return std::pair(-a.low, a.member.item) < std::pair(-b.low, b.member.item);
  });
  std::int64_t largest = 0;
  highs_.clear();
  for (const Extent& extent : window_) {
    highs_.push_back(extent.high);
    largest = std::max(largest, extent.member.adds);
  }
  std::sort(highs_.begin(), highs_.end());
  highs_.erase(std::unique(highs_.begin(), highs_.end()), highs_.end());
  ticks_ += static_cast<std::int64_t>(highs_.size() * window_.size());
  for (const std::int64_t high : highs_) {
    // Most windows are far from full: one pass without branches finds these.
    std::int64_t filled = 0;
    std::int64_t min_slack = largest;
    for (const Extent& extent : window_) {
      filled += extent.high <= high ? extent.member.adds : 0;
      min_slack = std::min(min_slack, high - extent.low - filled);
    }
    if (min_slack < largest && !FindEdgesBelow(high, largest)) return false;
  }
  return true;
}

// Those of the windows that end at `high`.
bool ClauseSearch::FindEdgesBelow(std::int64_t high, std::int64_t largest) {
  std::int64_t filled = 0;
  for (std::size_t k = 0; k < window_.size(); ++k) {
    if (window_[k].high > high) continue;
    filled += window_[k].member.adds;
    const std::int64_t low = window_[k].low;
    const std::int64_t slack = high - low - filled;
    if (slack >= largest) continue;
    if (slack < 0) {
      conflict_.clear();
      ExplainWindow({low, high}, {low + slack + 1, high}, conflict_);
      return false;
    }
    if (!FindEdgesBeside({low, high}, slack)) return false;
  }
  return true;
}

// The items of the window are in the wider one, which is sufficient for the conclusion.
void ClauseSearch::ExplainWindow(const Window& window, const Window& wider,
                                 std::vector<Atom>& atoms) const {
  for (const Extent& extent : window_) {
    if (extent.low < window.low || extent.high > window.high) continue;
    atoms.push_back({~(2 * extent.member.item), wider.low});
    atoms.push_back({~(2 * extent.member.item + 1), capacity_ - wider.high});
  }
}

bool ClauseSearch::FindEdgesBeside(const Window& window, std::int64_t slack) {
  ticks_ += static_cast<std::int64_t>(window_.size());
  for (const Extent& extent : window_) {
    if (extent.member.adds <= slack) continue;
    const bool starts_inside = extent.low >= window.low;
    const bool ends_inside = extent.high <= window.high;
    if (starts_inside == ends_inside) continue;
    if (!OrderBeside(window, slack, extent, starts_inside)) return false;
  }
  return true;
}

bool ClauseSearch::OrderBeside(const Window& window, std::int64_t slack, const Extent& outside,
                               bool above) {
  const Index first = BeginReason();
  for (const Extent& extent : window_) {
    if (extent.low < window.low || extent.high > window.high) continue;
    const Index variable = DisjointVariable(extent.member.item, outside.member.item);
    if (variable == kNone) continue;
    const Index literal = LiteralOf(variable, extent.member.item, above ? 0 : 1);
    ++ticks_;
    if (IsTrue(literal)) continue;
    if (first == BeginReason()) {
      const std::int64_t excess = outside.member.adds - slack - 1;
      const Window wider = {window.low - (above ? excess : 0), window.high + (above ? 0 : excess)};
      ExplainWindow(window, wider, atoms_);
      atoms_.push_back(above ? Atom{~(2 * outside.member.item), wider.low}
                             : Atom{~(2 * outside.member.item + 1), capacity_ - wider.high});
    }
    if (!Assign(literal, Reason::kAtoms, first, BeginReason())) return false;
  }
  return true;
}

// Items that are known to be below an item, and not below some floor, are stacked from there on.
bool ClauseSearch::StackBelow(Index node) {
  const Index item = ItemOf(node);
  const Index side = node & 1;
  const std::uint8_t* const is_below = BelowRow(node);
  stack_.clear();
  for (const Side& each : sides_[static_cast<std::size_t>(item)]) {
    if (is_below[each.other] != 0) stack_.push_back({each.other, Floor(2 * each.other + side)});
  }
  ticks_ += static_cast<std::int64_t>(sides_[static_cast<std::size_t>(item)].size());
  if (stack_.size() < 2) return true;
  std::sort(stack_.begin(), stack_.end(), [](const Stacked& a, const Stacked& b) {
    return std::pair(-a.floor, a.item) < std::pair(-b.floor, b.item);
  });
  std::int64_t best = Floor(node);
  std::size_t best_end = 0;
  std::size_t best_section = 0;
  for (std::size_t t = At(item).first_section; t < At(item).last_section; ++t) {
    std::int64_t filled = 0;
    for (std::size_t k = 0; k < stack_.size(); ++k) {
      const Item& below = At(stack_[k].item);
      if (t < below.first_section || t >= below.last_section) continue;
      filled += Adds(stack_[k].item, t);
      if (stack_[k].floor + filled <= best) continue;
      best = stack_[k].floor + filled;
      best_end = k + 1;
      best_section = t;
    }
    ticks_ += static_cast<std::int64_t>(stack_.size());
  }
  if (best_end == 0) return true;
  const Index first = BeginReason();
  for (std::size_t k = 0; k < best_end; ++k) {
    const Index other = stack_[k].item;
    if (best_section < At(other).first_section || best_section >= At(other).last_section) continue;
    atoms_.push_back({LiteralOf(DisjointVariable(other, item), other, side), 0});
    atoms_.push_back({~(2 * other + side), stack_[best_end - 1].floor});
  }
  return RaiseFloor(node, best, {Reason::kSum, first, BeginReason(), 0, 0});
}

}  // namespace neap::arena
