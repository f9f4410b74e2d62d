// SPDX-License-Identifier: Apache-2.0
//
// Facts about operator types, for both formats' names, that planning needs. An unknown type has
// none of the traits: it is supported, and planned conservatively.
#pragma once

#include <string_view>

#include "neap/graph/graph.h"

namespace neap::ops {

// Each output element depends on the input elements at the same place only (after broadcasting).
bool IsElementwise(const graph::Op& op);

// The output has the bytes of the first input, with another shape.
bool IsReshapeLike(const graph::Op& op);

// The output may overwrite the first input, where both have as many bytes and the input is freed:
// element-wise and reshape-like operators whose first input has as many elements as the output (a
// smaller one that is broadcast is read again), and those of Neap's executor that add to an
// accumulator ("neap", ACCUMULATE) that is not one of the data inputs.
bool WritesOverFirstInput(const graph::Subgraph& subgraph, const graph::Op& op);

// Reads or writes something outside its tensors (variables, resources, hash tables, random state,
// print), or may do so (custom operators, calls, operators that are not known). Readers of files
// use it to set Op::stateful; neap/ops/state.h identifies the state.
bool IsStatefulType(std::string_view domain, std::string_view type);

}  // namespace neap::ops
