// SPDX-License-Identifier: Apache-2.0
//
// Plans with two memories (plan::SlowMemory): segments and homes of tensors with the fewest bytes
// read from and written to slow memory, in an arena of limited size.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/transform/stream/stream.h"

namespace neap::stream {

// Every pixel is computed once; pixels in slow memory may be read several times. The arena of the
// result exceeds `fast_bytes` only where this search knows no plan that does not; then it is the
// smallest that it knows. `cut_short`: as Planned::cut_short. Fails as PlanStream().
Result<Candidate> PlanSpilled(const graph::Graph& graph, graph::SubgraphId subgraph,
                              const std::vector<graph::OpId>& order, const SearchOptions& options,
                              std::int64_t fast_bytes, bool* cut_short);

}  // namespace neap::stream
