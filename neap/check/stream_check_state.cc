// SPDX-License-Identifier: Apache-2.0
//
// Operators with an output for each step that carry a state from step to step.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "neap/check/stream_checker.h"
#include "neap/ops/recurrence.h"

namespace neap::check {

using graph::Op;
using graph::OpId;
using graph::TensorId;

// Every operator of the segment that carries a state has one place for it, and no other one has.
bool StreamChecker::TakeStates(const plan::StreamSegment& segment) {
  states_.clear();
  for (const plan::StreamState& state : segment.states) {
    const bool runs =
        !segment.whole && subgraph_.ops.Has(state.op) && !subgraph_.ops[state.op].folded &&
        std::count_if(segment.ops.begin(), segment.ops.end(),
                      [&](const plan::StreamOp& step) { return step.op == state.op; }) == 1;
    const auto recurrence = runs ? RecurrenceOf(state.op) : std::nullopt;
    if (!recurrence || recurrence->last_only || !recurrence->variables.empty() ||
        states_.contains(state.op)) {
      Fail(state.op, TensorId(), "has a place for a state, expected one operator with steps, once");
      return false;
    }
    const std::int64_t bytes = recurrence->state_bytes;
    const bool inside = state.offset >= 0 && bytes <= entry_.arena_bytes &&
                        state.offset <= entry_.arena_bytes - bytes;
    if (!inside) {
      Fail(state.op, TensorId(), "has a state outside the arena");
      return false;
    }
    states_[state.op] = {state.offset, bytes, 0, recurrence->steps};
  }
  for (const plan::StreamOp& step : segment.ops) {
    if (segment.whole || step.sums || !subgraph_.ops.Has(step.op)) continue;
    const auto recurrence = RecurrenceOf(step.op);
    if (!recurrence || !recurrence->variables.empty() || states_.contains(step.op)) continue;
    Fail(step.op, TensorId(), "runs in steps and has no place for its state");
    return false;
  }
  return true;
}

// The state has the same names after each step, because no step is repeated or left out.
void StreamChecker::RunSteps(const plan::StreamOp& step, const Part& part) {
  const Op& op = subgraph_.ops[step.op];
  const TensorId out = plan::BoxedBy(subgraph_, step);
  State& state = states_.at(step.op);
  if (part.rows.first != state.steps) {
    return Fail(step.op, out,
                "computes step " + std::to_string(part.rows.first) +
                    " with the state before step " + std::to_string(state.steps));
  }
  const bool first = state.steps == 0;
  std::vector<Part> needs(op.inputs.size());
  const auto recurrence = RecurrenceOf(step.op);
  for (const std::size_t i : recurrence->initial) {
    if (!first || Stopped()) continue;
    needs[i] = WholeOf(op.inputs[i]);
    Read(step.op, op.inputs[i], needs[i]);
  }
  needs[0] = part;
  if (!Stopped()) Read(step.op, op.inputs[0], part);
  if (Stopped()) return;
  const std::int64_t name = StateName(step.op);
  if (!first && !AreNamed(state.offset, name, state.bytes)) {
    return Fail(step.op, out, "has a state that has been overwritten");
  }
  for (std::int64_t i = 0; i < state.bytes; ++i) {
    std::int64_t& found = names_[static_cast<std::size_t>(state.offset + i)];
    if (first && found != kNothing) {
      CheckOverlap(step.op, out, {found, 1, state.offset + i, kNothing}, needs);
      if (Stopped()) return;
    }
    found = name + i;
  }
  touched_bytes_ = std::max(touched_bytes_, state.offset + state.bytes);
  macs_ += part.size() * plan::MacsOfPixel(subgraph_, images_, op);
  Write(step.op, out, part, needs);
  if (!Stopped() && !AreNamed(state.offset, name, state.bytes)) {
    return Fail(step.op, out, "overwrites its own state");
  }
  state.steps = part.rows.last;
}

// No state outlives its segment.
void StreamChecker::CheckStates() {
  for (const auto& [op, state] : states_) {
    if (state.steps != state.due) {
      return Fail(op, TensorId(),
                  "computes " + std::to_string(state.steps) + " of " + std::to_string(state.due) +
                      " steps in its segment");
    }
    if (!AreNamed(state.offset, StateName(op), state.bytes)) {
      return Fail(op, TensorId(), "has a state that has been overwritten before the segment ends");
    }
  }
}

// Variables belong to one operator each, which is able to run in a streamed plan.
bool StreamChecker::FindVariables() {
  for (const Op& op : subgraph_.ops) {
    if (op.folded) continue;
    const bool owns = ops::OwnsVariables(subgraph_, op);
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *list) {
        if (!IsVariable(tensor)) continue;
        if (owns && !stream_.slow) {
          variables_[tensor] = kNothing;
          continue;
        }
        Fail(OpId(), tensor, "is a variable, which this streamed plan cannot have");
        return false;
      }
    }
  }
  return true;
}

std::int64_t StreamChecker::VariableBytes() const {
  std::int64_t bytes = 0;
  for (const auto& [tensor, offset] : variables_) bytes += images_[tensor].bytes();
  return bytes;
}

// Every segment has each variable as a whole, at the same offset: the next run finds it there.
bool StreamChecker::TakeVariables() {
  for (auto& [tensor, offset] : variables_) {
    const plan::StreamArea* const area = areas_[tensor];
    const plan::StreamImage& image = images_[tensor];
    const bool whole = area != nullptr && area->rings.size() == 1 &&
                       area->rings[0].pixels == image.height * image.width;
    if (!whole || (offset != kNothing && offset != area->rings[0].offset)) {
      Fail(OpId(), tensor, "is a variable, expected all of it at one place in every segment");
      return false;
    }
    offset = area->rings[0].offset;
  }
  return true;
}

// The state that the run before left.
void StreamChecker::LoadVariables() {
  for (const auto& [tensor, offset] : variables_) {
    if (!Stopped()) Write(OpId(), tensor, WholeOf(tensor), {});
  }
}

// Nothing gives a variable its names again, so that a byte that was overwritten is found by the
// next step, or in the end.
void StreamChecker::RunVariableSteps(const plan::StreamOp& step, const Part& part) {
  const Op& op = subgraph_.ops[step.op];
  const TensorId out = plan::BoxedBy(subgraph_, step);
  if (!RecurrenceOf(step.op)) {
    return Fail(step.op, out, "does not run in steps, expected it as a whole");
  }
  std::int64_t& steps = advanced_[step.op];
  if (part.rows.first != steps) {
    return Fail(step.op, out,
                "computes step " + std::to_string(part.rows.first) +
                    " with the state before step " + std::to_string(steps));
  }
  std::vector<Part> needs(op.inputs.size());
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid() || IsConstant(op.inputs[i])) continue;
    needs[i] = IsVariable(op.inputs[i]) ? WholeOf(op.inputs[i]) : part;
    if (!Stopped()) Read(step.op, op.inputs[i], needs[i]);
  }
  if (Stopped()) return;
  macs_ += part.size() * plan::MacsOfPixel(subgraph_, images_, op);
  Write(step.op, out, part, needs);
  steps = part.rows.last;
}

// As a whole: all steps, once.
void StreamChecker::RunWithVariables(OpId id) {
  if (advanced_.contains(id)) return Fail(id, TensorId(), "changes its variables again");
  const auto recurrence = RecurrenceOf(id);
  advanced_[id] = recurrence ? recurrence->steps : 1;
}

void StreamChecker::CheckVariables() {
  for (const auto& [tensor, offset] : variables_) {
    if (!Stopped()) Read(OpId(), tensor, WholeOf(tensor));
  }
}

}  // namespace neap::check
