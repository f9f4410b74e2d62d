// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/moved_order.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "neap/base/work.h"

namespace neap::compile {
namespace {

using MoveProblem = MovedOrderProblem;

constexpr std::int64_t kUnplaced = -1;
constexpr std::int64_t kAnyCost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kNoParent = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kCornerStates = 40'000;
constexpr std::size_t kAllStates = 150'000;
constexpr std::size_t kReachedStates = 2 * kAllStates;
constexpr std::int64_t kMaxTableBytes = std::int64_t{256} << 20;
constexpr std::int64_t kStateWork = 2'000;  // in about nanoseconds

// Offsets by tensor; kUnplaced: it is not live, or has no units.
using Places = std::vector<std::int64_t>;

class StateSearch {
 public:
  StateSearch(const MoveProblem& problem, bool corners, std::int64_t fewer_than,
              const Limits& limits)
      : problem_(problem),
        corners_(corners),
        limits_(limits),
        fewer_than_(fewer_than < 0 ? kAnyCost : fewer_than),
        all_(problem.ops.size() == MoveProblem::kMaxOps
                 ? ~std::uint64_t{0}
                 : (std::uint64_t{1} << problem.ops.size()) - 1),
        most_states_(MostStates(problem, limits)),
        readers_(problem.tensors.size(), 0) {
    for (std::size_t op = 0; op < problem.ops.size(); ++op) {
      for (const std::size_t input : problem.ops[op].inputs) readers_[input] |= Bit(op);
    }
  }

  MovedOrderOutcome Run() {
    MovedOrderOutcome outcome;
    std::vector<std::size_t> inputs;
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      const bool live = problem_.tensors[t].at_start && (readers_[t] != 0 || IsKept(t));
      if (live) inputs.push_back(t);
    }
    Places nothing(problem_.tensors.size(), kUnplaced);
    PlaceAll(inputs, 0, &nothing, [&](const Places& places) {
      Reach({0, places}, kNoParent, {});
      return true;
    });
    const std::size_t most = std::min(corners_ ? kCornerStates : kAllStates, most_states_);
    while (!queue_.empty()) {
      const std::size_t at = std::get<2>(queue_.top());
      const bool stale = std::get<0>(queue_.top()) > states_[at].cost || states_[at].expanded;
      queue_.pop();
      if (stale) continue;
      if (states_[at].done() == all_) {
        outcome.best = Trace(at);
        outcome.complete = !corners_ && !cut_short_;
        return outcome;
      }
      if (states_.size() > most || IsOver(limits_)) return outcome;
      ChargeWork(kStateWork);
      states_[at].expanded = true;
      Expand(at);
    }
    outcome.complete = !corners_ && !cut_short_;
    return outcome;
  }

 private:
  using Key = std::pair<std::uint64_t, Places>;  // executed operators
  struct State {
    const Key* key = nullptr;  // in known_
    std::int64_t cost = 0;
    std::size_t parent = kNoParent;
    MovedOrder::Step step;  // from the parent
    bool expanded = false;

    std::uint64_t done() const { return key->first; }
    const Places& places() const { return key->second; }
  };

  // As many as fit into the memory: each has its places, and some 300 bytes beside them.
  static std::size_t MostStates(const MoveProblem& problem, const Limits& limits) {
    const auto places = static_cast<std::int64_t>(problem.tensors.size() * sizeof(std::int64_t));
    const std::int64_t bytes = std::min(limits.max_memory_bytes, kMaxTableBytes);
    return std::min(kReachedStates, static_cast<std::size_t>(bytes / (places + 300)));
  }

  static std::uint64_t Bit(std::size_t op) { return std::uint64_t{1} << op; }
  bool IsKept(std::size_t tensor) const { return problem_.tensors[tensor].at_end; }

  void Reach(Key key, std::size_t parent, MovedOrder::Step step) {
    const std::int64_t own = step.is_move ? problem_.tensors[step.subject].move_bytes : 0;
    const std::int64_t cost = (parent == kNoParent ? 0 : states_[parent].cost) + own;
    if (cost >= fewer_than_) return;
    const auto [known, is_new] = known_.try_emplace(std::move(key), states_.size());
    const std::size_t at = known->second;
    if (is_new) {
      states_.push_back({&known->first, cost, parent, std::move(step), false});
    } else if (cost < states_[at].cost) {
      states_[at].cost = cost;
      states_[at].parent = parent;
      states_[at].step = std::move(step);
    } else {
      return;
    }
    queue_.emplace(cost, -std::popcount(states_[at].done()), at);
  }

  // Of live tensors, by offset.
  std::vector<std::pair<std::int64_t, std::int64_t>> Taken(const Places& places) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (std::size_t t = 0; t < places.size(); ++t) {
      if (places[t] == kUnplaced) continue;
      taken.emplace_back(places[t], places[t] + problem_.tensors[t].units);
    }
    std::sort(taken.begin(), taken.end());
    return taken;
  }

  // Offsets at which `units` units are free: all of them, or those at either end of a gap.
  std::vector<std::int64_t> FreeOffsets(const Places& places, std::int64_t units) const {
    std::vector<std::int64_t> offsets;
    auto taken = Taken(places);
    taken.emplace_back(problem_.capacity_units, problem_.capacity_units);
    std::int64_t low = 0;
    for (const auto& [begin, end] : taken) {
      const std::int64_t high = begin - units;
      for (std::int64_t at = low; at <= high; ++at) {
        if (!corners_ || at == low || at == high) offsets.push_back(at);
        if (corners_ && at == low) at = std::max(at, high - 1);
      }
      low = std::max(low, end);
    }
    return offsets;
  }

  // Calls visit(places) with every way to place tensors[from...]; false ends.
  template <typename Visit>
  bool PlaceAll(const std::vector<std::size_t>& tensors, std::size_t from, Places* places,
                const Visit& visit) {
    cut_short_ = cut_short_ || states_.size() > most_states_;
    if (cut_short_) return false;
    if (from == tensors.size()) return visit(*places);
    const std::int64_t units = problem_.tensors[tensors[from]].units;
    if (units == 0) return PlaceAll(tensors, from + 1, places, visit);
    for (const std::int64_t offset : FreeOffsets(*places, units)) {
      (*places)[tensors[from]] = offset;
      const bool goes_on = PlaceAll(tensors, from + 1, places, visit);
      (*places)[tensors[from]] = kUnplaced;
      if (!goes_on) return false;
    }
    return true;
  }

  void Expand(std::size_t at) {
    const std::uint64_t done = states_[at].done();
    for (std::size_t op = 0; op < problem_.ops.size(); ++op) {
      const bool ready = (done & Bit(op)) == 0 && (problem_.ops[op].before & ~done) == 0;
      if (ready) Execute(at, op);
    }
    const Places places = states_[at].places();
    for (std::size_t t = 0; t < places.size(); ++t) {
      if (places[t] != kUnplaced) Move(at, places, t);
    }
  }

  void Execute(std::size_t at, std::size_t op) {
    const MoveProblem::Op& operation = problem_.ops[op];
    const std::uint64_t done = states_[at].done() | Bit(op);
    Places places = states_[at].places();
    PlaceAll(operation.outputs, 0, &places, [&](const Places& during) {
      MovedOrder::Step step;
      step.subject = op;
      if (operation.scratch_units > 0) {
        const auto free = FreeOffsets(during, operation.scratch_units);
        if (free.empty()) return true;
        step.scratch_offset = free.front();
      }
      for (const std::size_t output : operation.outputs) {
        step.offsets.push_back(std::max<std::int64_t>(during[output], 0));
      }
      Places after = during;
      const auto end = [&](std::size_t tensor) {
        if ((readers_[tensor] & ~done) == 0 && !IsKept(tensor)) after[tensor] = kUnplaced;
      };
      for (const std::size_t input : operation.inputs) end(input);
      for (const std::size_t output : operation.outputs) end(output);
      Reach({done, std::move(after)}, at, std::move(step));
      return true;
    });
  }

  void Move(std::size_t at, const Places& places, std::size_t tensor) {
    Places others = places;
    if (!problem_.disjoint) others[tensor] = kUnplaced;
    for (const std::int64_t offset : FreeOffsets(others, problem_.tensors[tensor].units)) {
      if (offset == places[tensor]) continue;
      Places after = places;
      after[tensor] = offset;
      Reach({states_[at].done(), std::move(after)}, at, {true, tensor, {offset}, 0});
    }
  }

  MovedOrder Trace(std::size_t at) const {
    MovedOrder order;
    order.moved_bytes = states_[at].cost;
    for (; states_[at].parent != kNoParent; at = states_[at].parent) {
      order.steps.push_back(states_[at].step);
    }
    std::reverse(order.steps.begin(), order.steps.end());
    for (const std::int64_t offset : states_[at].places()) {
      order.start_offsets.push_back(std::max<std::int64_t>(offset, 0));
    }
    return order;
  }

  const MoveProblem& problem_;
  const bool corners_;
  const Limits& limits_;
  const std::int64_t fewer_than_;
  const std::uint64_t all_;
  const std::size_t most_states_;
  std::vector<std::uint64_t> readers_;  // of each tensor
  std::vector<State> states_;
  bool cut_short_ = false;  // some placement was not tried
  std::map<Key, std::size_t> known_;
  // Least cost first, then the most operators executed, then the oldest.
  using Entry = std::tuple<std::int64_t, int, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

MovedOrderOutcome SearchMovedOrder(const MovedOrderProblem& problem, std::int64_t fewer_than,
                                   const Limits& limits) {
  if (problem.ops.size() > MoveProblem::kMaxOps) return {};
  MovedOrderOutcome corners = StateSearch(problem, true, fewer_than, limits).Run();
  if (corners.best) fewer_than = corners.best->moved_bytes;
  if (fewer_than == 0) return {std::move(corners.best), true};
  MovedOrderOutcome all = StateSearch(problem, false, fewer_than, limits).Run();
  if (!all.best) all.best = std::move(corners.best);
  return all;
}

}  // namespace neap::compile
