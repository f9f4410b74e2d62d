// SPDX-License-Identifier: Apache-2.0
//
// From a graph to the stages of a pipeline: the interface of this module.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/learn/model.h"
#include "neap/solve/partition/check.h"
#include "neap/solve/partition/partition.h"
#include "neap/solve/partition/simulate.h"
#include "neap/stages/infeasible.h"
#include "neap/stages/lower.h"
#include "neap/stages/parts.h"

namespace neap::stages {

enum class Method : std::uint8_t { kExact, kContiguous, kCompiler, kProfile, kBalanced, kLearned };
struct MethodEntry {
  Method method;
  std::string_view name;
  std::string_view summary;
};
// "exact" first.
std::span<const MethodEntry> Methods();
std::optional<Method> MethodNamed(std::string_view name);
std::string_view NameOf(Method method);

struct AssignOptions {
  LowerOptions lower;
  Method method = Method::kExact;
  Limits limits;  // of the exact search
  // No stage needs more for its activations in its best order; -1: no limit. Of kExact.
  std::int64_t activation_limit_bytes = -1;
  // With a shared link: the minimised number, the simulated time of this many items.
  partition::SimulationOptions simulation;
  // Of kLearned, trained for it; null: the network that comes with the program.
  std::shared_ptr<const learn::Model> network;
  bool activations = true;  // compute the activation memory of every stage
  // Gets the proof where no assignment can keep the limits; not owned, may be null.
  std::optional<Infeasible>* infeasible = nullptr;
};

struct AssignedStage {
  StagePart part;
  partition::StageCost cost;  // in picoseconds for every objective
  std::int64_t cached_bytes = 0;
  ActivationPeak activations;
};

struct Assigned {
  Lowered lowered;                   // by the objective
  partition::Assignment assignment;  // bottleneck: by the objective
  std::int64_t lower_bound = 0;      // of the objective: no assignment is cheaper
  std::int64_t picoseconds = 0;      // of the slowest stage
  // Of a shared link: the bytes that all stages stream and transfer for an item, and the simulated
  // time of all items, by item and rounded up; 0: links are separate.
  std::int64_t link_picoseconds = 0;
  std::int64_t simulated_picoseconds = 0;
  std::vector<AssignedStage> stages;  // those with operators
  partition::Problem time_problem;    // costs in picoseconds
  // Of the search for the bound.
  std::int64_t states = 0;
  std::int64_t downsets = 0;
  partition::OpIndex merged_operators = 0;
  std::int64_t certificate_downsets = 0;
  std::int64_t excluded_stages = 0;  // that the limit of activations ruled out
  bool interrupted = false;
  double solve_seconds = 0;   // the search for the bound
  double method_seconds = 0;  // the method itself
  double check_seconds = 0;
  double activation_seconds = 0;
  // The minimised number. With separate links no item of a simulated run takes longer than the
  // slowest stage; with a shared one stages wait for it, and the simulated run itself is minimised.
  std::int64_t Value() const {
    return simulated_picoseconds > 0 ? simulated_picoseconds : assignment.bottleneck;
  }
  bool optimal() const { return Value() == lower_bound; }
  // Of an item, in the long run.
  std::int64_t IntervalPicoseconds() const {
    return simulated_picoseconds > 0 ? simulated_picoseconds : picoseconds;
  }
};

// The result has passed partition::FindViolation and partition::FindFlaw; a finding is an
// InternalError. Fails where Lower does, with kOverBudget where no assignment is within the limits
// (then AssignOptions::infeasible has the proof), or none was found (the message distinguishes the
// two).
Result<Assigned> Assign(const graph::Graph& graph, const AssignOptions& options);

}  // namespace neap::stages
