// SPDX-License-Identifier: Apache-2.0
//
// Second half of the checker: compares a plan's tensors, scratch and overlaps with a replay of its
// steps.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/check/replay.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::check {

struct EntryContext {
  const graph::Graph& graph;
  const plan::Profile& profile;
  ops::KernelLibrary kernels;
  const std::vector<plan::Memory>& memories;  // of the plan
  const plan::EntryPlan& entry;
  const Replayer& replayer;
  const EntryReplay& replay;
  Findings& findings;
};

// Whether the rule of in-place profiles lets `op` write its first output over its first input,
// apart from conditions on the order: element-wise or reshape-like on as many elements, without
// bodies, equal bytes, an input that is neither a constant nor a variable nor an output of the
// subgraph. `replay` is of its subgraph.
bool MayOverwrite(const graph::Subgraph& subgraph, const graph::Op& op,
                  const SubgraphReplay& replay);

// The overlaps that the profile and the order allow; findings for the others.
std::vector<plan::Overlap> CheckOverlaps(const EntryContext& context);

// Every tensor and every scratch area has exactly one place, of the right size and for the right
// slots; live tensors share no byte unless `allowed` contains the pair; the arena has the stated
// height. A tensor of a body that is called several times keeps its place from its first slot in
// the first call to its last slot in the last one.
void CheckAddresses(const EntryContext& context, const std::vector<plan::Overlap>& allowed);

}  // namespace neap::check
