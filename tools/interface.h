// SPDX-License-Identifier: Apache-2.0
//
// --integer-io: conversions at the ends of a model that its caller runs (neap/deliver/interface.h).
#pragma once

#include <vector>

#include "neap/graph/graph.h"
#include "neap/show/report/report.h"

namespace neap::tools {

// The interface of the given model for a caller that runs its `caller_ops`.
std::vector<report::InterfaceChange> InterfaceChanges(const graph::Graph& given,
                                                      const std::vector<graph::OpId>& caller_ops);

}  // namespace neap::tools
