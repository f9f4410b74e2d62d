// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/place.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "neap/arena/arena.h"
#include "neap/arena/check.h"
#include "neap/base/bytes.h"
#include "neap/base/check.h"

namespace neap::compile {
namespace {

using graph::SubgraphId;
using graph::TensorId;

class Placer {
 public:
  Placer(const graph::Graph& graph, const Timeline& timeline, const AllSizes& sizes,
         const plan::Profile& profile)
      : timeline_(timeline), sizes_(sizes), profile_(profile) {
    for (const graph::Subgraph& subgraph : graph.subgraphs) {
      index_.push_back(IdVector<TensorId, std::int32_t>(subgraph.tensors.size(), -1));
    }
    CollectTensors();
    MakeBuffers();
  }

  // Lets the pairs share bytes; those that the addresses make no use of cost nothing.
  void Allow(const std::vector<plan::Overlap>& overlaps) {
    for (const plan::Overlap& overlap : overlaps) {
      const arena::BufferIndex input = BufferOf(overlap.subgraph, overlap.input);
      const arena::BufferIndex output = BufferOf(overlap.subgraph, overlap.output);
      if (input < 0 || output < 0 || input == output) continue;
      if (overlap.kind == plan::OverlapKind::kHoldsInput) {
        arena::AddExactlyAt(problem_, output, input, overlap.bytes);
      } else {
        problem_.pairs.push_back(arena::StartsBelow(problem_, input, output, overlap.bytes));
      }
      allowed_.push_back(overlap);
    }
  }

  Placed Solve(const Limits& limits) const {
    const arena::Outcome outcome = arena::Solve(problem_, limits);
    const auto violation = arena::FindViolation(problem_, outcome.placement);
    NEAP_CHECK(!violation, "the placement is wrong: " + violation.value_or(""));
    const auto& offsets = outcome.placement.offsets;
    Placed placed;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const LiveTensor& live = tensors_[i];
      placed.tensors.push_back({live.subgraph, live.tensor,
                                offsets[static_cast<std::size_t>(buffer_[i])],
                                sizes_[live.subgraph].exact[live.tensor], live.first, live.last});
    }
    for (std::size_t i = 0; i < timeline_.scratch.size(); ++i) {
      placed.scratch.push_back({timeline_.scratch[i].first,
                                offsets[static_cast<std::size_t>(scratch_[i])],
                                timeline_.scratch[i].bytes});
    }
    for (const plan::Overlap& overlap : allowed_) {
      if (Share(overlap, offsets)) placed.overlaps.push_back(overlap);
    }
    placed.arena_bytes = outcome.placement.height_bytes;
    // All heights are multiples of the alignment.
    placed.lower_bound_bytes = AlignUp(outcome.lower_bound_bytes, profile_.alignment);
    return placed;
  }

 private:
  // Each tensor once, with the hull of its calls.
  void CollectTensors() {
    for (const LiveTensor& live : timeline_.tensors) {
      std::int32_t& at = index_[live.subgraph][live.tensor];
      if (at < 0) {
        at = static_cast<std::int32_t>(tensors_.size());
        tensors_.push_back(live);
      } else {
        LiveTensor& known = tensors_[static_cast<std::size_t>(at)];
        known.first = std::min(known.first, live.first);
        known.last = std::max(known.last, live.last);
      }
    }
  }

  void MakeBuffers() {
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
      } else {
        buffer_[i] = buffer_[r];
        arena::Buffer& shared = problem_.buffers[static_cast<std::size_t>(buffer_[r])];
        shared.first = std::min(shared.first, live.first);
        shared.last = std::max(shared.last, live.last);
      }
    }
    for (const LiveScratch& scratch : timeline_.scratch) {
      scratch_.push_back(
          Add(AlignUp(scratch.bytes, profile_.alignment), scratch.first, scratch.last));
    }
  }

  arena::BufferIndex Add(std::int64_t bytes, std::int32_t first, std::int32_t last) {
    problem_.buffers.push_back({bytes, first, last, profile_.alignment, std::nullopt});
    return static_cast<arena::BufferIndex>(problem_.buffers.size()) - 1;
  }

  arena::BufferIndex BufferOf(SubgraphId subgraph, TensorId tensor) const {
    const std::int32_t at = index_[subgraph][tensor];
    return at < 0 ? -1 : buffer_[static_cast<std::size_t>(at)];
  }

  bool Share(const plan::Overlap& overlap, const std::vector<std::int64_t>& offsets) const {
    const auto span = [&](TensorId tensor) {
      const auto at = static_cast<std::size_t>(BufferOf(overlap.subgraph, tensor));
      return std::pair(offsets[at], offsets[at] + problem_.buffers[at].bytes);
    };
    const auto [in_begin, in_end] = span(overlap.input);
    const auto [out_begin, out_end] = span(overlap.output);
    return in_begin < out_end && out_begin < in_end;
  }

  const Timeline& timeline_;
  const AllSizes& sizes_;
  const plan::Profile& profile_;
  arena::Problem problem_;
  std::vector<LiveTensor> tensors_;
  IdVector<SubgraphId, IdVector<TensorId, std::int32_t>> index_;  // into tensors_
  std::vector<arena::BufferIndex> buffer_;                        // of each of tensors_
  std::vector<arena::BufferIndex> scratch_;                       // of each LiveScratch
  std::vector<plan::Overlap> allowed_;
};

}  // namespace

Placed PlaceTimeline(const graph::Graph& graph, SubgraphId entry, const Timeline& timeline,
                     const AllSizes& sizes, const plan::Profile& profile,
                     const OverlapOptions& overlap, const Limits& limits) {
  Placer placer(graph, timeline, sizes, profile);
  placer.Allow(AllowedOverlaps(graph, entry, timeline, overlap));
  return placer.Solve(limits);
}

}  // namespace neap::compile
