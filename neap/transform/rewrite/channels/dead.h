// SPDX-License-Identifier: Apache-2.0
//
// Removes channels of 8-bit networks whose value no output depends on: channels with the same value
// for every input, and channels that only weights of 0 multiply. Method and proof:
// docs/algorithms/dead-channels.md.
//
// An application names a convolution or a FULLY_CONNECTED and the output channels that are removed,
// ascending. Channels of the operators behind it that keep channels apart (depthwise convolutions,
// pooling, ADD) are removed with them. The edited graph has the same operators at the same indices.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::rewrite {

inline constexpr std::string_view kDeadChannels = "dead-channels";
RuleInfo DeadChannelsRule();

struct Narrowed {
  graph::Graph graph;                       // of no applications: as given
  std::vector<plan::Rewrite> applications;  // ascending operators
};

// Every channel that can be removed; of a tensor all of whose channels could be, the first is kept.
// Constants without data are unknown, and nothing is removed beside them. Deterministic.
// O(weights) for each of at most kMaxPasses passes.
Narrowed RemoveDeadChannels(const graph::Graph& graph);
inline constexpr int kMaxPasses = 16;

// Whether `narrowed` has at least a kLeastShare-th fewer multiply-accumulates or bytes of weights
// than `given`. An edited file may contain the given weights as well: less is not worth its bytes.
bool IsWorthwhile(const graph::Graph& given, const graph::Graph& narrowed);
inline constexpr std::int64_t kLeastShare = 32;

// Exactly the channels of these applications (all of this rule). Fails with kBadInput, naming the
// operator, where one of the channels does not exist or is not dead.
Result<graph::Graph> ApplyDeadChannels(const graph::Graph& graph,
                                       std::span<const plan::Rewrite> applications);

}  // namespace neap::rewrite
