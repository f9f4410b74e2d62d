// SPDX-License-Identifier: Apache-2.0
//
// A timeline as a placement problem, and its addresses as places of a plan. Private to
// neap/compile.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/compile/place.h"
#include "neap/compile/timeline.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/profile.h"
#include "neap/solve/arena/memories.h"
#include "neap/solve/arena/problem.h"

namespace neap::compile {

// Tensors that share an address by an overlap of the timeline (in-place profiles) are one buffer.
class PlacementProblem {
 public:
  // The arguments outlive this.
  PlacementProblem(const graph::Graph& graph, const Timeline& timeline, const AllSizes& sizes,
                   const plan::Profile& profile);

  // Lets the pairs share bytes; those that the addresses make no use of cost nothing.
  void Allow(const std::vector<plan::Overlap>& overlaps);

  const arena::Problem& problem() const { return problem_; }

  // Of every buffer, the bytes that operators read and write; scratch is written and read once.
  std::vector<std::int64_t> AccessedBytes(const graph::Graph& graph) const;

  // `memories`: that of each buffer; empty: there is one. Without the numbers of the arena.
  Placed PlacesAt(const std::vector<std::int64_t>& offsets,
                  const std::vector<arena::MemoryIndex>& memories) const;

 private:
  // Half-open.
  struct Span {
    std::int32_t first = 0;
    std::int32_t last = 0;
  };
  static bool Meet(const Span& a, const Span& b) { return a.first < b.last && b.first < a.last; }
  struct Call {
    graph::SubgraphId subgraph;
    Span in_first_call;
  };

  // Each tensor once, with the hull of its calls.
  void CollectTensors();
  void MakeBuffers();
  void ShareBetweenCalls();
  // Whether it is a tensor's, of a body that is called more than once.
  bool IsCalledAgain(arena::BufferIndex buffer) const;
  arena::BufferIndex Add(std::int64_t bytes, std::int32_t first, std::int32_t last);
  arena::BufferIndex BufferOf(graph::SubgraphId subgraph, graph::TensorId tensor) const;
  bool MayShare(const plan::Overlap& overlap) const;
  bool Share(const plan::Overlap& overlap, const std::vector<std::int64_t>& offsets) const;

  const Timeline& timeline_;
  const AllSizes& sizes_;
  const plan::Profile& profile_;
  arena::Problem problem_;
  std::vector<Span> in_first_call_;                 // of each of tensors_
  std::vector<Call> calls_;                         // of each buffer of tensors
  std::vector<std::vector<std::int32_t>> members_;  // likewise: which of tensors_ are in it
  std::vector<LiveTensor> tensors_;
  IdVector<graph::SubgraphId, IdVector<graph::TensorId, std::int32_t>> index_;  // into tensors_
  std::vector<arena::BufferIndex> buffer_;   // of each of tensors_
  std::vector<arena::BufferIndex> scratch_;  // of each LiveScratch
  std::vector<plan::Overlap> allowed_;
};

}  // namespace neap::compile
