// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/joint.h"

#include <algorithm>
#include <utility>

#include "neap/base/random.h"
#include "neap/base/work.h"

namespace neap::compile {
namespace {

using graph::OpId;
using graph::Subgraph;

class Walk {
 public:
  Walk(const Subgraph& subgraph, const std::vector<OpId>& order)
      : before_(subgraph.ops.size()), after_(subgraph.ops.size()) {
    for (const auto& [first, second] : PrecedencesOf(subgraph)) {
      before_[second].push_back(first);
      after_[first].push_back(second);
    }
    Reset(order);
  }

  void Reset(const std::vector<OpId>& order) {
    order_ = order;
    position_ = IdVector<OpId, std::int64_t>(before_.size(), -1);
    for (std::size_t at = 0; at < order_.size(); ++at) {
      position_[order_[at]] = static_cast<std::int64_t>(at);
    }
  }

  // One operator to another place; false: the one drawn has no other.
  bool Step(Random* random) {
    const auto from = static_cast<std::int64_t>(random->Below(order_.size()));
    const OpId op = order_[static_cast<std::size_t>(from)];
    std::int64_t low = 0;
    std::int64_t high = static_cast<std::int64_t>(order_.size()) - 1;
    for (const OpId other : before_[op]) low = std::max(low, position_[other] + 1);
    for (const OpId other : after_[op]) high = std::min(high, position_[other] - 1);
    if (low >= high) return false;
    std::int64_t to = random->Between(low, high - 1);
    if (to >= from) ++to;
    const auto begin = order_.begin();
    if (to < from) {
      std::rotate(begin + to, begin + from, begin + from + 1);
    } else {
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    }
    for (std::int64_t at = std::min(from, to); at <= std::max(from, to); ++at) {
      position_[order_[static_cast<std::size_t>(at)]] = at;
    }
    return true;
  }

  const std::vector<OpId>& Order() const { return order_; }

 private:
  IdVector<OpId, std::vector<OpId>> before_;
  IdVector<OpId, std::vector<OpId>> after_;
  std::vector<OpId> order_;
  IdVector<OpId, std::int64_t> position_;
};

}  // namespace

std::optional<PlacedOrder> SearchLowerArena(const graph::Graph& graph, graph::SubgraphId entry,
                                            const Orders& orders, const AllSizes& sizes,
                                            const plan::Profile& profile,
                                            const OverlapOptions& overlap, std::int64_t arena_bytes,
                                            std::int64_t bound_bytes, const Limits& limits,
                                            PlacementMemo* memo) {
  constexpr std::int64_t kMaxOrders = 100;
  constexpr std::int64_t kWork = 100'000;  // operators in all orders together
  constexpr int kStepsFromBest = 20;
  constexpr std::int64_t kOperatorWork = 600;  // of an order, in about nanoseconds
  const Subgraph& subgraph = graph.subgraphs[entry];
  Orders current = orders;
  const auto operators = static_cast<std::int64_t>(current[entry].size());
  if (operators < 2 || IsOnlyOrder(subgraph, current[entry])) return std::nullopt;
  std::optional<PlacedOrder> best;
  Random random(1);
  Walk walk(subgraph, current[entry]);
  std::vector<OpId> best_order = current[entry];
  std::vector<OpId> last_order = best_order;
  int since_best = 0;
  for (std::int64_t n = std::min(kMaxOrders, kWork / operators); n > 0; --n) {
    if (arena_bytes <= bound_bytes || IsOver(limits)) break;
    ChargeWork(operators * kOperatorWork);
    if (++since_best > kStepsFromBest) {
      walk.Reset(best_order);
      last_order = best_order;
      since_best = 0;
    }
    if (!walk.Step(&random)) continue;
    current[entry] = walk.Order();
    auto timeline = BuildTimeline(graph, entry, current, profile);
    if (!timeline) break;
    if (overlap.keep_inputs) KeepInputs(graph.subgraphs[entry], entry, &*timeline);
    const auto live = LiveBytes(*timeline, sizes, profile);
    // With overlaps inside operators an arena can be lower than the peak.
    const bool promising = overlap.kernels != ops::KernelLibrary::kNone ||
                           *std::max_element(live.begin(), live.end()) < arena_bytes;
    if (!promising) {
      walk.Reset(last_order);
      continue;
    }
    last_order = walk.Order();
    const PlaceEffort effort = {limits, memo,
                                [&](std::int64_t bytes) { return bytes < arena_bytes; }, false};
    auto placed = PlaceIfAccepted(graph, entry, *timeline, sizes, profile, overlap, effort);
    if (!placed || placed->arena_bytes >= arena_bytes) continue;
    arena_bytes = placed->arena_bytes;
    best_order = last_order;
    since_best = 0;
    best = PlacedOrder{best_order, std::move(*timeline), *std::move(placed)};
  }
  return best;
}

}  // namespace neap::compile
