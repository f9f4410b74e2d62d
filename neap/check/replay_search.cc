// SPDX-License-Identifier: Apache-2.0
//
// The exhausted search, once more and plainer. Written from the definitions in
// docs/reference/memory-model.md and the theorems of docs/algorithms/order.md: forced operators,
// next freed buffers, commitment, refuted states. No bounds, no beams, no fusion.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "neap/check/bound_check.h"
#include "neap/check/bound_model.h"
#include "neap/check/min_cut.h"
#include "neap/check/replay_state.h"

namespace neap::check {
namespace {

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
      : model_(std::move(model)), reversed_(reversed), state_(model_), clusters_(model_) {
    if (reversed) {
      std::swap(model_.predecessors, model_.successors);
      for (auto& value : model_.values) std::swap(value.at_start, value.at_end);
      for (auto& pair : model_.in_place) std::swap(pair.first, pair.second);
    }
    words_ = (static_cast<std::size_t>(model_.num_ops) + 63) / 64;
    Close(&ancestors_, model_.predecessors);
    Close(&descendants_, model_.successors);
    seen_.assign(words_, 0);
    counted_.assign(model_.values.size(), {0, 0});
    node_.assign(static_cast<std::size_t>(model_.num_ops), 0);
    Enter(around);
  }
  // The parts refer to model_.
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

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
    refuted_.clear();
    stack_.clear();
    const std::int64_t live = LiveAt(begin_);
    // Buffers live at either end are live while the operator beside it runs.
    if (begin_ != end_ && std::max(live, LiveAt(end_)) > budget) return ReplayVerdict::kProven;
    if (begin_ == end_) return ReplayVerdict::kRefuted;
    state_.Start(begin_, end_);
    if (Enter({}, live)) return ReplayVerdict::kRefuted;
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next == top.moves.size()) {
        refuted_.insert(state_.done());
        Return(top.ran);
        stack_.pop_back();
        continue;
      }
      if (++*states > max_states) return ReplayVerdict::kGaveUp;
      Move& move = top.moves[top.next++];
      if (Enter(std::move(move.ops), move.live)) return ReplayVerdict::kRefuted;
    }
    return ReplayVerdict::kProven;
  }

 private:
  struct Move {
    Ops ops;
    std::int64_t live;  // afterwards
  };
  struct Frame {
    Ops ran;  // by the move that led here, with the forced operators
    std::int64_t live;
    std::vector<Move> moves;
    std::size_t next;
  };

  // Makes a move. True: the end is reached.
  bool Enter(Ops ops, std::int64_t live) {
    for (const std::int32_t op : ops) state_.Run(op);
    live = RunForced(&ops, live);
    Commit(&ops, &live);
    if (state_.done() == end_) return true;
    if (refuted_.count(state_.done()) != 0) {
      Return(ops);
      return false;
    }
    std::vector<Move> moves = MovesFrom(live);
    // Least live bytes first: states that come back to little memory are met, and refuted, early.
    std::stable_sort(moves.begin(), moves.end(),
                     [](const Move& a, const Move& b) { return a.live < b.live; });
    stack_.push_back({std::move(ops), live, std::move(moves), 0});
    return false;
  }

  // Where the state is no higher than one on the stack, the cheapest set between the two takes the
  // place of both (commit theorem). `ops` ran after the top of the stack.
  void Commit(Ops* ops, std::int64_t* live) {
    while (!stack_.empty() && stack_.back().live >= *live) {
      std::size_t at = stack_.size() - 1;
      while (at > 0 && stack_[at - 1].live >= *live) --at;
      Ops between = std::move(*ops);
      for (std::size_t above = at + 1; above < stack_.size(); ++above) {
        between.insert(between.end(), stack_[above].ran.begin(), stack_[above].ran.end());
      }
      *live = ReturnToCheapest(&between, stack_[at].live);
      *ops = std::move(stack_[at].ran);
      ops->insert(ops->end(), between.begin(), between.end());
      stack_.resize(at);
      *live = RunForced(ops, *live);
    }
  }

  // Returns those of `between`, which have run, that are not in the largest of the cheapest sets up
  // to here. `live` bytes were live before them; the result is live afterwards. A minimum cut, in
  // which the sink's side has run: a value costs its bytes if it is touched and not finished.
  std::int64_t ReturnToCheapest(Ops* between, std::int64_t live) {
    Return(*between);
    std::int64_t work = 0;
    MinCut cut(&work);
    ++count_call_;
    std::vector<std::int32_t> values;
    for (const std::int32_t op : *between) {
      node_[static_cast<std::size_t>(op)] = cut.AddNode();
      for (const std::int32_t t : model_.values_of[static_cast<std::size_t>(op)]) {
        auto& [call, users] = counted_[static_cast<std::size_t>(t)];
        if (std::exchange(call, count_call_) != count_call_) {
          values.push_back(t);
          users = 0;
        }
        ++users;
      }
    }
    for (const std::int32_t op : *between) {
      for (const std::int32_t before : model_.predecessors[static_cast<std::size_t>(op)]) {
        if (!state_.Ran(before)) cut.AddEdge(Node(before), Node(op), MinCut::kWide);
      }
    }
    for (const std::int32_t t : values) AddCost(t, &cut);
    cut.Flow();
    Ops cheapest;
    for (const std::int32_t op : *between) {
      if (!cut.OnSourceSide(Node(op))) cheapest.push_back(op);
    }
    for (const std::int32_t op : *between) node_[static_cast<std::size_t>(op)] = 0;
    *between = std::move(cheapest);
    for (const std::int32_t op : *between) {
      for (const std::int32_t t : model_.values_of[static_cast<std::size_t>(op)]) {
        if (state_.Begins(t)) live += model_.values[static_cast<std::size_t>(t)].bytes;
        if (state_.EndsAfter(t, 1)) live -= model_.values[static_cast<std::size_t>(t)].bytes;
      }
      state_.Run(op);
    }
    return live;
  }
  std::size_t Node(std::int32_t op) const { return node_[static_cast<std::size_t>(op)]; }

  void AddCost(std::int32_t t, MinCut* cut) const {
    const BoundModel::Value& value = model_.values[static_cast<std::size_t>(t)];
    const bool ends = state_.EndsAfter(t, counted_[static_cast<std::size_t>(t)].second);
    const bool begins = state_.Begins(t);
    if (value.bytes == 0 || (!ends && !begins)) return;
    const std::size_t unfinished = ends ? cut->AddNode() : MinCut::kSource;
    const std::size_t untouched = begins ? cut->AddNode() : MinCut::kSink;
    cut->AddEdge(unfinished, untouched, value.bytes);
    for (const std::int32_t user : value.users) {
      // Users that may run now are between the two states; the others run later.
      if (state_.Ran(user) || Node(user) == 0) continue;
      if (ends) cut->AddEdge(Node(user), unfinished, MinCut::kWide);
      if (begins) cut->AddEdge(untouched, Node(user), MinCut::kWide);
    }
  }

  void Return(const Ops& ran) {
    for (const std::int32_t op : ran) state_.Return(op);
  }

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
    for (const std::uint64_t word : set) count += static_cast<std::size_t>(std::popcount(word));
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
    freeable_.assign(model_.values.size(), 0);
    next_freed_holds_ = true;
    for (std::size_t t = 0; t < model_.values.size(); ++t) {
      const BoundModel::Value& value = model_.values[t];
      const auto first = [&](std::int32_t op) {
        const Set& after = descendants_[static_cast<std::size_t>(op)];
        return std::all_of(value.users.begin(), value.users.end(),
                           [&](std::int32_t user) { return user == op || Has(after, user); });
      };
      const bool one_first = value.at_start || value.users.empty() ||
                             std::any_of(value.users.begin(), value.users.end(), first);
      if (!one_first && value.bytes > 0) next_freed_holds_ = false;
      const bool ends_here = std::all_of(value.users.begin(), value.users.end(),
                                         [&](std::int32_t user) { return Has(end_, user); });
      const bool freed = !value.at_end && !value.users.empty() && value.bytes > 0;
      freeable_[t] = freed && ends_here ? 1 : 0;
    }
    for (const std::int64_t bytes : model_.scratch) {
      if (bytes > 0) next_freed_holds_ = false;
    }
    for (const auto& pair : model_.in_place) {
      if (pair.first >= 0) next_freed_holds_ = false;
    }
    if (!model_.savings.empty()) next_freed_holds_ = false;
  }

  std::int64_t LiveAt(const Set& done) const {
    std::int64_t live = 0;
    for (const BoundModel::Value& value : model_.values) {
      if (value.users.empty() && !(value.at_start && value.at_end)) continue;
      const auto ran = std::count_if(value.users.begin(), value.users.end(),
                                     [&](std::int32_t op) { return Has(done, op); });
      const bool finished = !value.at_end && static_cast<std::size_t>(ran) == value.users.size();
      if ((value.at_start || ran > 0) && !finished) live += value.bytes;
    }
    return live;
  }

  // (live bytes while `op` runs, live bytes afterwards)
  std::pair<std::int64_t, std::int64_t> Effect(std::int64_t live, std::int32_t op) const {
    std::int64_t adds = 0;
    std::int64_t frees = 0;
    const auto [input, output] = model_.in_place[static_cast<std::size_t>(op)];
    bool input_ends = false;
    bool output_begins = false;
    for (const std::int32_t t : model_.values_of[static_cast<std::size_t>(op)]) {
      const bool begins = state_.Begins(t);
      const bool ends = state_.EndsAfter(t, 1);
      if (begins) adds += model_.values[static_cast<std::size_t>(t)].bytes;
      if (ends) frees += model_.values[static_cast<std::size_t>(t)].bytes;
      if (t == input) input_ends = ends;
      if (t == output) output_begins = begins;
    }
    std::int64_t hill = live + adds + model_.scratch[static_cast<std::size_t>(op)];
    if (input_ends && output_begins) hill -= model_.values[static_cast<std::size_t>(output)].bytes;
    if (!model_.savings.empty()) hill -= Saved(op);
    return {hill, live + adds - frees};
  }

  // An input that is freed where `op` runs begins there when time is reversed.
  std::int64_t Saved(std::int32_t op) const {
    const BoundModel::Savings& savings = model_.savings[static_cast<std::size_t>(op)];
    std::int64_t saved = 0;
    for (const auto& [value, bytes] : savings.inputs) {
      const auto& users = model_.values[static_cast<std::size_t>(value)].users;
      if (std::find(users.begin(), users.end(), op) == users.end()) continue;
      if (reversed_ ? state_.Begins(value) : state_.EndsAfter(value, 1)) saved += bytes;
    }
    return std::min(saved, savings.most);
  }

  // Appends the forced operators to `ran`; returns the live bytes afterwards.
  std::int64_t RunForced(Ops* ran, std::int64_t live) {
    for (bool again = true; again;) {
      again = false;
      for (const std::int32_t op : Members(state_.ready())) {
        const auto [hill, after] = Effect(live, op);
        if (hill > budget_ || after > live) continue;
        state_.Run(op);
        ran->push_back(op);
        live = after;
        again = true;
      }
    }
    return live;
  }

  std::vector<Move> MovesFrom(std::int64_t live) {
    if (next_freed_holds_) return NextFreedMoves(live);
    std::vector<Move> moves;
    for (const std::int32_t op : Members(state_.ready())) {
      const auto [hill, after] = Effect(live, op);
      if (hill <= budget_) moves.push_back({{op}, after});
    }
    return moves;
  }

  std::vector<Move> NextFreedMoves(std::int64_t live) {
    std::vector<Move> moves;
    std::vector<Ops> clusters = clusters_.Find(state_, end_, freeable_);
    if (clusters.empty()) {
      Set rest = end_;
      for (std::size_t w = 0; w < words_; ++w) rest[w] &= ~state_.done()[w];
      clusters.push_back(Members(rest));
    }
    for (Ops& cluster : clusters) {
      std::int64_t adds = 0;
      std::int64_t frees = 0;
      ++count_call_;
      for (const std::int32_t op : cluster) {
        for (const std::int32_t t : model_.values_of[static_cast<std::size_t>(op)]) {
          const auto at = static_cast<std::size_t>(t);
          if (counted_[at].first != count_call_) {
            counted_[at] = {count_call_, 0};
            if (state_.Begins(t)) adds += model_.values[at].bytes;
          }
          if (state_.EndsAfter(t, ++counted_[at].second)) frees += model_.values[at].bytes;
        }
      }
      if (live + adds > budget_) continue;
      moves.push_back({std::move(cluster), live + adds - frees});
    }
    return moves;
  }

  BoundModel model_;
  bool reversed_;
  Progress state_;
  Clusters clusters_;
  std::size_t words_ = 0;
  std::int64_t budget_ = 0;
  bool next_freed_holds_ = true;
  Set begin_;
  Set end_;
  Set seen_;  // operators of the segments entered so far
  std::vector<Set> ancestors_;
  std::vector<Set> descendants_;
  std::vector<char> freeable_;  // by value: this segment frees it
  std::vector<Frame> stack_;    // live bytes increase
  std::unordered_set<Set, HashSet> refuted_;
  std::vector<std::size_t> node_;  // by operator, in a cut; 0: in none
  std::int64_t count_call_ = 0;
  std::vector<std::pair<std::int64_t, std::int32_t>> counted_;  // by value: call, users
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
