// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/region_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/transform/cascade/bodies.h"
#include "neap/transform/cascade/inserted.h"

namespace neap::cascade {
namespace {

using graph::Shape;

// The cost of an operator of a tile here, approximately in nanoseconds.
constexpr std::int64_t kTiledOperator = 150;
constexpr std::int64_t kRefusedOperator = 50;  // likewise, of a tile that is not possible

// Grids with fewer tiles are computed without judging them by one tile.
constexpr std::int64_t kLeastJudged = 4;

std::int64_t NumTiles(const RegionPlan& region) {
  std::int64_t tiles = 1;
  for (const Split& split : region.splits) {
    tiles *= static_cast<std::int64_t>(split.cuts.size()) + 1;
  }
  return tiles;
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
std::vector<std::vector<std::int64_t>> UnevenCuts(std::int64_t size, std::int64_t max_parts) {
  constexpr std::int64_t kMaxParts = 16;
  constexpr std::int64_t kMaxRows = 4;  // more or less than an even part
  std::vector<std::vector<std::int64_t>> ways;
  for (std::int64_t parts = 2; parts <= std::min({max_parts, size, kMaxParts}); ++parts) {
    const std::int64_t even = size / parts;
    const std::int64_t least = std::max<std::int64_t>(even - kMaxRows, 1);
    for (std::int64_t first = least; first <= even + kMaxRows; ++first) {
      for (std::int64_t last = least; last <= even + kMaxRows; ++last) {
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
// Elements of a region's output in the tiles before this one, row by row of tiles.
std::int64_t ElementsBefore(const Shape& shape, const std::vector<Split>& splits,
                            const ops::Box& box) {
  std::int64_t elements = 0;
  ops::Box before = ops::WholeBox(shape);
  for (const Split& split : splits) {
    before[split.axis] = {0, box[split.axis].begin};
    elements += ops::ElementsOf(before);
    before[split.axis] = box[split.axis];
  }
  return elements;
}

// Elements that all tiles compute of each operator's output. Operators of a tile are in the order
// of the region.
std::vector<std::int64_t> ElementsOfOps(const RegionPlan& region, const std::vector<Tile>& tiles) {
  std::vector<std::int64_t> elements(region.ops.size(), 0);
  for (const Tile& tile : tiles) {
    std::size_t k = 0;
    for (const TileStep& step : tile.steps) {
      if (!step.op.valid()) continue;
      while (region.ops[k] != step.op) ++k;
      elements[k] += ops::ElementsOf(tile.tensors[static_cast<std::size_t>(step.output)].box);
    }
  }
  return elements;
}

}  // namespace

// The last tiles and those before them: they have most of the output beside them.
std::optional<std::int64_t> RegionSearch::LeastBytes(const Stretch& run, const RegionPlan& region,
                                                     std::int64_t too_many) const {
  const Shape& shape = *subgraph_.tensors[run.output].shape;
  const auto num_ops = static_cast<std::int64_t>(run.ops.size());
  std::int64_t least = run.least;
  std::vector<std::size_t> at(region.splits.size());
  for (std::size_t which = 0; which < (std::size_t{1} << at.size()); ++which) {
    if (least >= too_many) break;
    for (std::size_t s = 0; s < at.size(); ++s) {
      at[s] = region.splits[s].cuts.size() - ((which >> s) & 1U);
    }
    const auto tile = run.worker->tiles.TileOf(region, at);
    ChargeWork(num_ops * (tile ? kTiledOperator : kRefusedOperator));
    if (!tile) return std::nullopt;
    const std::int64_t before = ElementsBefore(shape, region.splits, tile->output_box);
    least = std::max(least, run.beside + LeastBytesWith(*tile, before, which != 0, subgraph_,
                                                        region, run.border, run.dies, rules_));
  }
  return least;
}

// Every tile has its own clones of operators, and tiles compute all that is needed. Of a grid of
// two axes, the part of a tensor that a tile computes is the product of those of grids of one axis.
Cost RegionSearch::LeastCost(const Stretch& run, const RegionPlan& region,
                             std::int64_t bytes) const {
  Cost least{bytes, -run.macs, 0};
  const auto along = [&](std::size_t split) -> const std::vector<std::int64_t>& {
    if (region.splits.size() < 2) return run.needed;
    const Split& one = region.splits[split];
    const auto found = run.elements_along.find({one.axis, one.cuts.size() + 1});
    return found == run.elements_along.end() ? run.needed : found->second;
  };
  const std::vector<std::int64_t>& down = along(0);
  const std::vector<std::int64_t>& across = along(region.splits.size() - 1);
  for (std::size_t k = 0; k < run.ops.size(); ++k) {
    const auto product = CheckedMultiply(down[k], across[k]);
    std::int64_t elements = run.needed[k];
    if (region.splits.size() == 2 && product) {
      elements = std::max(elements, *product / std::max<std::int64_t>(run.elements[k], 1));
    }
    least.macs += run.macs_per_element[k] * elements;
  }
  if (!rules_.charges_operators) return least;
  least.kept_bytes = kKeptByConcatenation - run.kept;
  if (rules_.bodies == TileBodies::kClones) least.kept_bytes += NumTiles(region) * run.kept_by_tile;
  return least;
}

bool RegionSearch::IsBeaten(const Stretch& run, const Cost& least) {
  const std::vector<RegionCandidate>& plans = run.worker->plans;
  return std::any_of(plans.begin(), plans.end(),
                     [&](const RegionCandidate& plan) { return Dominates(plan.cost, least); });
}

void RegionSearch::TryGrid(Stretch* run, std::vector<Split> splits) const {
  if (MustStop(&run->worker->cut_short)) return;
  ++run->worker->searched;
  // One by one they need no more, without anything extra.
  const std::int64_t too_many = std::min(run->most, too_many_);
  if (run->least >= too_many) return;
  const RegionPlan region{run->ops, std::move(splits)};
  const auto num_ops = static_cast<std::int64_t>(run->ops.size());
  if (NumTiles(region) >= kLeastJudged) {
    const auto bytes = LeastBytes(*run, region, too_many);
    if (!bytes || *bytes >= too_many) return;
    if (IsBeaten(*run, LeastCost(*run, region, *bytes))) return;
  }
  const auto tiles = run->worker->tiles.TilesOf(region);
  if (!tiles || !MaySlice(subgraph_, *tiles, rules_.runtime)) {
    ChargeWork(NumTiles(region) * num_ops * kRefusedOperator);
    return;
  }
  ChargeWork(static_cast<std::int64_t>(tiles->size()) * num_ops * kTiledOperator);
  if (region.splits.size() == 1) {
    run->elements_along[{region.splits[0].axis, tiles->size()}] = ElementsOfOps(region, *tiles);
  }
  auto cost =
      CostBelow(too_many - run->beside, subgraph_, region, run->border, *tiles, run->dies, rules_);
  if (!cost) return;
  cost->bytes += run->beside;
  cost->macs -= run->macs;
  run->worker->plans.push_back({run->begin, run->end, region.splits, *cost});
}

void RegionSearch::TryGrids(Stretch* run) const {
  for (const std::vector<std::size_t>& axes : run->grids) TryGridsAlong(run, axes);
}

void RegionSearch::TryGridsAlong(Stretch* run, const std::vector<std::size_t>& axes) const {
  const Shape& shape = *subgraph_.tensors[run->output].shape;
  const Grids& grids = limits_.grids;
  const auto rows = PartsOf(shape[axes[0]], grids.max_tiles);
  for (const std::int64_t parts : rows) {
    const bool power_of_two = (parts & (parts - 1)) == 0;
    if (coarse_ && !power_of_two) continue;
    TryGrid(run, {EvenSplit(axes[0], shape[axes[0]], parts)});
  }
  if (axes.size() < 2 || coarse_) return;
  const auto columns = PartsOf(shape[axes[1]], grids.max_tiles);
  // Where slices of whole rows are free, tiles of other shapes have to copy.
  const bool few = rules_.kernels != ops::KernelLibrary::kNone && !grids.all;
  const std::int64_t most = few ? std::min<std::int64_t>(grids.max_tiles, 16) : grids.max_tiles;
  for (const std::int64_t parts : columns) {
    if (few) break;
    TryGrid(run, {EvenSplit(axes[1], shape[axes[1]], parts)});
  }
  for (const std::int64_t down : rows) {
    for (const std::int64_t across : columns) {
      const bool too_long = down > grids.max_aspect * across || across > grids.max_aspect * down;
      if (down * across > most || too_long) continue;
      TryGrid(run, {EvenSplit(axes[0], shape[axes[0]], down),
                    EvenSplit(axes[1], shape[axes[1]], across)});
    }
  }
}

std::vector<RegionCandidate> RegionSearch::Uneven(std::size_t begin, std::size_t end) {
  worker_.plans.clear();
  worker_.searched = 0;
  worker_.cut_short = false;
  Stretch run = StretchOf(begin, end, &worker_);
  if (run.grids.empty()) return {};
  const std::size_t axis = run.grids[0][0];
  const std::int64_t size = (*subgraph_.tensors[run.output].shape)[axis];
  for (const std::vector<std::int64_t>& cuts : UnevenCuts(size, limits_.grids.max_tiles)) {
    TryGrid(&run, {{axis, cuts}});
  }
  std::vector<RegionCandidate> others = std::move(worker_.plans);
  worker_.plans.clear();
  searched_ += worker_.searched;
  cut_short_ = cut_short_ || worker_.cut_short;
  KeepUndominated(&others);
  Know(others);
  return others;
}

}  // namespace neap::cascade
