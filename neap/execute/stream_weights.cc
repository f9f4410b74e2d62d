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

Result<StreamMachine::Buffer> StreamMachine::BufferOf(const plan::StreamSegment& segment,
                                                      const plan::StreamWeights& weights) {
  const Op& op = subgraph_.ops[weights.op];
  Buffer buffer;
  buffer.offset = weights.offset;
  buffer.in_blocks = weights.block > 0;
  buffer.after = weights.after;
  if (buffer.in_blocks) {
    const auto blocks = plan::BlocksOf(subgraph_, weights);
    NEAP_CHECK_OK(
        Require(blocks.has_value() && (!segment.channel_plane || weights.axis == kChannelAxis),
                "the plan has weights in blocks that cannot be read one by one"));
    buffer.blocks = blocks->blocks;
    buffer.bytes = blocks->bytes;
  } else {
    buffer.blocks = {plan::AllWeights(subgraph_, op)};
    buffer.bytes = buffer.blocks[0].bytes;
  }
  const auto fits = [&](std::int64_t offset) {
    return offset >= 0 && offset % plan::kWeightAlignment == 0 && buffer.bytes > 0 &&
           offset <= arena_.bytes() - buffer.bytes;
  };
  NEAP_CHECK_OK(Require(fits(weights.offset) && (!weights.second || fits(*weights.second)),
                        "the plan has a buffer of weights outside of the arena"));
  if (weights.kept != 0) {
    buffer.kept = weights.kept_offset;
    const bool stays = buffer.in_blocks && !weights.second && !weights.after.valid() &&
                       buffer.kept >= 0 && buffer.kept % plan::kWeightAlignment == 0 &&
                       buffer.kept <= arena_.bytes() - buffer.blocks[0].bytes;
    NEAP_CHECK_OK(Require(stays, "the plan has weights that cannot stay where they are"));
  }
  if (!weights.second) return buffer;
  buffer.second = *weights.second;
  NEAP_CHECK_OK(Require(buffer.blocks.size() > 1 &&
                            !Intersect(buffer.offset, buffer.bytes, buffer.second, buffer.bytes),
                        "the plan has two buffers of weights for one block, or that overlap"));
  return buffer;
}

// The buffers of a segment; those that stay are read.
Status StreamMachine::TakeWeights(std::size_t index) {
  const plan::StreamSegment& segment = stream_.segments[index];
  weights_.clear();
  const bool counted = stream_.slow && stream_.slow->weight_bytes;
  for (const plan::StreamWeights& one : segment.weights) {
    NEAP_CHECK_OK(Require(counted && subgraph_.ops.Has(one.op) && weights_.count(one.op) == 0,
                          "the plan has a buffer of weights of no operator, or two of one"));
    const Op& op = subgraph_.ops[one.op];
    NEAP_TRY(Buffer buffer, BufferOf(segment, one));
    for (const TensorId tensor : op.inputs) {
      buffer.found.emplace_back();
      if (tensor.valid() && program_.IsConstant(tensor)) {
        buffer.found.back().assign(program_.ConstantBytes(tensor).size(), kPoison);
      }
    }
    if (!buffer.in_blocks) {
      Arrive(one.op, buffer);
      LoadWeights(op, buffer.blocks[0], buffer.offset, true);
    }
    if (buffer.kept >= 0) LoadWeights(op, buffer.blocks[0], buffer.kept, true);
    weights_[one.op] = std::move(buffer);
  }
  NEAP_CHECK_OK(FindComing(index));
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

// The copies that begin in a segment: of its own blocks, and of weights of the next one.
Status StreamMachine::FindComing(std::size_t index) {
  const plan::StreamSegment& segment = stream_.segments[index];
  coming_.clear();
  boxes_left_.clear();
  for (const plan::StreamOp& step : segment.ops) {
    if (step.op.valid()) boxes_left_[step.op] = plan::BoxesOf(segment, step.op);
  }
  for (const plan::StreamWeights& one : segment.weights) {
    if (!one.after.valid() || one.block == 0 || boxes_left_.count(one.after) == 0) continue;
    const Buffer& buffer = weights_.at(one.op);
    coming_[one.after].push_back({one.op, buffer.offset, buffer.blocks[0].bytes, false});
  }
  if (index + 1 == stream_.segments.size()) return {};
  const plan::StreamSegment& next = stream_.segments[index + 1];
  for (const plan::StreamWeights& one : next.weights) {
    if (boxes_left_.count(one.after) == 0 || !subgraph_.ops.Has(one.op)) continue;
    if (one.block > 0 && plan::BoxesOf(next, one.after) > 0) continue;  // which is meant
    NEAP_TRY(const Buffer buffer, BufferOf(next, one));
    coming_[one.after].push_back({one.op, buffer.offset, buffer.blocks[0].bytes, true});
  }
  return {};
}

// The bytes come when they are used, as late as they may: until then there are none.
void StreamMachine::Arrive(OpId op, const Buffer& buffer) {
  if (!buffer.after.valid()) return;
  const auto at = copied_.find(op);
  if (at == copied_.end()) {
    return Report(op, TensorId(), "has weights whose copy does not begin with the operator named");
  }
  if (at->second.offset != buffer.offset || !IsPoison(buffer.offset, buffer.blocks[0].bytes)) {
    Report(op, TensorId(), "has weights that are overwritten while they are copied");
  }
  copied_.erase(at);
}

bool StreamMachine::IsPoison(std::int64_t offset, std::int64_t bytes) {
  const auto found = arena_.At(offset, bytes);
  return std::all_of(found.begin(), found.end(), [](std::byte byte) { return byte == kPoison; });
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
bool StreamMachine::FindWeights(const Op& op, const plan::WeightCopy& copy, std::int64_t offset,
                                Buffer* buffer) {
  bool intact = true;
  for (const plan::WeightPart& part : copy.parts) {
    const auto constant = program_.ConstantBytes(op.inputs[part.input]);
    const std::byte* from = arena_.At(offset + part.offset, part.bytes).data();
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
// are read and the output is written. Copies of other weights that begin here may use nothing that
// is read until then but what EndWeights() leaves.
void StreamMachine::BeginWeights(OpId id) {
  const auto at = weights_.find(id);
  const bool in_blocks = at != weights_.end() && at->second.in_blocks;
  if (in_blocks) Arrive(id, at->second);
  --boxes_left_[id];
  for (const Coming& coming : coming_[id]) {
    if (coming.at_last && boxes_left_[id] > 0) continue;
    if (!copied_.try_emplace(coming.op, coming).second) {
      Report(coming.op, TensorId(), "has weights that are copied twice");
    }
    arena_.Poison(coming.offset, coming.bytes);
  }
  if (at != weights_.end()) LoadBlocks(id, &at->second);
}

void StreamMachine::LoadBlocks(OpId id, Buffer* buffer) {
  const Op& op = subgraph_.ops[id];
  const bool two = buffer->second >= 0;
  const bool keeps = buffer->kept >= 0;
  const auto place = [&](std::size_t block) {
    if (block == 0 && keeps) return buffer->kept;
    return two && block % 2 == 1 ? buffer->second : buffer->offset;
  };
  const std::vector<plan::WeightCopy>& blocks = buffer->blocks;
  bool intact = true;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (buffer->in_blocks && (b > 0 || !keeps)) LoadWeights(op, blocks[b], place(b), true);
    if (two && b + 1 < blocks.size()) arena_.Poison(place(b + 1), blocks[b + 1].bytes);
    intact = FindWeights(op, blocks[b], place(b), buffer) && intact;
  }
  if (blocks.size() > 1) LoadWeights(op, LargestOf(*buffer), buffer->offset, false);
  if (two) LoadWeights(op, LargestOf(*buffer), buffer->second, false);
  if (!intact) Report(id, TensorId(), "has weights whose bytes in the arena have changed");
}

// After the output is written. Of two buffers, the one without the last block was free while that
// was computed.
void StreamMachine::EndWeights(OpId id) {
  const auto at = weights_.find(id);
  if (at == weights_.end()) return;
  Buffer& buffer = at->second;
  const Op& op = subgraph_.ops[id];
  bool intact = FindWeights(op, LargestOf(buffer), buffer.offset, &buffer);
  if (buffer.second >= 0) {
    intact = FindWeights(op, LargestOf(buffer), buffer.second, &buffer) && intact;
  }
  if (buffer.kept >= 0) {
    intact = FindWeights(op, buffer.blocks[0], buffer.kept, &buffer) && intact;
  }
  if (!intact) Report(id, TensorId(), "has weights that its output overwrites");
  if (buffer.second < 0) return;
  const std::int64_t free = buffer.blocks.size() % 2 == 0 ? buffer.offset : buffer.second;
  for (const Coming& coming : coming_[id]) {
    if (coming.at_last && boxes_left_[id] > 0) continue;
    const std::int64_t first = std::max(free, coming.offset);
    const std::int64_t last = std::min(free + buffer.bytes, coming.offset + coming.bytes);
    if (first < last) arena_.Poison(first, last - first);
  }
}

const plan::WeightCopy& StreamMachine::LargestOf(const Buffer& buffer) {
  return *std::max_element(
      buffer.blocks.begin() + (buffer.kept >= 0 ? 1 : 0), buffer.blocks.end(),
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
