// SPDX-License-Identifier: Apache-2.0
//
// The checker of plans whose weights are in slow memory: bytes of their buffers have names, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/check/stream_checker.h"
#include "neap/plan/stream_weights.h"

namespace neap::check {

using graph::Op;
using graph::OpId;
using graph::TensorId;

namespace {

// Below all other names, and apart from each other: of a buffer, of the second one, of bytes that
// are being copied.
enum class Kind : std::int8_t { kFirst, kSecond, kInCopy, kKept };
std::int64_t NameOfWeights(OpId op, Kind kind = Kind::kFirst) {
  constexpr std::int64_t kKinds = 4;
  return -(std::int64_t{1} << 62) +
         (static_cast<std::int64_t>(op.index()) * kKinds + static_cast<std::int64_t>(kind)) *
             plan::kMaxStreamBytes;
}

}  // namespace

// nullopt: `weights` are wrong, which is reported.
std::optional<StreamChecker::Buffer> StreamChecker::BufferOf(const plan::StreamSegment& segment,
                                                             const plan::StreamWeights& weights) {
  const Op& op = subgraph_.ops[weights.op];
  Buffer buffer;
  buffer.offset = weights.offset;
  buffer.in_blocks = weights.block > 0;
  buffer.after = weights.after;
  std::vector<plan::WeightCopy> copies = {plan::AllWeights(subgraph_, op)};
  if (buffer.in_blocks) {
    auto blocks = plan::BlocksOf(subgraph_, weights);
    constexpr std::int64_t kChannelAxis = 3;
    if (!blocks || (segment.channel_plane && weights.axis != kChannelAxis)) {
      Fail(weights.op, TensorId(), "has weights in blocks that cannot be read one by one");
      return std::nullopt;
    }
    copies = std::move(blocks->blocks);
  }
  for (const plan::WeightCopy& copy : copies) {
    const bool stays = weights.kept > 0 && &copy == &copies[0];
    if (!stays) buffer.bytes = std::max(buffer.bytes, copy.bytes);
    for (const plan::WeightPart& part : copy.parts) {
      buffer.copied_bytes += stays ? 0 : part.bytes;
      buffer.first_copied_bytes += &copy == &copies[0] ? part.bytes : 0;
    }
  }
  buffer.blocks = static_cast<std::int64_t>(copies.size());
  buffer.first_bytes = copies[0].bytes;
  const auto fits_with = [&](std::int64_t offset, std::int64_t bytes) {
    return offset >= 0 && offset % plan::kWeightAlignment == 0 && bytes > 0 &&
           bytes <= entry_.arena_bytes && offset <= entry_.arena_bytes - bytes;
  };
  const auto fits = [&](std::int64_t offset) { return fits_with(offset, buffer.bytes); };
  if (weights.kept != 0) {
    buffer.kept = weights.kept_offset;
    buffer.kept_bytes = buffer.first_bytes;
    if (!buffer.in_blocks || weights.second || weights.after.valid() ||
        !fits_with(buffer.kept, buffer.kept_bytes)) {
      Fail(weights.op, TensorId(),
           "has weights that stay outside the arena, or are in no blocks, or in two buffers");
      return std::nullopt;
    }
  }
  if (!fits(weights.offset) || (weights.second && !fits(*weights.second))) {
    Fail(weights.op, TensorId(),
         "has a buffer of weights that is empty, not aligned or outside the arena");
    return std::nullopt;
  }
  if (!weights.second) return buffer;
  buffer.second = *weights.second;
  if (buffer.blocks < 2 || std::abs(buffer.second - buffer.offset) < buffer.bytes) {
    Fail(weights.op, TensorId(), "has two buffers of weights for one block, or that overlap");
    return std::nullopt;
  }
  return buffer;
}

// Every operator of the segment with weights has one buffer. Those that stay are read, or have been
// copied.
void StreamChecker::TakeWeights(std::size_t index) {
  const plan::StreamSegment& segment = stream_.segments[index];
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
    const auto buffer = BufferOf(segment, one);
    if (!buffer) return;
    weights_[one.op] = *buffer;
    if (buffer->kept != kNothing) {
      const std::int64_t name = NameOfWeights(one.op, Kind::kKept);
      for (std::int64_t i = 0; i < buffer->kept_bytes; ++i) {
        names_[static_cast<std::size_t>(buffer->kept + i)] = name + i;
      }
      touched_bytes_ = std::max(touched_bytes_, buffer->kept + buffer->kept_bytes);
      slow_read_bytes_ += buffer->first_copied_bytes;
      weight_bytes_ += buffer->first_copied_bytes;
    }
    if (buffer->in_blocks) continue;
    Arrive(one.op, *buffer);
    FillWeights(one.op, *buffer);
    if (Stopped()) return;
  }
  FindComing(index);
  if (!stream_.slow || !stream_.slow->weight_bytes || Stopped()) return;
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

// The copies that begin in a segment: of its own blocks, and of weights of the next one.
void StreamChecker::FindComing(std::size_t index) {
  const plan::StreamSegment& segment = stream_.segments[index];
  coming_.clear();
  boxes_left_.clear();
  for (const plan::StreamOp& step : segment.ops) {
    if (step.op.valid()) boxes_left_[step.op] = plan::BoxesOf(segment, step.op);
  }
  for (const plan::StreamWeights& one : segment.weights) {
    if (!one.after.valid() || one.block == 0 || boxes_left_.count(one.after) == 0) continue;
    coming_[one.after].push_back({one.op, weights_.at(one.op), false});
  }
  if (index + 1 == stream_.segments.size()) return;
  const plan::StreamSegment& next = stream_.segments[index + 1];
  for (const plan::StreamWeights& one : next.weights) {
    if (boxes_left_.count(one.after) == 0 || !subgraph_.ops.Has(one.op)) continue;
    if (one.block > 0 && plan::BoxesOf(next, one.after) > 0) continue;  // which is meant
    const auto buffer = BufferOf(next, one);
    if (!buffer) return;
    coming_[one.after].push_back({one.op, *buffer, true});
  }
}

// Bytes that began to be copied are complete when they are used.
void StreamChecker::Arrive(OpId op, const Buffer& buffer) {
  if (!buffer.after.valid() || Stopped()) return;
  const auto at = copied_.find(op);
  if (at == copied_.end()) {
    return Fail(op, TensorId(), "has weights whose copy does not begin with the operator named");
  }
  const bool same = at->second.offset == buffer.offset &&
                    AreNamed(buffer.offset, NameOfWeights(op, Kind::kInCopy), buffer.first_bytes);
  copied_.erase(at);
  if (!same) Fail(op, TensorId(), "has weights that are overwritten while they are copied");
}

// For one box, or for the whole segment.
void StreamChecker::FillWeights(OpId op, const Buffer& buffer) {
  for (const Kind kind : {Kind::kFirst, Kind::kSecond}) {
    const std::int64_t from = kind == Kind::kFirst ? buffer.offset : buffer.second;
    if (from == kNothing) continue;
    const std::int64_t name = NameOfWeights(op, kind);
    for (std::int64_t i = 0; i < buffer.bytes; ++i) {
      names_[static_cast<std::size_t>(from + i)] = name + i;
    }
    touched_bytes_ = std::max(touched_bytes_, from + buffer.bytes);
  }
  slow_read_bytes_ += buffer.copied_bytes;
  weight_bytes_ += buffer.copied_bytes;
  if (buffer.second != kNothing) ahead_bytes_ += buffer.copied_bytes - buffer.first_copied_bytes;
  if (buffer.after.valid()) ahead_bytes_ += buffer.first_copied_bytes;
}

// Before the inputs of a box are read: blocks come in now. All blocks of a box are in the same
// bytes, so that the largest one is in place of all. Copies of other weights that begin with the
// last block may use nothing that is read until then but what EndWeights() names again.
void StreamChecker::BeginWeights(OpId op) {
  if (Stopped()) return;
  const auto at = weights_.find(op);
  const bool in_blocks = at != weights_.end() && at->second.in_blocks;
  if (in_blocks) Arrive(op, at->second);
  --boxes_left_[op];
  for (const Coming& coming : coming_[op]) {
    if (coming.at_last && boxes_left_[op] > 0) continue;
    const bool begins = copied_.try_emplace(coming.op, coming.buffer).second;
    if (!begins) return Fail(coming.op, TensorId(), "has weights that are copied twice");
    const std::int64_t name = NameOfWeights(coming.op, Kind::kInCopy);
    for (std::int64_t i = 0; i < coming.buffer.first_bytes; ++i) {
      names_[static_cast<std::size_t>(coming.buffer.offset + i)] = name + i;
    }
  }
  if (in_blocks) FillWeights(op, at->second);
  CheckWeights(op);
}

// When the output of a box has been written. Of two buffers, the one without the last block was
// free while that was computed.
void StreamChecker::EndWeights(OpId op) {
  CheckWeights(op);
  const auto at = weights_.find(op);
  if (at == weights_.end() || at->second.second == kNothing || Stopped()) return;
  const Buffer& own = at->second;
  const std::int64_t free = own.blocks % 2 == 0 ? own.offset : own.second;
  for (const Coming& coming : coming_[op]) {
    if (coming.at_last && boxes_left_[op] > 0) continue;
    const std::int64_t from = coming.buffer.offset;
    const std::int64_t name = NameOfWeights(coming.op, Kind::kInCopy);
    const std::int64_t first = std::max(free, from);
    const std::int64_t last = std::min(free + own.bytes, from + coming.buffer.first_bytes);
    for (std::int64_t i = first; i < last; ++i) {
      names_[static_cast<std::size_t>(i)] = name + i - from;
    }
  }
}

// After its output is written, too: a kernel reads them until then, and the next block is read into
// the same bytes.
void StreamChecker::CheckWeights(OpId op) {
  const auto at = weights_.find(op);
  if (at == weights_.end() || Stopped()) return;
  const Buffer& buffer = at->second;
  const bool second = buffer.second == kNothing ||
                      AreNamed(buffer.second, NameOfWeights(op, Kind::kSecond), buffer.bytes);
  const bool kept = buffer.kept == kNothing ||
                    AreNamed(buffer.kept, NameOfWeights(op, Kind::kKept), buffer.kept_bytes);
  if (kept && second && AreNamed(buffer.offset, NameOfWeights(op), buffer.bytes)) return;
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
