// SPDX-License-Identifier: Apache-2.0
//
// Synthetic graphs to learn from, with the knobs of the document ("Combinatorial Reinforcement
// Learning Based Scheduling for DNN Execution on Edge", 3.2 and appendix): nodes, in-degree,
// levels, range of memory.
#pragma once

#include <cstdint>

#include "neap/base/random.h"
#include "neap/learn/dag.h"

namespace neap::learn {

// The largest weight that problems derived from a graph can represent (stages.h squares weights).
inline constexpr std::int64_t kMaxWeight = 10'000'000;

struct SamplerOptions {
  std::int32_t nodes = 30;
  std::int32_t degree = 6;  // most parents of a node
  std::int32_t min_levels = 10;
  std::int32_t max_levels = 25;
  // Every weight is uniform in [1, max_weight], at most kMaxWeight: the document's U(0, 5) in
  // thousandths.
  std::int64_t max_weight = 5'000;
};

// A weakly connected graph: its number of levels is uniform in the range (at most the nodes), every
// level has a node, the others fall on levels at random; every node above the first level has a
// parent in the level below and further ones drawn over all lower levels, where the lowest draw
// means "none". Node numbers are a random permutation. All channels are drawn independently.
// `nodes` >= 1, `degree` >= 1. O(nodes * degree) expected.
Dag Sample(const SamplerOptions& options, Random* random);

}  // namespace neap::learn
