// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/stock_runtime.h"

#include <algorithm>
#include <limits>

#include "neap/base/bytes.h"
#include "neap/ops/tflm_scratch.h"

namespace neap::compile {
namespace {

// TFLM's scratch buffers for an operator: one for each request of its kernel.
std::vector<std::int64_t> ScratchOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                    const target::Target& target) {
  const auto requests = ops::TflmScratchRequests(subgraph, op, target);
  // Scratch that the user states replaces the model of that operator.
  const bool stated =
      op.scratch_bytes > 0 && op.scratch_bytes != ops::TflmScratchBytes(subgraph, op, target);
  if (stated) return {op.scratch_bytes};
  return requests.value_or(std::vector<std::int64_t>());
}

// The requests of all kernels, in the order in which TFLM prepares them: subgraph after subgraph,
// whether it is called or not. One is live while its operator runs, bodies and all; in a body that
// is called several times, from the first call to the last.
void AddKernelScratch(const graph::Graph& graph, const Timeline& timeline,
                      const target::Target& target, arena::Problem* problem) {
  struct Request {
    plan::Step step;
    std::int32_t first = 0;
    std::int32_t last = 0;
  };
  std::vector<Request> requests;
  IdVector<graph::SubgraphId, IdVector<graph::OpId, std::int32_t>> known;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    known.push_back(IdVector<graph::OpId, std::int32_t>(subgraph.ops.size(), -1));
  }
  for (std::size_t at = 0; at < timeline.steps.size(); ++at) {
    const plan::Step& step = timeline.steps[at];
    const auto slot = static_cast<std::int32_t>(at);
    if (!step.op.valid()) continue;
    std::int32_t& index = known[step.subgraph][step.op];
    if (index < 0) {
      index = static_cast<std::int32_t>(requests.size());
      requests.push_back({step, slot, slot});
    }
    requests[static_cast<std::size_t>(index)].last = slot;
  }
  std::stable_sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return a.step.subgraph < b.step.subgraph;
  });
  for (const Request& request : requests) {
    const graph::Subgraph& subgraph = graph.subgraphs[request.step.subgraph];
    for (const std::int64_t bytes : ScratchOf(subgraph, subgraph.ops[request.step.op], target)) {
      problem->buffers.push_back(
          {AlignUp(bytes, 16), request.first, request.last + 1, 16, std::nullopt});
    }
  }
}

}  // namespace

arena::Placement PlaceInTflm(const graph::Graph& graph, const Timeline& timeline,
                             const AllSizes& sizes, const target::Target& target,
                             const graph::TensorOffsets& offsets) {
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
  // Unused tensors conflict among themselves only: they have a slot of their own.
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
  AddKernelScratch(graph, timeline, target, &problem);
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
