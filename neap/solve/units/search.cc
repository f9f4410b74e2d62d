// SPDX-License-Identifier: Apache-2.0
//
// The exact search: states are schedules up to an end of an operator, best bounds first.
#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "neap/base/index.h"
#include "neap/base/work.h"
#include "neap/solve/units/instance.h"

namespace neap::units {
namespace {

using Mask = std::uint64_t;

constexpr std::int64_t kChoicesOfAState = 64;

constexpr Mask BitOf(std::size_t op) { return Mask{1} << op; }

struct Running {
  std::int64_t end = 0;
  OpIndex op = 0;
};

struct State {
  Mask started = 0;
  Mask finished = 0;
  std::int64_t time = 0;  // 0 or an end; of the operators that run none ends at it
  std::int64_t peak = 0;
  std::vector<Running> running;  // by operator
  std::int32_t parent = -1;
  Mask added = 0;  // what started at the time of the parent
  bool dead = false;
};

struct Bounds {
  std::int64_t peak = 0;
  std::int64_t makespan = 0;
};

struct Key {
  std::int64_t first = 0;
  std::int64_t second = 0;
  int left = 0;  // operators
  std::int32_t state = 0;
  bool operator>(const Key& other) const {
    return std::tie(first, second, left, state) >
           std::tie(other.first, other.second, other.left, other.state);
  }
};

struct MaskHash {
  std::size_t operator()(const std::pair<Mask, Mask>& masks) const {
    std::uint64_t z = masks.first * 0x9e3779b97f4a7c15U ^ masks.second;
    z = (z ^ (z >> 31U)) * 0xbf58476d1ce4e5b9U;
    return z ^ (z >> 29U);
  }
};

class Search {
 public:
  Search(const Instance& instance, const Options& options, Outcome* outcome)
      : instance_(instance), problem_(*instance.problem), options_(options), outcome_(*outcome) {
    before_.resize(instance.size());
    for (std::size_t op = 0; op < instance.size(); ++op) {
      for (const OpIndex before : instance.before[op]) before_[op] |= BitOf(At(before));
    }
    for (const schedule::Buffer& buffer : problem_.graph.buffers) {
      Mask users = 0;
      for (const OpIndex user : buffer.users) users |= BitOf(At(user));
      users_.push_back(users);
    }
    all_ = instance.size() == 64 ? ~Mask{0} : BitOf(instance.size()) - 1;
    max_states_ = options.limits.max_states > 0 ? options.limits.max_states : kDefaultStates;
  }

  void Run() {
    Push(State{});
    const auto end = options_.limits.EndOfSearch(LimitNow());
    while (!queue_.empty()) {
      const Key key = queue_.top();
      if (outcome_.best && !IsBelowBest(key.first, key.second)) break;
      if (static_cast<std::int64_t>(states_.size()) >= max_states_) return Stop(key);
      if (options_.limits.Interrupted() || (options_.limits.HasTimeLimit() && LimitNow() > end)) {
        outcome_.interrupted = true;
        return Stop(key);
      }
      queue_.pop();
      if (!states_[At(key.state)].dead) Expand(key.state);
      if (cut_) return Stop(key);  // no state that is left is below it
    }
    outcome_.states = static_cast<std::int64_t>(states_.size());
    outcome_.infeasible = !outcome_.best;
    if (!outcome_.best) return;
    outcome_.optimal = true;
    outcome_.tie_optimal = true;
    RaiseBound(Objective::kPeak == options_.objective ? outcome_.best->peak_bytes
                                                      : outcome_.best->makespan);
  }

 private:
  void RaiseBound(std::int64_t value) {
    std::int64_t& bound = options_.objective == Objective::kPeak ? outcome_.peak_lower_bound
                                                                 : outcome_.makespan_lower_bound;
    bound = std::max(bound, value);
  }
  void Stop(const Key& key) {
    outcome_.states = static_cast<std::int64_t>(states_.size());
    RaiseBound(key.first);
  }
  bool IsBelowBest(std::int64_t first, std::int64_t second) const {
    const bool by_peak = options_.objective == Objective::kPeak;
    const std::int64_t best = by_peak ? outcome_.best->peak_bytes : outcome_.best->makespan;
    const std::int64_t other = by_peak ? outcome_.best->makespan : outcome_.best->peak_bytes;
    return std::tie(first, second) < std::tie(best, other);
  }
  std::int64_t Scratch(std::size_t op) const {
    return problem_.graph.scratch_bytes.empty() ? 0 : problem_.graph.scratch_bytes[op];
  }
  std::int64_t Live(const State& state) const {
    std::int64_t live = 0;
    for (std::size_t b = 0; b < users_.size(); ++b) {
      const schedule::Buffer& buffer = problem_.graph.buffers[b];
      const bool begun = buffer.live_at_start || (users_[b] & state.started) != 0;
      const bool needed = buffer.live_at_end || (users_[b] & ~state.finished) != 0;
      if (begun && needed) live += buffer.bytes;
    }
    for (const Running& run : state.running) live += Scratch(At(run.op));
    return live;
  }

  // No completion of the state is below these.
  Bounds BoundsOf(const State& state) {
    Bounds out{std::max(state.peak, outcome_.peak_lower_bound), outcome_.makespan_lower_bound};
    earliest_.assign(instance_.size(), 0);
    std::int64_t work = 0;
    std::int64_t last = state.time;
    for (const Running& run : state.running) {
      earliest_[At(run.op)] = run.end - problem_.durations[At(run.op)];
      work += run.end - state.time;
      last = std::max(last, run.end + instance_.tail[At(run.op)]);
    }
    for (const OpIndex op : instance_.topological) {
      if ((state.started & BitOf(At(op))) != 0) continue;
      std::int64_t first = state.time;
      for (const OpIndex before : instance_.before[At(op)]) {
        if ((state.finished & BitOf(At(before))) != 0) continue;
        first = std::max(first, earliest_[At(before)] + problem_.durations[At(before)]);
      }
      earliest_[At(op)] = first;
      work += problem_.durations[At(op)];
      last = std::max(last, first + problem_.durations[At(op)] + instance_.tail[At(op)]);
    }
    last = std::max(last, state.time + (work + problem_.units - 1) / problem_.units);
    out.makespan = std::max(out.makespan, last);
    if (options_.makespan_limit >= 0 && out.makespan <= options_.makespan_limit) {
      AddCompulsory(state, &out);
    }
    return out;
  }
  void AddCompulsory(const State& state, Bounds* out) {
    latest_.resize(instance_.size());
    for (std::size_t op = 0; op < instance_.size(); ++op) {
      const bool fixed = (state.started & BitOf(op)) != 0;
      // What has ended counts as ended now, and as begun now: its bytes of the past are in `peak`.
      if ((state.finished & BitOf(op)) != 0) {
        earliest_[op] = state.time - problem_.durations[op];
        latest_[op] = state.time;
      } else {
        latest_[op] = fixed ? earliest_[op]
                            : options_.makespan_limit - instance_.tail[op] - problem_.durations[op];
      }
    }
    out->peak = std::max(out->peak, CompulsoryPeak(instance_, earliest_, latest_, state.time));
  }

  void Push(State state) {
    if (state.finished == all_) return Finish(state);
    const Bounds bounds = BoundsOf(state);
    if (!IsWithin(options_, bounds.peak, bounds.makespan)) return;
    const bool by_peak = options_.objective == Objective::kPeak;
    const std::int64_t first = by_peak ? bounds.peak : bounds.makespan;
    const std::int64_t second = by_peak ? bounds.makespan : bounds.peak;
    if (outcome_.best && !IsBelowBest(first, second)) return;
    std::vector<std::int32_t>& others = table_[{state.started, state.finished}];
    for (const std::int32_t other : others) {
      if (Dominates(states_[At(other)], state)) return;
    }
    others.erase(std::remove_if(others.begin(), others.end(),
                                [&](std::int32_t other) {
                                  if (!Dominates(state, states_[At(other)])) return false;
                                  states_[At(other)].dead = true;
                                  return true;
                                }),
                 others.end());
    const auto index = static_cast<std::int32_t>(states_.size());
    others.push_back(index);
    queue_.push({first, second, std::popcount(all_ & ~state.finished), index});
    states_.push_back(std::move(state));
    ChargeWork(2000);
  }
  static bool Dominates(const State& a, const State& b) {
    if (a.time > b.time || a.peak > b.peak) return false;
    for (std::size_t i = 0; i < a.running.size(); ++i) {
      if (a.running[i].end > b.running[i].end) return false;
    }
    return true;
  }

  void Finish(const State& state) {
    if (!IsWithin(options_, state.peak, state.time)) return;
    if (outcome_.best && !IsBetter(options_.objective, state.peak, state.time,
                                   outcome_.best->peak_bytes, outcome_.best->makespan)) {
      return;
    }
    std::vector<std::int64_t> start(instance_.size(), 0);
    Mask added = state.added;
    for (std::int32_t at = state.parent; at >= 0; at = states_[At(at)].parent) {
      for (Mask left = added; left != 0; left &= left - 1) {
        start[static_cast<std::size_t>(std::countr_zero(left))] = states_[At(at)].time;
      }
      added = states_[At(at)].added;
    }
    outcome_.best = Complete(instance_, std::move(start));
  }

  void Expand(std::int32_t index) {
    const State from = states_[At(index)];
    std::vector<std::size_t> ready;
    for (std::size_t op = 0; op < instance_.size(); ++op) {
      if ((from.started & BitOf(op)) == 0 && (before_[op] & ~from.finished) == 0) {
        ready.push_back(op);
      }
    }
    Choose(from, index, ready, 0, from, Live(from));
  }
  // `chosen`: `from` with some of the first `next` ready operators started.
  void Choose(const State& from, std::int32_t index, const std::vector<std::size_t>& ready,
              std::size_t next, const State& chosen, std::int64_t live) {
    if (options_.peak_limit >= 0 && live > options_.peak_limit) return;
    if (++choices_ > max_states_ * kChoicesOfAState) cut_ = true;
    if (cut_) return;
    if (next < ready.size() && chosen.running.size() < static_cast<std::size_t>(problem_.units)) {
      State with = chosen;
      const std::size_t op = ready[next];
      std::int64_t more = live + Scratch(op);
      for (const std::size_t b : instance_.buffers_of[op]) {
        const bool begun =
            problem_.graph.buffers[b].live_at_start || (users_[b] & chosen.started) != 0;
        if (!begun) more += problem_.graph.buffers[b].bytes;
      }
      with.started |= BitOf(op);
      const Running run{from.time + problem_.durations[op], static_cast<OpIndex>(op)};
      with.running.insert(
          std::upper_bound(with.running.begin(), with.running.end(), run,
                           [](const Running& a, const Running& b) { return a.op < b.op; }),
          run);
      Choose(from, index, ready, next + 1, with, more);
      Choose(from, index, ready, next + 1, chosen, live);
      return;
    }
    if (!chosen.running.empty()) Advance(from, index, chosen, live);
  }
  void Advance(const State& from, std::int32_t index, const State& chosen, std::int64_t live) {
    State to;
    to.started = chosen.started;
    to.finished = chosen.finished;
    to.peak = std::max(from.peak, live);
    to.parent = index;
    to.added = chosen.started & ~from.started;
    to.time = std::numeric_limits<std::int64_t>::max();
    for (const Running& run : chosen.running) to.time = std::min(to.time, run.end);
    for (const Running& run : chosen.running) {
      if (run.end > to.time) {
        to.running.push_back(run);
      } else {
        to.finished |= BitOf(At(run.op));
      }
    }
    Push(std::move(to));
  }

  const Instance& instance_;
  const Problem& problem_;
  const Options& options_;
  Outcome& outcome_;
  std::vector<Mask> before_;
  std::vector<Mask> users_;  // of every buffer
  Mask all_ = 0;
  std::int64_t max_states_ = 0;
  std::int64_t choices_ = 0;
  bool cut_ = false;  // too many choices
  std::vector<State> states_;
  std::unordered_map<std::pair<Mask, Mask>, std::vector<std::int32_t>, MaskHash> table_;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> queue_;
  std::vector<std::int64_t> earliest_;
  std::vector<std::int64_t> latest_;
};

}  // namespace

void SearchExact(const Instance& instance, const Options& options, Outcome* outcome) {
  Search(instance, options, outcome).Run();
}

}  // namespace neap::units
