// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/compile/entry_memory.h"
#include "neap/ops/recurrence.h"
#include "neap/plan/stream_weights.h"
#include "neap/show/picture/picture.h"
#include "neap/show/picture/row_step_map.h"
#include "neap/show/report/text.h"

namespace neap::picture {
namespace {

constexpr std::size_t kMaxRowStepMaps = 3;

class Maker {
 public:
  Maker(const graph::Graph& graph, const compile::Compiled& compiled)
      : graph_(graph), compiled_(compiled), entry_(plan::LargestEntry(compiled.plan)) {}

  Result<Run> Make(std::string title) {
    NEAP_TRY(memory_, compile::MemoryOf(graph_, entry_.subgraph, compiled_.order,
                                        compiled_.plan.runtime, *compiled_.plan.target));
    run_.title = std::move(title);
    if (entry_.stream) {
      AddSegments();
    } else if (entry_.tensors.empty()) {
      AddUnplaced();
    } else {
      AddPlaced();
    }
    if (!entry_.stream) AddSteps();
    run_.peak_bytes = entry_.peak_bytes;
    run_.peak_lower_bound_bytes = entry_.peak_lower_bound_bytes;
    run_.arena_bytes = entry_.arena_bytes;
    run_.arena_lower_bound_bytes = entry_.arena_lower_bound_bytes;
    return std::move(run_);
  }

 private:
  Buffer Named(graph::SubgraphId subgraph, graph::TensorId id) const {
    Buffer buffer;
    buffer.name = TensorName(graph_.subgraphs[subgraph], id);
    buffer.shape = ShapeText(graph_.subgraphs[subgraph].tensors[id]);
    return buffer;
  }
  std::int64_t Counted(std::int64_t bytes) const {
    return AlignUp(bytes, plan::ProfileOf(compiled_.plan.runtime).alignment);
  }

  void AddUnplaced() {
    for (const compile::MemoryTensor& tensor : memory_.tensors) {
      Buffer buffer = Named(tensor.subgraph, tensor.tensor);
      buffer.bytes = tensor.bytes;
      buffer.counted_bytes = tensor.counted;
      buffer.first = tensor.first;
      buffer.last = tensor.last;
      run_.buffers.push_back(std::move(buffer));
    }
  }
  // Several memories are drawn one above the other.
  std::int64_t BaseOf(std::int32_t memory) const {
    std::int64_t base = 0;
    for (std::int32_t i = 0; i < memory; ++i) {
      base += entry_.memory_bytes[static_cast<std::size_t>(i)];
    }
    return base;
  }
  void AddPlaced() {
    for (const plan::TensorPlacement& placed : entry_.tensors) {
      Buffer buffer = Named(placed.subgraph, placed.tensor);
      buffer.bytes = placed.bytes;
      buffer.counted_bytes = Counted(placed.bytes);
      buffer.first = placed.first;
      buffer.last = placed.last;
      buffer.offset = BaseOf(placed.memory) + placed.offset;
      buffer.memory = placed.memory;
      run_.buffers.push_back(std::move(buffer));
    }
    for (const plan::ScratchPlacement& placed : entry_.scratch) {
      Buffer buffer{"scratch",
                    "scratch",
                    placed.bytes,
                    Counted(placed.bytes),
                    placed.slot,
                    placed.slot + 1,
                    BaseOf(placed.memory) + placed.offset,
                    placed.memory};
      run_.buffers.push_back(std::move(buffer));
    }
  }

  // A step for each segment, with the tensors placed in it, ring by ring.
  void AddSegments() {
    run_.streamed = true;
    const graph::Subgraph& subgraph = graph_.subgraphs[entry_.subgraph];
    const plan::StreamImages images = plan::ImagesOf(subgraph);
    for (const plan::StreamSegment& segment : entry_.stream->segments) {
      const auto at = static_cast<std::int32_t>(run_.steps.size());
      const graph::OpId first = segment.ops.front().op;
      const graph::OpId last = segment.ops.back().op;
      std::string label =
          first.valid() ? report::OpText(graph_, entry_.subgraph, first) : "rows of the input";
      if (segment.ops.size() > 1) label += " to " + report::OpText(graph_, entry_.subgraph, last);
      if (!segment.whole) label += ", in blocks";
      run_.steps.push_back({std::move(label), plan::HeightOf(subgraph, images, segment)});
      for (const plan::StreamArea& area : segment.areas) {
        const std::int64_t pixel = images[area.tensor].pixel_bytes;
        for (const plan::StreamRing& ring : area.rings) {
          Buffer buffer = Named(entry_.subgraph, area.tensor);
          buffer.bytes = buffer.counted_bytes = ring.pixels * pixel;
          buffer.first = at;
          buffer.last = at + 1;
          buffer.offset = ring.offset;
          run_.buffers.push_back(std::move(buffer));
        }
      }
      for (const plan::StreamState& state : segment.states) {
        const auto recurrence = ops::RecurrenceOf(subgraph, subgraph.ops[state.op]);
        if (!recurrence) continue;
        const std::int64_t bytes = recurrence->state_bytes;
        run_.buffers.push_back(
            {"state", "kept", bytes, Counted(bytes), at, at + 1, state.offset, 0});
      }
      const plan::StreamRange weights = plan::WeightBytesOf(subgraph, segment);
      if (weights.empty()) continue;
      run_.buffers.push_back({"weights", "copied", weights.size(), Counted(weights.size()), at,
                              at + 1, weights.first, 0});
    }
    run_.row_step_maps = RowStepMapsOf(graph_, entry_, kMaxRowStepMaps);
  }

  void AddSteps() {
    const bool moves = entry_.steps.size() != memory_.live_bytes.size();
    std::vector<std::int64_t> live = memory_.live_bytes;
    if (moves) {
      // A plan with moves has neither overlaps nor shared addresses: placed tensors are live.
      live.assign(entry_.steps.size() + 1, 0);
      for (const Buffer& buffer : run_.buffers) {
        live[static_cast<std::size_t>(buffer.first)] += buffer.counted_bytes;
        live[static_cast<std::size_t>(buffer.last)] -= buffer.counted_bytes;
      }
      for (std::size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
    }
    for (std::size_t slot = 0; slot < entry_.steps.size(); ++slot) {
      const plan::Step& step = entry_.steps[slot];
      std::string label = "-";
      if (step.moved.valid()) {
        label = "move " + Named(step.subgraph, step.moved).name;
      } else if (step.op.valid()) {
        label = report::OpText(graph_, step.subgraph, step.op);
      }
      run_.steps.push_back({std::move(label), live[slot]});
    }
  }

  const graph::Graph& graph_;
  const compile::Compiled& compiled_;
  const plan::EntryPlan& entry_;
  compile::EntryMemory memory_;
  Run run_;
};

}  // namespace

Result<Run> RunOf(const graph::Graph& graph, const compile::Compiled& compiled, std::string title) {
  return Maker(graph, compiled).Make(std::move(title));
}

}  // namespace neap::picture
