// SPDX-License-Identifier: Apache-2.0
//
// A key that is equal for graphs that differ in names only. Private to neap/batch.
#pragma once

#include <string>

#include "neap/graph/graph.h"
#include "neap/plan/profile.h"

namespace neap::batch {

// SHA-256 (hex) of everything in a graph that a plan could depend on: types and shapes of tensors,
// operators with their types, attributes and connections in the order of the file, control flow,
// entry points, and the profile. Not: names, and the contents of constants. In graph JSON, where
// the type of an operator is its name and means nothing, that is left out too.
std::string StructureKey(const graph::Graph& graph, plan::Runtime runtime);

}  // namespace neap::batch
