// SPDX-License-Identifier: Apache-2.0
//
// Operators with a state, step by step.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "neap/execute/stream_machine.h"
#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"

namespace neap::execute {

using graph::OpId;
using graph::TensorId;
using plan::StreamOp;
using plan::StreamSegment;

std::size_t StatesOf(const graph::Op& op) { return ops::Is(op, ops::OpKind::kOnnxLSTM) ? 2 : 1; }

Status StreamMachine::TakeStates(const StreamSegment& segment) {
  states_.clear();
  for (const plan::StreamState& state : segment.states) {
    const bool known = subgraph_.ops.Has(state.op) && !subgraph_.ops[state.op].folded;
    const auto recurrence = known ? RecurrenceOf(state.op) : std::nullopt;
    const bool has_place = recurrence && !recurrence->last_only && recurrence->variables.empty();
    NEAP_CHECK_OK(Require(has_place && !states_.contains(state.op),
                          "the plan has a place for the state of an operator without one"));
    const std::int64_t bytes = recurrence->state_bytes;
    NEAP_CHECK_OK(Require(state.offset >= 0 && state.offset <= arena_.bytes() &&
                              bytes <= arena_.bytes() - state.offset,
                          "the plan has a state outside of the arena"));
    states_[state.op] = {state.offset, bytes, 0, {}};
  }
  return {};
}

// Runs the steps of `part` on the state, and returns their outputs. `first`: the state before them
// is the initial one, and what `state` contains does not count.
Result<std::vector<std::byte>> StreamMachine::AdvanceState(OpId id, const ImagePart& part,
                                                           bool first, std::span<std::byte> state) {
  const graph::Op& op = subgraph_.ops[id];
  const std::int64_t steps = part.rows.size();
  auto found = step_kernels_.find({id, steps});
  if (found == step_kernels_.end()) {
    NEAP_TRY(RunKernel kernel, program_.PrepareSteps(id, steps));
    found = step_kernels_.emplace(std::pair(id, steps), std::move(kernel)).first;
  }
  const std::size_t states = StatesOf(op);
  const std::size_t each = state.size() / states;
  std::vector<std::vector<std::byte>> values(std::max(op.inputs.size(), kInitialHidden + states));
  std::vector<std::span<const std::byte>> inputs(values.size());
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId tensor = op.inputs[i];
    if (!tensor.valid()) continue;
    if (program_.IsConstant(tensor)) {
      inputs[i] = program_.ConstantBytes(tensor);
    } else if (i == 0 || first) {
      inputs[i] = values[i] = Gather(id, tensor, i == 0 ? part : WholeOf(tensor));
    }
  }
  for (std::size_t k = 0; k < states; ++k) {
    const std::size_t i = kInitialHidden + k;
    if (first && !inputs[i].empty()) continue;
    const std::span<std::byte> now = state.subspan(k * each, each);
    if (first) {
      values[i].assign(each, std::byte{0});
    } else {
      values[i].assign(now.begin(), now.end());
    }
    inputs[i] = values[i];
  }
  std::vector<std::vector<std::byte>> results = {
      std::vector<std::byte>(each * static_cast<std::size_t>(steps))};
  results.resize(1 + states, std::vector<std::byte>(each));
  const std::vector<std::span<std::byte>> outputs(results.begin(), results.end());
  NEAP_CHECK_OK(found->second({inputs, outputs}));
  std::int64_t working = 0;
  for (const auto& one : values) working += static_cast<std::int64_t>(one.size());
  for (const auto& one : results) working += static_cast<std::int64_t>(one.size());
  result_.kernel_bytes = std::max(result_.kernel_bytes, working);
  for (std::size_t k = 0; k < states; ++k) {
    std::copy(results[1 + k].begin(), results[1 + k].end(),
              state.begin() + static_cast<std::ptrdiff_t>(k * each));
  }
  result_.macs += steps * plan::MacsOfPixel(subgraph_, images_, op);
  return std::move(results[0]);
}

Status StreamMachine::RunSteps(const StreamOp& step, const ImagePart& part) {
  const auto found = states_.find(step.op);
  NEAP_CHECK_OK(
      Require(found != states_.end(), "the plan has no place for the state of an operator"));
  State& state = found->second;
  const TensorId out = plan::BoxedBy(subgraph_, step);
  reads_.clear();
  writes_.clear();
  if (part.rows.first != state.steps) Report(step.op, out, "has steps out of order");
  const std::span<std::byte> bytes = arena_.At(state.offset, state.bytes);
  const bool first = state.held.empty();
  if (!first && std::memcmp(bytes.data(), state.held.data(), bytes.size()) != 0) {
    Report(step.op, out, "has a state that differs from the one that was written");
  }
  NEAP_TRY(const std::vector<std::byte> result, AdvanceState(step.op, part, first, bytes));
  state.held.assign(bytes.begin(), bytes.end());
  state.steps = part.rows.last;
  result_.high_water_bytes = std::max(result_.high_water_bytes, state.offset + state.bytes);
  if (options_.observer) reads_.push_back({state.offset, state.offset + state.bytes});
  Scatter(step.op, out, part, result);
  Observe(step, out);
  return {};
}

void StreamMachine::EndStates() {
  for (const auto& [op, state] : states_) {
    if (state.steps != RecurrenceOf(op)->steps) {
      Report(op, TensorId(), "has not computed all of its steps in its segment");
    }
    const std::span<std::byte> bytes = arena_.At(state.offset, state.bytes);
    if (!state.held.empty() && std::memcmp(bytes.data(), state.held.data(), bytes.size()) != 0) {
      Report(op, TensorId(), "has a state that was overwritten before the segment ended");
    }
  }
}

// The state is in the place of the output and nowhere else.
Status StreamMachine::AddSteps(const StreamOp& step, const ImagePart& part) {
  const auto recurrence = RecurrenceOf(step.op);
  const TensorId out = subgraph_.ops[step.op].outputs[recurrence->output];
  const std::int64_t from = areas_[out] == nullptr ? -1 : areas_[out]->rings[0].offset;
  NEAP_CHECK_OK(Require(from >= 0 && recurrence->state_bytes <= arena_.bytes() - from,
                        "the plan has no address for the state of an operator"));
  reads_.clear();
  writes_.clear();
  Held& held = held_[out];
  const bool first = held.added.empty();
  const std::span<std::byte> state = arena_.At(from, recurrence->state_bytes);
  if (first) held.added.resize(static_cast<std::size_t>(recurrence->steps));
  if (!first && std::memcmp(state.data(), held.sums.data(), state.size()) != 0) {
    Report(step.op, out, "has a state that differs from the one that was written");
  }
  for (std::int64_t t = part.rows.first; t < part.rows.last; ++t) {
    const auto at = static_cast<std::size_t>(t);
    if (held.added[at] || (at > 0 && !held.added[at - 1])) {
      Report(step.op, out, "has steps out of order");
    }
    held.added[at] = true;
  }
  NEAP_CHECK_OK(AdvanceState(step.op, part, first, state));
  held.sums.assign(state.begin(), state.end());
  result_.high_water_bytes = std::max(result_.high_water_bytes, from + recurrence->state_bytes);
  if (std::find(held.added.begin(), held.added.end(), false) != held.added.end()) return {};
  held.added.clear();
  const std::vector<std::byte> last(state.begin(), state.begin() + images_[out].bytes());
  Scatter(step.op, out, WholeOf(out), last);
  Observe(step, out);
  return {};
}

void StreamMachine::LoadVariables() {
  for (const TensorId tensor : variables_) {
    const auto given = options_.variables.find(tensor);
    const auto size = static_cast<std::size_t>(images_[tensor].bytes());
    std::vector<std::byte> bytes(size, program_.InitialByte(tensor));
    if (given != options_.variables.end() && given->second.size() == size) bytes = given->second;
    Scatter(OpId(), tensor, WholeOf(tensor), bytes);
  }
}

Status StreamMachine::RunVariableSteps(const StreamOp& step, const ImagePart& part) {
  const TensorId out = plan::BoxedBy(subgraph_, step);
  const auto recurrence = RecurrenceOf(step.op);
  NEAP_CHECK_OK(Require(recurrence && !step.sums, "the plan has steps of an operator without any"));
  std::int64_t& done = advanced_[step.op];
  if (part.rows.first != done) Report(step.op, out, "has steps out of order");
  done = part.rows.last;
  auto found = step_kernels_.find({step.op, part.rows.size()});
  if (found == step_kernels_.end()) {
    NEAP_TRY(RunKernel kernel, program_.PrepareSteps(step.op, part.rows.size()));
    found = step_kernels_.emplace(std::pair(step.op, part.rows.size()), std::move(kernel)).first;
  }
  result_.macs += part.pixels() * plan::MacsOfPixel(subgraph_, images_, subgraph_.ops[step.op]);
  return AdvanceVariables(step, part, part, &found->second);
}

// The state is in its variables and nowhere else. Without `kernel` that of the whole operator.
Status StreamMachine::AdvanceVariables(const StreamOp& step, const ImagePart& in,
                                       const ImagePart& out, const RunKernel* kernel) {
  const graph::Op& op = subgraph_.ops[step.op];
  reads_.clear();
  writes_.clear();
  std::vector<std::vector<std::byte>> values(op.inputs.size());
  std::vector<std::span<const std::byte>> inputs(op.inputs.size());
  std::int64_t working = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId tensor = op.inputs[i];
    if (!tensor.valid()) continue;
    if (program_.IsConstant(tensor)) {
      inputs[i] = program_.ConstantBytes(tensor);
      continue;
    }
    inputs[i] = values[i] = Gather(step.op, tensor, i == 0 ? in : WholeOf(tensor));
    working += static_cast<std::int64_t>(inputs[i].size());
  }
  const TensorId after[] = {op.outputs[0], op.inputs[ops::kHiddenVariable],
                            op.inputs[ops::kCellVariable]};
  std::vector<std::vector<std::byte>> results;
  for (const TensorId tensor : after) {
    const ImagePart part = tensor == op.outputs[0] ? out : WholeOf(tensor);
    results.emplace_back(static_cast<std::size_t>(part.pixels() * images_[tensor].pixel_bytes));
    working += static_cast<std::int64_t>(results.back().size());
  }
  const std::vector<std::span<std::byte>> outputs(results.begin(), results.end());
  const Arguments arguments{inputs, outputs};
  if (kernel == nullptr) {
    NEAP_CHECK_OK(program_.RunOp(step.op, arguments));
  } else {
    NEAP_CHECK_OK((*kernel)(arguments));
    result_.kernel_bytes = std::max(result_.kernel_bytes, working);
  }
  for (std::size_t i = results.size(); i-- > 0;) {
    Scatter(step.op, after[i], i == 0 ? out : WholeOf(after[i]), results[i]);
  }
  Observe(step, op.outputs[0]);
  return {};
}

// As a caller finds them before the next run.
void StreamMachine::FinishVariables() {
  for (const TensorId tensor : variables_) {
    result_.variables[tensor] = Gather(OpId(), tensor, WholeOf(tensor));
  }
}

}  // namespace neap::execute
