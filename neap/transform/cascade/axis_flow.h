// SPDX-License-Identifier: Apache-2.0
//
// One tile along one axis, for operators that pad by themselves (TensorFlow Lite): which indices of
// every tensor the tile holds, and which of them are right. Private to neap/cascade.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"

namespace neap::cascade {

struct AxisFlow {
  std::map<graph::TensorId, ops::Interval> held;  // of every tensor that is cut
  // The part of an input that an operator reads: a slice.
  std::map<std::pair<graph::OpId, std::size_t>, ops::Interval> read;
};

// `axes`: the axis of every tensor that is cut (AxesOfRegion()). `needed[t]`: the part along it
// that the consumers of t need; the region's inputs are `inputs`. Finds the smallest parts of the
// inputs from which the operators, with the padding that they choose for such sizes, compute all
// needed parts. nullopt with the reason: an operator cannot be cut along the axis, or no slightly
// larger part is sufficient.
std::optional<AxisFlow> FlowAlong(const graph::Subgraph& subgraph,
                                  const std::vector<graph::OpId>& ops,
                                  const std::vector<graph::TensorId>& inputs,
                                  const std::map<graph::TensorId, std::size_t>& axes,
                                  const std::map<graph::TensorId, ops::Interval>& needed,
                                  std::string* why);

}  // namespace neap::cascade
