// SPDX-License-Identifier: Apache-2.0
//
// Independent check of graphs from which channels of 8-bit operators were removed
// (docs/algorithms/dead-channels.md). Shares no code with the rule that removes them: sums are
// bounded for every set of kernel positions that is inside the input, and rounded as the known
// kernels do, where the rule bounds all of them at once.
#pragma once

#include <map>
#include <span>
#include <string>

#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::check {

// What is wrong with `narrowed`, a line that names the operator; "": its outputs are those of
// `given` for every input. Both graphs have passed Verify() and have the same operators at the same
// indices; tensors of `narrowed` beyond those of `given` replace them. `removed`: the applications
// of the rule, which name convolutions and FULLY_CONNECTED with their removed output channels.
// O(weights x sets of kernel positions).
std::string FindWrongChannels(const graph::Graph& given, const graph::Graph& narrowed,
                              std::span<const plan::Rewrite> removed);

}  // namespace neap::check
