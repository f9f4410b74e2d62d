// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/stock_runtime.h"

#include <algorithm>
#include <limits>

#include "neap/arena/arena.h"
#include "neap/base/bytes.h"

namespace neap::compile {

std::int64_t TflmArenaBytes(const graph::Graph& graph, const Timeline& timeline,
                            const AllSizes& sizes, const graph::TensorOffsets& offsets) {
  struct Span {
    std::int32_t first = -1;
    std::int32_t last = -1;
  };
  IdVector<graph::SubgraphId, IdVector<graph::TensorId, Span>> spans;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    spans.push_back(IdVector<graph::TensorId, Span>(subgraph.tensors.size()));
  }
  for (const LiveTensor& live : timeline.tensors) {
    Span& span = spans[live.subgraph][live.tensor];
    if (live.unread) {
      // Created before the first operator and never used: conflicts with nothing, counts its size.
      span = {0, 0};
    } else if (span.first < 0) {
      span = {live.first, live.last};
    } else {
      span = {std::min(span.first, live.first), std::max(span.last, live.last)};
    }
  }
  // Tensors that nothing refers to conflict among themselves only: a slot of their own.
  const auto nowhere = static_cast<std::int32_t>(timeline.steps.size());
  arena::Problem problem;
  for (const graph::SubgraphId s : graph.subgraphs.Ids()) {
    for (const graph::TensorId t : graph.subgraphs[s].tensors.Ids()) {
      if (!IsPlanned(graph.subgraphs[s].tensors[t]) || sizes[s].counted[t] == 0) continue;
      const Span span = spans[s][t].first < 0 ? Span{nowhere, nowhere + 1} : spans[s][t];
      problem.buffers.push_back({sizes[s].counted[t], span.first, span.last, 16, std::nullopt});
      if (!offsets.empty() && offsets[s][t] != graph::kNoOffset) {
        problem.buffers.back().fixed_offset = offsets[s][t];
      }
    }
  }
  for (const LiveScratch& scratch : timeline.scratch) {
    problem.buffers.push_back(
        {AlignUp(scratch.bytes, 16), scratch.first, scratch.last, 16, std::nullopt});
  }
  return arena::PlaceLikeTflm(problem).height_bytes;
}

graph::TensorOffsets OfflineOffsets(const graph::Graph& graph, const plan::Plan& plan,
                                    const AllSizes& sizes) {
  graph::TensorOffsets offsets;
  for (const graph::SubgraphId s : graph.subgraphs.Ids()) {
    const auto& tensors = graph.subgraphs[s].tensors;
    IdVector<graph::TensorId, std::int32_t> of_subgraph(tensors.size(), graph::kNoOffset);
    for (const graph::TensorId t : tensors.Ids()) {
      if (IsPlanned(tensors[t]) && sizes[s].counted[t] > 0) of_subgraph[t] = 0;
    }
    offsets.push_back(std::move(of_subgraph));
  }
  for (auto entry = plan.entries.rbegin(); entry != plan.entries.rend(); ++entry) {
    for (const plan::TensorPlacement& placement : entry->tensors) {
      if (placement.offset > std::numeric_limits<std::int32_t>::max()) return {};
      std::int32_t& offset = offsets[placement.subgraph][placement.tensor];
      if (offset != graph::kNoOffset) offset = static_cast<std::int32_t>(placement.offset);
    }
  }
  // Where an index among the tensors of one subgraph leads to when it is taken for one among all.
  std::vector<std::int32_t*> flat;
  for (auto& of_subgraph : offsets) {
    for (std::int32_t& offset : of_subgraph) flat.push_back(&offset);
  }
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::TensorId t : subgraph.tensors.Ids()) {
      if (subgraph.tensors[t].variable) *flat[t.index()] = graph::kNoOffset;
    }
  }
  return offsets;
}

}  // namespace neap::compile
