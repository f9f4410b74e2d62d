// SPDX-License-Identifier: Apache-2.0
//
// Independent check of assignments and proofs. Shares no code with the solver: everything is
// recomputed from the definition in problem.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "neap/solve/partition/problem.h"

namespace neap::partition {

struct StageCost {
  std::int64_t operators = 0;
  std::int64_t compute = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t link_cost = 0;  // of streams and transfers: a part of `cost`
  std::int64_t cost = 0;
};

struct Evaluation {
  std::vector<StageCost> stages;  // one per stage of the problem
  std::int64_t slowest = 0;       // the cost of the costliest stage
  std::int64_t link_cost = 0;     // of all stages, where they share the link; else 0
  std::int64_t bottleneck = 0;    // the larger of the two
};

// The cost of an assignment. `stage_of` has a stage in range for every operator. O(size).
Evaluation Evaluate(const Problem& problem, std::span<const Stage> stage_of);

// Why an assignment is invalid, in one line: a stage out of range, an operator in an earlier stage
// than one before it, a group in two stages, more parameters than a stage may have, a forbidden
// stage, a wrong bottleneck. O(size).
std::optional<std::string> FindViolation(const Problem& problem, const Assignment& assignment);

// True if some stage is a forbidden one.
bool HasForbiddenStage(const Problem& problem, std::span<const Stage> stage_of);

}  // namespace neap::partition
