// SPDX-License-Identifier: Apache-2.0
//
// Streamed plans for Neap's own executor: parts of a network computed block by block, so that the
// arena contains a few rows of most tensors (docs/algorithms/streams.md). The front of all plans
// that the search knows, and the plan of one of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/transform/stream/options.h"

namespace neap::stream {

struct Options {
  SearchOptions search;
  // Budget of the arena; the plan of lowest cost within it. 0: as few bytes as the work allows.
  std::int64_t budget_bytes = 0;
  // Gates in two passes are tried, too, wherever more than the network's work is allowed.
  // Most multiply-accumulates of a plan, in thousandths of the network's; with a budget too.
  std::int64_t max_macs_permille = 1000;
  // Most modelled instructions of a plan with its rings (InstructionsOfEntry()), with a budget too.
  // 0: any number.
  std::int64_t max_instructions = 0;
};

// A point of the front as it was laid out.
struct Candidate {
  plan::Stream stream;
  std::int64_t arena_bytes = 0;
};

struct Planned {
  // By arena, least first; each costs less than the one before. Not empty.
  std::vector<Candidate> front;
  std::size_t chosen = 0;  // within the limits; the one nearest to them where none is
  bool cut_short = false;  // a limit ended the search before all was tried
};

// `order`: the operators of `subgraph` that are not folded, in the order in which they shall run.
// Fails where the subgraph cannot be streamed: control flow, state, tensors whose bytes are not
// known; or an input that is to come row by row and is read as a whole.
Result<Planned> PlanStream(const graph::Graph& graph, graph::SubgraphId subgraph,
                           const std::vector<graph::OpId>& order, const Options& options);

// The same for each of `objectives` in place of options.search.objective, in about the time of one.
Result<std::vector<Planned>> PlanStreams(const graph::Graph& graph, graph::SubgraphId subgraph,
                                         const std::vector<graph::OpId>& order,
                                         const Options& options,
                                         std::span<const Objective> objectives);

// The entry of a plan that runs `candidate`.
plan::EntryPlan EntryOf(const graph::Graph& graph, graph::SubgraphId subgraph,
                        const Candidate& candidate);

}  // namespace neap::stream
