// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/timeline.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/ops/traits.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

class Builder {
 public:
  Builder(const graph::Graph& graph, const Orders& orders, const plan::Profile& profile)
      : graph_(graph), orders_(orders), profile_(profile) {}

  Result<Timeline> Run(SubgraphId entry) {
    NEAP_CHECK_OK(Call(entry));
    return std::move(timeline_);
  }

 private:
  struct Range {
    std::int32_t begin = 0;
    std::int32_t end = 0;
  };
  std::int32_t Now() const { return static_cast<std::int32_t>(timeline_.steps.size()); }

  // Depth is bounded: bodies do not contain themselves, and readers limit their number.
  Status Call(SubgraphId id) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    const std::int32_t begin = Now();
    std::vector<Range> ranges;
    for (const OpId op_id : orders_[id]) {
      const Op& op = subgraph.ops[op_id];
      if (static_cast<std::int64_t>(timeline_.steps.size()) >= kMaxSlots) {
        return Fail(
            BadInput("control flow unfolds into more than " + FormatCount(kMaxSlots) + " steps"));
      }
      const std::int32_t start = Now();
      timeline_.steps.push_back({id, op_id});
      for (const SubgraphId body : op.bodies) NEAP_CHECK_OK(Call(body));
      ranges.push_back({start, Now()});
      if (op.scratch_bytes > 0) timeline_.scratch.push_back({start, Now(), op.scratch_bytes});
    }
    if (orders_[id].empty()) timeline_.steps.push_back({id, OpId()});
    AddTensors(id, {begin, Now()}, ranges);
    return {};
  }

  void AddTensors(SubgraphId id, Range whole, const std::vector<Range>& ranges) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    constexpr std::int32_t kUnset = -1;
    IdVector<TensorId, std::int32_t> first(subgraph.tensors.size(), kUnset);
    IdVector<TensorId, std::int32_t> last(subgraph.tensors.size(), kUnset);
    IdVector<TensorId, char> pinned(subgraph.tensors.size(), 0);
    IdVector<TensorId, char> written(subgraph.tensors.size(), 0);
    const auto& order = orders_[id];
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Op& op = subgraph.ops[order[at]];
      for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
        for (const TensorId tensor : *list) {
          if (!tensor.valid()) continue;
          if (first[tensor] == kUnset) first[tensor] = ranges[at].begin;
          last[tensor] = std::max(last[tensor], ranges[at].end);
          if (list == &op.outputs) written[tensor] = 1;
        }
      }
    }
    for (const TensorId tensor : subgraph.outputs) pinned[tensor] = 1;
    IdVector<TensorId, char> is_input(subgraph.tensors.size(), 0);
    for (const TensorId tensor : subgraph.inputs) is_input[tensor] = 1;
    for (const TensorId tensor : subgraph.tensors.Ids()) {
      if (!IsPlanned(subgraph.tensors[tensor])) continue;
      const bool touched = first[tensor] != kUnset;
      if (!touched && is_input[tensor] == 0 && pinned[tensor] == 0) continue;
      LiveTensor live{id, tensor, first[tensor], last[tensor], false};
      if (written[tensor] == 0) live.first = whole.begin;
      if (pinned[tensor] != 0) live.last = whole.end;
      if (!touched && pinned[tensor] == 0) {
        live.last = std::min(whole.begin + 1, whole.end);
        live.unread = true;
      }
      timeline_.tensors.push_back(live);
    }
    if (!profile_.in_place) return;
    AddOverlaps(id, ranges, first, last, pinned);
  }

  void AddOverlaps(SubgraphId id, const std::vector<Range>& ranges,
                   const IdVector<TensorId, std::int32_t>& first,
                   const IdVector<TensorId, std::int32_t>& last,
                   const IdVector<TensorId, char>& pinned) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    const auto& order = orders_[id];
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Op& op = subgraph.ops[order[at]];
      if (!ops::WritesOverFirstInput(subgraph, op)) continue;
      if (op.inputs.empty() || op.outputs.empty() || !op.bodies.empty()) continue;
      const TensorId input = op.inputs.front();
      const TensorId output = op.outputs.front();
      if (!input.valid() || !output.valid()) continue;
      if (!IsPlanned(subgraph.tensors[input]) || !IsPlanned(subgraph.tensors[output])) continue;
      const auto input_bytes = graph::TensorBytes(subgraph.tensors[input]);
      const auto output_bytes = graph::TensorBytes(subgraph.tensors[output]);
      if (!input_bytes || !output_bytes || *input_bytes != *output_bytes) continue;
      const Range& range = ranges[at];
      if (pinned[input] != 0 || last[input] != range.end || first[output] != range.begin) continue;
      timeline_.overlaps.push_back({range.begin, id, input, output});
    }
  }

  const graph::Graph& graph_;
  const Orders& orders_;
  const plan::Profile& profile_;
  Timeline timeline_;
};

}  // namespace

Result<Timeline> BuildTimeline(const graph::Graph& graph, SubgraphId entry, const Orders& orders,
                               const plan::Profile& profile) {
  return Builder(graph, orders, profile).Run(entry);
}

std::vector<std::int64_t> LiveBytes(const Timeline& timeline, const AllSizes& sizes,
                                    const plan::Profile& profile) {
  std::vector<std::int64_t> change(timeline.steps.size() + 1, 0);
  const auto add = [&](std::int32_t first, std::int32_t last, std::int64_t bytes) {
    change[static_cast<std::size_t>(first)] += bytes;
    change[static_cast<std::size_t>(last)] -= bytes;
  };
  for (const LiveTensor& live : timeline.tensors) {
    if (!live.unread) add(live.first, live.last, sizes[live.subgraph].counted[live.tensor]);
  }
  for (const LiveScratch& scratch : timeline.scratch) {
    add(scratch.first, scratch.last, AlignUp(scratch.bytes, profile.alignment));
  }
  for (const plan::Overlap& overlap : timeline.overlaps) {
    add(overlap.slot, overlap.slot + 1, -sizes[overlap.subgraph].counted[overlap.output]);
  }
  std::vector<std::int64_t> live(timeline.steps.size(), 0);
  std::int64_t now = 0;
  for (std::size_t slot = 0; slot < live.size(); ++slot) {
    now += change[slot];
    live[slot] = now;
  }
  return live;
}

}  // namespace neap::compile
