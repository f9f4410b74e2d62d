// SPDX-License-Identifier: Apache-2.0
//
// Independent check of attention over blocks of keys (docs/algorithms/rewrite.md, key-blocks).
// Shares no code with the rule: it goes forwards through the edited graph and finds out of every
// new tensor which part of which given tensor it is, or which sum over which keys.
#pragma once

#include <string>

#include "neap/graph/graph.h"

namespace neap::check {

// What is wrong with `edited`, a line that names the operator; "": in real numbers it computes what
// `given` does, no exponential has an argument above 0, and masks are finite. Operators of `edited`
// with a source index are those of `given`; the others compute parts of given tensors and, from
// them, outputs of given products of softmax and values. Both graphs have passed graph::Verify().
// O(graph + bytes of constants).
std::string FindWrongKeyBlocks(const graph::Graph& given, const graph::Graph& edited);

}  // namespace neap::check
