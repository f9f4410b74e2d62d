// SPDX-License-Identifier: Apache-2.0
//
// Graph search over states, smallest peak first. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

struct BestFirstOptions {
  Forced forced = Forced::kSingle;
  // kRelaxed: a single operator is forced when it raises the peak so far and the live bytes by no
  // more than these.
  std::int64_t peak_slack = 0;
  std::int64_t live_slack = 0;
  int fingerprint_bits = 64;  // fewer only to make fingerprints collide in tests
};

// Source: the patent text on determining an order of execution in constrained memory: a search
// graph
//   whose states are two sets of operators (completed and still needed; executable), Dijkstra's
//   algorithm with the peak as its metric, a dictionary from fingerprints to the best state, the
//   parent's fingerprint and the last operators for backtracking, candidate and forced transitions,
//   forced transition sets, relaxed criteria.
// Deviations: sizes and lifetimes are those of problem.h. States with equal fingerprints are
// compared
//   in full, so that a collision merges nothing, and the parent is found by its fingerprint and its
//   sets. Among states of equal peak the one with the most operators executed comes first, then the
//   fewest live bytes; the text does not specify this. No defragmentation operators: this module
//   has no addresses. Forced sets as written ("the set of transitions that perform all executable
//   tasks depending on O" neither raises the peak nor ends with more live bytes) can lose the
//   optimum. It is safe to run the largest of the cheapest downsets between the state and the state
//   after the set (docs/algorithms/order.md, commit theorem). Forced::kSets follows the text,
//   Forced::kProven the theorem.
// Invariant: states leave the queue in order of their peak, each once, with the minimum peak of all
//   paths to it in the searched graph. So the peak of the last one is a lower bound (unless the
//   rule loses orders), and the first complete state is optimal in the searched graph.
// Cost: O(states x ready operators x buffers of an operator x words) and the queue; a maximum flow
//   per set that qualifies with kProven. Memory: all states, at most max_memory_bytes.
// Proves its result with kNone, kSingle and kProven when it finishes; a limit leaves the best cheap
// order and the bound above. kSets and kRelaxed prove nothing.
Outcome BestFirst(const Problem& problem, const Limits& limits,
                  const std::vector<OpIndex>& file_order, const BestFirstOptions& options);

}  // namespace neap::schedule
