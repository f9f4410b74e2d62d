// SPDX-License-Identifier: Apache-2.0
//
// The run of one plan: memory, expected contents, violations. Private to neap/execute.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "neap/execute/arena.h"
#include "neap/execute/dead_bytes.h"
#include "neap/execute/program.h"
#include "neap/execute/run.h"

namespace neap::execute {

// The state of a tensor while the plan runs.
struct Held {
  std::vector<const plan::TensorPlacement*> stretches;  // between moves; none: not in the arena
  std::size_t at = 0;                                   // the stretch of now
  bool written = false;
  std::vector<std::byte> copy;  // the bytes written, while it is live

  const plan::TensorPlacement* place() const { return stretches.empty() ? nullptr : stretches[at]; }
};

inline ArenaRange RangeOf(const plan::TensorPlacement& place) {
  return {place.tensor, place.offset, place.bytes, place.memory};
}

inline bool Shares(const ArenaRange& a, const ArenaRange& b) {
  return a.memory == b.memory && Intersect(a.offset, a.bytes, b.offset, b.bytes);
}

class Machine {
 public:
  Machine(const Program& program, const plan::EntryPlan& entry, const RunOptions& options)
      : program_(program),
        entry_(entry),
        options_(options),
        subgraph_(program.subgraph()),
        held_(subgraph_.tensors.size()),
        has_run_(subgraph_.ops.size(), false),
        dead_(program, entry) {}

  Status Prepare();
  void CheckSharing();
  Status LoadInputs(std::span<const Value> inputs);
  Status RunSteps();
  RunResult Finish();

 private:
  using Inputs = std::vector<std::span<const std::byte>>;
  using Outputs = std::vector<std::span<std::byte>>;

  void Report(std::int32_t slot, graph::TensorId tensor, const std::string& what);
  std::vector<ArenaRange> ScratchAt(std::int32_t slot) const;

  Arena& In(const ArenaRange& range) { return arenas_[static_cast<std::size_t>(range.memory)]; }
  std::span<std::byte> At(const plan::TensorPlacement& place) {
    return In(RangeOf(place)).At(place.offset, place.bytes);
  }

  Status RunStep(std::int32_t slot, graph::OpId op);
  Status RunMove(std::int32_t slot, graph::TensorId tensor);
  Inputs TakeInputs(std::int32_t slot, const graph::Op& op);
  Outputs TakeOutputs(std::int32_t slot, const graph::Op& op,
                      std::vector<std::vector<std::byte>>* apart);
  bool OutputsShareInputs() const;
  void Remember();
  void CheckElsewhere(std::int32_t slot, const std::string& what);
  // From a slot on: the first bytes that no step reads any more may have any value.
  bool IsIntact(graph::TensorId tensor, std::int32_t slot);
  void CheckRead(std::int32_t slot, graph::TensorId tensor);
  std::span<const std::byte> ReadApart(graph::TensorId tensor) const;
  Status RunApart(graph::OpId op, std::vector<std::vector<std::byte>>* results) const;
  void KeepOutputs(graph::OpId op, const Outputs& outputs);
  void CheckLive(std::int32_t slot, const std::string& what);
  void EndOverwritten(std::int32_t slot);
  void EndLifetimes(std::int32_t slot);
  void PoisonUncovered(const plan::TensorPlacement& place);
  void Touch(const ArenaRange& range) {
    std::int64_t& high = high_water_[static_cast<std::size_t>(range.memory)];
    high = std::max(high, range.offset + range.bytes);
  }

  const Program& program_;
  const plan::EntryPlan& entry_;
  const RunOptions& options_;
  const graph::Subgraph& subgraph_;
  std::vector<Arena> arenas_;  // one a memory
  IdVector<graph::TensorId, Held> held_;
  std::vector<bool> has_run_;
  const DeadBytes dead_;
  std::vector<std::vector<const plan::TensorPlacement*>> ends_;  // by the last slot of the lifetime
  std::vector<graph::TensorId> live_;                            // written and not ended, by id
  StepEvent event_;
  std::vector<std::int64_t> high_water_;  // of each memory
  std::vector<std::string> violations_;
};

}  // namespace neap::execute
