// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/best_first.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "neap/base/check.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/fingerprint_table.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {
namespace {

using StateIndex = FingerprintTable::StateIndex;

class Search {
 public:
  Search(const Problem& problem, Stopper* stopper, const BestFirstOptions& options)
      : options_(options),
        stopper_(stopper),
        instance_(problem, 1, false),
        cuts_(instance_),
        words_(instance_.words()),
        table_(words_, options.fingerprint_bits),
        executed_(words_),
        ready_(words_),
        needed_(words_),
        inside_(words_),
        waypoint_(words_),
        tried_(instance_.buffers().size(), 0) {
    for (std::size_t index = 0; index < instance_.buffers().size(); ++index) {
      if (instance_.buffers()[index].at_start) {
        inputs_.push_back(static_cast<BufferIndex>(index));
      }
    }
  }

  // The order, or an empty one when a limit ended the search.
  std::vector<OpIndex> Run() {
    for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
      if (instance_.Predecessors(op).empty()) SetBit(ready_.data(), op);
    }
    Enter(table_.Insert(ready_.data(), needed_.data()),
          {instance_.start_live(), instance_.start_live(), 0, 0, 0, 0, false});
    while (!queue_.empty()) {
      const auto [peak, remaining, live, state] = queue_.top();
      queue_.pop();
      if (records_[state].closed || records_[state].peak != peak)
        continue;  // a better way was found
      records_[state].closed = true;
      floor_ = peak;
      if (remaining == 0) return Backtrack(state);
      if (stopper_->Count() || full_) return {};
      Expand(state);
    }
    return {};
  }

  // No order of the searched graph has a smaller peak.
  std::int64_t floor() const { return floor_; }
  std::int64_t transitions() const { return transitions_; }

 private:
  struct Record {
    std::int64_t live;
    std::int64_t peak;  // maximum live bytes on the best way here
    std::uint64_t parent_fingerprint;
    std::size_t tail_begin;  // the operators since the parent are tails_[tail_begin, + tail_size)
    OpIndex tail_size;
    OpIndex executed;
    bool closed;
  };
  // Peak, operators to go, live bytes, state: the least comes first.
  using Entry = std::tuple<std::int64_t, OpIndex, std::int64_t, StateIndex>;

  // A new state, or a better way to one that is known.
  void Enter(StateIndex state, const Record& record) {
    if (state < records_.size()) {
      if (record.peak >= records_[state].peak) return;
      records_[state] = record;
    } else {
      records_.push_back(record);
    }
    queue_.emplace(record.peak, instance_.num_ops() - record.executed, record.live, state);
    const std::int64_t bytes = static_cast<std::int64_t>(records_.size()) *
                                   (FingerprintTable::BytesPerState(words_) +
                                    2 * static_cast<std::int64_t>(sizeof(Record))) +
                               static_cast<std::int64_t>(2 * queue_.size() * sizeof(Entry)) +
                               static_cast<std::int64_t>(2 * tails_.size() * sizeof(OpIndex));
    full_ = bytes > stopper_->limits().max_memory_bytes / 2 ||
            records_.size() >= FingerprintTable::kNone / 2;
  }

  void Expand(StateIndex state) {
    const Record from = records_[state];
    LoadExecuted(state);
    candidates_.clear();
    ForEachBit(table_.Ready(state), words_, [&](OpIndex op) {
      candidates_.emplace_back(op, instance_.EffectOf(executed_.data(), from.live, op));
    });
    if (TakeForcedOperator(state, from) || TakeForcedSet(state, from)) return;
    for (const auto& [op, effect] : candidates_) {
      path_ = {op};
      Take(state, effect.live, std::max(from.peak, effect.hill));
    }
  }

  // A single forced transition: the first one, in the order of the operators.
  bool TakeForcedOperator(StateIndex state, const Record& from) {
    if (options_.forced == Forced::kNone) return false;
    const bool relaxed = options_.forced == Forced::kRelaxed;
    const std::int64_t max_hill = from.peak + (relaxed ? options_.peak_slack : 0);
    const std::int64_t max_live = from.live + (relaxed ? options_.live_slack : 0);
    for (const auto& [op, effect] : candidates_) {
      if (effect.hill > max_hill || effect.live > max_live) continue;
      path_ = {op};
      Take(state, effect.live, std::max(from.peak, effect.hill));
      return true;
    }
    return false;
  }

  // A forced transition set: all that waits for one pending output, when all of it is executable.
  bool TakeForcedSet(StateIndex state, const Record& from) {
    if (options_.forced != Forced::kSets && options_.forced != Forced::kProven) return false;
    std::fill(tried_.begin(), tried_.end(), 0);
    bool taken = false;
    const auto consider = [&](BufferIndex index) {
      if (taken || tried_[static_cast<std::size_t>(index)] != 0) return;
      tried_[static_cast<std::size_t>(index)] = 1;
      taken = TakeUsersOf(index, state, from);
    };
    for (const BufferIndex index : inputs_) consider(index);
    const std::vector<Word> needed(table_.Needed(state), table_.Needed(state) + words_);
    ForEachBit(needed.data(), words_, [&](OpIndex op) {
      for (const BufferIndex index : instance_.BuffersOf(op)) consider(index);
    });
    return taken;
  }

  bool TakeUsersOf(BufferIndex index, StateIndex state, const Record& from) {
    const auto& buffer = instance_.buffers()[static_cast<std::size_t>(index)];
    waiting_.clear();
    for (const OpIndex user : buffer.users) {
      if (TestBit(executed_.data(), user)) continue;
      if (!TestBit(table_.Ready(state), user)) return false;
      waiting_.push_back(user);
    }
    if (waiting_.size() < 2) return false;
    std::int64_t live = from.live;
    if (!RunWithin(from.peak, &live) || live > from.live) return false;
    if (options_.forced == Forced::kSets) {
      Take(state, live, from.peak);
      return true;
    }
    return TakeWaypoint(state, from);
  }

  // Puts the operators in waiting_, all of them executable, into path_, always the one that leaves
  // the fewest bytes live among those that fit. False: none fits. inside_ receives what has run.
  bool RunWithin(std::int64_t max_hill, std::int64_t* live) {
    path_.clear();
    inside_ = executed_;
    while (!waiting_.empty()) {
      std::size_t best = waiting_.size();
      std::int64_t best_live = 0;
      for (std::size_t at = 0; at < waiting_.size(); ++at) {
        const Effect effect = instance_.EffectOf(inside_.data(), *live, waiting_[at]);
        ++transitions_;
        if (effect.hill > max_hill) continue;
        if (best < waiting_.size() && effect.live >= best_live) continue;
        best = at;
        best_live = effect.live;
      }
      if (best == waiting_.size()) return false;
      *live = best_live;
      path_.push_back(waiting_[best]);
      SetBit(inside_.data(), waiting_[best]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return true;
  }

  // The commit theorem for the set in path_ and inside_: only as much of it as makes up the largest
  // of the cheapest downsets. The rest of the path stays in order; that it fits is cheap to verify,
  // so the result does not depend on that half of the proof.
  bool TakeWaypoint(StateIndex state, const Record& from) {
    const std::int64_t cheapest =
        cuts_.LargestMinimiser(executed_.data(), from.live, inside_.data(), waypoint_.data());
    std::erase_if(path_, [&](OpIndex op) { return !TestBit(waypoint_.data(), op); });
    if (path_.empty()) return false;
    inside_ = executed_;
    std::int64_t live = from.live;
    for (const OpIndex op : path_) {
      const Effect effect = instance_.EffectOf(inside_.data(), live, op);
      if (effect.hill > from.peak) return false;
      live = effect.live;
      SetBit(inside_.data(), op);
    }
    NEAP_CHECK(live == cheapest, "a minimum cut has other live bytes than its set");
    Take(state, live, from.peak);
    return true;
  }

  // The transition that runs path_.
  void Take(StateIndex state, std::int64_t live, std::int64_t peak) {
    ++transitions_;
    std::copy(table_.Ready(state), table_.Ready(state) + words_, ready_.begin());
    std::copy(table_.Needed(state), table_.Needed(state) + words_, needed_.begin());
    for (const OpIndex op : path_) MarkExecuted(op);
    for (const OpIndex op : path_) ClearBit(executed_.data(), op);
    const StateIndex to = table_.Insert(ready_.data(), needed_.data());
    if (to < records_.size() && peak >= records_[to].peak) return;
    const auto tail_size = static_cast<OpIndex>(path_.size());
    const std::size_t tail_begin = tails_.size();
    tails_.insert(tails_.end(), path_.begin(), path_.end());
    Enter(to, {live, peak, table_.FingerprintOf(state), tail_begin, tail_size,
               records_[state].executed + tail_size, false});
  }

  // Runs `op` in executed_, ready_ and needed_.
  void MarkExecuted(OpIndex op) {
    SetBit(executed_.data(), op);
    ClearBit(ready_.data(), op);
    for (const OpIndex after : instance_.Successors(op)) {
      if (instance_.IsReady(executed_.data(), after)) SetBit(ready_.data(), after);
    }
    for (const BufferIndex index : instance_.BuffersOf(op)) {
      for (const OpIndex user : instance_.buffers()[static_cast<std::size_t>(index)].users) {
        if (!TestBit(executed_.data(), user)) continue;
        if (IsNeeded(user)) {
          SetBit(needed_.data(), user);
        } else {
          ClearBit(needed_.data(), user);
        }
      }
    }
  }

  // Something that the executed operator `op` has touched is waited for.
  bool IsNeeded(OpIndex op) const {
    const auto& list = instance_.BuffersOf(op);
    return std::any_of(list.begin(), list.end(), [&](BufferIndex index) {
      return !IsSubset(instance_.Users(index), executed_.data(), words_);
    });
  }

  // The operators that have not run are the executable ones and all their descendants.
  void LoadExecuted(StateIndex state) {
    std::fill(executed_.begin(), executed_.end(), ~Word{0});
    ForEachBit(table_.Ready(state), words_, [&](OpIndex op) {
      ClearBit(executed_.data(), op);
      const Word* after = instance_.Descendants(op);
      for (std::size_t w = 0; w < words_; ++w) executed_[w] &= ~after[w];
    });
  }

  // From parent to parent: undo the last operators, look the fingerprint up.
  std::vector<OpIndex> Backtrack(StateIndex state) {
    std::vector<OpIndex> order;
    while (records_[state].executed > 0) {
      const Record& record = records_[state];
      std::copy(table_.Ready(state), table_.Ready(state) + words_, ready_.begin());
      for (OpIndex i = record.tail_size; i > 0; --i) {
        const OpIndex op = tails_[record.tail_begin + static_cast<std::size_t>(i) - 1];
        order.push_back(op);
        for (const OpIndex after : instance_.Successors(op)) ClearBit(ready_.data(), after);
        SetBit(ready_.data(), op);
      }
      state = table_.Find(record.parent_fingerprint, ready_.data());
      NEAP_CHECK(state != FingerprintTable::kNone, "a state without its parent");
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  BestFirstOptions options_;
  Stopper* stopper_;
  Instance instance_;
  CutFinder cuts_;
  std::size_t words_;
  FingerprintTable table_;
  std::vector<Record> records_;  // per state of table_
  std::vector<OpIndex> tails_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::int64_t floor_ = 0;
  std::int64_t transitions_ = 0;
  bool full_ = false;
  std::vector<BufferIndex> inputs_;
  // Of the state that is expanded, and of the transition that is tried.
  std::vector<std::pair<OpIndex, Effect>> candidates_;
  std::vector<OpIndex> path_;
  std::vector<OpIndex> waiting_;
  std::vector<Word> executed_;
  std::vector<Word> ready_;
  std::vector<Word> needed_;
  std::vector<Word> inside_;
  std::vector<Word> waypoint_;
  std::vector<char> tried_;  // per buffer
};

}  // namespace

Outcome BestFirst(const Problem& problem, const Limits& limits,
                  const std::vector<OpIndex>& file_order, const BestFirstOptions& options) {
  if (problem.num_ops == 0) return {};
  const bool proves = options.forced != Forced::kSets && options.forced != Forced::kRelaxed;
  Outcome outcome = FallbackOutcome(problem, limits, file_order);
  if (!TakeInstance(problem, limits)) return outcome;
  Stopper stopper(limits);
  stopper.SetSize(problem.num_ops);
  stopper.SetBounds(outcome.peak_bytes, outcome.lower_bound_bytes);
  Search search(problem, &stopper, options);
  std::vector<OpIndex> order = search.Run();
  if (!order.empty()) {
    outcome.peak_bytes = PeakOfOrder(problem, order);
    outcome.order = std::move(order);
  }
  // Every order has a prefix in the queue, and none there has a smaller peak.
  if (proves) RaiseBound(search.floor(), &outcome);
  outcome.states = stopper.states();
  outcome.transitions = search.transitions();
  outcome.interrupted = stopper.interrupted();
  return outcome;
}

}  // namespace neap::schedule
