// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/stream_weights.h"

#include <algorithm>
#include <utility>

#include "neap/ops/macs.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"

namespace neap::plan {
namespace {

using graph::ElementType;
using ops::OpKind;

constexpr std::int64_t kMaxBlocks = 1 << 12;

std::int64_t ElementBytes(const graph::Tensor& tensor) { return graph::BitsOf(tensor.type) / 8; }

void Add(std::size_t input, ops::Box box, std::int64_t bytes, WeightCopy* copy) {
  const std::int64_t offset = AlignedToWeights(copy->bytes);
  copy->parts.push_back({input, std::move(box), offset, bytes});
  copy->bytes = offset + bytes;
  copy->copied_bytes += bytes;
}

}  // namespace

bool IsWeight(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input) {
  if (!op.inputs[input].valid()) return false;
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[input]];
  const auto bytes = graph::TensorBytes(tensor);
  if (!tensor.constant || !tensor.shape || bytes.value_or(0) <= 0) return false;
  if (ops::Is(op, OpKind::kTransposeConv) && input == 0) return false;
  const bool may_be_index = tensor.type == ElementType::kInt32 ||
                            tensor.type == ElementType::kInt64 || tensor.type == ElementType::kBool;
  return !may_be_index || ops::IsElementwise(op) || ops::MultiplyAccumulates(subgraph, op) > 0;
}

WeightCopy AllWeights(const graph::Subgraph& subgraph, const graph::Op& op) {
  WeightCopy copy;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!IsWeight(subgraph, op, i)) continue;
    const graph::Tensor& tensor = subgraph.tensors[op.inputs[i]];
    Add(i, ops::WholeBox(*tensor.shape), *graph::TensorBytes(tensor), &copy);
  }
  return copy;
}

std::optional<WeightCopy> WeightsOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                    std::int64_t axis, const StreamRange& range) {
  if (op.outputs.size() != 1 || !op.outputs[0].valid()) return std::nullopt;
  const auto& shape = subgraph.tensors[op.outputs[0]].shape;
  if (!shape || axis < 0 || axis >= static_cast<std::int64_t>(shape->size())) return std::nullopt;
  ops::Box box = ops::WholeBox(*shape);
  ops::Interval& along = box[static_cast<std::size_t>(axis)];
  if (range.empty() || range.first < 0 || range.last > along.end) return std::nullopt;
  along = {range.first, range.last};
  WeightCopy copy;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!IsWeight(subgraph, op, i)) continue;
    const graph::Tensor& tensor = subgraph.tensors[op.inputs[i]];
    auto need = ops::NeedOf(subgraph, op, i, box);
    if (!need || ElementBytes(tensor) < 1) return std::nullopt;
    if (ops::IsEmpty(need->box)) continue;
    const std::int64_t bytes = ops::ElementsOf(need->box) * ElementBytes(tensor);
    Add(i, std::move(need->box), bytes, &copy);
  }
  return copy;
}

std::optional<WeightBlocks> BlocksOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                     std::int64_t axis, std::int64_t block, std::int64_t kept) {
  if (op.outputs.size() != 1 || !op.outputs[0].valid()) return std::nullopt;
  const auto& shape = subgraph.tensors[op.outputs[0]].shape;
  if (!shape || axis < 0 || axis >= static_cast<std::int64_t>(shape->size()) || block < 1) {
    return std::nullopt;
  }
  const std::int64_t size = (*shape)[static_cast<std::size_t>(axis)];
  if (size < 1 || (size - 1) / block >= kMaxBlocks) return std::nullopt;
  if (kept < 0 || kept >= size) return std::nullopt;
  WeightBlocks result;
  for (std::int64_t at = 0; at < size;) {
    const std::int64_t end = at + std::min(at == 0 && kept > 0 ? kept : block, size - at);
    auto copy = WeightsOf(subgraph, op, axis, {at, end});
    if (!copy) return std::nullopt;
    if (at > 0 || kept == 0) result.bytes = std::max(result.bytes, copy->bytes);
    at = end;
    result.copied_bytes += copy->copied_bytes;
    result.blocks.push_back(*std::move(copy));
  }
  return result;
}

std::optional<WeightBlocks> BlocksOf(const graph::Subgraph& subgraph,
                                     const StreamWeights& weights) {
  return BlocksOf(subgraph, subgraph.ops[weights.op], weights.axis, weights.block, weights.kept);
}

std::int64_t BufferBytes(const graph::Subgraph& subgraph, const StreamWeights& weights) {
  const graph::Op& op = subgraph.ops[weights.op];
  if (weights.block == 0) return AllWeights(subgraph, op).bytes;
  const auto blocks = BlocksOf(subgraph, weights);
  return blocks ? blocks->bytes : 0;
}

WeightCopy FirstCopy(const graph::Subgraph& subgraph, const StreamWeights& weights) {
  const graph::Op& op = subgraph.ops[weights.op];
  if (weights.block == 0) return AllWeights(subgraph, op);
  auto blocks = BlocksOf(subgraph, weights);
  return blocks ? std::move(blocks->blocks[0]) : WeightCopy();
}

std::int64_t BoxesOf(const StreamSegment& segment, graph::OpId op) {
  const auto some = [](const std::vector<StreamRange>& ranges) {
    return std::count_if(ranges.begin(), ranges.end(),
                         [](const StreamRange& range) { return !range.empty(); });
  };
  std::int64_t boxes = 0;
  for (const StreamOp& step : segment.ops) {
    if (step.op != op) continue;
    boxes += segment.whole ? 1 : some(step.rows) * some(step.columns);
  }
  return boxes;
}

StreamRange WeightBytesOf(const graph::Subgraph& subgraph, const StreamSegment& segment) {
  StreamRange range;
  for (const StreamWeights& weights : segment.weights) {
    if (!subgraph.ops.Has(weights.op)) continue;
    const std::int64_t bytes = BufferBytes(subgraph, weights);
    for (const std::int64_t at : {weights.offset, weights.second.value_or(weights.offset)}) {
      range.first = range.empty() ? at : std::min(range.first, at);
      range.last = std::max(range.last, at + bytes);
    }
    if (weights.kept == 0) continue;
    range.first = std::min(range.first, weights.kept_offset);
    range.last = std::max(range.last, weights.kept_offset + FirstCopy(subgraph, weights).bytes);
  }
  return range;
}

std::int64_t NeededWeightBytes(const graph::Subgraph& subgraph, const graph::Op& op,
                               std::size_t input) {
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[input]];
  const std::int64_t all = graph::TensorBytes(tensor).value_or(0);
  std::int64_t needed = 0;
  for (std::size_t output = 0; output < op.outputs.size(); ++output) {
    if (!op.outputs[output].valid()) continue;
    const auto& shape = subgraph.tensors[op.outputs[output]].shape;
    if (!shape || ElementBytes(tensor) < 1) return all;
    const auto need = ops::NeedOf(subgraph, op, input, ops::WholeBox(*shape), output);
    if (!need) return all;
    if (ops::IsEmpty(need->box)) continue;
    needed = std::max(needed, ops::ElementsOf(need->box) * ElementBytes(tensor));
  }
  return std::min(needed, all);
}

std::vector<WeightRun> RunsOf(const graph::Tensor& tensor, const WeightPart& part) {
  const graph::Shape& shape = *tensor.shape;
  // Dimensions from `inner` on are whole, and adjacent with a part of the one before.
  std::size_t inner = shape.size();
  std::int64_t run = ElementBytes(tensor);
  if (run < 1) return {{0, part.bytes}};
  while (inner > 0) {
    --inner;
    run *= part.box[inner].size();
    if (part.box[inner].size() != shape[inner]) break;
  }
  std::vector<std::int64_t> strides(shape.size(), ElementBytes(tensor));
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  std::int64_t start = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) start += part.box[d].begin * strides[d];
  std::vector<WeightRun> runs;
  std::vector<std::int64_t> index(inner, 0);
  while (true) {
    std::int64_t from = start;
    for (std::size_t d = 0; d < inner; ++d) from += index[d] * strides[d];
    runs.push_back({from, run});
    std::size_t d = inner;
    while (d > 0 && ++index[d - 1] == part.box[d - 1].size()) index[--d] = 0;
    if (d == 0) return runs;
  }
}

}  // namespace neap::plan
