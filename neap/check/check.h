// SPDX-License-Identifier: Apache-2.0
//
// The independent check of a plan. Recomputes everything from the graph and the definition of the
// profile; shares no code with the planner (neap/compile, neap/schedule, neap/arena), which may not
// even be linked here (cmake/layers.cmake).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::check {

// One line for each error of the plan for this graph; empty when it is valid. Checked: every entry
// subgraph is planned; every step is an operator that is due, once per call, after its
// predecessors, operators that share state and control edges in order; lifetimes are exactly those
// of the steps (neap/check/replay.h defines them); sizes; alignment; no two live tensors or scratch
// areas share a byte except where the profile allows an overlap of the plan; peak and arena are
// those of the steps and offsets; bounds do not exceed them; the certificate proves its bound, if
// it is of a verifiable kind. For a plan of an order alone (no places, arena_bytes 0) addresses are
// not checked. At most 20 lines; if the steps are wrong, their consequences are not reported. O(n
// log n) in steps and tensors; under an in-place profile a certificate may take O(n) per operator
// that shares an input with other operators. The caller compares the hash of the model. `plan` may
// have any values that fit its types.
std::vector<std::string> CheckPlan(const graph::Graph& graph, const plan::Plan& plan);

// The result for bounds that come from an exhausted search.
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

// Of a plan with two memories (plan::SlowMemory): the bytes that every plan of the entry moves, its
// inputs as far as one of their consumers needs them and its outputs; with moments that hold, those
// that every plan moves that computes every pixel once. 0 for other plans.
std::int64_t CheckedTrafficBound(const graph::Graph& graph, const plan::EntryPlan& entry);

}  // namespace neap::check
