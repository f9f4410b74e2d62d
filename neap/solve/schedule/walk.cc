// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/walk.h"

#include <algorithm>

namespace neap::schedule {

Walk::Walk(const Problem& problem)
    : problem_(problem),
      successors_(At(problem.num_ops)),
      buffers_of_(At(problem.num_ops)),
      missing_(At(problem.num_ops), 0),
      touched_(problem.buffers.size(), 0),
      in_place_(At(problem.num_ops), InPlace{-1, -1, -1}),
      take_over_(At(problem.num_ops), -1) {
  for (const auto& [before, after] : problem.precedences) {
    successors_[At(before)].push_back(after);  // as often as it is stated
    ++missing_[At(after)];
  }
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    if (missing_[At(op)] == 0) sources_.push_back(op);
  }
  for (std::size_t index = 0; index < problem.buffers.size(); ++index) {
    const Buffer& buffer = problem.buffers[index];
    for (const OpIndex user : buffer.users) {
      buffers_of_[At(user)].push_back(static_cast<BufferIndex>(index));
    }
    if (buffer.live_at_start && (!buffer.users.empty() || buffer.live_at_end)) {
      live_ += buffer.bytes;
    }
  }
  for (const InPlace& pair : problem.in_place) in_place_[At(pair.op)] = pair;
  for (std::size_t at = 0; at < problem.take_over.size(); ++at) {
    take_over_[At(problem.take_over[at].op)] = static_cast<std::int32_t>(at);
  }
}

std::int64_t Walk::TakenOver(const TakeOver& part) const {
  std::int64_t dying = 0;
  for (const BufferIndex index : part.inputs) {
    const Buffer& buffer = problem_.buffers[At(index)];
    if (touched_[At(index)] + 1 == buffer.users.size()) dying += buffer.bytes;
  }
  std::int64_t written = 0;
  for (const BufferIndex index : part.outputs) written += problem_.buffers[At(index)].bytes;
  return std::min(dying, written);
}

Effect Walk::EffectOf(OpIndex op) const {
  std::int64_t newly = 0;
  std::int64_t freed = 0;
  const InPlace& pair = in_place_[At(op)];
  bool input_dies = false;
  bool output_starts = false;
  for (const BufferIndex index : buffers_of_[At(op)]) {
    const Buffer& buffer = problem_.buffers[At(index)];
    const bool starts = !buffer.live_at_start && touched_[At(index)] == 0;
    const bool dies = !buffer.live_at_end && touched_[At(index)] + 1 == buffer.users.size();
    if (starts) newly += buffer.bytes;
    if (dies) freed += buffer.bytes;
    if (index == pair.input) input_dies = dies;
    if (index == pair.output) output_starts = starts;
  }
  Effect effect;
  effect.hill = live_ + newly;
  if (!problem_.scratch_bytes.empty()) effect.hill += problem_.scratch_bytes[At(op)];
  if (input_dies && output_starts) effect.hill -= problem_.buffers[At(pair.output)].bytes;
  if (take_over_[At(op)] >= 0) {
    effect.hill -= TakenOver(problem_.take_over[At(take_over_[At(op)])]);
  }
  effect.live = live_ + newly - freed;
  return effect;
}

void Walk::Run(OpIndex op, std::vector<OpIndex>* ready) {
  live_ = EffectOf(op).live;
  for (const BufferIndex index : buffers_of_[At(op)]) ++touched_[At(index)];
  for (const OpIndex next : successors_[At(op)]) {
    if (--missing_[At(next)] == 0) ready->push_back(next);
  }
}

void Walk::Undo(OpIndex op, std::int64_t live) {
  live_ = live;
  for (const BufferIndex index : buffers_of_[At(op)]) --touched_[At(index)];
  for (const OpIndex next : successors_[At(op)]) ++missing_[At(next)];
}

}  // namespace neap::schedule
