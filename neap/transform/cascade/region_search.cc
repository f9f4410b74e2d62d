// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/region_search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "neap/base/ahead.h"
#include "neap/base/work.h"
#include "neap/ops/op_table.h"
#include "neap/transform/cascade/bodies.h"
#include "neap/transform/cascade/cut_axes.h"
#include "neap/transform/cascade/inserted.h"
#include "neap/transform/cascade/tile_rules.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

// The cost of a way through the order, approximately in nanoseconds.
constexpr std::int64_t kPartial = 60;

// A placement may need more than the model estimates: plans of regions that need more than a plan
// of the model by less than this share of it may be part of the best one.
constexpr std::int64_t kMarginShare = 4;

bool Has(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// For PartialsWithin(): ways that no other dominates.
struct Undominated {
  static constexpr bool kUndominated = true;
  template <typename T>
  void operator()(std::vector<T>* here) const {
    KeepUndominated(here);
  }
};

// Of many costs, most are dominated by one of a few: those need not be sorted.
class Champions {
 public:
  // Some of these, which no other dominates.
  template <typename T>
  void Choose(const std::vector<T>& undominated) {
    costs_.clear();
    const std::size_t step = undominated.size() / kMost + 1;
    for (std::size_t i = 0; i < undominated.size(); i += step)
      costs_.push_back(undominated[i].cost);
  }
  // One of them is no worse in anything.
  bool Beat(const Cost& cost) {
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (!Dominates(costs_[i], cost)) continue;
      if (i > 0) std::swap(costs_[i], costs_[i / 2]);  // the next one is often beaten by the same
      return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::vector<Cost> costs_;
};

// The first `few` by kept bytes, then by multiplications.
struct Least {
  static constexpr bool kUndominated = false;
  std::size_t few = 1;

  template <typename T>
  void operator()(std::vector<T>* here) const {
    const auto before = [](const T& a, const T& b) {
      return std::tie(a.cost.kept_bytes, a.cost.macs) < std::tie(b.cost.kept_bytes, b.cost.macs);
    };
    std::vector<T> least;
    for (const T& one : *here) {
      if (least.size() == few) {
        if (!before(one, least.back())) continue;
        least.pop_back();
      }
      least.insert(std::upper_bound(least.begin(), least.end(), one, before), one);
    }
    *here = std::move(least);
  }
};

}  // namespace

RegionKey KeyOf(const RegionPlan& region) {
  RegionKey key;
  key.reserve(region.ops.size());
  for (const OpId id : region.ops) key.push_back(id.value());
  for (const Split& split : region.splits) {
    key.push_back(-1 - static_cast<std::int64_t>(split.axis));
    key.insert(key.end(), split.cuts.begin(), split.cuts.end());
  }
  return key;
}

RegionSearch::RegionSearch(const Subgraph& subgraph, std::vector<OpId> order, const Rules& rules,
                           const RegionLimits& limits)
    : subgraph_(subgraph),
      order_(std::move(order)),
      rules_(rules),
      limits_(limits),
      worker_(subgraph, rules.runtime),
      lives_(subgraph.tensors.size()),
      parted_(subgraph.tensors.size()) {
  FindLives();
  FindLoads();
  FindBarriers();
}

void RegionSearch::FindLives() {
  const auto touch = [&](TensorId id, std::size_t at) {
    Life& life = lives_[id];
    if (!life.used) life = {at, at, true};
    life.last = std::max(life.last, at);
  };
  for (const TensorId id : subgraph_.inputs) touch(id, 0);
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const Op& op = subgraph_.ops[order_[at]];
    for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
      for (const TensorId id : *list) {
        if (id.valid()) touch(id, at);
      }
    }
  }
  for (const TensorId id : subgraph_.outputs) {
    if (!order_.empty()) touch(id, order_.size() - 1);
  }
}

void RegionSearch::FindLoads() {
  loads_.assign(order_.size(), 0);
  if (order_.empty()) return;  // inputs live at a step that there is not
  for (const TensorId id : subgraph_.tensors.Ids()) {
    const Life& life = lives_[id];
    if (!life.used) continue;
    const std::int64_t bytes = CountedBytes(subgraph_.tensors[id], rules_);
    for (std::size_t at = life.first; at <= life.last; ++at) loads_[at] += bytes;
  }
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const Op& op = subgraph_.ops[order_[at]];
    loads_[at] += op.scratch_bytes;
    std::int64_t saved = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId id = op.inputs[i];
      if (!id.valid() || subgraph_.tensors[id].constant || op.outputs.empty()) continue;
      if (lives_[id].last != at || Has(subgraph_.outputs, id)) continue;
      saved = std::max(saved, SavedInside(subgraph_, op, i, rules_));
    }
    loads_[at] -= saved;
  }
}

void RegionSearch::FindBarriers() {
  cuttable_.assign(order_.size(), false);
  needs_all_.assign(order_.size(), false);
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const Op& op = subgraph_.ops[order_[at]];
    const bool single = op.outputs.size() == 1 || RunsInSteps(subgraph_, op);
    if (single && op.outputs[0].valid()) {
      const auto& shape = subgraph_.tensors[op.outputs[0]].shape;
      if (shape) {
        for (const auto& axes : GridAxesOf(op, *shape)) {
          for (const std::size_t axis : axes) {
            const RegionPlan halves = {{order_[at]}, {EvenSplit(axis, (*shape)[axis], 2)}};
            if (!worker_.tiles.TilesOf(halves)) continue;
            cuttable_[at] = true;
            parted_[op.outputs[0]].push_back(axis);
          }
        }
      }
    }
    // Several outputs are no region by themselves.
    if (ops::Has(op, ops::trait::kSplits)) cuttable_[at] = true;
    if (cuttable_[at]) needs_all_[at] = NeedsAllBetween(subgraph_, op);
    if (!cuttable_[at]) floor_ = std::max(floor_, loads_[at]);
  }
  const auto sum = [&](const std::vector<TensorId>& list) {
    std::int64_t bytes = 0;
    for (const TensorId id : list) bytes += CountedBytes(subgraph_.tensors[id], rules_);
    return bytes;
  };
  floor_ = std::max({floor_, sum(subgraph_.inputs), sum(subgraph_.outputs)});
}

RegionSearch::Stretch RegionSearch::StretchOf(std::size_t begin, std::size_t end,
                                              Worker* worker) const {
  Stretch run;
  run.worker = worker;
  run.begin = begin;
  run.end = end;
  run.ops.assign(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                 order_.begin() + static_cast<std::ptrdiff_t>(end));
  run.border = worker->tiles.BorderOf(run.ops);
  if (run.border.outputs.size() != 1) return run;
  run.output = run.border.outputs[0];
  const graph::Tensor& output = subgraph_.tensors[run.output];
  if (MayJoin(subgraph_, run.output, rules_.runtime)) {
    run.grids = GridAxesOf(subgraph_.ops[run.ops[0]], *output.shape);
    // Axes beside those of the first grid are rarely possible.
    const auto impossible = [&](const std::vector<std::size_t>& axes) {
      const std::vector<std::size_t>& parted = parted_[run.output];
      return axes != run.grids[0] &&
             std::find(parted.begin(), parted.end(), axes[0]) == parted.end();
    };
    const auto kept = std::remove_if(run.grids.begin(), run.grids.end(), impossible);
    run.grids.erase(kept, run.grids.end());
  }
  for (const TensorId input : run.border.inputs) {
    run.dies.push_back(lives_[input].last < end && !Has(subgraph_.outputs, input));
    if (!run.dies.back()) run.least += CountedBytes(subgraph_.tensors[input], rules_);
  }
  for (const TensorId id : subgraph_.tensors.Ids()) {
    const Life& life = lives_[id];
    if (!life.used || life.first >= begin || life.last < begin) continue;
    if (Has(run.border.inputs, id)) continue;
    run.beside += CountedBytes(subgraph_.tensors[id], rules_);
  }
  const bool copied = rules_.kernels == ops::KernelLibrary::kNone;
  run.least += run.beside + (copied ? 2 : 1) * CountedBytes(output, rules_);
  for (std::size_t at = begin; at < end; ++at) {
    const Op& op = subgraph_.ops[order_[at]];
    run.macs += MacsOf(subgraph_, op);
    run.kept += KeptBytes(subgraph_, op);
    // Outputs of operators that split are slices.
    if (!ops::Has(op, ops::trait::kSplits)) run.kept_by_tile += KeptByAnyPart(subgraph_, op);
    run.macs_per_element.push_back(MacsPerElement(subgraph_, op));
    std::int64_t elements = 0;
    for (const TensorId written : op.outputs) {
      if (!written.valid() || !subgraph_.tensors[written].shape) continue;
      elements += ops::ElementsOf(ops::WholeBox(*subgraph_.tensors[written].shape));
    }
    run.elements.push_back(elements);
    run.most = std::max(run.most, loads_[at]);
  }
  const auto first = needs_all_.begin() + static_cast<std::ptrdiff_t>(begin);
  const bool all = std::all_of(first, first + static_cast<std::ptrdiff_t>(end - begin),
                               [](bool needs_all) { return needs_all; });
  if (all) {
    run.needed = worker->tiles.NeededElements(run.ops);
  } else {
    run.needed.assign(run.ops.size(), 0);
  }
  return run;
}

bool RegionSearch::MustStop(bool* cut_short) const {
  const bool over = IsOver(limits_.search);
  *cut_short = *cut_short || over;
  return over;
}

RegionSearch::Found RegionSearch::SearchFrom(std::size_t begin, Worker* worker) const {
  std::int64_t most = 0;
  worker->plans.clear();
  worker->searched = 0;
  worker->cut_short = false;
  std::vector<RegionCandidate> all;
  for (std::size_t at = begin; at < order_.size() && at - begin < limits_.grids.max_operators;
       ++at) {
    if (!cuttable_[at]) break;
    most = std::max(most, loads_[at]);
    // Nothing gets below the floor; a run that never exceeds it stays as it is.
    if (most <= floor_) continue;
    ChargeWork(static_cast<std::int64_t>(subgraph_.tensors.size()));
    if (MustStop(&worker->cut_short)) break;
    Stretch run = StretchOf(begin, at + 1, worker);
    TryGrids(&run);
    // Of this run, those that no other dominates.
    KeepUndominated(&worker->plans);
    std::move(worker->plans.begin(), worker->plans.end(), std::back_inserter(all));
    worker->plans.clear();
  }
  return {std::move(all), worker->searched, worker->cut_short};
}

template <typename Wants, typename Adopt>
void RegionSearch::SearchFromEach(const Wants& wants, const Adopt& adopt) {
  const int threads = limits_.search.threads;
  if (threads > 1 && other_ == nullptr)
    other_ = std::make_unique<Worker>(subgraph_, rules_.runtime);
  ForEachAhead(
      threads, order_.size(), [&](std::size_t) { return wants(); },
      [&](std::size_t begin, int thread) {
        return SearchFrom(begin, thread == 0 ? &worker_ : other_.get());
      },
      [&](std::size_t begin, Found found) {
        std::move(found.plans.begin(), found.plans.end(), std::back_inserter(plans_));
        searched_ += found.searched;
        cut_short_ = cut_short_ || found.cut_short;
        adopt(begin);
      });
}

// The cost of the operators before a position; the choices are linked.
struct RegionSearch::Partial {
  Cost cost;
  std::size_t from = 0;      // position
  std::size_t state = 0;     // of those there
  std::ptrdiff_t plan = -1;  // of the run that begins there; -1: one operator by itself
};

// For every position what `keep` leaves of all ways to get there within `max_bytes`.
template <typename Keep>
std::vector<std::vector<RegionSearch::Partial>> RegionSearch::PartialsWithin(
    std::int64_t max_bytes, const Keep& keep) const {
  std::vector<std::vector<Partial>> states(order_.size() + 1);
  std::vector<std::vector<std::size_t>> ending(order_.size() + 1);
  for (std::size_t p = 0; p < plans_.size(); ++p) {
    if (plans_[p].cost.bytes <= max_bytes) ending[plans_[p].end].push_back(p);
  }
  std::vector<std::vector<std::size_t>> by_macs(order_.size() + 1);
  constexpr std::size_t kMany = 200;
  states[0].push_back({});
  if constexpr (Keep::kUndominated) by_macs[0].push_back(0);
  for (std::size_t at = 1; at <= order_.size(); ++at) {
    std::vector<Partial>& here = states[at];
    Champions champions;
    std::size_t many = kMany;
    const auto add = [&](std::size_t from, std::size_t s, const Cost& cost, std::ptrdiff_t plan) {
      const Cost& before = states[from][s].cost;
      const Cost sum = {std::max({before.bytes, cost.bytes, floor_}), before.macs + cost.macs,
                        before.kept_bytes + cost.kept_bytes};
      if constexpr (Keep::kUndominated) {
        // Those that come later are left out where they are equal, as by keep() of all of them.
        if (champions.Beat(sum)) return;
        if (here.size() >= many) {
          keep(&here);
          champions.Choose(here);
          many = 2 * here.size() + kMany;
        }
      }
      here.push_back({sum, from, s, plan});
    };
    const auto extend = [&](std::size_t from, const Cost& cost, std::ptrdiff_t plan) {
      if constexpr (!Keep::kUndominated) {
        for (std::size_t s = 0; s < states[from].size(); ++s) add(from, s, cost, plan);
        return;
      }
      // Those that need no more bytes than the plan need its bytes from here on: of them, only
      // those that keep less than all with fewer multiplications can be undominated.
      std::int64_t least_kept = std::numeric_limits<std::int64_t>::max();
      for (const std::size_t s : by_macs[from]) {
        const Cost& before = states[from][s].cost;
        if (before.bytes <= std::max(cost.bytes, floor_)) {
          if (before.kept_bytes >= least_kept) continue;
          least_kept = before.kept_bytes;
        }
        add(from, s, cost, plan);
      }
    };
    if (loads_[at - 1] <= max_bytes) extend(at - 1, {loads_[at - 1], 0, 0}, -1);
    for (const std::size_t p : ending[at]) {
      extend(plans_[p].begin, plans_[p].cost, static_cast<std::ptrdiff_t>(p));
    }
    keep(&here);
    if constexpr (!Keep::kUndominated) continue;
    by_macs[at].resize(here.size());
    std::iota(by_macs[at].begin(), by_macs[at].end(), std::size_t{0});
    std::sort(by_macs[at].begin(), by_macs[at].end(), [&](std::size_t a, std::size_t b) {
      return std::tie(here[a].cost.macs, here[a].cost.kept_bytes, a) <
             std::tie(here[b].cost.macs, here[b].cost.kept_bytes, b);
    });
  }
  return states;
}

Combination RegionSearch::Trace(const std::vector<std::vector<Partial>>& states,
                                std::size_t state) const {
  Combination combination;
  combination.cost = states.back()[state].cost;
  for (std::size_t at = order_.size(); at > 0;) {
    const Partial& link = states[at][state];
    if (link.plan >= 0) {
      combination.regions.push_back(RegionOf(plans_[static_cast<std::size_t>(link.plan)]));
    }
    at = link.from;
    state = link.state;
  }
  std::reverse(combination.regions.begin(), combination.regions.end());
  return combination;
}

std::vector<Combination> RegionSearch::Combine() const {
  const auto states = PartialsWithin(std::numeric_limits<std::int64_t>::max(), Undominated());
  std::vector<Combination> combinations;
  for (std::size_t s = 0; s < states.back().size(); ++s) combinations.push_back(Trace(states, s));
  return combinations;
}

RegionPlan RegionSearch::RegionOf(const RegionCandidate& plan) const {
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(plan.begin);
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(plan.end);
  return {{begin, end}, plan.splits};
}

std::size_t RegionSearch::PositionOf(const RegionPlan& region) const {
  const auto at = std::find(order_.begin(), order_.end(), region.ops.front());
  return static_cast<std::size_t>(at - order_.begin());
}

void RegionSearch::Know(const std::vector<RegionCandidate>& plans) {
  for (const RegionCandidate& plan : plans) costs_[KeyOf(RegionOf(plan))] = plan.cost;
}

Cost RegionSearch::CostOf(const std::vector<RegionPlan>& regions) const {
  Cost cost;
  cost.bytes = floor_;
  std::vector<bool> cut(order_.size(), false);
  for (const RegionPlan& region : regions) {
    const Cost& own = costs_.at(KeyOf(region));
    cost.bytes = std::max(cost.bytes, own.bytes);
    cost.macs += own.macs;
    cost.kept_bytes += own.kept_bytes;
    const std::size_t begin = PositionOf(region);
    for (std::size_t i = 0; i < region.ops.size(); ++i) cut[begin + i] = true;
  }
  for (std::size_t at = 0; at < order_.size(); ++at) {
    if (!cut[at]) cost.bytes = std::max(cost.bytes, loads_[at]);
  }
  return cost;
}

std::vector<RegionPlan> RegionSearch::With(const std::vector<RegionPlan>& regions,
                                           const RegionCandidate& plan) const {
  std::vector<RegionPlan> result;
  bool placed = false;
  for (const RegionPlan& region : regions) {
    const std::size_t at = PositionOf(region);
    if (!placed && at >= plan.begin) {
      result.push_back(RegionOf(plan));
      placed = true;
    }
    if (at >= plan.end || at + region.ops.size() <= plan.begin) result.push_back(region);
  }
  if (!placed) result.push_back(RegionOf(plan));
  return result;
}

std::vector<Combination> RegionSearch::Neighbours(const std::vector<RegionPlan>& regions) const {
  std::vector<Combination> neighbours;
  const auto add = [&](std::vector<RegionPlan> changed) {
    neighbours.push_back({CostOf(changed), std::move(changed)});
  };
  for (std::size_t i = 0; i < regions.size(); ++i) {
    std::vector<RegionPlan> without = regions;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    add(std::move(without));
  }
  for (const RegionCandidate& plan : plans_) add(With(regions, plan));
  return neighbours;
}

std::vector<Combination> RegionSearch::Near(std::int64_t max_bytes, std::size_t each) const {
  std::set<std::int64_t> heights(loads_.begin(), loads_.end());
  heights.insert(floor_);
  for (const RegionCandidate& plan : plans_) heights.insert(plan.cost.bytes);
  std::vector<Combination> near;
  for (const std::int64_t height : heights) {
    if (height < floor_ || height > max_bytes) continue;
    ChargeWork(static_cast<std::int64_t>(plans_.size() + order_.size()) * kPartial);
    if (IsOver(limits_.search)) break;
    const auto best = PartialsWithin(height, Least{1});
    if (best.back().empty() || best.back()[0].cost.kept_bytes + height > max_bytes) continue;
    const auto states = PartialsWithin(height, Least{each});
    for (std::size_t s = 0; s < states.back().size(); ++s) {
      // Lower ones have been found before.
      if (states.back()[s].cost.bytes != height) continue;
      if (states.back()[s].cost.kept_bytes + height <= max_bytes) near.push_back(Trace(states, s));
    }
  }
  return near;
}

void RegionSearch::FindEnough() {
  const WorkScope work(1, 4);
  coarse_ = true;
  SearchFromEach([&] { return !IsOver(limits_.search); }, [](std::size_t) {});
  coarse_ = false;
  const std::vector<Combination> found = Combine();
  coarse_plans_ = std::move(plans_);
  plans_.clear();
  // Of the combination with the fewest bytes, its data for operators included: a region that needs
  // more is part of no better one.
  std::int64_t least = std::numeric_limits<std::int64_t>::max() / 2;
  for (const Combination& one : found) {
    least = std::min(least, one.cost.bytes + std::max<std::int64_t>(one.cost.kept_bytes, 0));
  }
  too_many_ = std::max(least + least / kMarginShare, limits_.enough_bytes) + 1;
}

void RegionSearch::AddCoarse(std::size_t begin) {
  std::set<RegionKey> known;
  for (const RegionCandidate& plan : plans_) {
    if (plan.begin == begin) known.insert(KeyOf(RegionOf(plan)));
  }
  for (RegionCandidate& plan : coarse_plans_) {
    if (plan.begin < begin || known.contains(KeyOf(RegionOf(plan)))) continue;
    plans_.push_back(std::move(plan));
  }
  coarse_plans_.clear();
}

std::vector<Combination> RegionSearch::Run(const Progress& progress) {
  plans_.clear();
  if (limits_.enough_bytes >= 0) FindEnough();
  cut_short_ = false;
  bool stopped = false;
  SearchFromEach([&] { return !stopped; },
                 [&](std::size_t begin) {
                   progress(begin + 1, order_.size());
                   if (begin + 1 >= order_.size() || !MustStop(&cut_short_)) return;
                   AddCoarse(begin);
                   stopped = true;
                 });
  Know(plans_);
  return Combine();
}

}  // namespace neap::cascade
