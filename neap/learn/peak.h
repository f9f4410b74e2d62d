// SPDX-License-Identifier: Apache-2.0
//
// The network on ordering problems: orders of little peak memory at the price of one run.
#pragma once

#include "neap/base/limits.h"
#include "neap/learn/dag.h"
#include "neap/learn/network.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::learn {

// Larger problems are not for a network whose time grows with the square.
inline constexpr schedule::OpIndex kMaxLearnedNodes = 10'000;

// The features of a problem. Channel 0: bytes that the operator allocates; 1: its share of the
// bytes freed with their last consumers; 2: bytes that it touches. `problem` passes
// schedule::Validate().
Dag DagOfProblem(const schedule::Problem& problem);

// Every node writes one buffer of channel 0's bytes, read by its children; those of sinks stay.
schedule::Problem ProblemOfDag(const Dag& dag);

// The network's order, repaired, and its peak by replay; bound and proof are those that the exact
// search has before it expands a state. At most kMaxLearnedNodes operators.
schedule::Outcome LearnedOrder(const Network& network, const schedule::Problem& problem,
                               const Limits& limits);

}  // namespace neap::learn
