// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "neap/base/bytes.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/memories.h"

namespace neap::arena {

std::optional<std::string> Validate(const MemoryProblem& problem) {
  if (auto wrong = Validate(problem.problem)) return wrong;
  const std::size_t num_memories = problem.capacities_bytes.size();
  const std::size_t num_buffers = problem.problem.buffers.size();
  if (num_memories == 0) return "found no memory";
  for (std::size_t m = 0; m < num_memories; ++m) {
    const std::int64_t capacity = problem.capacities_bytes[m];
    if (capacity < 0 || capacity > kMaxBytes) {
      return "memory #" + std::to_string(m) + ": found capacity " + std::to_string(capacity);
    }
  }
  if (problem.costs.size() != num_buffers * num_memories) {
    return "found " + std::to_string(problem.costs.size()) + " costs, expected " +
           std::to_string(num_buffers * num_memories);
  }
  std::int64_t total = 0;
  for (std::size_t i = 0; i < problem.costs.size(); ++i) {
    const std::int64_t cost = problem.costs[i];
    if (cost == MemoryProblem::kNotAllowed) continue;
    const auto sum = CheckedAdd(total, cost);
    if (cost < 0 || !sum) {
      return "buffer #" + std::to_string(i / num_memories) + ": found cost " + std::to_string(cost);
    }
    total = *sum;
  }
  return std::nullopt;
}

std::optional<std::string> FindViolation(const MemoryProblem& problem,
                                         const MemoryPlacement& placement) {
  const std::size_t num_memories = problem.capacities_bytes.size();
  const std::size_t num_buffers = problem.problem.buffers.size();
  if (placement.memories.size() != num_buffers || placement.offsets.size() != num_buffers ||
      placement.heights_bytes.size() != num_memories) {
    return "found a placement of another size";
  }
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < num_buffers; ++i) {
    const MemoryIndex memory = placement.memories[i];
    const std::string name = "buffer #" + std::to_string(i);
    if (memory < 0 || static_cast<std::size_t>(memory) >= num_memories) {
      return name + ": found memory #" + std::to_string(memory);
    }
    const std::int64_t here = problem.CostOf(i, static_cast<std::size_t>(memory));
    if (here == MemoryProblem::kNotAllowed) {
      return name + ": may not be in memory #" + std::to_string(memory);
    }
    cost += here;
  }
  if (cost != placement.cost) {
    return "found cost " + std::to_string(placement.cost) + ", expected " + std::to_string(cost);
  }
  for (std::size_t m = 0; m < num_memories; ++m) {
    if (placement.heights_bytes[m] > problem.capacities_bytes[m]) {
      return "memory #" + std::to_string(m) + ": found height " +
             std::to_string(placement.heights_bytes[m]) + " above its capacity " +
             std::to_string(problem.capacities_bytes[m]);
    }
    // Buffers of other memories are not live here, and at the bottom.
    Problem here = problem.problem;
    Placement offsets{placement.offsets, placement.heights_bytes[m]};
    for (std::size_t i = 0; i < num_buffers; ++i) {
      if (static_cast<std::size_t>(placement.memories[i]) == m) continue;
      here.buffers[i] = {};
      offsets.offsets[i] = 0;
    }
    if (auto wrong = FindViolation(here, offsets)) {
      return "memory #" + std::to_string(m) + ": " + *wrong;
    }
  }
  return std::nullopt;
}

}  // namespace neap::arena
