// SPDX-License-Identifier: Apache-2.0
//
// Facts about operator types, for both formats' names, that planning needs. An unknown type has
// none of the traits: it never stops a plan, it is only treated with care.
#pragma once

#include <string_view>

#include "neap/graph/graph.h"

namespace neap::ops {

// Each output element depends on the input elements at the same place only (after broadcasting).
bool IsElementwise(const graph::Op& op);

// The output holds the bytes of the first input, under another shape.
bool IsReshapeLike(const graph::Op& op);

// The output may be written over the first input, where both have as many bytes and the input dies:
// element-wise and reshape-like operators whose first input has as many elements as the output (a
// smaller one that is broadcast is read again), and those of Neap's executor that add to an
// accumulator ("neap", ACCUMULATE) which is none of the data.
bool WritesOverFirstInput(const graph::Subgraph& subgraph, const graph::Op& op);

// Reads or writes something outside its tensors (variables, resources, hash tables, random state,
// print), or may do so (custom operators, calls, operators that are not known). Readers of files
// use it to set Op::stateful; neap/ops/state.h says which state it is.
bool IsStatefulType(std::string_view domain, std::string_view type);

}  // namespace neap::ops
