// SPDX-License-Identifier: Apache-2.0
//
// Facts about LiteRT's built-in kernels: how they register their outputs with its memory planner.
// Read from the registrations of the kernels and seen in the addresses that its interpreter gives.
// Operators of other formats have none of this.
#pragma once

#include "neap/graph/graph.h"

namespace neap::ops {

// The first output may have the address of one of the first `inputs` inputs.
struct LitertSharing {
  int inputs = 0;           // 0: never
  bool keeps_data = false;  // the bytes are the same: the input is still valid afterwards
  // The first output of a constant input is computed in the first run and kept from then on.
  bool keeps_output = false;
};
LitertSharing LitertSharingOf(const graph::Op& op);

// The first output is computed in the first run and kept from then on (weights that are stored
// packed): it has its bytes from the start to the end of all runs.
bool LitertKeepsOutput(const graph::Subgraph& subgraph, const graph::Op& op);

}  // namespace neap::ops
