// SPDX-License-Identifier: Apache-2.0
//
// The parts of plans: ways to run ranges of the order, each an edge from its first node to the one
// after its last; and the exact search over paths. Private to the search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "neap/transform/stream/block_schedule.h"
#include "neap/transform/stream/options.h"

namespace neap::stream {

// One way to run nodes [choice.first, choice.last).
struct Edge {
  std::int64_t bytes = 0;
  std::int64_t macs = 0;
  std::int64_t cycles = 0;
  SegmentChoice choice;
};

// The minimum bytes of plans for all nodes before each node, and for all from it on.
struct Around {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> behind;
  // Of nodes outside of a range.
  std::int64_t Of(const SegmentChoice& choice) const {
    return std::max(before[static_cast<std::size_t>(choice.first)],
                    behind[static_cast<std::size_t>(choice.last)]);
  }
};

// Of plans of equal cost and bytes: the one with the lower secondary cost, or the one of fewer
// segments, which has fewer copies in between.
enum class Ties : std::uint8_t { kOtherCost, kFewerSegments };

class Edges {
 public:
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 4;

  Edges(std::size_t nodes, Objective objective) : objective_(objective), by_first_(nodes) {}

  std::int64_t CostOf(const Edge& edge) const {
    return objective_ == Objective::kMacs ? edge.macs : edge.cycles;
  }
  const std::vector<std::vector<Edge>>& by_first() const { return by_first_; }

  // False: another one for the same range is not worse in bytes and cost, nor in the secondary cost
  // where they are equal. Drops those that are worse.
  bool Keep(Edge edge);

  // The minimum cost of a plan whose segments all fit into `most`, and the bytes of that plan;
  // kInfinite: there is none. O(edges).
  std::pair<std::int64_t, std::int64_t> ShortestWithin(std::int64_t most,
                                                       Ties ties = Ties::kOtherCost);

  // Calls `see` with the segments of every plan that no other beats in bytes and cost, the last
  // segment first; from the one of least cost on.
  template <typename See>
  void ForFront(Ties ties, const See& see) {
    std::int64_t most = kInfinite;
    for (;;) {
      const auto [cost, bytes] = ShortestWithin(most, ties);
      if (cost >= kInfinite) return;
      see(Path());
      most = bytes - 1;
    }
  }

  Around FindAround() const;

 private:
  std::int64_t OtherCostOf(const Edge& edge) const {
    return edge.macs + edge.cycles - CostOf(edge);
  }
  bool Beats(const Edge& a, const Edge& b) const;
  // Of the plan of ShortestWithin(), the last edge first.
  std::vector<const Edge*> Path() const;

  Objective objective_;
  std::vector<std::vector<Edge>> by_first_;  // by their first node
  // Of the best plan up to each node.
  std::vector<std::int64_t> costs_;
  std::vector<std::int64_t> peaks_;
  std::vector<std::int64_t> others_;
  std::vector<const Edge*> from_;
};

}  // namespace neap::stream
