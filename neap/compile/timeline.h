// SPDX-License-Identifier: Apache-2.0
//
// From orders to lifetimes: the slots of an entry subgraph and of the subgraphs that it calls
// (neap/plan/plan.h defines a slot). Private to neap/compile.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/compile/lower.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::compile {

using Orders = IdVector<graph::SubgraphId, std::vector<graph::OpId>>;
using AllSizes = IdVector<graph::SubgraphId, TensorSizes>;

struct LiveTensor {
  graph::SubgraphId subgraph;
  graph::TensorId tensor;
  std::int32_t first = 0;  // live in slots [first, last)
  std::int32_t last = 0;
  // An input that no operator reads: has an address in its first slot, but no slot needs it.
  bool unread = false;
};

struct LiveScratch {
  std::int32_t first = 0;  // the slots of the operator and of its bodies
  std::int32_t last = 0;
  std::int64_t bytes = 0;  // exact
};

struct Timeline {
  std::vector<plan::Step> steps;    // one per slot
  std::vector<LiveTensor> tensors;  // one per tensor and call
  std::vector<LiveScratch> scratch;
  std::vector<plan::Overlap> overlaps;  // in-place writes that these orders allow
};

// More slots than this are refused (a body that is called by thousands of operators, nested).
inline constexpr std::int64_t kMaxSlots = 2'000'000;

// Fails with kBadInput when there would be more than kMaxSlots slots.
Result<Timeline> BuildTimeline(const graph::Graph& graph, graph::SubgraphId entry,
                               const Orders& orders, const plan::Profile& profile);

// Live bytes at every slot, as the profile counts them.
std::vector<std::int64_t> LiveBytes(const Timeline& timeline, const AllSizes& sizes,
                                    const plan::Profile& profile);

}  // namespace neap::compile
