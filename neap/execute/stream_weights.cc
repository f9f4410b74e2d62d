// SPDX-License-Identifier: Apache-2.0
//
// Weights in slow memory: copies into buffers of the arena, from which kernels get them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "neap/execute/stream_machine.h"

namespace neap::execute {

using graph::Op;
using graph::OpId;
using graph::TensorId;

// The buffers of a segment; those that stay are read.
Status StreamMachine::TakeWeights(const plan::StreamSegment& segment) {
  weights_.clear();
  const bool counted = stream_.slow && stream_.slow->weight_bytes;
  for (const plan::StreamWeights& one : segment.weights) {
    NEAP_CHECK_OK(Require(counted && subgraph_.ops.Has(one.op) && weights_.count(one.op) == 0,
                          "the plan has a buffer of weights of no operator, or two of one"));
    const Op& op = subgraph_.ops[one.op];
    Buffer buffer;
    buffer.offset = one.offset;
    buffer.in_blocks = one.block > 0;
    if (buffer.in_blocks) {
      const auto blocks = plan::BlocksOf(subgraph_, op, one.axis, one.block);
      NEAP_CHECK_OK(
          Require(blocks.has_value() && (!segment.channel_plane || one.axis == kChannelAxis),
                  "the plan has weights in blocks that cannot be read one by one"));
      buffer.blocks = blocks->blocks;
      buffer.bytes = blocks->bytes;
    } else {
      buffer.blocks = {plan::AllWeights(subgraph_, op)};
      buffer.bytes = buffer.blocks[0].bytes;
    }
    NEAP_CHECK_OK(Require(one.offset >= 0 && one.offset % plan::kWeightAlignment == 0 &&
                              buffer.bytes > 0 && one.offset <= arena_.bytes() - buffer.bytes,
                          "the plan has a buffer of weights outside of the arena"));
    for (const TensorId tensor : op.inputs) {
      buffer.found.emplace_back();
      if (tensor.valid() && program_.IsConstant(tensor)) {
        buffer.found.back().assign(program_.ConstantBytes(tensor).size(), kPoison);
      }
    }
    if (!buffer.in_blocks) LoadWeights(op, buffer.blocks[0], buffer.offset, true);
    weights_[one.op] = std::move(buffer);
  }
  if (!counted) return {};
  for (const plan::StreamOp& step : segment.ops) {
    if (!step.op.valid() || weights_.count(step.op) > 0) continue;
    const Op& op = subgraph_.ops[step.op];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      NEAP_CHECK_OK(Require(!plan::IsWeight(subgraph_, op, i),
                            "the plan has no buffer for weights in slow memory"));
    }
  }
  return {};
}

void StreamMachine::LoadWeights(const Op& op, const plan::WeightCopy& copy, std::int64_t offset,
                                bool counts) {
  for (const plan::WeightPart& part : copy.parts) {
    const TensorId tensor = op.inputs[part.input];
    const auto constant = program_.ConstantBytes(tensor);
    std::byte* to = arena_.At(offset + part.offset, part.bytes).data();
    for (const plan::WeightRun& run : plan::RunsOf(subgraph_.tensors[tensor], part)) {
      std::memcpy(to, constant.data() + run.from, static_cast<std::size_t>(run.bytes));
      to += run.bytes;
    }
    if (counts) result_.slow_read_bytes += part.bytes;
  }
  result_.high_water_bytes = std::max(result_.high_water_bytes, offset + copy.bytes);
}

// From the arena into what the kernel gets. False: the arena has other bytes than the constants.
bool StreamMachine::FindWeights(const Op& op, const plan::WeightCopy& copy, Buffer* buffer) {
  bool intact = true;
  for (const plan::WeightPart& part : copy.parts) {
    const auto constant = program_.ConstantBytes(op.inputs[part.input]);
    const std::byte* from = arena_.At(buffer->offset + part.offset, part.bytes).data();
    for (const plan::WeightRun& run :
         plan::RunsOf(subgraph_.tensors[op.inputs[part.input]], part)) {
      std::memcpy(buffer->found[part.input].data() + run.from, from,
                  static_cast<std::size_t>(run.bytes));
      intact = intact && std::memcmp(from, constant.data() + run.from,
                                     static_cast<std::size_t>(run.bytes)) == 0;
      from += run.bytes;
    }
  }
  return intact;
}

// Before the inputs of a box are read. The kernel computes all blocks in one call: the weights of
// each are read from the arena in their turn, and the arena contains the largest block while inputs
// are read and the output is written.
void StreamMachine::BeginWeights(OpId id) {
  const auto at = weights_.find(id);
  if (at == weights_.end()) return;
  Buffer& buffer = at->second;
  const Op& op = subgraph_.ops[id];
  bool intact = true;
  for (const plan::WeightCopy& block : buffer.blocks) {
    if (buffer.in_blocks) LoadWeights(op, block, buffer.offset, true);
    intact = FindWeights(op, block, &buffer) && intact;
  }
  if (buffer.blocks.size() > 1) LoadWeights(op, LargestOf(buffer), buffer.offset, false);
  if (!intact) Report(id, TensorId(), "has weights whose bytes in the arena have changed");
}

// After the output is written.
void StreamMachine::EndWeights(OpId id) {
  const auto at = weights_.find(id);
  if (at == weights_.end()) return;
  Buffer& buffer = at->second;
  const Op& op = subgraph_.ops[id];
  if (FindWeights(op, LargestOf(buffer), &buffer)) return;
  Report(id, TensorId(), "has weights that its output overwrites");
}

const plan::WeightCopy& StreamMachine::LargestOf(const Buffer& buffer) {
  return *std::max_element(
      buffer.blocks.begin(), buffer.blocks.end(),
      [](const plan::WeightCopy& a, const plan::WeightCopy& b) { return a.bytes < b.bytes; });
}

// What the kernel gets for an input that is a constant.
std::span<const std::byte> StreamMachine::ConstantOf(OpId op, std::size_t input) const {
  const auto at = weights_.find(op);
  const TensorId tensor = subgraph_.ops[op].inputs[input];
  return at != weights_.end() && plan::IsWeight(subgraph_, subgraph_.ops[op], input)
             ? std::span<const std::byte>(at->second.found[input])
             : program_.ConstantBytes(tensor);
}

}  // namespace neap::execute
