// SPDX-License-Identifier: Apache-2.0
//
// The checker of streamed plans. Runs the plan with names in place of values: every byte of the
// arena knows of which byte of which pixel it is, from the boxes of the plan and the operators'
// dependence maps alone. Private to neap/plan.
#pragma once

#include "neap/check/replay.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::check {

// Findings for every error of `entry.stream`, which has a value:
//  - boxes, addresses and moves are inside their tensors and the arena;
//  - every byte that a box needs of its inputs (neap/ops/dependence.h) is at its planned address
//    when it is read; outputs of the model likewise at the end;
//  - outputs do not share bytes with the inputs of their own box, unless the operator is
//    element-wise and writes every pixel over the one that it reads;
//  - every operator computes all of its output; rows of the input are delivered once, in order;
//  - arena_bytes is the end of the highest byte that is touched; multiply-accumulates, peak, bounds
//    and steps are correct.
// O(bytes that the plan reads and writes); plans that do far more work than the model are refused.
void CheckStream(const graph::Graph& graph, const plan::EntryPlan& entry, Findings* findings);

}  // namespace neap::check
