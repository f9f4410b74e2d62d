// SPDX-License-Identifier: Apache-2.0
//
// Which operators run together, in how many tiles: plans of regions, kept as long as no other is
// better in every respect, and combined into proposals that cover the whole graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"
#include "neap/transform/cascade/device.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

struct SearchProgress {
  std::string phase;  // "regions", "proposals"
  std::int64_t done = 0;
  std::int64_t of = 0;
  std::int64_t best_bytes = 0;  // 0: none yet
};

// Criteria of a front: proposals that are not better in any of them are left out.
struct Criteria {
  bool arena = true;
  bool total_arena = true;  // where it is known
  bool cycles = true;       // by the model of the device, which counts multiplications, too
  bool macs = false;        // multiplications by themselves
};

struct SearchOptions {
  compile::Options compile;  // how realised graphs are ordered and placed
  Device device;
  // Budgets of the arena and of the total arena; 0: none. Without any, the fewest bytes are best,
  // else the fewest cycles within both.
  std::int64_t budget_bytes = 0;
  std::int64_t budget_total_bytes = 0;
  // Where the total arena of the graph as it is is unknown, the second budget is of the arena;
  // false: plans with an unknown total are within no such budget, and tiles may make it known.
  bool total_may_be_unknown = true;
  Grids grids;
  // kShared (TensorFlow Lite Micro alone): wherever bodies help, both are tried.
  TileBodies bodies = TileBodies::kClones;
  // Price every proposal, for the whole front; false: until none that is left could be better.
  bool whole_front = false;
  Criteria criteria;                                    // of the front
  std::function<void(const SearchProgress&)> observer;  // may be empty
};

// A way to run the whole graph, realised and placed.
struct Proposal {
  std::vector<RegionPlan> regions;      // none: nothing is cut; operators of the graph
  std::int64_t arena_bytes = 0;         // of its own placement; the runtime's allocation if known
  std::int64_t total_arena_bytes = -1;  // TensorFlow Lite Micro on Cortex-M; -1: not known
  std::int64_t delivered_arena_bytes = -1;  // compile::Compiled's
  // compile::UnknownScratchText(): `arena_bytes` counts none of that scratch.
  std::string unknown_scratch;
  std::int64_t macs = 0;
  std::int64_t cycles = 0;  // by the model of the device
  std::int64_t tiles = 0;
  std::vector<graph::OpId> order;  // of the operators of the graph, by which it was cut
  TileBodies bodies = TileBodies::kClones;
  bool keeps_order = true;            // the order of its graph, which no search made lower
  std::int64_t placement_states = 0;  // with which it was placed; 0: those of the options
  // Placements found during the search: compiled again, the proposal does not need more than
  // stated.
  std::shared_ptr<compile::PlacementMemo> placements;
};

struct SearchOutcome {
  // Of those that no other is no worse than by the criteria of the options: by arena, falling. The
  // first one is the graph as it is, or better. Without `whole_front`, those that were the best one
  // when they were found.
  std::vector<Proposal> front;
  std::size_t chosen = 0;      // of front
  Proposal uncut;              // the graph as it is, planned with the same options
  bool fits = true;            // the chosen one is within the budget
  bool cut_short = false;      // a limit ended the search before all was tried
  compile::Compiled compiled;  // of the graph as it is
  std::int64_t macs = 0;       // likewise
  // No plan of this kind has a smaller arena: some operator that cannot be cut needs it.
  std::int64_t arena_lower_bound_bytes = 0;
  std::int64_t regions_searched = 0;
  std::int64_t proposals = 0;  // that no other dominates by the model
  std::string note;            // why nothing is cut, if nothing is; "" else
};

// The options with which a realised graph is compiled.
compile::Options OptionsFor(const SearchOptions& options, const Proposal& proposal);

// The graph of a proposal.
Result<graph::Graph> GraphOf(const graph::Graph& graph, const Proposal& proposal);

// `graph` has passed graph::Verify(). Regions are runs of the order that the exact search finds for
// the graph as it is, in subgraph 0; cut along one spatial axis or both. For every run and grid the
// live bytes, the multiplications and the runtime's persistent data are computed; only plans that
// another plan of the same run beats in all three are dropped. The rest is combined by dynamic
// programming over the order, again without thinning, and every remaining proposal is realised,
// ordered and placed by compile::Compile(): that arena is its memory. Proposals that a lower
// bound of their arena rules out are not placed. With `whole_front` the plans of all points have
// passed check::CheckPlan(), else that of the chosen one. Fails as compile::Compile() does.
// Deterministic, unless it is cut short.
Result<SearchOutcome> FindPlan(const graph::Graph& graph, const SearchOptions& options);

}  // namespace neap::cascade
