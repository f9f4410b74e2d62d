// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/run.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/execute/arena.h"
#include "neap/execute/inputs.h"
#include "neap/execute/program.h"

namespace neap::execute {
namespace {

using graph::OpId;
using graph::TensorId;

// What is known of a tensor while the plan runs.
struct Held {
  const plan::TensorPlacement* place = nullptr;  // nullptr: not in the arena
  bool written = false;
  std::vector<std::byte> copy;  // what was written, while it is live
};

class Machine {
 public:
  Machine(const Program& program, const plan::EntryPlan& entry, const RunOptions& options)
      : program_(program),
        entry_(entry),
        options_(options),
        subgraph_(program.subgraph()),
        arena_(entry.arena_bytes),
        held_(subgraph_.tensors.size()),
        has_run_(subgraph_.ops.size(), false) {}

  Status Prepare();
  void CheckSharing();
  Status LoadInputs(std::span<const Value> inputs);
  Status RunSteps();
  RunResult Finish();

 private:
  using Inputs = std::vector<std::span<const std::byte>>;
  using Outputs = std::vector<std::span<std::byte>>;

  void Report(std::int32_t slot, TensorId tensor, const std::string& what);
  std::vector<std::size_t> OverlapGroups() const;
  std::vector<ArenaRange> ScratchAt(std::int32_t slot) const;

  Status RunStep(std::int32_t slot, OpId op);
  void CheckRead(std::int32_t slot, TensorId tensor);
  std::span<const std::byte> ReadApart(TensorId tensor) const;
  Status RunApart(OpId op, std::vector<std::vector<std::byte>>* results) const;
  void KeepOutputs(std::int32_t slot, OpId op, const Outputs& outputs);
  void CheckLive(std::int32_t slot, OpId op);
  void EndLifetimes(std::int32_t slot);
  void Touch(const ArenaRange& range) {
    high_water_ = std::max(high_water_, range.offset + range.bytes);
  }

  const Program& program_;
  const plan::EntryPlan& entry_;
  const RunOptions& options_;
  const graph::Subgraph& subgraph_;
  Arena arena_;
  IdVector<TensorId, Held> held_;
  std::vector<bool> has_run_;
  std::vector<std::vector<TensorId>> ends_;  // by the last slot of the lifetime
  std::vector<TensorId> live_;               // written and not ended, by id
  StepEvent event_;
  std::int64_t high_water_ = 0;
  std::vector<std::string> violations_;
};

void Machine::Report(std::int32_t slot, TensorId tensor, const std::string& what) {
  if (violations_.size() >= kMostViolations) return;
  std::string line = slot < 0 ? "" : "slot " + std::to_string(slot) + ": ";
  if (tensor.valid()) line += graph::Describe(tensor, subgraph_.tensors[tensor]) + " ";
  violations_.push_back(line + what);
}

Status Machine::Prepare() {
  const auto slots = static_cast<std::int32_t>(entry_.steps.size());
  ends_.resize(entry_.steps.size() + 1);
  NEAP_CHECK_OK(Require(!entry_.tensors.empty() || entry_.steps.empty(),
                        "the plan has no addresses: it was made with --order-only"));
  const auto inside = [&](std::int64_t offset, std::int64_t bytes) {
    return offset >= 0 && bytes >= 0 && bytes <= arena_.bytes() && offset <= arena_.bytes() - bytes;
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
    if (held.place != nullptr) return fail("has two places in the plan");
    if (!inside(place.offset, place.bytes)) return fail("is not inside the arena");
    if (place.bytes != program_.BytesOf(place.tensor)) {
      return fail("has " + std::to_string(program_.BytesOf(place.tensor)) +
                  " bytes, the plan says " + std::to_string(place.bytes));
    }
    held.place = &place;
    ends_[static_cast<std::size_t>(std::clamp(place.last, 0, slots))].push_back(place.tensor);
  }
  for (const plan::ScratchPlacement& scratch : entry_.scratch) {
    NEAP_CHECK_OK(
        Require(inside(scratch.offset, scratch.bytes), "scratch is not inside the arena"));
  }
  return {};
}

// Tensors that overlaps join, directly or over others, share bytes on purpose: whether rightly, the
// bytes will tell.
std::vector<std::size_t> Machine::OverlapGroups() const {
  std::vector<std::size_t> group(subgraph_.tensors.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto root = [&](TensorId tensor) {
    std::size_t at = tensor.index();
    while (group[at] != at) at = group[at] = group[group[at]];
    return at;
  };
  for (const plan::Overlap& overlap : entry_.overlaps) {
    if (overlap.subgraph != entry_.subgraph || !subgraph_.tensors.Has(overlap.input) ||
        !subgraph_.tensors.Has(overlap.output)) {
      continue;
    }
    group[root(overlap.input)] = root(overlap.output);
  }
  for (const TensorId tensor : subgraph_.tensors.Ids()) group[tensor.index()] = root(tensor);
  return group;
}

// Pairs that are live in one slot and share bytes: by address, the later one against all that begin
// before its predecessors end.
void Machine::CheckSharing() {
  const std::vector<std::size_t> groups = OverlapGroups();
  std::vector<const plan::TensorPlacement*> places;
  for (const plan::TensorPlacement& place : entry_.tensors) {
    if (place.bytes > 0 && place.first < place.last) places.push_back(&place);
  }
  std::sort(places.begin(), places.end(), [](const auto* a, const auto* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->tensor < b->tensor;
  });
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& a = *places[i];
    for (std::size_t j = i + 1; j < places.size() && places[j]->offset < a.offset + a.bytes; ++j) {
      const auto& b = *places[j];
      const std::int32_t first = std::max(a.first, b.first);
      const std::int32_t last = std::min(a.last, b.last);
      if (first >= last) continue;
      if (groups[a.tensor.index()] == groups[b.tensor.index()]) continue;
      Report(first, a.tensor,
             "shares bytes with " + graph::Describe(b.tensor, subgraph_.tensors[b.tensor]));
    }
    for (const plan::ScratchPlacement& scratch : entry_.scratch) {
      if (scratch.slot >= a.first && scratch.slot < a.last &&
          Intersect(a.offset, a.bytes, scratch.offset, scratch.bytes)) {
        Report(scratch.slot, a.tensor, "shares bytes with the scratch of the step");
      }
    }
  }
}

Status Machine::LoadInputs(std::span<const Value> inputs) {
  const auto load = [&](TensorId tensor, std::span<const std::byte> bytes) -> Status {
    Held& held = held_[tensor];
    held.copy.assign(bytes.begin(), bytes.end());
    held.written = true;
    if (held.place == nullptr) return {};
    const ArenaRange range{tensor, held.place->offset, held.place->bytes};
    std::copy(bytes.begin(), bytes.end(), arena_.At(range.offset, range.bytes).begin());
    Touch(range);
    live_.push_back(tensor);
    return {};
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorId tensor = subgraph_.inputs[i];
    if (held_[tensor].place == nullptr && !entry_.steps.empty()) {
      Report(-1, tensor, "is an input and has no place in the plan");
    } else if (held_[tensor].place != nullptr && held_[tensor].place->first > 0) {
      Report(-1, tensor, "is an input and does not live from the start");
    }
    NEAP_CHECK_OK(load(tensor, inputs[i].bytes));
  }
  // Variables, and what nothing writes, are zeros.
  const auto producers = graph::Producers(subgraph_);
  for (const TensorId tensor : subgraph_.tensors.Ids()) {
    if (producers[tensor].valid() || held_[tensor].written || program_.IsConstant(tensor)) continue;
    if (program_.BytesOf(tensor) == 0) continue;
    NEAP_CHECK_OK(
        load(tensor, std::vector<std::byte>(static_cast<std::size_t>(program_.BytesOf(tensor)))));
  }
  // Inputs that were written over by others are found where they are read.
  std::sort(live_.begin(), live_.end());
  return {};
}

std::vector<ArenaRange> Machine::ScratchAt(std::int32_t slot) const {
  std::vector<ArenaRange> ranges;
  for (const plan::ScratchPlacement& scratch : entry_.scratch) {
    if (scratch.slot == slot) ranges.push_back({TensorId(), scratch.offset, scratch.bytes});
  }
  return ranges;
}

Status Machine::RunSteps() {
  for (std::size_t i = 0; i < entry_.steps.size(); ++i) {
    const plan::Step& step = entry_.steps[i];
    const auto slot = static_cast<std::int32_t>(i);
    if (step.subgraph != entry_.subgraph || !subgraph_.ops.Has(step.op) ||
        subgraph_.ops[step.op].folded) {
      return Fail(BadInput("slot " + std::to_string(slot) +
                           " runs no operator of the entry that has a step"));
    }
    NEAP_CHECK_OK(RunStep(slot, step.op));
  }
  return {};
}

void Machine::CheckRead(std::int32_t slot, TensorId tensor) {
  const Held& held = held_[tensor];
  if (!held.written) return Report(slot, tensor, "is read before it is written");
  if (held.place == nullptr) return;
  if (slot < held.place->first || slot >= held.place->last) {
    return Report(slot, tensor, "is read outside of its lifetime");
  }
  const auto now = arena_.At(held.place->offset, held.place->bytes);
  if (!std::equal(now.begin(), now.end(), held.copy.begin(), held.copy.end())) {
    Report(slot, tensor, "is read and has not the bytes that were written");
  }
}

// What an unplanned run would read; zeros for what is not there.
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

Status Machine::RunStep(std::int32_t slot, OpId id) {
  const graph::Op& op = subgraph_.ops[id];
  event_ = StepEvent{slot, id, {}, {}, {}};
  if (has_run_[id.index()]) Report(slot, TensorId(), graph::Describe(id, op) + " runs again");
  has_run_[id.index()] = true;
  std::vector<std::vector<std::byte>> apart;  // memory of outputs that have no place
  apart.reserve(op.outputs.size());
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
    if (held.place == nullptr) {
      inputs.back() = held.copy;
      continue;
    }
    inputs.back() = arena_.At(held.place->offset, held.place->bytes);
    event_.reads.push_back({tensor, held.place->offset, held.place->bytes});
  }
  Outputs outputs;
  for (const TensorId tensor : op.outputs) {
    outputs.emplace_back();
    if (!tensor.valid()) continue;
    const Held& held = held_[tensor];
    if (held.place == nullptr) {
      Report(slot, tensor, "is written and has no place in the plan");
      outputs.back() = apart.emplace_back(static_cast<std::size_t>(program_.BytesOf(tensor)));
      continue;
    }
    if (slot < held.place->first || slot >= held.place->last) {
      Report(slot, tensor, "is written outside of its lifetime");
    }
    outputs.back() = arena_.At(held.place->offset, held.place->bytes);
    event_.writes.push_back({tensor, held.place->offset, held.place->bytes});
  }
  for (const ArenaRange& scratch : ScratchAt(slot)) event_.writes.push_back(scratch);
  const bool shared = std::any_of(event_.writes.begin(), event_.writes.end(), [&](const auto& w) {
    return std::any_of(event_.reads.begin(), event_.reads.end(), [&](const auto& r) {
      return Intersect(w.offset, w.bytes, r.offset, r.bytes);
    });
  });
  std::vector<std::vector<std::byte>> expected;
  if (shared) NEAP_CHECK_OK(RunApart(id, &expected));
  arena_.Remember();
  for (const ArenaRange& range : event_.writes) {
    if (!range.tensor.valid()) arena_.Poison(range.offset, range.bytes);
    Touch(range);
  }
  NEAP_CHECK_OK(program_.RunOp(id, Arguments{inputs, outputs}));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::equal(expected[i].begin(), expected[i].end(), outputs[i].begin(), outputs[i].end())) {
      Report(slot, op.outputs[i], "is not what the step computes when it does not share bytes");
    }
  }
  if (arena_.ChangedOutside(event_.writes)) {
    Report(slot, TensorId(), graph::Describe(id, op) + " writes outside of its outputs");
  }
  KeepOutputs(slot, id, outputs);
  CheckLive(slot, id);
  EndLifetimes(slot);
  if (options_.observer) options_.observer(event_);
  return {};
}

void Machine::KeepOutputs(std::int32_t /*slot*/, OpId id, const Outputs& outputs) {
  const graph::Op& op = subgraph_.ops[id];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    Held& held = held_[op.outputs[i]];
    held.copy.assign(outputs[i].begin(), outputs[i].end());
    held.written = true;
    const auto at = std::lower_bound(live_.begin(), live_.end(), op.outputs[i]);
    if (held.place != nullptr && (at == live_.end() || *at != op.outputs[i])) {
      live_.insert(at, op.outputs[i]);
    }
  }
}

// What lives on after this step is what it was.
void Machine::CheckLive(std::int32_t slot, OpId id) {
  for (const TensorId tensor : live_) {
    const Held& held = held_[tensor];
    if (held.place->last <= slot + 1) continue;
    const bool touched =
        std::any_of(event_.writes.begin(), event_.writes.end(), [&](const ArenaRange& range) {
          return Intersect(range.offset, range.bytes, held.place->offset, held.place->bytes);
        });
    if (!touched) continue;
    const auto now = arena_.At(held.place->offset, held.place->bytes);
    if (!std::equal(now.begin(), now.end(), held.copy.begin(), held.copy.end())) {
      Report(slot, tensor,
             "is still live and is written over by " + graph::Describe(id, subgraph_.ops[id]));
    }
  }
}

void Machine::EndLifetimes(std::int32_t slot) {
  if (static_cast<std::size_t>(slot) + 1 >= entry_.steps.size()) return;  // outputs are read yet
  const std::vector<TensorId>& ending = ends_[static_cast<std::size_t>(slot) + 1];
  for (const TensorId tensor : ending) {
    const auto at = std::lower_bound(live_.begin(), live_.end(), tensor);
    if (at != live_.end() && *at == tensor) live_.erase(at);
  }
  for (const TensorId tensor : ending) {
    Held& held = held_[tensor];
    if (!held.written) continue;
    // Only what no live tensor has taken over by now.
    const std::int64_t end = held.place->offset + held.place->bytes;
    std::vector<ArenaRange> others;
    for (const TensorId other : live_) {
      const plan::TensorPlacement& place = *held_[other].place;
      if (Intersect(place.offset, place.bytes, held.place->offset, held.place->bytes)) {
        others.push_back({other, place.offset, place.bytes});
      }
    }
    std::sort(others.begin(), others.end(),
              [](const ArenaRange& a, const ArenaRange& b) { return a.offset < b.offset; });
    others.push_back({TensorId(), end, 0});
    std::int64_t from = held.place->offset;
    for (const ArenaRange& other : others) {
      if (other.offset > from) {
        arena_.Poison(from, other.offset - from);
        event_.freed.push_back({tensor, from, other.offset - from});
      }
      from = std::max(from, other.offset + other.bytes);
    }
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
    if (!program_.IsConstant(tensor) && held.place != nullptr) {
      const auto now = arena_.At(held.place->offset, held.place->bytes);
      if (!held.written) {
        Report(-1, tensor, "is an output and was never written");
      } else if (held.place->last < slots) {
        Report(-1, tensor, "is an output and does not live to the end");
      } else if (!std::equal(now.begin(), now.end(), held.copy.begin(), held.copy.end())) {
        Report(-1, tensor, "is an output and has not the bytes that were written");
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
  result.arena_bytes = arena_.bytes();
  result.high_water_bytes = high_water_;
  return result;
}

}  // namespace

Result<RunResult> Run(const graph::Graph& graph, const plan::EntryPlan& entry,
                      std::span<const Value> inputs, const RunOptions& options) {
  if (!graph.subgraphs.Has(entry.subgraph)) {
    return Fail(BadInput("the plan is about a subgraph that the model does not have"));
  }
  if (entry.arena_bytes < 0 || entry.arena_bytes > options.max_memory_bytes) {
    return Fail(BadInput("the arena of the plan, " + FormatBytes(entry.arena_bytes) +
                         ", is larger than the memory that is allowed"));
  }
  NEAP_TRY(const Program program,
           Program::Prepare(graph, entry.subgraph, options.kernels, options.max_memory_bytes));
  NEAP_CHECK_OK(CheckInputs(program.subgraph(), inputs));
  Machine machine(program, entry, options);
  NEAP_CHECK_OK(machine.Prepare());
  machine.CheckSharing();
  NEAP_CHECK_OK(machine.LoadInputs(inputs));
  NEAP_CHECK_OK(machine.RunSteps());
  return machine.Finish();
}

}  // namespace neap::execute
