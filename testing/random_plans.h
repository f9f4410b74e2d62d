// SPDX-License-Identifier: Apache-2.0
//
// Random plans of small networks, of every kind, and the results of their execution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/execute/value.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::property {

enum class PlanKind : std::uint8_t {
  kAddresses,  // every profile, with and without a kernel library that allows overlaps
  kMemories,   // several memories
  kMoves,      // live tensors are copied to other addresses
  kRewrites,   // another graph with the same outputs
  kTiles,      // operators in tiles, each with operators of its own
  kBodies,     // tiles that call one body
  kStreams,    // block by block
};
inline constexpr int kPlanKinds = 7;
const char* NameOf(PlanKind kind);

struct Planned {
  graph::Graph graph;  // the planned graph
  plan::Plan plan;
  execute::Kernels kernels = execute::Kernels::kLitert;
  bool keeps_inputs = false;  // planned with --keep-inputs
};

// A plan as the planner makes it, on options drawn at random, not checked yet. nullopt: it has no
// plan of this kind. A defect of the planner is an exception.
std::optional<Planned> MakePlan(const graph::Graph& graph, PlanKind kind, Random* random);

// Moves tensors of an entry to other addresses and claims an overlap, of any kind, for every pair
// that then shares bytes. The numbers of the plan are made consistent again; the checker decides
// whether the plan is valid. false: unchanged.
bool Displace(plan::Plan* plan, const graph::Graph& graph, Random* random);

// The lines of check::CheckPlan().
std::vector<std::string> Check(const Planned& planned);

// Whether an operator overwrites an input of the model: the value of an overlap is lost.
bool WritesOverInputs(const Planned& planned);

// Runs every entry of a plan that the checker accepts, and `given` without a plan, on the same
// random inputs. "" when the run reports no violation and gives the same bytes; else what is wrong.
std::string Judge(const graph::Graph& given, const Planned& planned, std::uint64_t seed);

// The operators, places and overlaps of a plan, a line each, for the message of a failure.
std::string Describe(const graph::Graph& given, const Planned& planned);

}  // namespace neap::property
