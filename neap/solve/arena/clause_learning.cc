// SPDX-License-Identifier: Apache-2.0
//
// Learning from a contradiction in a ClauseSearch.
#include <algorithm>
#include <tuple>
#include <utility>

#include "neap/solve/arena/clause_search.h"

namespace neap::arena {
namespace {

constexpr std::size_t kMaxClauses = 4000;
constexpr std::int64_t kMaxBump = std::int64_t{1} << 50;

}  // namespace

// Traces the contradiction back to literals, of which one belongs to the level that caused it, and
// goes back to where its negation follows. False when the contradiction needs no choice at all.
bool ClauseSearch::Learn() {
  DropQueues();
  while (true) {
    Index level = 0;
    lower_marks_.clear();
    num_open_ = 0;
    std::size_t top = 0;
    for (const Atom& atom : conflict_) {
      if (const Index entry = EntryOf(atom); entry != kNone) {
        level = std::max(level, trail_[static_cast<std::size_t>(entry)].level);
        top = std::max(top, static_cast<std::size_t>(entry) + 1);
      }
    }
    if (level == 0) return false;
    BackTo(level);
    for (const Atom& atom : conflict_) Mark(atom);
    std::vector<Index> literals(1, kNone);  // the first one is of this level
    for (std::size_t p = top; p-- > level_begins_[0];) {
      if (marked_[p] == 0) continue;
      const Entry& entry = trail_[p];
      const bool is_open = entry.level == level;
      if (entry.subject >= 0 && (!is_open || num_open_ == 1)) {
        if (is_open) {
          literals[0] = Not(entry.subject);
          --num_open_;
        } else {
          literals.push_back(Not(entry.subject));
        }
        Bump(VariableOf(entry.subject));
        continue;
      }
      if (entry.subject >= 0) Bump(VariableOf(entry.subject));
      if (is_open) --num_open_;
      MarkReason(p);
    }
    const auto redundant = [this](Index literal) { return literal != kNone && IsImplied(literal); };
    literals.erase(std::remove_if(literals.begin() + 1, literals.end(), redundant), literals.end());
    std::fill(marked_.begin(), marked_.end(), std::uint8_t{0});
    if (literals[0] != kNone) {
      AddClause(std::move(literals));
      break;
    }
    // It did not take this level.
    conflict_.clear();
    for (std::size_t k = 1; k < literals.size(); ++k) conflict_.push_back({Not(literals[k]), 0});
  }
  bump_ += bump_ / 16;
  clause_bump_ += clause_bump_ / 64;
  return true;
}

// The entry of the trail that made it hold; kNone where it held before all choices.
ClauseSearch::Index ClauseSearch::EntryOf(const Atom& atom) const {
  Index entry = kNone;
  if (atom.subject >= 0) {
    entry = literal_entries_[static_cast<std::size_t>(VariableOf(atom.subject))];
  } else {
    const Index raised = ~atom.subject;
    const auto node = static_cast<std::size_t>(raised);
    if (first_floors_[node] >= atom.value) return kNone;
    entry = floor_entries_[node];
    while (true) {
      const Index previous = trail_[static_cast<std::size_t>(entry)].previous;
      if (previous == kNone || trail_[static_cast<std::size_t>(previous)].value < atom.value) break;
      entry = previous;
    }
  }
  return trail_[static_cast<std::size_t>(entry)].level == 0 ? kNone : entry;
}

void ClauseSearch::Mark(const Atom& atom) {
  const Index entry = EntryOf(atom);
  if (entry == kNone) return;
  const auto p = static_cast<std::size_t>(entry);
  if (marked_[p] == 0) {
    marked_[p] = 1;
    needed_[p] = atom.value;
    if (trail_[p].level == Level()) ++num_open_;
  }
  needed_[p] = std::max(needed_[p], atom.value);
}

// The reasons of the entry, as far as they are needed.
void ClauseSearch::MarkReason(std::size_t position) {
  const Entry entry = trail_[position];
  const std::int64_t unneeded =
      entry.subject >= 0 ? 0 : entry.raw - LeastRaw(~entry.subject, needed_[position]);
  switch (entry.reason) {
    case Reason::kDecision:
      break;
    case Reason::kClause: {
      Clause& clause = clauses_[static_cast<std::size_t>(entry.first)];
      clause.activity += clause_bump_;
      for (const Index literal : clause.literals) {
        if (literal != entry.subject) Mark({Not(literal), 0});
      }
      break;
    }
    case Reason::kDistance:
      Mark({entry.first, 0});
      Mark({~entry.last, entry.cause - unneeded});
      break;
    case Reason::kAtoms:
    case Reason::kSum:
      for (Index k = entry.first; k < entry.last; ++k) {
        const Atom atom = atoms_[static_cast<std::size_t>(k)];
        Mark(atom.subject < 0 ? Atom{atom.subject, atom.value - unneeded} : atom);
      }
      break;
  }
}

// The literal of a clause, false, follows from others of it.
bool ClauseSearch::IsImplied(Index literal) const {
  const Entry& entry = trail_[static_cast<std::size_t>(
      literal_entries_[static_cast<std::size_t>(VariableOf(literal))])];
  if (entry.reason != Reason::kClause) return false;
  const auto& literals = clauses_[static_cast<std::size_t>(entry.first)].literals;
  return std::all_of(literals.begin(), literals.end(), [&](Index other) {
    const auto p =
        static_cast<std::size_t>(literal_entries_[static_cast<std::size_t>(VariableOf(other))]);
    return other == entry.subject || trail_[p].level == 0 || marked_[p] != 0;
  });
}

// The first literal follows, once all others are false.
void ClauseSearch::AddClause(std::vector<Index> literals) {
  const Index literal = literals[0];
  if (literals.size() == 1) {
    BackTo(0);
    units_.push_back(literal);
    Assign(literal, Reason::kDecision, 0, 0);
    return;
  }
  const auto level_of = [this](Index of) {
    return trail_[static_cast<std::size_t>(
                      literal_entries_[static_cast<std::size_t>(VariableOf(of))])]
        .level;
  };
  const auto second = std::max_element(literals.begin() + 1, literals.end(),
                                       [&](Index a, Index b) { return level_of(a) < level_of(b); });
  std::swap(literals[1], *second);
  BackTo(level_of(literals[1]));
  const auto clause = static_cast<Index>(clauses_.size());
  clauses_.push_back({std::move(literals), clause_bump_});
  Watch(clause);
  Assign(literal, Reason::kClause, clause, 0);
}

void ClauseSearch::Watch(Index clause) {
  const auto& literals = clauses_[static_cast<std::size_t>(clause)].literals;
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    watches_[static_cast<std::size_t>(literals[k])].push_back(clause);
  }
}

// Drops the less useful half, once there are many. Only without choices: reasons of facts at the
// root are never needed.
void ClauseSearch::ForgetClauses() {
  if (clauses_.size() < kMaxClauses) return;
  std::stable_sort(clauses_.begin(), clauses_.end(), [](const Clause& a, const Clause& b) {
    return std::tuple(a.literals.size() > 2, -a.activity) <
           std::tuple(b.literals.size() > 2, -b.activity);
  });
  clauses_.resize(kMaxClauses / 2);
  for (auto& row : watches_) row.clear();
  for (Index c = 0; c < static_cast<Index>(clauses_.size()); ++c) Watch(c);
}

void ClauseSearch::Bump(Index variable) {
  auto& activity = activities_[static_cast<std::size_t>(variable)];
  activity += bump_;
  if (activity > kMaxBump || bump_ > kMaxBump) {
    for (auto& each : activities_) each >>= 30;
    bump_ = std::max<std::int64_t>(bump_ >> 30, 1 << 10);
  }
  if (clause_bump_ > kMaxBump) {
    for (Clause& clause : clauses_) clause.activity >>= 30;
    clause_bump_ = std::max<std::int64_t>(clause_bump_ >> 30, 1 << 10);
  }
}

}  // namespace neap::arena
