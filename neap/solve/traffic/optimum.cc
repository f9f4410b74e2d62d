// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/optimum.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "neap/solve/traffic/prices.h"
#include "neap/solve/traffic/trace.h"

namespace neap::traffic {
namespace {

constexpr std::size_t kWords = 4;
constexpr std::size_t kSlots = kWords * 64;  // tensors that are alive at the same time

class Mask {
 public:
  bool Has(std::size_t slot) const { return ((words_[slot / 64] >> (slot % 64)) & 1U) != 0; }
  void Set(std::size_t slot, bool on) {
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    words_[slot / 64] = on ? words_[slot / 64] | bit : words_[slot / 64] & ~bit;
  }
  friend bool operator==(const Mask&, const Mask&) = default;
  friend bool operator<(const Mask& a, const Mask& b) { return a.words_ < b.words_; }

 private:
  std::array<std::uint64_t, kWords> words_ = {};
};

// At the boundary before a step.
struct State {
  Mask on_chip;
  Mask clean;
  std::int64_t cost = 0;  // bytes moved so far
  Wide estimate = 0;      // bound of the whole, in units of cost
  std::int32_t parent = -1;
  Mask held;  // during the step before
};

// Which tensors are alive at every boundary, and their slots.
class Slots {
 public:
  explicit Slots(const Problem& problem) {
    const auto steps = static_cast<std::size_t>(problem.num_steps);
    std::vector<std::vector<TensorIndex>> begins(steps + 1);
    slot_.assign(problem.tensors.size(), 0);
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
      const Tensor& tensor = problem.tensors[i];
      const auto first =
          tensor.begin == Begin::kWritten ? static_cast<std::size_t>(tensor.accesses.front()) : 0;
      if (LastOf(problem, tensor) >= 0) begins[first].push_back(static_cast<TensorIndex>(i));
    }
    std::vector<char> used(kSlots, 0);
    alive_.resize(steps + 1);
    std::vector<TensorIndex> now;
    for (std::size_t step = 0; step <= steps; ++step) {
      std::erase_if(now, [&](TensorIndex tensor) {
        const auto i = static_cast<std::size_t>(tensor);
        const bool gone = LastOf(problem, problem.tensors[i]) < static_cast<std::int64_t>(step);
        if (gone) used[slot_[i]] = 0;
        return gone;
      });
      for (const TensorIndex tensor : begins[step]) {
        const auto free = std::find(used.begin(), used.end(), 0);
        if (free == used.end()) {
          overflow_ = true;
          return;
        }
        *free = 1;
        slot_[static_cast<std::size_t>(tensor)] = static_cast<std::size_t>(free - used.begin());
        now.push_back(tensor);
      }
      alive_[step] = now;
    }
  }

  bool overflow() const { return overflow_; }
  std::size_t SlotOf(TensorIndex tensor) const { return slot_[static_cast<std::size_t>(tensor)]; }
  // Those whose life includes `step`, or begins in it.
  const std::vector<TensorIndex>& AliveIn(Step step) const {
    return alive_[static_cast<std::size_t>(step)];
  }

 private:
  // The last step in which holding it can save traffic; -1: none.
  static std::int64_t LastOf(const Problem& problem, const Tensor& tensor) {
    if (tensor.end == End::kAnywhere && tensor.begin != Begin::kOffChip) {
      return std::int64_t{problem.num_steps} - 1;
    }
    return tensor.accesses.empty() ? -1 : tensor.accesses.back();
  }

  std::vector<std::size_t> slot_;
  std::vector<std::vector<TensorIndex>> alive_;
  bool overflow_ = false;
};

// The possible states of a tensor during a step.
struct Choice {
  TensorIndex tensor = 0;
  std::int64_t bytes = 0;
  bool may_hold = true;
  struct Way {
    std::int64_t cost = 0;  // bytes moved
    Status status = Status::kOutside;
    Wide value = 0;  // cost, price and rest, in units of cost
  };
  Way hold;
  Way drop;
};

struct PassResult {
  std::optional<Decisions> better;  // than the upper bound given
  std::int64_t lower_bytes = 0;
  std::int64_t states = 0;
};

class Pass {
 public:
  Pass(const Problem& problem, const Trace& trace, const Slots& slots, const Prices& prices,
       std::int64_t upper_bytes, std::size_t width, std::int64_t max_states,
       const std::atomic<bool>* stop)
      : problem_(problem),
        trace_(trace),
        slots_(slots),
        prices_(prices),
        upper_(upper_bytes),
        width_(width),
        max_states_(max_states),
        stop_(stop),
        lower_(upper_bytes) {
    done_.assign(problem.tensors.size(), 0);
  }

  PassResult Run() {
    std::vector<State> states = {Begin0()};
    for (Step step = 0; step < problem_.num_steps && !states.empty(); ++step) {
      next_.clear();
      for (std::size_t i = 0; i < states.size(); ++i) {
        const auto seen =
            states_ + all_nodes_ / kNodesOfState + static_cast<std::int64_t>(next_.size());
        const bool stopped = (i & 255U) == 0 && stop_ != nullptr && stop_->load();
        if (stopped || seen > max_states_) return {std::nullopt, 0, seen};
        Expand(states[i], static_cast<std::int32_t>(i), step);
      }
      for (const TensorIndex tensor : trace_.AccessedIn(step)) {
        ++done_[static_cast<std::size_t>(tensor)];
      }
      states_ += static_cast<std::int64_t>(next_.size());
      states = Keep();
      std::vector<Node>& nodes = nodes_.emplace_back();
      for (const State& state : states) nodes.push_back({state.parent, state.held});
    }
    PassResult result;
    result.states = states_ + all_nodes_ / kNodesOfState;
    result.lower_bytes = lower_;
    if (states.empty()) return result;
    const auto best =
        std::min_element(states.begin(), states.end(),
                         [](const State& a, const State& b) { return a.cost < b.cost; });
    result.lower_bytes = std::min(lower_, best->cost);
    if (best->cost < upper_) {
      result.better = DecisionsOf(static_cast<std::size_t>(best - states.begin()));
      result.better->counts = CountsOf(*result.better);
    }
    return result;
  }

 private:
  struct Node {
    std::int32_t parent = -1;
    Mask held;
  };

  State Begin0() const {
    State state;
    state.estimate = prices_.Bound();
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      const Tensor& tensor = problem_.tensors[i];
      if (tensor.begin != Begin::kOnChip) continue;
      if (tensor.accesses.empty() && tensor.end != End::kAnywhere) {
        if (tensor.end == End::kOffChip) state.cost += tensor.bytes;
        continue;
      }
      state.on_chip.Set(slots_.SlotOf(static_cast<TensorIndex>(i)), true);
    }
    return state;
  }

  Choice::Way WayOf(const Tensor& tensor, TensorIndex index, std::size_t done, Step step, bool hold,
                    std::int64_t cost, Status status) const {
    Choice::Way way{cost, status, 0};
    const bool over = done >= tensor.accesses.size();
    // A tensor that has to be outside at the end is written now; waiting does not help.
    if (over && tensor.end == End::kOffChip && status == Status::kDirty) {
      way.cost += tensor.bytes;
      way.status = Status::kClean;
    }
    way.value = static_cast<Wide>(way.cost) * Prices::kScale +
                prices_.Rest(index, done, way.status, step + 1);
    if (hold) way.value += prices_.OfHolding(tensor.bytes, step);
    return way;
  }

  Choice ChoiceOf(const State& state, TensorIndex index, Step step) const {
    const auto i = static_cast<std::size_t>(index);
    const Tensor& tensor = problem_.tensors[i];
    const std::size_t done = done_[i];
    const std::size_t slot = slots_.SlotOf(index);
    const bool accessed = done < tensor.accesses.size() && tensor.accesses[done] == step;
    const std::int64_t bytes = tensor.bytes;
    Choice choice;
    choice.tensor = index;
    choice.bytes = bytes;
    const auto hold = [&](std::int64_t cost, Status status) {
      choice.hold = WayOf(tensor, index, done + (accessed ? 1 : 0), step, true, cost, status);
    };
    const auto drop = [&](std::int64_t cost) {
      choice.drop =
          WayOf(tensor, index, done + (accessed ? 1 : 0), step, false, cost, Status::kOutside);
    };
    if (accessed && done == 0 && tensor.begin == Begin::kWritten) {
      hold(0, Status::kDirty);
      drop(bytes);
      return choice;
    }
    const bool on_chip = state.on_chip.Has(slot);
    const bool clean = state.clean.Has(slot);
    if (!on_chip) {
      choice.may_hold = accessed;
      if (accessed) hold(bytes, Status::kClean);
      drop(accessed ? bytes : 0);
      return choice;
    }
    hold(0, clean ? Status::kClean : Status::kDirty);
    drop((clean ? 0 : bytes) + (accessed ? bytes : 0));
    return choice;
  }

  void Expand(const State& state, std::int32_t parent, Step step) {
    choices_.clear();
    chosen_.clear();
    Search search;
    search.parent = parent;
    search.step = step;
    search.cost = state.cost;
    Wide floor = static_cast<Wide>(state.cost) * Prices::kScale + prices_.Unborn(step + 1) -
                 prices_.Earned(step);
    std::int64_t all_bytes = 0;
    std::vector<Choice> forced;
    for (const TensorIndex tensor : slots_.AliveIn(step)) {
      Choice choice = ChoiceOf(state, tensor, step);
      if (!choice.may_hold) {
        search.cost += choice.drop.cost;
        floor += choice.drop.value;
        continue;
      }
      all_bytes += choice.bytes;
      choices_.push_back(choice);
    }
    search.room = prices_.Room(step);
    if (all_bytes <= search.room) {
      for (const Choice& choice : choices_) floor += choice.hold.value;
      chosen_.assign(choices_.size(), 1);
      for (const Choice& choice : choices_) search.cost += choice.hold.cost;
      Emit(search);
      return;
    }
    const auto weight = [](const Choice& choice) {
      const Wide difference = choice.hold.value - choice.drop.value;
      return difference < 0 ? -difference : difference;
    };
    std::stable_sort(choices_.begin(), choices_.end(),
                     [&](const Choice& a, const Choice& b) { return weight(a) > weight(b); });
    for (const Choice& choice : choices_) {
      floor += std::min(choice.hold.value, choice.drop.value);
    }
    chosen_.assign(choices_.size(), 0);
    nodes_seen_ = 0;
    cut_ = std::numeric_limits<std::int64_t>::max();
    Choose(search, 0, floor);
    all_nodes_ += nodes_seen_;
    lower_ = std::min(lower_, cut_);
  }

  struct Search {
    std::int32_t parent = -1;
    Step step = 0;
    std::int64_t cost = 0;
    std::int64_t room = 0;  // the rest
  };

  // Depth is the number of tensors alive.
  void Choose(const Search& search, std::size_t at, Wide floor) {
    const std::int64_t bytes = prices_.BytesOf(floor);
    if (bytes >= upper_) return;
    if (++nodes_seen_ > kMaxNodes) {
      cut_ = std::min(cut_, bytes);
      return;
    }
    if (at == choices_.size()) {
      for (std::size_t i = 0; i < choices_.size(); ++i) {
        // Holding more is never worse, and is tried as well.
        if (chosen_[i] == 0 && choices_[i].bytes <= search.room) return;
      }
      Emit(search);
      return;
    }
    const Choice& choice = choices_[at];
    const Wide rest = floor - std::min(choice.hold.value, choice.drop.value);
    const auto take = [&](bool hold) {
      if (hold && choice.bytes > search.room) return;
      const Choice::Way& way = hold ? choice.hold : choice.drop;
      chosen_[at] = hold ? 1 : 0;
      Search further = search;
      further.cost += way.cost;
      if (hold) further.room -= choice.bytes;
      Choose(further, at + 1, rest + way.value);
    };
    const bool hold_first = choice.hold.value <= choice.drop.value;
    take(hold_first);
    take(!hold_first);
  }

  void Emit(const Search& search) {
    State state;
    state.cost = search.cost;
    state.parent = search.parent;
    state.estimate = static_cast<Wide>(search.cost) * Prices::kScale +
                     prices_.Unborn(search.step + 1) - prices_.Earned(search.step + 1);
    // Tensors outside that the step does not touch, first: their rest does not depend on the
    // choice.
    for (const TensorIndex tensor : slots_.AliveIn(search.step)) {
      rest_status_[slots_.SlotOf(tensor)] = Status::kOutside;
    }
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const Choice& choice = choices_[i];
      const std::size_t slot = slots_.SlotOf(choice.tensor);
      const Choice::Way& way = chosen_[i] != 0 ? choice.hold : choice.drop;
      state.held.Set(slot, chosen_[i] != 0);
      if (way.status == Status::kOutside) continue;
      if (!SavesTraffic(choice.tensor, search.step, way.status)) continue;
      rest_status_[slot] = way.status;
      state.on_chip.Set(slot, true);
      state.clean.Set(slot, way.status == Status::kClean);
    }
    for (const TensorIndex tensor : slots_.AliveIn(search.step)) {
      state.estimate += prices_.Rest(tensor, DoneAfter(tensor, search.step),
                                     rest_status_[slots_.SlotOf(tensor)], search.step + 1);
    }
    if (prices_.BytesOf(state.estimate) >= upper_) return;
    next_.push_back(state);
  }

  std::size_t DoneAfter(TensorIndex tensor, Step step) const {
    const auto i = static_cast<std::size_t>(tensor);
    const auto& accesses = problem_.tensors[i].accesses;
    const bool accessed = done_[i] < accesses.size() && accesses[done_[i]] == step;
    return done_[i] + (accessed ? 1 : 0);
  }
  // Whether being on chip after `step` saves a later transfer.
  bool SavesTraffic(TensorIndex tensor, Step step, Status status) const {
    const Tensor& of = problem_.tensors[static_cast<std::size_t>(tensor)];
    if (DoneAfter(tensor, step) < of.accesses.size()) return true;
    return of.end == End::kAnywhere && status == Status::kDirty;
  }

  // Of equal states the cheapest; of too many, those with the least estimates.
  std::vector<State> Keep() {
    const auto key = [](const State& s) { return std::tie(s.on_chip, s.clean, s.cost, s.parent); };
    std::sort(next_.begin(), next_.end(),
              [&](const State& a, const State& b) { return key(a) < key(b); });
    next_.erase(std::unique(next_.begin(), next_.end(),
                            [](const State& a, const State& b) {
                              return a.on_chip == b.on_chip && a.clean == b.clean;
                            }),
                next_.end());
    if (next_.size() > width_) {
      std::stable_sort(next_.begin(), next_.end(),
                       [](const State& a, const State& b) { return a.estimate < b.estimate; });
      lower_ = std::min(lower_, prices_.BytesOf(next_[width_].estimate));
      next_.resize(width_);
    }
    return std::move(next_);
  }

  Decisions DecisionsOf(std::size_t at) const {
    std::vector<std::vector<char>> held(problem_.tensors.size());
    for (Step step = problem_.num_steps; step-- > 0;) {
      const Node& node = nodes_[static_cast<std::size_t>(step)][at];
      for (const TensorIndex tensor : slots_.AliveIn(step)) {
        if (!node.held.Has(slots_.SlotOf(tensor))) continue;
        auto& of = held[static_cast<std::size_t>(tensor)];
        of.resize(static_cast<std::size_t>(problem_.num_steps) + 1, 0);
        of[static_cast<std::size_t>(step)] = 1;
      }
      if (node.parent >= 0) at = static_cast<std::size_t>(node.parent);
    }
    Decisions decisions;
    for (std::size_t i = 0; i < held.size(); ++i) {
      for (Step step = 0; static_cast<std::size_t>(step) < held[i].size(); ++step) {
        if (held[i][static_cast<std::size_t>(step)] == 0) continue;
        const Step first = step;
        while (held[i][static_cast<std::size_t>(step)] != 0) ++step;
        decisions.residencies.push_back({static_cast<TensorIndex>(i), first, step});
      }
    }
    return decisions;
  }

  // By the ranges alone: reads outside them, and a write for a tensor that is evicted before its
  // end.
  Counts CountsOf(const Decisions& decisions) const {
    Counts counts;
    std::size_t at = 0;
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      const Tensor& tensor = problem_.tensors[i];
      const std::size_t from = at;
      while (at < decisions.residencies.size() &&
             static_cast<std::size_t>(decisions.residencies[at].tensor) == i) {
        ++at;
      }
      const auto ranges = std::span(decisions.residencies).subspan(from, at - from);
      bool has_to_be_outside = tensor.end == End::kOffChip;
      for (std::size_t a = 0; a < tensor.accesses.size(); ++a) {
        if (a == 0 && tensor.begin == Begin::kWritten) continue;
        const Step step = tensor.accesses[a];
        const bool found = std::any_of(ranges.begin(), ranges.end(), [&](const Residency& r) {
          const bool from_start = tensor.begin == Begin::kOnChip && r.first == 0;
          return r.first <= step && step < r.last && (r.first < step || from_start);
        });
        if (found) continue;
        ++counts.misses;
        counts.read_bytes += tensor.bytes;
        has_to_be_outside = true;
      }
      if (tensor.end == End::kAnywhere) {
        const bool there = !ranges.empty() && ranges.back().last == problem_.num_steps;
        has_to_be_outside = has_to_be_outside || !there;
      }
      // Written and never resident: an output without consumers, streamed out.
      if (tensor.begin == Begin::kWritten && ranges.empty()) has_to_be_outside = true;
      if (has_to_be_outside && tensor.begin != Begin::kOffChip) {
        counts.written_bytes += tensor.bytes;
      }
    }
    return counts;
  }

  static constexpr std::int64_t kMaxNodes = 8192;  // of the choices of one state
  // As many nodes cost about as much as one state that is kept, and count as one.
  static constexpr std::int64_t kNodesOfState = 32;

  const Problem& problem_;
  const Trace& trace_;
  const Slots& slots_;
  const Prices& prices_;
  const std::int64_t upper_;
  const std::size_t width_;
  const std::int64_t max_states_;
  const std::atomic<bool>* stop_;
  std::vector<std::size_t> done_;  // accesses, per tensor
  std::vector<State> next_;
  std::vector<std::vector<Node>> nodes_;
  std::vector<Choice> choices_;
  std::vector<char> chosen_;
  std::array<Status, kSlots> rest_status_ = {};
  std::int64_t nodes_seen_ = 0;  // of the state in hand
  std::int64_t all_nodes_ = 0;
  std::int64_t cut_ = 0;
  std::int64_t lower_ = 0;
  std::int64_t states_ = 0;
};

}  // namespace

Optimum LeastTraffic(const Problem& problem, std::int64_t on_chip_bytes,
                     const OptimumOptions& options) {
  Optimum best;
  best.decisions = Apply(Policy::kFurthestNextUse, problem, on_chip_bytes);
  Decisions other = Apply(Policy::kLeastRecentlyUsed, problem, on_chip_bytes);
  if (other.counts.total() < best.decisions.counts.total()) best.decisions = std::move(other);
  best.lower_bound_bytes = CompulsoryBytes(problem);
  if (best.optimal()) return best;
  const Trace trace(problem);
  Prices prices(problem, trace, on_chip_bytes);
  constexpr int kRounds = 400;
  prices.Improve(best.decisions.counts.total(), kRounds);
  best.lower_bound_bytes = std::max(best.lower_bound_bytes, prices.BytesOf(prices.Bound()));
  const Slots slots(problem);
  if (slots.overflow()) return best;
  std::int64_t width = 16;
  while (!best.optimal() && best.states < options.max_states) {
    if (options.stop != nullptr && options.stop->load()) break;
    Pass pass(problem, trace, slots, prices, best.decisions.counts.total(),
              static_cast<std::size_t>(width), options.max_states - best.states, options.stop);
    PassResult result = pass.Run();
    best.states += result.states;
    if (result.better) best.decisions = std::move(*result.better);
    best.lower_bound_bytes =
        std::clamp(result.lower_bytes, best.lower_bound_bytes, best.decisions.counts.total());
    constexpr std::int64_t kWider = 8;
    width *= kWider;
  }
  return best;
}

}  // namespace neap::traffic
