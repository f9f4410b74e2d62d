// SPDX-License-Identifier: Apache-2.0
//
// The checker of plans whose weights are in slow memory: bytes of their buffers have names, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "neap/check/check.h"
#include "neap/check/stream_checker.h"
#include "neap/plan/stream_weights.h"

namespace neap::check {

using graph::Op;
using graph::OpId;
using graph::TensorId;

namespace {

// Below all other names, and apart from each other.
std::int64_t NameOfWeights(OpId op) {
  return -(std::int64_t{1} << 62) +
         static_cast<std::int64_t>(op.index()) * 2 * plan::kMaxStreamBytes;
}

}  // namespace

// Every operator of the segment with weights has one buffer. Those that stay are read.
void StreamChecker::TakeWeights(const plan::StreamSegment& segment) {
  weights_.clear();
  for (const plan::StreamWeights& one : segment.weights) {
    const bool runs = std::any_of(segment.ops.begin(), segment.ops.end(),
                                  [&](const plan::StreamOp& step) { return step.op == one.op; });
    if (!stream_.slow || !stream_.slow->weight_bytes || !runs || !subgraph_.ops.Has(one.op) ||
        subgraph_.ops[one.op].folded || weights_.count(one.op) > 0) {
      return Fail(OpId(), TensorId(),
                  "has weights of an operator that it does not run, twice, or of a plan whose "
                  "weights are not in slow memory");
    }
    const Op& op = subgraph_.ops[one.op];
    Buffer buffer{one.offset, 0, 0, one.block > 0};
    if (one.block > 0) {
      const auto blocks = plan::BlocksOf(subgraph_, op, one.axis, one.block);
      constexpr std::int64_t kChannelAxis = 3;
      if (!blocks || (segment.channel_plane && one.axis != kChannelAxis)) {
        return Fail(one.op, TensorId(), "has weights in blocks that cannot be read one by one");
      }
      for (const plan::WeightCopy& block : blocks->blocks) {
        buffer.bytes = std::max(buffer.bytes, block.bytes);
        for (const plan::WeightPart& part : block.parts) buffer.copied_bytes += part.bytes;
      }
    } else {
      const plan::WeightCopy all = plan::AllWeights(subgraph_, op);
      buffer.bytes = all.bytes;
      for (const plan::WeightPart& part : all.parts) buffer.copied_bytes += part.bytes;
    }
    if (one.offset < 0 || one.offset % plan::kWeightAlignment != 0 || buffer.bytes <= 0 ||
        buffer.bytes > entry_.arena_bytes || one.offset > entry_.arena_bytes - buffer.bytes) {
      return Fail(one.op, TensorId(),
                  "has a buffer of weights that is empty, not aligned or outside the arena");
    }
    weights_[one.op] = buffer;
    if (one.block == 0) FillWeights(one.op, buffer);
  }
  if (!stream_.slow || !stream_.slow->weight_bytes) return;
  for (const plan::StreamOp& step : segment.ops) {
    if (!subgraph_.ops.Has(step.op) || weights_.count(step.op) > 0) continue;
    const Op& op = subgraph_.ops[step.op];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (plan::IsWeight(subgraph_, op, i)) {
        return Fail(step.op, op.inputs[i], "is a weight in slow memory without a buffer");
      }
    }
  }
}

// For one box, or for the whole segment.
void StreamChecker::FillWeights(OpId op, const Buffer& buffer) {
  const std::int64_t name = NameOfWeights(op);
  for (std::int64_t i = 0; i < buffer.bytes; ++i) {
    names_[static_cast<std::size_t>(buffer.offset + i)] = name + i;
  }
  touched_bytes_ = std::max(touched_bytes_, buffer.offset + buffer.bytes);
  slow_read_bytes_ += buffer.copied_bytes;
  weight_bytes_ += buffer.copied_bytes;
}

// Before the inputs of a box are read: blocks come in now. All blocks of a box are in the same
// bytes, so that the largest one is in place of all.
void StreamChecker::BeginWeights(OpId op) {
  const auto at = weights_.find(op);
  if (at == weights_.end() || Stopped()) return;
  if (at->second.in_blocks) FillWeights(op, at->second);
  CheckWeights(op);
}

// After its output is written, too: a kernel reads them until then, and the next block is read into
// the same bytes.
void StreamChecker::CheckWeights(OpId op) {
  const auto at = weights_.find(op);
  if (at == weights_.end() || Stopped()) return;
  if (AreNamed(at->second.offset, NameOfWeights(op), at->second.bytes)) return;
  Fail(op, TensorId(), "reads weights that are not stored or have been overwritten");
}

// Every plan reads each weight once, as far as one of its operators needs it.
std::int64_t StreamChecker::CompulsoryWeights() const {
  if (!stream_.slow->weight_bytes) return 0;
  std::map<TensorId, std::int64_t> needed;
  for (const Op& op : subgraph_.ops) {
    for (std::size_t i = 0; i < op.inputs.size() && !op.folded; ++i) {
      if (!plan::IsWeight(subgraph_, op, i)) continue;
      std::int64_t& bytes = needed[op.inputs[i]];
      bytes = std::max(bytes, plan::NeededWeightBytes(subgraph_, op, i));
    }
  }
  std::int64_t bytes = 0;
  for (const auto& [tensor, count] : needed) bytes += count;
  return bytes;
}

}  // namespace neap::check
