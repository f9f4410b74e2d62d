// SPDX-License-Identifier: Apache-2.0
#include "neap/cascade/region_search.h"

#include <optional>

namespace neap::cascade {
namespace {

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;

bool Has(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// Height and width of an image in this format.
std::vector<std::size_t> SpatialAxes(const Op& op, const Shape& shape) {
  if (shape.size() != 4) return {};
  return op.domain == "tflite" ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{2, 3};
}

// Every number of even parts that gives another largest part.
std::vector<std::int64_t> PartsOf(std::int64_t size, std::int64_t most) {
  std::vector<std::int64_t> parts;
  for (std::int64_t largest = size - 1; largest >= 1; --largest) {
    const std::int64_t count = (size + largest - 1) / largest;
    if (count > most) break;
    if (parts.empty() || parts.back() != count) parts.push_back(count);
  }
  return parts;
}

// Bands of even heights between a first and a last one of others.
std::vector<std::vector<std::int64_t>> UnevenCuts(std::int64_t size, std::int64_t most_parts) {
  constexpr std::int64_t kMostParts = 16;
  constexpr std::int64_t kMostRows = 4;  // more or less than an even part
  std::vector<std::vector<std::int64_t>> ways;
  for (std::int64_t parts = 2; parts <= std::min({most_parts, size, kMostParts}); ++parts) {
    const std::int64_t even = size / parts;
    const std::int64_t least = std::max<std::int64_t>(even - kMostRows, 1);
    for (std::int64_t first = least; first <= even + kMostRows; ++first) {
      for (std::int64_t last = least; last <= even + kMostRows; ++last) {
        const std::int64_t between = size - first - last;
        if (between < parts - 2 || (parts == 2 && between != 0)) continue;
        std::vector<std::int64_t> cuts;
        if (parts > 2) cuts = EvenSplit(0, between, parts - 2).cuts;
        for (std::int64_t& cut : cuts) cut += first;
        cuts.insert(cuts.begin(), first);
        if (parts > 2) cuts.push_back(size - last);
        ways.push_back(std::move(cuts));
      }
    }
  }
  return ways;
}

}  // namespace

RegionSearch::RegionSearch(const Subgraph& subgraph, std::vector<OpId> order, const Rules& rules,
                           const RegionLimits& limits)
    : subgraph_(subgraph),
      order_(std::move(order)),
      rules_(rules),
      limits_(limits),
      lives_(subgraph.tensors.size()) {
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
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const Op& op = subgraph_.ops[order_[at]];
    if (op.outputs.size() == 1 && op.outputs[0].valid()) {
      const auto& shape = subgraph_.tensors[op.outputs[0]].shape;
      if (shape) {
        for (const std::size_t axis : SpatialAxes(op, *shape)) {
          if ((*shape)[axis] < 2) continue;
          const RegionPlan single = {{order_[at]}, {EvenSplit(axis, (*shape)[axis], 2)}};
          cuttable_[at] = cuttable_[at] || TilesOf(subgraph_, single).has_value();
        }
      }
    }
    if (!cuttable_[at]) floor_ = std::max(floor_, loads_[at]);
  }
  const auto sum = [&](const std::vector<TensorId>& list) {
    std::int64_t bytes = 0;
    for (const TensorId id : list) bytes += CountedBytes(subgraph_.tensors[id], rules_);
    return bytes;
  };
  floor_ = std::max({floor_, sum(subgraph_.inputs), sum(subgraph_.outputs)});
}

RegionSearch::Stretch RegionSearch::StretchOf(std::size_t begin, std::size_t end) const {
  Stretch run;
  run.begin = begin;
  run.end = end;
  run.ops.assign(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                 order_.begin() + static_cast<std::ptrdiff_t>(end));
  const Border border = BorderOf(subgraph_, run.ops);
  if (border.outputs.size() != 1) return run;
  run.output = border.outputs[0];
  const graph::Tensor& output = subgraph_.tensors[run.output];
  run.axes = SpatialAxes(subgraph_.ops[run.ops[0]], *output.shape);
  for (const TensorId input : border.inputs) {
    run.dies.push_back(lives_[input].last < end && !Has(subgraph_.outputs, input));
    if (!run.dies.back()) run.least += CountedBytes(subgraph_.tensors[input], rules_);
  }
  for (const TensorId id : subgraph_.tensors.Ids()) {
    const Life& life = lives_[id];
    if (!life.used || life.first >= begin || life.last < begin) continue;
    if (Has(border.inputs, id)) continue;
    run.beside += CountedBytes(subgraph_.tensors[id], rules_);
  }
  const bool copied = rules_.kernels == ops::KernelLibrary::kNone;
  run.least += run.beside + (copied ? 2 : 1) * CountedBytes(output, rules_);
  for (std::size_t at = begin; at < end; ++at) {
    run.macs += MacsOf(subgraph_, subgraph_.ops[order_[at]]);
    run.most = std::max(run.most, loads_[at]);
  }
  return run;
}

void RegionSearch::TryGrid(const Stretch& run, std::vector<Split> splits) {
  ++searched_;
  // One by one they need no more, without anything extra.
  if (run.least >= run.most) return;
  const RegionPlan region{run.ops, std::move(splits)};
  const auto tiles = TilesOf(subgraph_, region);
  if (!tiles) return;
  auto cost = CostBelow(run.most - run.beside, subgraph_, region, *tiles, run.dies, rules_);
  if (!cost) return;
  cost->bytes += run.beside;
  cost->macs -= run.macs;
  plans_.push_back({run.begin, run.end, region.splits, *cost});
}

void RegionSearch::TryGrids(const Stretch& run) {
  if (run.axes.size() != 2) return;
  const Shape& shape = *subgraph_.tensors[run.output].shape;
  const auto& axes = run.axes;
  const auto rows = PartsOf(shape[axes[0]], limits_.most_tiles);
  const auto columns = PartsOf(shape[axes[1]], limits_.most_tiles);
  for (const std::int64_t parts : rows) {
    TryGrid(run, {EvenSplit(axes[0], shape[axes[0]], parts)});
  }
  // Where slices of whole rows are free, tiles of other shapes pay for what they copy.
  const bool free_rows = rules_.kernels != ops::KernelLibrary::kNone;
  const std::int64_t most =
      free_rows ? std::min<std::int64_t>(limits_.most_tiles, 16) : limits_.most_tiles;
  for (const std::int64_t parts : columns) {
    if (free_rows) break;
    TryGrid(run, {EvenSplit(axes[1], shape[axes[1]], parts)});
  }
  for (const std::int64_t down : rows) {
    for (const std::int64_t across : columns) {
      if (down * across > most || down > 2 * across || across > 2 * down) continue;
      TryGrid(run, {EvenSplit(axes[0], shape[axes[0]], down),
                    EvenSplit(axes[1], shape[axes[1]], across)});
    }
  }
}

std::vector<RegionCandidate> RegionSearch::Uneven(std::size_t begin, std::size_t end) {
  const Stretch run = StretchOf(begin, end);
  if (run.axes.size() != 2) return {};
  const std::size_t axis = run.axes[0];
  const std::int64_t size = (*subgraph_.tensors[run.output].shape)[axis];
  std::vector<RegionCandidate> others = std::move(plans_);
  plans_.clear();
  for (const std::vector<std::int64_t>& cuts : UnevenCuts(size, limits_.most_tiles)) {
    TryGrid(run, {{axis, cuts}});
  }
  std::swap(others, plans_);
  KeepUndominated(&others);
  return others;
}

void RegionSearch::SearchFrom(std::size_t begin) {
  std::int64_t most = 0;
  const std::size_t first = plans_.size();
  for (std::size_t at = begin; at < order_.size() && at - begin < limits_.most_operators; ++at) {
    if (!cuttable_[at]) break;
    most = std::max(most, loads_[at]);
    // Nothing gets below the floor; a run that is nowhere above it is best left alone.
    if (most <= floor_) continue;
    TryGrids(StretchOf(begin, at + 1));
    // Of this run, those that no other dominates.
    std::vector<RegionCandidate> own;
    for (std::size_t p = plans_.size(); p-- > first;) {
      if (plans_[p].end != at + 1) break;
      own.push_back(std::move(plans_[p]));
      plans_.pop_back();
    }
    std::reverse(own.begin(), own.end());
    KeepUndominated(&own);
    for (RegionCandidate& plan : own) plans_.push_back(std::move(plan));
  }
}

std::vector<Combination> RegionSearch::Combine() const {
  // A state: the operators before a position are done at this cost; how, by links.
  struct State {
    Cost cost;
    std::size_t from = 0;  // position
    std::size_t state = 0;
    std::ptrdiff_t plan = -1;  // -1: one operator by itself
  };
  std::vector<std::vector<State>> states(order_.size() + 1);
  std::vector<std::vector<std::size_t>> ending(order_.size() + 1);
  for (std::size_t p = 0; p < plans_.size(); ++p) ending[plans_[p].end].push_back(p);
  states[0].push_back({});
  for (std::size_t at = 1; at <= order_.size(); ++at) {
    std::vector<State>& here = states[at];
    const auto extend = [&](std::size_t from, const Cost& cost, std::ptrdiff_t plan) {
      for (std::size_t s = 0; s < states[from].size(); ++s) {
        const Cost& before = states[from][s].cost;
        here.push_back({{std::max({before.bytes, cost.bytes, floor_}), before.macs + cost.macs,
                         before.kept_bytes + cost.kept_bytes},
                        from,
                        s,
                        plan});
      }
    };
    extend(at - 1, {loads_[at - 1], 0, 0}, -1);
    for (const std::size_t p : ending[at]) {
      extend(plans_[p].begin, plans_[p].cost, static_cast<std::ptrdiff_t>(p));
    }
    KeepUndominated(&here);
  }
  std::vector<Combination> combinations;
  for (std::size_t s = 0; s < states.back().size(); ++s) {
    Combination combination;
    combination.cost = states.back()[s].cost;
    std::size_t state = s;
    for (std::size_t at = order_.size(); at > 0;) {
      const State& link = states[at][state];
      if (link.plan >= 0) {
        const RegionCandidate& plan = plans_[static_cast<std::size_t>(link.plan)];
        const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(plan.begin);
        const auto end = order_.begin() + static_cast<std::ptrdiff_t>(plan.end);
        combination.regions.push_back({{begin, end}, plan.splits});
      }
      at = link.from;
      state = link.state;
    }
    std::reverse(combination.regions.begin(), combination.regions.end());
    combinations.push_back(std::move(combination));
  }
  return combinations;
}

std::vector<Combination> RegionSearch::Run(const Progress& progress) {
  plans_.clear();
  for (std::size_t begin = 0; begin < order_.size(); ++begin) {
    SearchFrom(begin);
    if (!progress(begin + 1, order_.size())) break;
  }
  return Combine();
}

}  // namespace neap::cascade
