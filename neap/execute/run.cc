// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "neap/execute/inputs.h"
#include "neap/execute/machine.h"
#include "neap/execute/stream_run.h"

namespace neap::execute {

using graph::OpId;
using graph::TensorId;

Status Machine::Prepare() {
  const auto slots = static_cast<std::int32_t>(entry_.steps.size());
  ends_.resize(entry_.steps.size() + 1);
  NEAP_CHECK_OK(Require(!entry_.tensors.empty() || program_.order().empty(),
                        "the plan has no addresses, only an order"));
  std::vector<std::int64_t> sizes = entry_.memory_bytes;
  if (sizes.empty()) sizes.push_back(entry_.arena_bytes);
  const auto allowed = [&](std::int64_t bytes) {
    return bytes >= 0 && bytes <= options_.max_memory_bytes;
  };
  NEAP_CHECK_OK(Require(std::all_of(sizes.begin(), sizes.end(), allowed),
                        "an arena of the plan is larger than the memory that is allowed"));
  for (const std::int64_t bytes : sizes) arenas_.emplace_back(bytes);
  high_water_.assign(arenas_.size(), 0);
  const auto inside = [&](std::int64_t offset, std::int64_t bytes, std::int32_t memory) {
    if (memory < 0 || static_cast<std::size_t>(memory) >= arenas_.size()) return false;
    const std::int64_t room = arenas_[static_cast<std::size_t>(memory)].bytes();
    return offset >= 0 && bytes >= 0 && bytes <= room && offset <= room - bytes;
  };
  for (const plan::TensorPlacement& place : entry_.tensors) {
    if (place.subgraph != entry_.subgraph || !subgraph_.tensors.Has(place.tensor)) {
      return Fail(BadInput("the plan places a tensor that its entry does not have"));
    }
    const auto fail = [&](std::string message) -> Status {
      Diagnostic error = BadInput(std::move(message));
      error.tensor = graph::Describe(place.tensor, subgraph_.tensors[place.tensor]);
      return Fail(std::move(error));
    };
    Held& held = held_[place.tensor];
    if (!inside(place.offset, place.bytes, place.memory)) return fail("is not inside the arena");
    if (place.bytes != program_.BytesOf(place.tensor)) {
      return fail("has " + std::to_string(program_.BytesOf(place.tensor)) +
                  " bytes, the plan has " + std::to_string(place.bytes));
    }
    held.stretches.push_back(&place);
    ends_[static_cast<std::size_t>(std::clamp(place.last, 0, slots))].push_back(&place);
  }
  for (const plan::ScratchPlacement& scratch : entry_.scratch) {
    NEAP_CHECK_OK(Require(inside(scratch.offset, scratch.bytes, scratch.memory),
                          "scratch is not inside the arena"));
  }
  return {};
}

Status Machine::LoadInputs(std::span<const Value> inputs) {
  const auto load = [&](TensorId tensor, std::span<const std::byte> bytes) -> Status {
    Held& held = held_[tensor];
    held.copy.assign(bytes.begin(), bytes.end());
    held.written = true;
    if (held.place() == nullptr) return {};
    std::copy(bytes.begin(), bytes.end(), At(*held.place()).begin());
    Touch(RangeOf(*held.place()));
    live_.push_back(tensor);
    return {};
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorId tensor = subgraph_.inputs[i];
    if (held_[tensor].place() == nullptr && !entry_.tensors.empty()) {
      Report(-1, tensor, "is an input and has no place in the plan");
    } else if (held_[tensor].place() != nullptr && held_[tensor].place()->first > 0) {
      Report(-1, tensor, "is an input and is not live from the start");
    }
    NEAP_CHECK_OK(load(tensor, inputs[i].bytes));
  }
  // Variables, and tensors without a producer.
  const auto producers = graph::Producers(subgraph_);
  for (const TensorId tensor : subgraph_.tensors.Ids()) {
    if (producers[tensor].valid() || held_[tensor].written || program_.IsConstant(tensor)) continue;
    if (program_.BytesOf(tensor) == 0) continue;
    NEAP_CHECK_OK(
        load(tensor, std::vector<std::byte>(static_cast<std::size_t>(program_.BytesOf(tensor)),
                                            program_.InitialByte(tensor))));
  }
  // Overwritten inputs are found where they are read.
  std::sort(live_.begin(), live_.end());
  return {};
}

std::vector<ArenaRange> Machine::ScratchAt(std::int32_t slot) const {
  std::vector<ArenaRange> ranges;
  for (const plan::ScratchPlacement& scratch : entry_.scratch) {
    if (scratch.slot != slot) continue;
    ranges.push_back({TensorId(), scratch.offset, scratch.bytes, scratch.memory});
  }
  return ranges;
}

Status Machine::RunSteps() {
  for (std::size_t i = 0; i < entry_.steps.size(); ++i) {
    const plan::Step& step = entry_.steps[i];
    const auto slot = static_cast<std::int32_t>(i);
    if (step.subgraph == entry_.subgraph && subgraph_.tensors.Has(step.moved)) {
      NEAP_CHECK_OK(RunMove(slot, step.moved));
      continue;
    }
    const bool empty = program_.order().empty() && !step.op.valid() && !step.moved.valid();
    if (step.subgraph == entry_.subgraph && empty) continue;  // the slot of an empty entry
    if (step.subgraph != entry_.subgraph || !subgraph_.ops.Has(step.op) ||
        subgraph_.ops[step.op].folded) {
      return Fail(
          BadInput("slot " + std::to_string(slot) + " runs no operator of the entry subgraph"));
    }
    NEAP_CHECK_OK(RunStep(slot, step.op));
  }
  return {};
}

// The bytes that an unplanned run would read; zeros for absent operands.
std::span<const std::byte> Machine::ReadApart(TensorId tensor) const {
  return program_.IsConstant(tensor) ? program_.ConstantBytes(tensor)
                                     : std::span<const std::byte>(held_[tensor].copy);
}

Status Machine::RunApart(OpId id, std::vector<std::vector<std::byte>>* results) const {
  const graph::Op& op = subgraph_.ops[id];
  Inputs inputs;
  for (const TensorId tensor : op.inputs) {
    inputs.push_back(tensor.valid() ? ReadApart(tensor) : std::span<const std::byte>());
  }
  results->clear();
  for (const TensorId tensor : op.outputs) {
    results->emplace_back(tensor.valid() ? static_cast<std::size_t>(program_.BytesOf(tensor))
                                         : std::size_t{0});
  }
  Outputs outputs(results->begin(), results->end());
  return program_.RunOp(id, Arguments{inputs, outputs});
}

Machine::Inputs Machine::TakeInputs(std::int32_t slot, const graph::Op& op) {
  Inputs inputs;
  for (const TensorId tensor : op.inputs) {
    inputs.emplace_back();
    if (!tensor.valid()) continue;
    if (program_.IsConstant(tensor)) {
      inputs.back() = program_.ConstantBytes(tensor);
      continue;
    }
    CheckRead(slot, tensor);
    Held& held = held_[tensor];
    held.copy.resize(static_cast<std::size_t>(program_.BytesOf(tensor)), kPoison);
    if (held.place() == nullptr) {
      inputs.back() = held.copy;
      continue;
    }
    inputs.back() = At(*held.place());
    event_.reads.push_back(RangeOf(*held.place()));
  }
  return inputs;
}

Machine::Outputs Machine::TakeOutputs(std::int32_t slot, const graph::Op& op,
                                      std::vector<std::vector<std::byte>>* apart) {
  apart->reserve(op.outputs.size());
  Outputs outputs;
  for (const TensorId tensor : op.outputs) {
    outputs.emplace_back();
    if (!tensor.valid()) continue;
    const Held& held = held_[tensor];
    if (held.place() == nullptr) {
      Report(slot, tensor, "is written and has no place in the plan");
      outputs.back() = apart->emplace_back(static_cast<std::size_t>(program_.BytesOf(tensor)));
      continue;
    }
    if (slot < held.place()->first || slot >= held.place()->last) {
      Report(slot, tensor, "is written outside of its lifetime");
    }
    outputs.back() = At(*held.place());
    event_.writes.push_back(RangeOf(*held.place()));
  }
  for (const ArenaRange& scratch : ScratchAt(slot)) event_.writes.push_back(scratch);
  return outputs;
}

void Machine::Remember() {
  for (Arena& arena : arenas_) arena.Remember();
}

Status Machine::RunStep(std::int32_t slot, OpId id) {
  const graph::Op& op = subgraph_.ops[id];
  event_ = StepEvent{slot, id, {}, {}, {}};
  if (has_run_[id.index()]) Report(slot, TensorId(), graph::Describe(id, op) + " runs again");
  has_run_[id.index()] = true;
  const Inputs inputs = TakeInputs(slot, op);
  std::vector<std::vector<std::byte>> apart;  // memory of outputs that have no place
  const Outputs outputs = TakeOutputs(slot, op, &apart);
  std::vector<std::vector<std::byte>> expected;
  if (OutputsShareInputs()) NEAP_CHECK_OK(RunApart(id, &expected));
  Remember();
  for (const ArenaRange& range : event_.writes) {
    if (!range.tensor.valid()) In(range).Poison(range.offset, range.bytes);
    Touch(range);
  }
  NEAP_CHECK_OK(program_.RunOp(id, Arguments{inputs, outputs}));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::equal(expected[i].begin(), expected[i].end(), outputs[i].begin(), outputs[i].end())) {
      Report(slot, op.outputs[i], "differs from the result of the step without shared bytes");
    }
  }
  CheckElsewhere(slot, graph::Describe(id, op));
  EndOverwritten(slot);
  KeepOutputs(id, outputs);
  CheckLive(slot, graph::Describe(id, op));
  EndLifetimes(slot);
  if (options_.observer) options_.observer(event_);
  return {};
}

// Source and destination may share bytes.
Status Machine::RunMove(std::int32_t slot, TensorId tensor) {
  Held& held = held_[tensor];
  event_ = StepEvent{slot, OpId(), {}, {}, {}};
  if (held.at + 1 >= held.stretches.size()) {
    Report(slot, tensor, "is moved and has no destination");
    return {};
  }
  CheckRead(slot, tensor);
  const plan::TensorPlacement& from = *held.place();
  const plan::TensorPlacement& to = *held.stretches[++held.at];
  if (slot < to.first || slot >= to.last) {
    Report(slot, tensor, "is moved to a place outside of its lifetime");
  }
  event_.reads.push_back(RangeOf(from));
  event_.writes.push_back(RangeOf(to));
  Touch(RangeOf(to));
  Remember();
  const auto source = At(from);
  if (!source.empty()) std::memmove(At(to).data(), source.data(), source.size());
  CheckElsewhere(slot, "the move");
  if (held.written && !IsIntact(tensor, slot + 1))
    Report(slot, tensor, "is moved, but its copy differs");
  CheckLive(slot, "the move of " + graph::Describe(tensor, subgraph_.tensors[tensor]));
  EndLifetimes(slot);
  if (options_.observer) options_.observer(event_);
  return {};
}

void Machine::KeepOutputs(OpId id, const Outputs& outputs) {
  const graph::Op& op = subgraph_.ops[id];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    Held& held = held_[op.outputs[i]];
    held.copy.assign(outputs[i].begin(), outputs[i].end());
    held.written = true;
    const auto at = std::lower_bound(live_.begin(), live_.end(), op.outputs[i]);
    if (held.place() != nullptr && (at == live_.end() || *at != op.outputs[i])) {
      live_.insert(at, op.outputs[i]);
    }
  }
}

// An output in place takes the address over for as long as the plan assigns it to the input, and
// replaces the value, which other tensors may view (LiteRT's views). A later read of one of them
// finds it unwritten.
void Machine::EndOverwritten(std::int32_t slot) {
  std::vector<TensorId> lost;
  for (const plan::Overlap& overlap : entry_.overlaps) {
    if (overlap.kind == plan::OverlapKind::kInPlace && overlap.slot == slot &&
        overlap.subgraph == entry_.subgraph && subgraph_.tensors.Has(overlap.input)) {
      lost.push_back(overlap.input);
    }
  }
  for (std::size_t at = 0; at < lost.size(); ++at) {
    for (const plan::Overlap& overlap : entry_.overlaps) {
      const bool shows = overlap.kind == plan::OverlapKind::kHoldsInput && overlap.bytes == 0 &&
                         overlap.subgraph == entry_.subgraph &&
                         subgraph_.tensors.Has(overlap.input) &&
                         subgraph_.tensors.Has(overlap.output);
      if (!shows || (overlap.input != lost[at] && overlap.output != lost[at])) continue;
      const TensorId other = overlap.input == lost[at] ? overlap.output : overlap.input;
      if (std::find(lost.begin(), lost.end(), other) != lost.end()) continue;
      if (program_.BytesOf(other) == program_.BytesOf(lost[0])) lost.push_back(other);
    }
  }
  for (const TensorId tensor : lost) {
    held_[tensor].written = false;
    const auto at = std::lower_bound(live_.begin(), live_.end(), tensor);
    if (at != live_.end() && *at == tensor) live_.erase(at);
  }
}

void Machine::EndLifetimes(std::int32_t slot) {
  if (static_cast<std::size_t>(slot) + 1 >= entry_.steps.size()) return;  // outputs are read yet
  const auto& ending = ends_[static_cast<std::size_t>(slot) + 1];
  for (const plan::TensorPlacement* place : ending) {
    if (held_[place->tensor].place() != place) continue;  // it has moved on
    const auto at = std::lower_bound(live_.begin(), live_.end(), place->tensor);
    if (at != live_.end() && *at == place->tensor) live_.erase(at);
  }
  for (const plan::TensorPlacement* place : ending) {
    if (held_[place->tensor].written) PoisonUncovered(*place);
  }
}

// Only bytes that no live tensor has taken over by now.
void Machine::PoisonUncovered(const plan::TensorPlacement& place) {
  std::vector<ArenaRange> others;
  for (const TensorId other : live_) {
    const ArenaRange range = RangeOf(*held_[other].place());
    if (Shares(range, RangeOf(place))) others.push_back(range);
  }
  std::sort(others.begin(), others.end(),
            [](const ArenaRange& a, const ArenaRange& b) { return a.offset < b.offset; });
  others.push_back({TensorId(), place.offset + place.bytes, 0, place.memory});
  std::int64_t from = place.offset;
  for (const ArenaRange& other : others) {
    if (other.offset > from) {
      In(other).Poison(from, other.offset - from);
      event_.freed.push_back({place.tensor, from, other.offset - from, place.memory});
    }
    from = std::max(from, other.offset + other.bytes);
  }
}

RunResult Machine::Finish() {
  RunResult result;
  for (const OpId id : program_.order()) {
    if (!has_run_[id.index()]) {
      Report(-1, TensorId(), graph::Describe(id, subgraph_.ops[id]) + " has no step");
    }
  }
  const auto slots = static_cast<std::int32_t>(entry_.steps.size());
  for (const TensorId tensor : subgraph_.outputs) {
    Value value{subgraph_.tensors[tensor].type, *subgraph_.tensors[tensor].shape, {}};
    const Held& held = held_[tensor];
    std::span<const std::byte> bytes = ReadApart(tensor);
    if (!program_.IsConstant(tensor) && held.place() != nullptr) {
      const auto now = At(*held.place());
      if (!held.written) {
        Report(-1, tensor, "is an output and was never written");
      } else if (held.place()->last < slots) {
        Report(-1, tensor, "is an output and is not live to the end");
      } else if (!IsIntact(tensor, slots)) {
        Report(-1, tensor, "is an output and its bytes differ from those that were written");
      }
      bytes = now;
    } else if (!program_.IsConstant(tensor) && !held.written) {
      Report(-1, tensor, "is an output and was never written");
    }
    value.bytes.assign(bytes.begin(), bytes.end());
    value.bytes.resize(static_cast<std::size_t>(program_.BytesOf(tensor)), kPoison);
    result.outputs.push_back(std::move(value));
  }
  result.violations = std::move(violations_);
  for (const Arena& arena : arenas_) result.arena_bytes += arena.bytes();
  for (const std::int64_t bytes : high_water_) result.high_water_bytes += bytes;
  return result;
}

Result<RunResult> Run(const graph::Graph& graph, const plan::EntryPlan& entry,
                      std::span<const Value> inputs, const RunOptions& options) {
  if (!graph.subgraphs.Has(entry.subgraph)) {
    return Fail(BadInput("the plan refers to a subgraph that the model does not have"));
  }
  NEAP_TRY(const Program program,
           Program::Prepare(graph, entry.subgraph, options.kernels, options.max_memory_bytes));
  NEAP_CHECK_OK(CheckInputs(program.subgraph(), inputs));
  if (entry.stream) return RunStream(program, entry, inputs, options);
  Machine machine(program, entry, options);
  NEAP_CHECK_OK(machine.Prepare());
  machine.CheckSharing();
  NEAP_CHECK_OK(machine.LoadInputs(inputs));
  NEAP_CHECK_OK(machine.RunSteps());
  return machine.Finish();
}

}  // namespace neap::execute
