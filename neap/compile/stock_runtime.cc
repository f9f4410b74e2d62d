// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/stock_runtime.h"

#include <algorithm>
#include <limits>

#include "neap/base/bytes.h"
#include "neap/compile/tflm_kernels.h"

namespace neap::compile {
namespace {

// The requests of all kernels, in the order in which TFLM prepares them: subgraph after subgraph,
// whether it is called or not. One is live while its operator runs, bodies and all.
void AddKernelScratch(const graph::Graph& graph, const Timeline& timeline,
                      arena::Problem* problem) {
  struct Request {
    plan::Step step;
    std::int32_t first = 0;
  };
  std::vector<Request> requests;
  IdVector<graph::SubgraphId, IdVector<graph::OpId, char>> seen;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    seen.push_back(IdVector<graph::OpId, char>(subgraph.ops.size(), 0));
  }
  for (std::size_t slot = 0; slot < timeline.steps.size(); ++slot) {
    const plan::Step& step = timeline.steps[slot];
    if (!step.op.valid() || seen[step.subgraph][step.op] != 0) continue;
    seen[step.subgraph][step.op] = 1;
    requests.push_back({step, static_cast<std::int32_t>(slot)});
  }
  std::stable_sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return a.step.subgraph < b.step.subgraph;
  });
  for (const Request& request : requests) {
    const graph::Subgraph& subgraph = graph.subgraphs[request.step.subgraph];
    // What the user has told of an operator's scratch stands for all of it.
    if (subgraph.ops[request.step.op].scratch_bytes > 0) continue;
    // Scratch is of the same size for every target, and kernels that ask for it have no bodies.
    const auto memory =
        KernelMemoryOf(subgraph, subgraph.ops[request.step.op], TflmTarget::kHost64);
    if (!memory) continue;
    for (const std::int64_t bytes : memory->scratch_bytes) {
      problem->buffers.push_back(
          {AlignUp(bytes, 16), request.first, request.first + 1, 16, std::nullopt});
    }
  }
}

}  // namespace

arena::Placement PlaceInTflm(const graph::Graph& graph, const Timeline& timeline,
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
  AddKernelScratch(graph, timeline, &problem);
  return arena::PlaceLikeTflm(problem);
}

graph::TensorOffsets OfflineOffsets(const graph::Graph& graph, const plan::Plan& plan,
                                    const AllSizes& sizes) {
  // TFLM has one arena, and a tensor has one place in it.
  const bool moves = std::any_of(plan.entries.begin(), plan.entries.end(), [](const auto& entry) {
    return std::any_of(entry.steps.begin(), entry.steps.end(),
                       [](const plan::Step& step) { return step.moved.valid(); });
  });
  if (moves || !plan.memories.empty()) return {};
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
