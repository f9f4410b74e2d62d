// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: can one part of a problem be placed within a capacity? A search that
// learns from its failures, for every kind of pair rule.
//
// The forbidden distances of a pair are a union of open intervals. Between two of the remaining
// closed ranges there is one Boolean variable: true is offset(b) >= offset(a) + x, false is
// offset(a) >= offset(b) + y. A pair that has to be disjoint has one variable: which of the two is
// below. Every item has a floor and, counted from the top of the arena downwards, a floor in the
// mirror image; both are `nodes`, so that every rule is written once and applies to both. Literals
// and floors imply each other (clause_propagation.cc), and each stores its reason. The reasons of a
// contradiction are traced back to literals alone (clause_learning.cc): the result is a clause that
// is valid in every placement within this capacity or a lower one. Floors that break no rule are a
// placement. Sources: Marques-Silva, Sakallah 1999 (learning); Ohrimenko, Stuckey, Codish 2009
// (explained bounds); Carlier, Pinson 1989 (edge finding). Strong where few buffers fill the
// capacity in few ways, and to prove that there is none; decision_search.h places far larger
// problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/decision_search.h"
#include "neap/solve/arena/pair_table.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

class ClauseSearch {
 public:
  static constexpr std::size_t kMaxBuffers = 512;

  // `table` is that of the problem. At most kMaxBuffers buffers. O(n^2) memory, and some thousand
  // learned clauses.
  ClauseSearch(const Problem& problem, const PairTable& table,
               std::span<const BufferIndex> buffers);

  // Decides whether every buffer can end at or below `capacity_bytes`. At most about `max_nodes`
  // choices and failures (more if they are expensive). A second call with the same capacity
  // continues the search; learned clauses are kept for lower capacities, too.
  Verdict Run(std::int64_t capacity_bytes, Random& random, std::int64_t max_nodes, Budget& budget);

  // The last capacity of Run; -1: none. Whether it is proven infeasible.
  std::int64_t capacity_bytes() const { return capacity_bytes_; }
  bool refuted() const { return refuted_; }
  // After kPlaced, in bytes.
  std::int64_t OffsetOf(std::size_t item) const { return floors_[2 * item]; }

 private:
  using Index = std::int32_t;
  static constexpr Index kNone = -1;

  struct Item {
    std::int64_t size = 0;  // rounded up to the common divisor of all offsets
    std::int64_t bytes = 0;
    std::int64_t alignment = 1;
    std::int64_t fixed = -1;
    std::size_t first_section = 0;
    std::size_t last_section = 0;
    std::size_t first_adds = 0;  // in adds_, one per section
  };
  // offset(b) >= offset(a) + when_true, or offset(a) >= offset(b) + when_false
  struct Variable {
    Index a = 0;
    Index b = 0;
    std::int64_t when_true = 0;
    std::int64_t when_false = 0;
  };
  // A variable as one of its items sees it.
  struct Side {
    Index other = 0;
    Index below = 0;            // the literal that puts the owner below `other`; its negation above
    std::int64_t apart = 0;     // offset(other) >= offset(owner) + apart, if below
    std::int64_t mirrored = 0;  // the same for the mirrored offsets, if above
  };
  // A fact at some time: a literal, or a floor that is at least a value.
  struct Atom {
    Index subject = 0;  // a literal, or ~node
    std::int64_t value = 0;
  };
  enum class Reason : std::uint8_t {
    kDecision,  // or known from the start
    kClause,    // first: the clause
    kAtoms,     // [first, last) of atoms_
    kDistance,  // first: the literal, last: the node of its other item
    kSum,       // as kAtoms; floors in it may be weakened
  };
  struct Entry {
    Index subject = 0;       // a literal, or ~node
    Index previous = kNone;  // of the same node
    Index level = 0;
    Reason reason = Reason::kDecision;
    Index first = 0;
    Index last = 0;
    std::int64_t raw = 0;    // of a floor, before it is rounded
    std::int64_t value = 0;  // of a floor
    std::int64_t cause = 0;  // kDistance: the other floor
  };
  // Why a floor rises.
  struct Cause {
    Reason reason = Reason::kDecision;
    Index first = 0;
    Index last = 0;
    std::int64_t floor = 0;  // kDistance: the other floor, and by how much this one is above it
    std::int64_t apart = 0;
  };
  struct Clause {
    std::vector<Index> literals;  // the first two are watched
    std::int64_t activity = 0;
  };
  struct Member {
    Index item = 0;
    std::int64_t adds = 0;  // bytes that it adds to those of the section before it
  };
  // Its possible range: starts at or above `low`, ends at or below `high`.
  struct Extent {
    Member member;
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  struct Stacked {
    Index item = 0;
    std::int64_t floor = 0;
  };
  struct Window {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };

  static Index Not(Index literal) { return literal ^ 1; }
  static Index VariableOf(Index literal) { return literal >> 1; }
  static Index Mirror(Index node) { return node ^ 1; }
  static Index ItemOf(Index node) { return node >> 1; }

  // Construction.
  void AddVariables(const PairTable& table, std::span<const BufferIndex> buffers, Index a, Index b);
  void AddVariable(Index a, Index b, std::int64_t when_true, std::int64_t when_false);
  void AddSections(const Problem& problem, const PairTable& table,
                   std::span<const BufferIndex> buffers);
  void OrderTwins(const Problem& problem, const PairTable& table,
                  std::span<const BufferIndex> buffers);

  // Search and learning.
  bool Start(std::int64_t capacity_bytes, Random& random);
  void SetBelow(Index literal, std::uint8_t holds);
  bool IsBroken(Index variable) const;
  Index ChooseLiteral() const;
  bool Learn();
  Index EntryOf(const Atom& atom) const;
  void Mark(const Atom& atom);
  void MarkReason(std::size_t position);
  bool IsImplied(Index literal) const;
  void AddClause(std::vector<Index> literals);
  void ForgetClauses();
  void Watch(Index clause);
  void Bump(Index variable);
  void BackTo(Index level);
  Index Level() const { return static_cast<Index>(level_begins_.size()); }

  // Propagation: false on a contradiction, which is in conflict_.
  bool Propagate();
  bool PropagateClauses(Index literal);
  bool PropagateLiteral(Index literal);
  bool PropagateOrder(Index below, Index above, Index literal);
  bool PropagateFloor(Index node);
  bool FindEdges(std::span<const Member> members);
  bool FindEdgesBelow(std::int64_t high, std::int64_t largest);
  bool FindEdgesBeside(const Window& window, std::int64_t slack);
  bool OrderBeside(const Window& window, std::int64_t slack, const Extent& outside, bool above);
  void ExplainWindow(const Window& window, const Window& wider, std::vector<Atom>& atoms) const;
  bool StackBelow(Index node);
  bool Assign(Index literal, Reason reason, Index first, Index last);
  bool RaiseFloor(Index node, std::int64_t raw, const Cause& cause);
  bool FindCycle(Index node, const Cause& cause);
  void Push(const Entry& entry);
  std::int64_t Rounded(Index node, std::int64_t raw) const;
  std::int64_t LeastRaw(Index node, std::int64_t value) const;
  void MarkDirty(Index item);
  void MarkDirtyNode(Index node);
  void DropQueues();
  Index BeginReason() const { return static_cast<Index>(atoms_.size()); }

  // The variable of two items that have to be disjoint; else kNone.
  Index DisjointVariable(Index a, Index b) const {
    return disjoint_[static_cast<std::size_t>(a) * items_.size() + static_cast<std::size_t>(b)];
  }
  // The literal that puts `below` below `above` in the arena (side 0) or its mirror image (1).
  Index LiteralOf(Index variable, Index below, Index side) const {
    const bool is_a = variables_[static_cast<std::size_t>(variable)].a == below;
    return 2 * variable + ((is_a ? 0 : 1) ^ side);
  }
  // By item: whether it is known to be below that of the node, and disjoint from it.
  const std::uint8_t* BelowRow(Index node) const {
    return is_below_.data() + static_cast<std::size_t>(node) * items_.size();
  }
  bool IsTrue(Index literal) const {
    return assigned_[static_cast<std::size_t>(VariableOf(literal))] == 1 + (literal & 1);
  }
  bool IsAssigned(Index variable) const {
    return assigned_[static_cast<std::size_t>(variable)] != 0;
  }
  std::int64_t Adds(Index item, std::size_t section) const {
    return adds_[At(item).first_adds + section - At(item).first_section];
  }
  std::int64_t Floor(Index node) const { return floors_[static_cast<std::size_t>(node)]; }
  const Item& At(Index item) const { return items_[static_cast<std::size_t>(item)]; }

  std::int64_t grid_ = 1;  // divides all offsets
  std::vector<Item> items_;
  std::vector<Variable> variables_;
  std::vector<std::vector<Side>> sides_;  // by item
  std::vector<Index> disjoint_;           // by two items
  std::vector<std::vector<Member>> sections_;
  std::vector<std::int64_t> adds_;  // by item and section
  std::vector<Index> known_;        // literals that are true for every capacity: the order of twins

  std::int64_t capacity_bytes_ = -1;
  bool refuted_ = false;
  std::int64_t num_restarts_ = 0;
  std::int64_t failures_left_ = 0;          // before the next restart
  std::int64_t capacity_ = 0;               // rounded up to the grid
  std::vector<std::int64_t> floors_;        // by node
  std::vector<std::int64_t> first_floors_;  // before anything followed
  std::vector<Index> floor_entries_;        // by node: its last entry of the trail
  std::vector<std::uint8_t> assigned_;      // by variable: 0 open, 1 true, 2 false
  std::vector<std::uint8_t> is_below_;      // by node and item, see BelowRow
  std::vector<Index> literal_entries_;      // by variable
  std::vector<std::uint8_t> phases_;        // by variable: as assigned_, the last one
  std::vector<Entry> trail_;
  std::vector<std::size_t> level_begins_;
  std::vector<std::size_t> level_atoms_;
  std::size_t head_ = 0;
  std::vector<Atom> atoms_;
  std::vector<Index> dirty_nodes_;
  std::vector<std::uint8_t> is_dirty_node_;
  std::vector<Index> dirty_sections_;
  std::vector<std::uint8_t> is_dirty_;

  std::vector<Clause> clauses_;
  std::vector<Index> units_;                 // learned clauses of one literal
  std::vector<std::vector<Index>> watches_;  // by literal: clauses to look at when it turns false
  std::vector<std::int64_t> activities_;     // by variable
  std::int64_t bump_ = 0;
  std::int64_t clause_bump_ = 1;

  std::vector<Atom> conflict_;
  std::vector<std::uint8_t> marked_;  // by entry
  std::vector<std::int64_t> needed_;  // by entry: the value of a floor that is needed
  std::size_t num_open_ = 0;          // marked at the level of the contradiction
  std::vector<std::size_t> lower_marks_;

  // Of the section at work.
  std::vector<Extent> window_;
  std::vector<Stacked> stack_;
  std::vector<std::int64_t> highs_;
  std::int64_t ticks_ = 0;
};

}  // namespace neap::arena
