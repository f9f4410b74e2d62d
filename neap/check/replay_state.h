// SPDX-License-Identifier: Apache-2.0
//
// States of the checker's search and the moves from them. Private to neap/check.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neap/check/bound_model.h"

namespace neap::check {

using Set = std::vector<std::uint64_t>;  // a bit for each operator
using Ops = std::vector<std::int32_t>;

inline bool Has(const Set& set, std::int32_t op) {
  return ((set[static_cast<std::size_t>(op) / 64] >> (static_cast<unsigned>(op) % 64U)) & 1U) != 0;
}
inline void Insert(Set* set, std::int32_t op) {
  (*set)[static_cast<std::size_t>(op) / 64] |= std::uint64_t{1}
                                               << (static_cast<unsigned>(op) % 64U);
}
inline void Erase(Set* set, std::int32_t op) {
  (*set)[static_cast<std::size_t>(op) / 64] &=
      ~(std::uint64_t{1} << (static_cast<unsigned>(op) % 64U));
}
inline Ops Members(const Set& set) {
  Ops members;
  for (std::size_t w = 0; w < set.size(); ++w) {
    for (std::uint64_t word = set[w]; word != 0; word &= word - 1) {
      members.push_back(static_cast<std::int32_t>(w * 64) + std::countr_zero(word));
    }
  }
  return members;
}

// A state of the search with what its neighbours need. Operators run and return one by one, in any
// sequence, each in time linear in its own edges and values.
class Progress {
 public:
  explicit Progress(const BoundModel& model) : model_(model) {}

  // `begin` has run; only operators of `end` become ready.
  void Start(const Set& begin, const Set& end) {
    const auto ops = static_cast<std::size_t>(model_.num_ops);
    end_ = end;
    done_.assign(end.size(), 0);
    ready_.assign(end.size(), 0);
    missing_.assign(ops, 0);
    left_.assign(model_.values.size(), 0);
    for (std::size_t t = 0; t < left_.size(); ++t) {
      left_[t] = static_cast<std::int32_t>(model_.values[t].users.size());
    }
    for (std::int32_t op = 0; op < model_.num_ops; ++op) {
      const std::size_t missing = model_.predecessors[static_cast<std::size_t>(op)].size();
      missing_[static_cast<std::size_t>(op)] = static_cast<std::int32_t>(missing);
      if (missing == 0 && Has(end, op)) Insert(&ready_, op);
    }
    for (std::int32_t op = 0; op < model_.num_ops; ++op) {
      if (Has(begin, op)) Run(op);
    }
  }

  void Run(std::int32_t op) {
    Insert(&done_, op);
    Erase(&ready_, op);
    for (const std::int32_t t : model_.values_of[static_cast<std::size_t>(op)]) --Left(t);
    for (const std::int32_t next : model_.successors[static_cast<std::size_t>(op)]) {
      const bool is_ready = --missing_[static_cast<std::size_t>(next)] == 0;
      if (is_ready && Has(end_, next) && !Has(done_, next)) Insert(&ready_, next);
    }
  }
  void Return(std::int32_t op) {
    Erase(&done_, op);
    if (missing(op) == 0) Insert(&ready_, op);
    for (const std::int32_t t : model_.values_of[static_cast<std::size_t>(op)]) ++Left(t);
    for (const std::int32_t next : model_.successors[static_cast<std::size_t>(op)]) {
      if (missing_[static_cast<std::size_t>(next)]++ == 0) Erase(&ready_, next);
    }
  }

  const Set& done() const { return done_; }
  const Set& ready() const { return ready_; }
  bool Ran(std::int32_t op) const { return Has(done_, op); }
  std::int32_t missing(std::int32_t op) const { return missing_[static_cast<std::size_t>(op)]; }
  // Users of value t that have not run.
  std::int32_t left(std::int32_t t) const { return left_[static_cast<std::size_t>(t)]; }
  // The next of these users is the first of all.
  bool Begins(std::int32_t t) const {
    const BoundModel::Value& value = model_.values[static_cast<std::size_t>(t)];
    return !value.at_start && static_cast<std::size_t>(left(t)) == value.users.size();
  }
  // After `count` more users nothing needs the value.
  bool EndsAfter(std::int32_t t, std::int32_t count) const {
    return !model_.values[static_cast<std::size_t>(t)].at_end && left(t) == count;
  }

 private:
  std::int32_t& Left(std::int32_t t) { return left_[static_cast<std::size_t>(t)]; }

  const BoundModel& model_;
  Set end_;
  Set done_;
  Set ready_;
  std::vector<std::int32_t> missing_;  // by operator: predecessors that have not run
  std::vector<std::int32_t> left_;
};

// Finds the minimal clusters of a state. The cluster C(t) of a value t that `freeable` marks: the
// users of t that have not run, with all their ancestors that have not run. An operator is quiet if
// it and its ancestors that have not run contain no cluster. Let w be an operator of a minimal
// cluster C that is not quiet. The cluster that it contains with its ancestors is part of C, so it
// is C, and w is the last operator of C. All others of C are quiet. So every minimal cluster is
// an operator with its ancestors, which are quiet, or the union of such sets of quiet operators.
class Clusters {
 public:
  explicit Clusters(const BoundModel& model)
      : model_(model),
        reached_(static_cast<std::size_t>(model.num_ops), 0),
        walked_(static_cast<std::size_t>(model.num_ops), 0),
        quiet_preds_(static_cast<std::size_t>(model.num_ops), {0, 0}),
        judged_(model.values.size(), 0) {}

  // Each cluster in increasing order of operators; smaller clusters first.
  std::vector<Ops> Find(const Progress& state, const Set& end, const std::vector<char>& freeable) {
    std::vector<Ops> clusters;
    Ops quiet;
    ++call_;
    Ops open = Members(state.ready());  // their ancestors are quiet
    for (std::size_t at = 0; at < open.size(); ++at) {
      const std::int32_t op = open[at];
      Ops cluster = Close(state, {op});
      const auto& values = model_.values_of[static_cast<std::size_t>(op)];
      const bool frees = std::any_of(values.begin(), values.end(), [&](std::int32_t t) {
        return freeable[static_cast<std::size_t>(t)] != 0 && UsersIn(state, t, walked_, walk_);
      });
      if (frees) {
        clusters.push_back(std::move(cluster));
        continue;
      }
      quiet.push_back(op);
      reached_[static_cast<std::size_t>(op)] = call_;
      for (const std::int32_t next : model_.successors[static_cast<std::size_t>(op)]) {
        const auto to = static_cast<std::size_t>(next);
        if (!Has(end, next)) continue;
        if (quiet_preds_[to].first != call_) quiet_preds_[to] = {call_, 0};
        if (++quiet_preds_[to].second == state.missing(next)) open.push_back(next);
      }
    }
    for (const std::int32_t op : quiet) {
      for (const std::int32_t t : model_.values_of[static_cast<std::size_t>(op)]) {
        if (freeable[static_cast<std::size_t>(t)] == 0) continue;
        if (std::exchange(judged_[static_cast<std::size_t>(t)], call_) == call_) continue;
        if (!UsersIn(state, t, reached_, call_)) continue;
        clusters.push_back(Close(state, model_.values[static_cast<std::size_t>(t)].users));
      }
    }
    return Minimal(std::move(clusters));
  }

 private:
  // Those of `ops` and of their ancestors that have not run; marks them in walked_.
  Ops Close(const Progress& state, const Ops& ops) {
    ++walk_;
    Ops closed;
    const auto add = [&](std::int32_t op) {
      if (state.Ran(op)) return;
      if (std::exchange(walked_[static_cast<std::size_t>(op)], walk_) != walk_)
        closed.push_back(op);
    };
    for (const std::int32_t op : ops) add(op);
    for (std::size_t at = 0; at < closed.size(); ++at) {
      for (const std::int32_t before : model_.predecessors[static_cast<std::size_t>(closed[at])]) {
        add(before);
      }
    }
    return closed;
  }

  bool UsersIn(const Progress& state, std::int32_t t, const std::vector<std::int64_t>& marks,
               std::int64_t mark) const {
    const auto& users = model_.values[static_cast<std::size_t>(t)].users;
    return state.left(t) > 0 && std::all_of(users.begin(), users.end(), [&](std::int32_t user) {
             return state.Ran(user) || marks[static_cast<std::size_t>(user)] == mark;
           });
  }

  static std::vector<Ops> Minimal(std::vector<Ops> clusters) {
    for (Ops& cluster : clusters) std::sort(cluster.begin(), cluster.end());
    std::sort(clusters.begin(), clusters.end(), [](const Ops& a, const Ops& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    std::vector<Ops> minimal;
    for (Ops& cluster : clusters) {
      const bool redundant = std::any_of(minimal.begin(), minimal.end(), [&](const Ops& kept) {
        return std::includes(cluster.begin(), cluster.end(), kept.begin(), kept.end());
      });
      if (!redundant) minimal.push_back(std::move(cluster));
    }
    return minimal;
  }

  const BoundModel& model_;
  std::int64_t call_ = 0;
  std::int64_t walk_ = 0;
  std::vector<std::int64_t> reached_;  // by operator: the last call in which it was quiet
  std::vector<std::int64_t> walked_;   // by operator: the last walk that met it
  std::vector<std::pair<std::int64_t, std::int32_t>> quiet_preds_;  // call, count
  std::vector<std::int64_t> judged_;  // by value: the last call that judged it
};

}  // namespace neap::check
