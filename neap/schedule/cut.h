// SPDX-License-Identifier: Apache-2.0
//
// Live bytes are a submodular function of the executed set, so the cheapest downset between two
// given ones is a minimum cut. Two uses: a lower bound per operator, and the waypoint that the
// search may commit to. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/schedule/instance.h"
#include "neap/schedule/max_flow.h"

namespace neap::schedule {

class CutFinder {
 public:
  explicit CutFinder(const Instance& instance);

  // Least possible hill of `op` over all orders (min cut over the operators incomparable with it),
  // or `enough` or a larger number as soon as it is known to be at least `enough`.
  // Proof: docs/algorithms/order.md, "Lower bound".
  std::int64_t LeastHill(OpIndex op, std::int64_t enough);

  // The largest downset F with from <= F <= to whose live bytes are least. `from` and `to` are
  // downsets, from <= to. Writes it to `out` (words() words) and returns its live bytes.
  // `from_live`: live bytes of `from`.
  std::int64_t LargestMinimiser(const Word* from, std::int64_t from_live, const Word* to, Word* out);

 private:
  // Where an operator stands in the network: executed for sure, not executed for sure, or a node.
  enum : int { kExecuted = MaxFlow::kSource, kWaiting = MaxFlow::kSink };
  void AddFreeOps(const std::vector<OpIndex>& free_ops);
  int TouchedNode(const Instance::CompiledBuffer& buffer, bool at_start, OpIndex skip);
  int FinishedNode(const Instance::CompiledBuffer& buffer, bool at_end, OpIndex skip);

  const Instance& instance_;
  MaxFlow flow_;
  std::vector<int> node_of_;
  std::vector<OpIndex> free_ops_;
  std::vector<char> seen_;  // per buffer
};

}  // namespace neap::schedule
