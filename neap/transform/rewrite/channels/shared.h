// SPDX-License-Identifier: Apache-2.0
//
// Which tensors have the same channels, and the values of every channel. Private to
// neap/transform/rewrite.
#pragma once

#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/channels/weighted.h"

namespace neap::rewrite {

// The channels of a tensor are the indices of its last dimension.
std::int64_t ChannelsOf(const graph::Tensor& tensor);

// An operator whose output channel c is computed from channel c of its inputs alone, by the same
// rule for each c: the tensors whose channels can only be removed together. Empty: another
// operator. Depthwise convolutions, pooling, ADD, MEAN, PAD and RESHAPE in the forms whose output
// is known not to depend on the number of channels. `weighted`: ReadWeighted() of the operator.
std::vector<graph::TensorId> TensorsWithSameChannels(const graph::Subgraph& subgraph,
                                                     const graph::Op& op,
                                                     const std::optional<WeightedOp>& weighted);

// The values of every channel of every tensor of int8; empty for other tensors. `order` can be run,
// `weighted` is ReadWeighted() by operator. O(weights + channels).
IdVector<graph::TensorId, Ranges> RangesOf(
    const graph::Subgraph& subgraph, const std::vector<graph::OpId>& order,
    const IdVector<graph::OpId, std::optional<WeightedOp>>& weighted);

}  // namespace neap::rewrite
