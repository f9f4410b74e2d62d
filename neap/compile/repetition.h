// SPDX-License-Identifier: Apache-2.0
//
// Which operators of a graph to run again (rematerialisation): the problem of
// neap/solve/rematerialise for a graph under a profile, and its solutions.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::compile {

struct Repetition {
  std::vector<graph::OpId> sequence;  // of the main subgraph, without folded operators
  std::int64_t peak_bytes = 0;  // of that sequence, with what is outside the model of the search
                                // (in-place operators, memory of bodies) left out
  std::int64_t cost = 0;
  bool least_cost = false;  // no sequence of a smaller cost has this peak or a smaller one
};

struct Repetitions {
  std::int64_t base_cost = 0;
  // Smaller and smaller peaks at larger and larger costs; the first one repeats nothing.
  std::vector<Repetition> points;
  // No sequence within the maximum cost has a smaller peak; 0 where the profile counts memory in a
  // way that the search does not model.
  std::int64_t lower_bound_bytes = 0;
  std::int64_t states = 0;
  std::int64_t moves = 0;
};

// The sequences whose cost is at most `max_cost_permille` thousandths of the cost of all operators
// (ops::CostOf). `repeatable`: for every operator of the main subgraph whether it may run again. A
// larger maximum gives the same points and more of them. Fails as Compile().
Result<Repetitions> FindRepetitions(const graph::Graph& graph, const Options& options,
                                    const IdVector<graph::OpId, char>& repeatable,
                                    std::int64_t max_cost_permille);

}  // namespace neap::compile
