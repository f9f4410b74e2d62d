// SPDX-License-Identifier: Apache-2.0
//
// The independent word on a plan. Recomputes everything from the graph and the definition of the
// profile; shares no code with the planner (neap/compile, neap/schedule, neap/arena), which may not
// even be linked here (cmake/layers.cmake).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::check {

// One line for each way in which the plan is wrong for this graph; empty when it is right. Checked:
// every entry subgraph is planned; every step is an operator that is due, once per call, after what
// it depends on, operators that share state and control edges in order; lifetimes are exactly those
// of the steps (neap/check/replay.h defines them); sizes; alignment; no two live tensors or scratch
// areas share a byte except where an overlap of the plan is allowed by the profile; peak and arena
// are what they are said to be; bounds do not exceed them; the certificate proves its bound, where
// it is one that can be verified. A plan of an order alone (no place for anything, arena_bytes 0)
// is checked but for addresses. At most 20 lines; where the steps are wrong, nothing is said about
// what follows from them. O(n log n) in steps and tensors; under an in-place profile a certificate
// may take O(n) per operator that reads what others read too. The hash of the model is the caller's
// to compare. `plan` may be any bytes that fit its types.
std::vector<std::string> CheckPlan(const graph::Graph& graph, const plan::Plan& plan);

// What became of the bounds that rest on an exhausted search.
struct ReplayedBounds {
  int replayed = 0;         // searched again and confirmed
  int not_searches = 0;     // entries whose bound needs no replay: CheckPlan() has verified it
  std::int64_t states = 0;  // of all replays
  std::vector<std::string> refuted;     // a line each: the bound is wrong
  std::vector<std::string> unfinished;  // a line each: max_states did not suffice
};
// Searches again, with code of its own, for every entry of a plan that CheckPlan() accepts.
ReplayedBounds ReplayBounds(const graph::Graph& graph, const plan::Plan& plan,
                            std::int64_t max_states);

// Bytes that every plan of the entry has in its arena at some moment if it computes every pixel
// once, each tensor in row-major order and in blocks of at most as many rows as `entry.stream` has
// for that tensor. Derived from the dependence maps of the operators and the heights of the blocks
// alone; the planner's bound (neap/transform/stream/bound.h) is another derivation and may be
// larger.
std::int64_t CheckedStreamBound(const graph::Graph& graph, const plan::EntryPlan& entry);

}  // namespace neap::check
