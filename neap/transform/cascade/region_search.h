// SPDX-License-Identifier: Apache-2.0
//
// Plans of regions and their combinations, by the model of neap/transform/cascade/cost.h. Private
// to neap/cascade.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "neap/base/limits.h"
#include "neap/graph/graph.h"
#include "neap/transform/cascade/cost.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tile_maker.h"

namespace neap::cascade {

struct RegionLimits {
  Grids grids;
  Limits search = {};  // stop and deadline: the search returns its results so far
  // Regions that need more bytes than this and clearly more than some plan of the whole order are
  // left out; -1: none is.
  std::int64_t enough_bytes = -1;
};

// One way to run a run of operators in tiles; the bytes are of all that lives then.
struct RegionCandidate {
  std::size_t begin = 0;  // positions in the order, half-open
  std::size_t end = 0;
  std::vector<Split> splits;
  Cost cost;
};

// A way through the whole order: regions, and the other operators one after the other.
struct Combination {
  Cost cost;
  std::vector<RegionPlan> regions;
};

// Of costs, those that no other dominates; of equal ones the first. Sorted by bytes, then
// multiplications, then what is kept. O(n log n).
template <typename T>
void KeepUndominated(std::vector<T>* items);

// The key of a region: operators and cuts.
using RegionKey = std::vector<std::int64_t>;
RegionKey KeyOf(const RegionPlan& region);

class RegionSearch {
 public:
  // Called after each operator that a run may begin with.
  using Progress = std::function<void(std::size_t done, std::size_t of)>;

  RegionSearch(const graph::Subgraph& subgraph, std::vector<graph::OpId> order, const Rules& rules,
               const RegionLimits& limits);

  // Every combination of plans of disjoint runs that no other dominates. The search of runs is done
  // once; the list serves every budget.
  std::vector<Combination> Run(const Progress& progress);

  // After Run(): combinations that are not far from the best ones, among which dominated ones are.
  // For every height the `each` ones of just that for which the runtime keeps least, where height
  // and that are at most `max_bytes` together. By height.
  std::vector<Combination> Near(std::int64_t max_bytes, std::size_t each) const;

  // Plans of one run in bands of rows of different heights: at borders of an image there is less
  // around them. Those that no other of them dominates.
  std::vector<RegionCandidate> Uneven(std::size_t begin, std::size_t end);

  // By the same model: regions that Run() or Uneven() has found, and the other operators one after
  // the other.
  Cost CostOf(const std::vector<RegionPlan>& regions) const;
  // Such regions with one plan of Run() in place of those that it touches; all of these, and those
  // with a region less.
  std::vector<RegionPlan> With(const std::vector<RegionPlan>& regions,
                               const RegionCandidate& plan) const;
  std::vector<Combination> Neighbours(const std::vector<RegionPlan>& regions) const;

  // Bytes at once at each position, nothing cut.
  const std::vector<std::int64_t>& Loads() const { return loads_; }
  const std::vector<RegionCandidate>& Plans() const { return plans_; }
  std::int64_t Searched() const { return searched_; }
  // A limit ended the search of plans before all were tried.
  bool cut_short() const { return cut_short_; }
  // The limits of the calls from here on.
  void SetLimits(const Limits& limits) { limits_.search = limits; }
  // The bytes of the largest operator that cannot be cut, and of the inputs and outputs of all
  // operators.
  std::int64_t LeastPossible() const { return floor_; }

 private:
  struct Life {
    std::size_t first = 0;
    std::size_t last = 0;  // inclusive
    bool used = false;
  };
  void FindLives();
  void FindLoads();
  void FindBarriers();
  // What a thread of the search changes: plans of runs that it has found, and how many it tried.
  struct Worker {
    Worker(const graph::Subgraph& subgraph, ops::StockRuntime runtime) : tiles(subgraph, runtime) {}
    TileMaker tiles;
    std::vector<RegionCandidate> plans;
    std::int64_t searched = 0;
    bool cut_short = false;
  };
  // Of the runs that begin at one operator.
  struct Found {
    std::vector<RegionCandidate> plans;
    std::int64_t searched = 0;
    bool cut_short = false;
  };
  // Calls adopt(begin) for one operator after the other, when plans_ has those of the runs that
  // begin there, while wants(). With threads two operators at a time, with equal results.
  template <typename Wants, typename Adopt>
  void SearchFromEach(const Wants& wants, const Adopt& adopt);
  Found SearchFrom(std::size_t begin, Worker* worker) const;
  // A few grids of all runs, for too_many_.
  void FindEnough();
  // Those grids, of runs that begin here or later: a limit ended the search here.
  void AddCoarse(std::size_t begin);
  // A run of operators that may be cut, and the values that do not depend on the cut.
  struct Stretch {
    Worker* worker = nullptr;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::vector<graph::OpId> ops;
    Border border;
    graph::TensorId output;
    std::vector<std::vector<std::size_t>> grids;  // GridAxesOf() its output; none: cannot be cut
    std::vector<bool> dies;                       // border inputs without consumers after it
    std::int64_t beside = 0;                      // bytes that live all the while, its border apart
    std::int64_t macs = 0;                        // of the operators whole
    std::int64_t kept = 0;                        // KeptBytes() of them
    std::int64_t kept_by_tile = 0;                // at least, of clones of them
    std::int64_t most = 0;                        // bytes at once, one operator after the other
    // Lower bound of all grids: its output exists at the end; twice, where the parts are copied
    // together.
    std::int64_t least = 0;
    // Multiplications for an element of each operator's output, elements of that, and those that
    // all tiles of any grid compute at least.
    std::vector<std::int64_t> macs_per_element;
    std::vector<std::int64_t> elements;
    std::vector<std::int64_t> needed;
    // Elements that all tiles compute, by grid of one axis: axis, tiles.
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::int64_t>> elements_along;
  };
  Stretch StretchOf(std::size_t begin, std::size_t end, Worker* worker) const;
  void TryGrids(Stretch* run) const;
  void TryGridsAlong(Stretch* run, const std::vector<std::size_t>& axes) const;
  void TryGrid(Stretch* run, std::vector<Split> splits) const;
  // Lower bounds of the cost of a grid: of bytes by some of its tiles, fewer where they are too
  // many, or nullopt where one of them cannot be made; of the other numbers by grids of one axis.
  std::optional<std::int64_t> LeastBytes(const Stretch& run, const RegionPlan& region,
                                         std::int64_t too_many) const;
  Cost LeastCost(const Stretch& run, const RegionPlan& region, std::int64_t bytes) const;
  // Whether a plan of this run that is known is no worse.
  static bool IsBeaten(const Stretch& run, const Cost& least);
  bool MustStop(bool* cut_short) const;
  RegionPlan RegionOf(const RegionCandidate& plan) const;
  std::size_t PositionOf(const RegionPlan& region) const;
  void Know(const std::vector<RegionCandidate>& plans);
  struct Partial;
  template <typename Keep>
  std::vector<std::vector<Partial>> PartialsWithin(std::int64_t max_bytes, const Keep& keep) const;
  Combination Trace(const std::vector<std::vector<Partial>>& states, std::size_t state) const;
  std::vector<Combination> Combine() const;

  const graph::Subgraph& subgraph_;
  const std::vector<graph::OpId> order_;
  const Rules rules_;
  RegionLimits limits_;
  Worker worker_;
  std::unique_ptr<Worker> other_;  // of a second thread
  IdVector<graph::TensorId, Life> lives_;
  std::vector<std::int64_t> loads_;
  std::vector<bool> cuttable_;
  std::vector<bool> needs_all_;  // NeedsAllBetween(), of those that can be cut
  // Of the output of an operator: axes along which that operator by itself can be cut in two.
  IdVector<graph::TensorId, std::vector<std::size_t>> parted_;
  std::int64_t floor_ = 0;
  std::int64_t searched_ = 0;
  bool cut_short_ = false;
  bool coarse_ = false;  // a few grids alone
  // Bytes of a region that is part of no good plan.
  std::int64_t too_many_ = std::numeric_limits<std::int64_t>::max();
  std::vector<RegionCandidate> plans_;
  std::vector<RegionCandidate> coarse_plans_;  // of FindEnough()
  std::map<RegionKey, Cost> costs_;
};

template <typename T>
void KeepUndominated(std::vector<T>* items) {
  std::stable_sort(items->begin(), items->end(), [](const T& a, const T& b) {
    return std::tie(a.cost.bytes, a.cost.macs, a.cost.kept_bytes) <
           std::tie(b.cost.bytes, b.cost.macs, b.cost.kept_bytes);
  });
  // All items so far have at most the bytes of the next one: the other two numbers decide. Each
  // step has more multiplications than the one before it, and keeps fewer bytes.
  std::map<std::int64_t, std::int64_t> steps;
  std::vector<T> kept;
  for (T& item : *items) {
    const auto above = steps.upper_bound(item.cost.macs);
    if (above != steps.begin() && std::prev(above)->second <= item.cost.kept_bytes) continue;
    const auto first = steps.lower_bound(item.cost.macs);
    auto last = first;
    while (last != steps.end() && last->second >= item.cost.kept_bytes) ++last;
    steps.emplace_hint(steps.erase(first, last), item.cost.macs, item.cost.kept_bytes);
    kept.push_back(std::move(item));
  }
  *items = std::move(kept);
}

}  // namespace neap::cascade
