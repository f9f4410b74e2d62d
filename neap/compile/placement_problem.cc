// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/placement_problem.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::compile {

using graph::SubgraphId;
using graph::TensorId;

PlacementProblem::PlacementProblem(const graph::Graph& graph, const Timeline& timeline,
                                   const AllSizes& sizes, const plan::Profile& profile)
    : timeline_(timeline), sizes_(sizes), profile_(profile) {
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    index_.push_back(IdVector<TensorId, std::int32_t>(subgraph.tensors.size(), -1));
  }
  CollectTensors();
  MakeBuffers();
}

void PlacementProblem::Allow(const std::vector<plan::Overlap>& overlaps) {
  // Overlaps come once for every call of a body; its tensors have one buffer for all calls, so the
  // rule is added once.
  std::set<std::pair<arena::BufferIndex, arena::BufferIndex>> known;
  for (const plan::Overlap& overlap : overlaps) {
    const arena::BufferIndex input = BufferOf(overlap.subgraph, overlap.input);
    const arena::BufferIndex output = BufferOf(overlap.subgraph, overlap.output);
    if (input < 0 || output < 0 || input == output || !MayShare(overlap)) continue;
    allowed_.push_back(overlap);
    if (IsCalledAgain(input) && !known.emplace(input, output).second) continue;
    if (overlap.kind == plan::OverlapKind::kHoldsInput) {
      arena::AddExactlyAt(problem_, output, input, overlap.bytes);
    } else if (overlap.kind == plan::OverlapKind::kHoldsOutput) {
      arena::AddExactlyAt(problem_, input, output, overlap.bytes);
    } else if (overlap.kind == plan::OverlapKind::kDeadPart) {
      // The output ends where the input is still read, at most, or is above it.
      const auto at = [&](arena::BufferIndex buffer) {
        return problem_.buffers[static_cast<std::size_t>(buffer)].bytes;
      };
      problem_.pairs.push_back({input, output, overlap.bytes - at(output), at(input)});
    } else if (overlap.kind == plan::OverlapKind::kCopiedIn) {
      problem_.pairs.push_back(arena::Unrelated(input, output));
    } else {
      problem_.pairs.push_back(arena::StartsBelow(problem_, input, output, overlap.bytes));
    }
  }
}

std::vector<std::int64_t> PlacementProblem::AccessedBytes(const graph::Graph& graph) const {
  std::vector<std::int64_t> accessed(problem_.buffers.size(), 0);
  for (const plan::Step& step : timeline_.steps) {
    if (!step.op.valid()) continue;
    const graph::Op& op = graph.subgraphs[step.subgraph].ops[step.op];
    for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
      for (const TensorId tensor : *list) {
        if (!tensor.valid()) continue;
        const arena::BufferIndex buffer = BufferOf(step.subgraph, tensor);
        if (buffer < 0) continue;
        accessed[static_cast<std::size_t>(buffer)] += sizes_[step.subgraph].exact[tensor];
      }
    }
  }
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    accessed[static_cast<std::size_t>(scratch_[i])] += 2 * timeline_.scratch[i].bytes;
  }
  return accessed;
}

Placed PlacementProblem::PlacesAt(const std::vector<std::int64_t>& offsets,
                                  const std::vector<arena::MemoryIndex>& memories) const {
  const auto memory = [&](arena::BufferIndex buffer) {
    return memories.empty() ? 0 : memories[static_cast<std::size_t>(buffer)];
  };
  Placed placed;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const LiveTensor& live = tensors_[i];
    placed.tensors.push_back(
        {live.subgraph, live.tensor, offsets[static_cast<std::size_t>(buffer_[i])],
         sizes_[live.subgraph].exact[live.tensor], live.first, live.last, memory(buffer_[i])});
  }
  for (std::size_t i = 0; i < timeline_.scratch.size(); ++i) {
    placed.scratch.push_back({timeline_.scratch[i].first,
                              offsets[static_cast<std::size_t>(scratch_[i])],
                              timeline_.scratch[i].bytes, memory(scratch_[i])});
  }
  for (const plan::Overlap& overlap : allowed_) {
    if (memory(BufferOf(overlap.subgraph, overlap.input)) ==
            memory(BufferOf(overlap.subgraph, overlap.output)) &&
        Share(overlap, offsets)) {
      placed.overlaps.push_back(overlap);
    }
  }
  return placed;
}

void PlacementProblem::CollectTensors() {
  for (const LiveTensor& live : timeline_.tensors) {
    std::int32_t& at = index_[live.subgraph][live.tensor];
    if (at < 0) {
      at = static_cast<std::int32_t>(tensors_.size());
      tensors_.push_back(live);
      in_first_call_.push_back({live.first, live.last});
    } else {
      LiveTensor& known = tensors_[static_cast<std::size_t>(at)];
      known.first = std::min(known.first, live.first);
      known.last = std::max(known.last, live.last);
    }
  }
}

void PlacementProblem::MakeBuffers() {
  // In-place overlaps form forests: every tensor is the output of at most one and the input of at
  // most one.
  std::vector<std::int32_t> root(tensors_.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::int32_t i) {
    while (root[static_cast<std::size_t>(i)] != i) i = root[static_cast<std::size_t>(i)];
    return i;
  };
  for (const plan::Overlap& overlap : timeline_.overlaps) {
    const std::int32_t a = find(index_[overlap.subgraph][overlap.input]);
    const std::int32_t b = find(index_[overlap.subgraph][overlap.output]);
    root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  buffer_.assign(tensors_.size(), -1);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const LiveTensor& live = tensors_[i];
    const auto r = static_cast<std::size_t>(find(static_cast<std::int32_t>(i)));
    if (r == i) {
      buffer_[i] = Add(sizes_[live.subgraph].counted[live.tensor], live.first, live.last);
      calls_.push_back({live.subgraph, in_first_call_[i]});
      members_.push_back({static_cast<std::int32_t>(i)});
    } else {
      buffer_[i] = buffer_[r];
      members_[static_cast<std::size_t>(buffer_[r])].push_back(static_cast<std::int32_t>(i));
      arena::Buffer& shared = problem_.buffers[static_cast<std::size_t>(buffer_[r])];
      shared.first = std::min(shared.first, live.first);
      shared.last = std::max(shared.last, live.last);
      Span& span = calls_[static_cast<std::size_t>(buffer_[r])].in_first_call;
      span.first = std::min(span.first, in_first_call_[i].first);
      span.last = std::max(span.last, in_first_call_[i].last);
    }
  }
  ShareBetweenCalls();
  for (const LiveScratch& scratch : timeline_.scratch) {
    scratch_.push_back(
        Add(AlignUp(scratch.bytes, profile_.alignment), scratch.first, scratch.last));
  }
}

// Tensors of a body that is called several times keep their places from the first call to the last,
// but they have values in one call at a time: tensors that are never live together in a call may
// share bytes.
void PlacementProblem::ShareBetweenCalls() {
  constexpr std::size_t kMaxPairs = 200'000;
  std::vector<std::vector<arena::BufferIndex>> of_subgraph(sizes_.size());
  for (std::size_t b = 0; b < calls_.size(); ++b) {
    const auto buffer = static_cast<arena::BufferIndex>(b);
    if (IsCalledAgain(buffer)) of_subgraph[calls_[b].subgraph.index()].push_back(buffer);
  }
  for (const auto& buffers : of_subgraph) {
    if (buffers.size() * buffers.size() / 2 > kMaxPairs) continue;
    for (const arena::BufferIndex a : buffers) {
      for (const arena::BufferIndex b : buffers) {
        if (b >= a) break;
        if (!Meet(calls_[static_cast<std::size_t>(a)].in_first_call,
                  calls_[static_cast<std::size_t>(b)].in_first_call)) {
          problem_.pairs.push_back(arena::Unrelated(a, b));
        }
      }
    }
  }
}

bool PlacementProblem::IsCalledAgain(arena::BufferIndex buffer) const {
  const auto b = static_cast<std::size_t>(buffer);
  const arena::Buffer& hull = problem_.buffers[b];
  const Span& span = calls_[b].in_first_call;
  return hull.first != span.first || hull.last != span.last;
}

arena::BufferIndex PlacementProblem::Add(std::int64_t bytes, std::int32_t first,
                                         std::int32_t last) {
  problem_.buffers.push_back({bytes, first, last, profile_.alignment, std::nullopt});
  return static_cast<arena::BufferIndex>(problem_.buffers.size()) - 1;
}

arena::BufferIndex PlacementProblem::BufferOf(SubgraphId subgraph, TensorId tensor) const {
  const std::int32_t at = index_[subgraph][tensor];
  return at < 0 ? -1 : buffer_[static_cast<std::size_t>(at)];
}

// A rule is about two tensors. Where tensors that are written in place are one buffer it goes for
// the buffers if no other two of their tensors are ever live together.
bool PlacementProblem::MayShare(const plan::Overlap& overlap) const {
  const std::int32_t input = index_[overlap.subgraph][overlap.input];
  const std::int32_t output = index_[overlap.subgraph][overlap.output];
  const arena::BufferIndex reader = buffer_[static_cast<std::size_t>(input)];
  const arena::BufferIndex writer = buffer_[static_cast<std::size_t>(output)];
  const Span& whole = calls_[static_cast<std::size_t>(writer)].in_first_call;
  for (const std::int32_t x : members_[static_cast<std::size_t>(reader)]) {
    if (!Meet(in_first_call_[static_cast<std::size_t>(x)], whole)) continue;
    for (const std::int32_t y : members_[static_cast<std::size_t>(writer)]) {
      if (x == input && y == output) continue;
      if (Meet(in_first_call_[static_cast<std::size_t>(x)],
               in_first_call_[static_cast<std::size_t>(y)])) {
        return false;
      }
    }
  }
  return true;
}

bool PlacementProblem::Share(const plan::Overlap& overlap,
                             const std::vector<std::int64_t>& offsets) const {
  const auto span = [&](TensorId tensor) {
    const auto at = static_cast<std::size_t>(BufferOf(overlap.subgraph, tensor));
    return std::pair(offsets[at], offsets[at] + problem_.buffers[at].bytes);
  };
  const auto [in_begin, in_end] = span(overlap.input);
  const auto [out_begin, out_end] = span(overlap.output);
  return in_begin < out_end && out_begin < in_end;
}

}  // namespace neap::compile
