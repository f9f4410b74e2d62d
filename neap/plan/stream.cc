// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/stream.h"

#include <algorithm>

#include "neap/ops/macs.h"
#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"
#include "neap/plan/stream_weights.h"

namespace neap::plan {
std::string_view NameOf(StreamInput input) {
  switch (input) {
    case StreamInput::kResident:
      return "resident";
    case StreamInput::kExternal:
      return "external";
    case StreamInput::kRows:
      return "rows";
    case StreamInput::kSlow:
      return "slow";
  }
  return "";
}

bool HasChannelsFirst(const graph::Subgraph& subgraph) {
  // A file has operators of one format.
  return !subgraph.ops.empty() && ops::IsOnnxDialect(subgraph.ops[graph::OpId(0)].domain);
}

StreamImage ImageOf(const graph::Tensor& tensor, bool channels_first) {
  const std::int64_t bytes = graph::TensorBytes(tensor).value_or(0);
  constexpr std::size_t kRank = 4;
  const StreamImage whole{1, 1, bytes};
  if (!tensor.shape || std::any_of(tensor.shape->begin(), tensor.shape->end(),
                                   [](std::int64_t d) { return d < 1; })) {
    return whole;
  }
  const graph::Shape& shape = *tensor.shape;
  StreamImage image = whole;
  if (shape.size() == kRank && shape[0] == 1) {
    const std::size_t row = channels_first ? 2 : 1;
    image = {shape[row], shape[row + 1], bytes / shape[row] / shape[row + 1], channels_first,
             row,        row + 1};
  } else {
    const auto rows = std::find_if(shape.begin(), shape.end(), [](auto d) { return d > 1; });
    if (rows == shape.end() || rows + 1 == shape.end()) return whole;
    image = {*rows, 1, bytes / *rows, false, static_cast<std::size_t>(rows - shape.begin())};
  }
  return image.pixel_bytes > 0 && image.bytes() == bytes ? image : whole;
}

std::vector<graph::TensorId> OutputsOf(const graph::Subgraph& subgraph, const StreamOp& step) {
  std::vector<graph::TensorId> outputs = subgraph.ops[step.op].outputs;
  if (step.output) outputs = {outputs[static_cast<std::size_t>(*step.output)]};
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [](graph::TensorId tensor) { return !tensor.valid(); }),
                outputs.end());
  return outputs;
}

graph::TensorId BoxedBy(const graph::Subgraph& subgraph, const StreamOp& step) {
  if (!step.op.valid()) return step.fed;
  const graph::Op& op = subgraph.ops[step.op];
  return step.sums ? op.inputs[0] : op.outputs[static_cast<std::size_t>(step.output.value_or(0))];
}

bool NamesOutput(const graph::Subgraph& subgraph, const StreamOp& step, bool whole) {
  const graph::Op& op = subgraph.ops[step.op];
  if (!step.output) return whole || (op.outputs.size() == 1 && op.outputs[0].valid());
  const auto at = static_cast<std::size_t>(*step.output);
  if (const auto recurrence = ops::RecurrenceOf(subgraph, op)) {
    return *step.output >= 0 && at == recurrence->output;
  }
  return !step.sums && *step.output >= 0 && ops::Has(op, ops::trait::kSplits) &&
         at < op.outputs.size() && op.outputs[at].valid();
}

std::int64_t BytesOf(const StreamImages& images, const StreamArea& area) {
  std::int64_t pixels = 0;
  for (const StreamRing& ring : area.rings) pixels += ring.pixels;
  return pixels * images[area.tensor].pixel_bytes;
}

std::int64_t HeightOf(const graph::Subgraph& subgraph, const StreamImages& images,
                      const StreamSegment& segment) {
  std::int64_t height = 0;
  for (const StreamArea& area : segment.areas) {
    const std::int64_t pixel = images[area.tensor].pixel_bytes;
    for (const StreamRing& ring : area.rings) {
      height = std::max(height, ring.offset + ring.pixels * pixel);
    }
  }
  height = std::max(height, WeightBytesOf(subgraph, segment).last);
  for (const StreamState& state : segment.states) {
    const auto recurrence = ops::RecurrenceOf(subgraph, subgraph.ops[state.op]);
    if (recurrence) height = std::max(height, state.offset + recurrence->state_bytes);
  }
  if (!segment.channel_plane) return height;
  const graph::TensorId out = subgraph.ops[segment.ops[0].op].outputs[0];
  const StreamImage& image = images[out];
  const std::int64_t element = graph::BitsOf(subgraph.tensors[out].type) / 8;
  return std::max(height, *segment.channel_plane + image.height * image.width * element);
}

namespace {

// Pixels of the output, or steps. 0: their number or that of their products is not known.
std::int64_t PlacesOf(const graph::Subgraph& subgraph, const StreamImages& images,
                      const graph::Op& op) {
  if (const auto recurrence = ops::RecurrenceOf(subgraph, op)) return recurrence->steps;
  if (op.outputs.empty() || !op.outputs[0].valid()) return 0;
  if (!graph::TensorBytes(subgraph.tensors[op.outputs[0]])) return 0;
  return images[op.outputs[0]].height * images[op.outputs[0]].width;
}

}  // namespace

std::int64_t MacsOfPixel(const graph::Subgraph& subgraph, const StreamImages& images,
                         const graph::Op& op) {
  const std::int64_t places = PlacesOf(subgraph, images, op);
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  return places == 0 ? 0 : std::min(ops::MultiplyAccumulates(subgraph, op) / places, kMax);
}

std::int64_t MacsOfAll(const graph::Subgraph& subgraph, const StreamImages& images,
                       const graph::Op& op) {
  return PlacesOf(subgraph, images, op) * MacsOfPixel(subgraph, images, op);
}

}  // namespace neap::plan
