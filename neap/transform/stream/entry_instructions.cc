// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "neap/ops/dependence.h"
#include "neap/plan/stream_boxes.h"
#include "neap/transform/stream/instructions.h"

namespace neap::stream {

using plan::StreamRange;
using plan::StreamRing;

std::int64_t InstructionsOfEntry(Processor processor, const graph::Graph& graph,
                                 const plan::EntryPlan& entry) {
  const graph::Subgraph& subgraph = graph.subgraphs[entry.subgraph];
  std::int64_t sum = 0;
  const auto image_of = [&](const graph::Op& op, bool sums, std::size_t output) {
    return plan::ImageOf(subgraph.tensors[sums ? op.inputs[0] : op.outputs[output]]);
  };
  const auto add_whole = [&](graph::OpId id) {
    const graph::Op& op = subgraph.ops[id];
    if (op.outputs.empty() || !op.outputs[0].valid()) return;
    const bool sums = ops::IsMeanOfPlaces(subgraph, op);
    const plan::StreamImage image = image_of(op, sums, 0);
    const KernelShape shape = KernelShapeOf(subgraph, op, sums, image);
    const StreamRange rows = {0, image.height};
    const StreamRange columns = {0, image.width};
    sum += InstructionsOf(processor, shape.kernel,
                          EventsOf(processor, shape, {&rows, 1}, {&columns, 1}));
  };
  if (!entry.stream) {
    for (const plan::Step& step : entry.steps) {
      if (step.moved.valid()) {
        sum += MoveInstructions(plan::ImageOf(subgraph.tensors[step.moved]).bytes());
      } else if (step.op.valid() && step.subgraph == entry.subgraph) {
        add_whole(step.op);
      }
    }
    return sum;
  }
  for (const plan::StreamSegment& segment : entry.stream->segments) {
    const auto rings_of = [&](graph::TensorId tensor) {
      for (const plan::StreamArea& area : segment.areas) {
        if (area.tensor == tensor) return std::span<const StreamRing>(area.rings);
      }
      return std::span<const StreamRing>();
    };
    for (const plan::StreamMove& move : segment.moves) {
      sum += MoveInstructions(plan::ImageOf(subgraph.tensors[move.tensor]).bytes());
    }
    for (const plan::StreamOp& step : segment.ops) {
      if (!step.op.valid()) continue;
      if (segment.whole) {
        add_whole(step.op);
        continue;
      }
      const graph::Op& op = subgraph.ops[step.op];
      const auto output = static_cast<std::size_t>(step.output.value_or(0));
      const KernelShape shape =
          KernelShapeOf(subgraph, op, step.sums, image_of(op, step.sums, output));
      plan::StreamBoxes boxes = {step.rows, step.columns};
      if (segment.ops.size() == 1) boxes = plan::JoinedBoxes(std::move(boxes));
      const Rings rings = {rings_of(op.outputs[output]), rings_of(op.inputs[0])};
      sum += InstructionsOf(processor, shape.kernel,
                            EventsOf(processor, shape, boxes.rows, boxes.columns, rings));
    }
  }
  return sum;
}

}  // namespace neap::stream
