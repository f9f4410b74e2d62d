// SPDX-License-Identifier: Apache-2.0
//
// The exhausted search, once more and plainer. Written from the definitions in
// docs/reference/memory-model.md and the theorems of docs/algorithms/order.md; no bounds, no beams,
// no commitment.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "neap/check/bound_check.h"
#include "neap/check/bound_model.h"

namespace neap::check {
namespace {

using Set = std::vector<std::uint64_t>;

bool Has(const Set& set, std::int32_t op) {
  return ((set[static_cast<std::size_t>(op) / 64] >> (static_cast<unsigned>(op) % 64U)) & 1U) != 0;
}
void Insert(Set* set, std::int32_t op) {
  (*set)[static_cast<std::size_t>(op) / 64] |= std::uint64_t{1}
                                               << (static_cast<unsigned>(op) % 64U);
}
bool Contains(const Set& set, const Set& part) {
  for (std::size_t w = 0; w < set.size(); ++w) {
    if ((part[w] & ~set[w]) != 0) return false;
  }
  return true;
}
struct HashSet {
  std::size_t operator()(const Set& set) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(set.data()), set.size() * sizeof(std::uint64_t)});
  }
};

class Search {
 public:
  // A backward search is a forward one with everything turned round.
  Search(BoundModel model, std::int32_t around, bool reversed)
      : model_(std::move(model)), reversed_(reversed) {
    if (reversed) {
      std::swap(model_.predecessors, model_.successors);
      for (auto& value : model_.values) std::swap(value.at_start, value.at_end);
      for (auto& pair : model_.in_place) std::swap(pair.first, pair.second);
    }
    words_ = (static_cast<std::size_t>(model_.num_ops) + 63) / 64;
    Close(&ancestors_, model_.predecessors);
    Close(&descendants_, model_.successors);
    seen_.assign(words_, 0);
    Enter(around);
  }

  // Goes on to a part of the problem that was not looked at yet. False: there is none.
  bool NextSegment() {
    for (std::int32_t op = 0; op < model_.num_ops; ++op) {
      if (!model_.Runs(op) || Has(seen_, op)) continue;
      Enter(op);
      return true;
    }
    return false;
  }

  ReplayVerdict Run(std::int64_t budget, std::int64_t max_states, std::int64_t* states) {
    budget_ = budget;
    struct Frame {
      Set done;
      std::int64_t live;
      std::vector<std::pair<Set, std::int64_t>> moves;  // operators to run, live bytes afterwards
      std::size_t next;
    };
    std::unordered_set<Set, HashSet> refuted;
    std::vector<Frame> stack;
    const auto enter = [&](Set done, std::int64_t live) {
      live = RunForced(&done, live);
      if (done == end_) return true;
      if (refuted.count(done) == 0) {
        auto moves = MovesFrom(done, live);
        stack.push_back({std::move(done), live, std::move(moves), 0});
      }
      return false;
    };
    const std::int64_t live = LiveAt(begin_);
    // Buffers live at either end are live while the operator beside it runs.
    if (begin_ != end_ && std::max(live, LiveAt(end_)) > budget) return ReplayVerdict::kProven;
    if (begin_ == end_) return ReplayVerdict::kRefuted;
    if (enter(begin_, live)) return ReplayVerdict::kRefuted;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.moves.size()) {
        refuted.insert(top.done);
        stack.pop_back();
        continue;
      }
      if (++*states > max_states) return ReplayVerdict::kGaveUp;
      auto& [ops, after] = top.moves[top.next++];
      Set done = top.done;
      for (std::size_t w = 0; w < words_; ++w) done[w] |= ops[w];
      if (enter(std::move(done), after)) return ReplayVerdict::kRefuted;
    }
    return ReplayVerdict::kProven;
  }

 private:
  void Enter(std::int32_t around) {
    FindSegment(around);
    for (std::size_t w = 0; w < words_; ++w) seen_[w] |= end_[w] & ~begin_[w];
    JudgeValues();
  }

  // Transitive closure, in topological order of `direct`.
  void Close(std::vector<Set>* closure,
             const std::vector<std::vector<std::int32_t>>& direct) const {
    const auto ops = static_cast<std::size_t>(model_.num_ops);
    closure->assign(ops, Set(words_, 0));
    std::vector<std::vector<std::int32_t>> back(ops);
    std::vector<std::size_t> missing(ops);
    std::vector<std::int32_t> ready;
    for (std::size_t op = 0; op < ops; ++op) {
      missing[op] = direct[op].size();
      for (const std::int32_t other : direct[op]) {
        back[static_cast<std::size_t>(other)].push_back(static_cast<std::int32_t>(op));
      }
      if (missing[op] == 0) ready.push_back(static_cast<std::int32_t>(op));
    }
    for (std::size_t at = 0; at < ready.size(); ++at) {
      const auto op = static_cast<std::size_t>(ready[at]);
      for (const std::int32_t other : direct[op]) {
        const Set& reach = (*closure)[static_cast<std::size_t>(other)];
        for (std::size_t w = 0; w < words_; ++w) (*closure)[op][w] |= reach[w];
        Insert(&(*closure)[op], other);
      }
      for (const std::int32_t next : back[op]) {
        if (--missing[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
      }
    }
  }

  static std::size_t Count(const Set& set) {
    std::size_t count = 0;
    for (std::uint64_t word : set) {
      for (; word != 0; word &= word - 1) ++count;
    }
    return count;
  }

  // From just after the last hourglass before `around` to just before the first one behind it; an
  // hourglass is comparable with every other operator, so every order passes these two states.
  void FindSegment(std::int32_t around) {
    begin_.assign(words_, 0);
    end_.assign(words_, 0);
    std::size_t ops = 0;
    for (std::int32_t op = 0; op < model_.num_ops; ++op) {
      if (!model_.Runs(op)) continue;
      Insert(&end_, op);
      ++ops;
    }
    std::size_t max_before = 0;
    std::size_t min_before = ops;
    for (std::int32_t op = 0; op < model_.num_ops; ++op) {
      if (!model_.Runs(op)) continue;
      const Set& before = ancestors_[static_cast<std::size_t>(op)];
      const std::size_t count = Count(before);
      if (count + Count(descendants_[static_cast<std::size_t>(op)]) + 1 != ops) continue;
      if (op == around) {
        begin_ = before;
        end_ = before;
        Insert(&end_, op);
        return;
      }
      if (Has(ancestors_[static_cast<std::size_t>(around)], op) && count + 1 > max_before) {
        max_before = count + 1;
        begin_ = before;
        Insert(&begin_, op);
      }
      if (Has(descendants_[static_cast<std::size_t>(around)], op) && count < min_before) {
        min_before = count;
        end_ = before;
      }
    }
  }

  void JudgeValues() {
    users_.clear();
    freeable_.clear();
    next_freed_holds_ = true;
    for (std::size_t t = 0; t < model_.values.size(); ++t) {
      const BoundModel::Value& value = model_.values[t];
      Set users(words_, 0);
      for (const std::int32_t op : value.users) Insert(&users, op);
      // The users with everything that they wait for.
      Set needed = users;
      for (const std::int32_t op : value.users) {
        const Set& before = ancestors_[static_cast<std::size_t>(op)];
        for (std::size_t w = 0; w < words_; ++w) needed[w] |= before[w];
      }
      const bool one_first =
          value.at_start || value.users.empty() ||
          std::any_of(value.users.begin(), value.users.end(), [&](std::int32_t op) {
            Set rest = users;
            rest[static_cast<std::size_t>(op) / 64] &=
                ~(std::uint64_t{1} << (static_cast<unsigned>(op) % 64U));
            return Contains(descendants_[static_cast<std::size_t>(op)], rest);
          });
      if (!one_first && value.bytes > 0) next_freed_holds_ = false;
      const bool freeable =
          !value.at_end && !value.users.empty() && value.bytes > 0 && Contains(end_, users);
      if (freeable) freeable_.emplace_back(static_cast<std::int32_t>(t), std::move(needed));
      users_.push_back(std::move(users));
    }
    for (const std::int64_t bytes : model_.scratch) {
      if (bytes > 0) next_freed_holds_ = false;
    }
    for (const auto& pair : model_.in_place) {
      if (pair.first >= 0) next_freed_holds_ = false;
    }
    if (!model_.savings.empty()) next_freed_holds_ = false;
  }

  bool Touched(std::size_t t, const Set& done) const {
    if (model_.values[t].at_start) return true;
    return std::any_of(model_.values[t].users.begin(), model_.values[t].users.end(),
                       [&](std::int32_t op) { return Has(done, op); });
  }
  bool Finished(std::size_t t, const Set& done) const {
    return !model_.values[t].at_end && Contains(done, users_[t]);
  }

  std::int64_t LiveAt(const Set& done) const {
    std::int64_t live = 0;
    for (std::size_t t = 0; t < model_.values.size(); ++t) {
      const BoundModel::Value& value = model_.values[t];
      if (value.users.empty() && !(value.at_start && value.at_end)) continue;
      if (Touched(t, done) && !Finished(t, done)) live += value.bytes;
    }
    return live;
  }

  bool IsReady(const Set& done, std::int32_t op) const {
    return !Has(done, op) && Has(end_, op) &&
           Contains(done, ancestors_[static_cast<std::size_t>(op)]);
  }

  // (live bytes while `op` runs, live bytes afterwards)
  std::pair<std::int64_t, std::int64_t> Effect(const Set& done, std::int64_t live,
                                               std::int32_t op) const {
    Set after = done;
    Insert(&after, op);
    std::int64_t adds = 0;
    std::int64_t frees = 0;
    const auto [input, output] = model_.in_place[static_cast<std::size_t>(op)];
    bool input_ends = false;
    bool output_begins = false;
    for (const std::int32_t id : model_.values_of[static_cast<std::size_t>(op)]) {
      const auto t = static_cast<std::size_t>(id);
      const bool begins = !Touched(t, done);
      const bool ends = Finished(t, after);
      if (begins) adds += model_.values[t].bytes;
      if (ends) frees += model_.values[t].bytes;
      if (id == input) input_ends = ends;
      if (id == output) output_begins = begins;
    }
    std::int64_t hill = live + adds + model_.scratch[static_cast<std::size_t>(op)];
    if (input_ends && output_begins) hill -= model_.values[static_cast<std::size_t>(output)].bytes;
    if (!model_.savings.empty()) hill -= Saved(op, done, after);
    return {hill, live + adds - frees};
  }

  // An input that is freed where `op` runs begins there when time is reversed.
  std::int64_t Saved(std::int32_t op, const Set& done, const Set& after) const {
    const BoundModel::Savings& savings = model_.savings[static_cast<std::size_t>(op)];
    std::int64_t saved = 0;
    for (const auto& [value, bytes] : savings.inputs) {
      const auto t = static_cast<std::size_t>(value);
      const auto& users = model_.values[t].users;
      if (std::find(users.begin(), users.end(), op) == users.end()) continue;
      if (reversed_ ? !Touched(t, done) : Finished(t, after)) saved += bytes;
    }
    return std::min(saved, savings.most);
  }

  std::int64_t RunForced(Set* done, std::int64_t live) const {
    for (bool again = true; again;) {
      again = false;
      for (std::int32_t op = 0; op < model_.num_ops; ++op) {
        if (!IsReady(*done, op)) continue;
        const auto [hill, after] = Effect(*done, live, op);
        if (hill > budget_ || after > live) continue;
        Insert(done, op);
        live = after;
        again = true;
      }
    }
    return live;
  }

  // Least live bytes first: states that come back to little memory are met, and refuted, early.
  std::vector<std::pair<Set, std::int64_t>> MovesFrom(const Set& done, std::int64_t live) const {
    std::vector<std::pair<Set, std::int64_t>> moves;
    if (next_freed_holds_) {
      NextFreedMoves(done, live, &moves);
    } else {
      for (std::int32_t op = 0; op < model_.num_ops; ++op) {
        if (!IsReady(done, op)) continue;
        const auto [hill, after] = Effect(done, live, op);
        if (hill > budget_) continue;
        moves.emplace_back(Set(words_, 0), after);
        Insert(&moves.back().first, op);
      }
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    return moves;
  }

  void NextFreedMoves(const Set& done, std::int64_t live,
                      std::vector<std::pair<Set, std::int64_t>>* moves) const {
    std::vector<Set> clusters;
    for (const auto& [t, needed] : freeable_) {
      if (Contains(done, users_[static_cast<std::size_t>(t)])) continue;
      Set cluster = needed;
      for (std::size_t w = 0; w < words_; ++w) cluster[w] &= ~done[w];
      clusters.push_back(std::move(cluster));
    }
    if (clusters.empty()) {
      Set rest = end_;
      for (std::size_t w = 0; w < words_; ++w) rest[w] &= ~done[w];
      clusters.push_back(std::move(rest));
    }
    std::sort(clusters.begin(), clusters.end(), [](const Set& a, const Set& b) {
      const std::size_t count_a = Count(a);
      const std::size_t count_b = Count(b);
      return count_a != count_b ? count_a < count_b : a < b;
    });
    std::vector<const Set*> minimal;
    for (const Set& cluster : clusters) {
      const bool redundant = std::any_of(minimal.begin(), minimal.end(),
                                         [&](const Set* kept) { return Contains(cluster, *kept); });
      if (redundant) continue;
      minimal.push_back(&cluster);
      std::int64_t adds = 0;
      Set after = done;
      for (std::int32_t op = 0; op < model_.num_ops; ++op) {
        if (Has(cluster, op)) Insert(&after, op);
      }
      std::int64_t frees = 0;
      for (std::int32_t op = 0; op < model_.num_ops; ++op) {
        if (!Has(cluster, op)) continue;
        for (const std::int32_t id : model_.values_of[static_cast<std::size_t>(op)]) {
          const auto t = static_cast<std::size_t>(id);
          // Counted at the first of its users, which is the one that writes it.
          if (!Touched(t, done) && IsFirstUser(t, op)) adds += model_.values[t].bytes;
          if (Finished(t, after) && IsLastIn(t, op, cluster)) frees += model_.values[t].bytes;
        }
      }
      if (live + adds <= budget_) moves->emplace_back(cluster, live + adds - frees);
    }
  }
  bool IsFirstUser(std::size_t t, std::int32_t op) const {
    for (const std::int32_t user : model_.values[t].users) {
      if (user != op && Has(ancestors_[static_cast<std::size_t>(op)], user)) return false;
    }
    return true;
  }
  // `op` is the user of t in the cluster with the largest index: one of them represents all.
  bool IsLastIn(std::size_t t, std::int32_t op, const Set& cluster) const {
    for (const std::int32_t user : model_.values[t].users) {
      if (user > op && Has(cluster, user)) return false;
    }
    return true;
  }

  BoundModel model_;
  bool reversed_;
  std::size_t words_ = 0;
  std::int64_t budget_ = 0;
  bool next_freed_holds_ = true;
  Set begin_;
  Set end_;
  Set seen_;  // operators of the segments entered so far
  std::vector<Set> ancestors_;
  std::vector<Set> descendants_;
  std::vector<Set> users_;
  std::vector<std::pair<std::int32_t, Set>> freeable_;
};

}  // namespace

ReplayVerdict ReplaySearch(const BoundModel& model, const plan::Certificate& certificate,
                           std::int64_t bound_bytes, std::int64_t max_states,
                           std::int64_t* states) {
  *states = 0;
  if (certificate.kind != plan::CertificateKind::kSearch) return ReplayVerdict::kNotASearch;
  constexpr std::int32_t kMaxOps = 20'000;  // the closures take ops^2 / 4 bytes
  const graph::OpId op = certificate.op;
  if (!op.valid() || op.value() >= model.num_ops || !model.Runs(op.value())) {
    return ReplayVerdict::kOutOfReach;
  }
  if (model.num_ops > kMaxOps) return ReplayVerdict::kOutOfReach;
  Search search(model, op.value(), certificate.reversed);
  ReplayVerdict verdict = search.Run(bound_bytes - 1, max_states, states);
  // Every order passes the ends of each segment: one that cannot stay below the bound is enough,
  // and only if all can there is an order below it.
  while (verdict == ReplayVerdict::kRefuted && search.NextSegment()) {
    verdict = search.Run(bound_bytes - 1, max_states, states);
  }
  return verdict == ReplayVerdict::kRefuted && model.any_bodies ? ReplayVerdict::kOutOfReach
                                                                : verdict;
}

}  // namespace neap::check
