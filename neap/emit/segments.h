// SPDX-License-Identifier: Apache-2.0
//
// A plan to segments of calls. Private to neap/emit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/emit/emit.h"
#include "neap/emit/lowering.h"
#include "neap/emit/program.h"
#include "neap/plan/plan.h"

namespace neap::emit {

using Refusals = std::vector<Refusal>;

// Segments of an entry whose tensors are placed as a whole, and of a streamed one. Operators that
// cannot be emitted are added to *refusals, and the rest is lowered all the same.
Result<std::vector<Segment>> WholeSegments(const plan::EntryPlan& entry, Lowering* lowering,
                                           Refusals* refusals);
Result<std::vector<Segment>> StreamedSegments(const plan::EntryPlan& entry, Lowering* lowering,
                                              Refusals* refusals);

// The calls of operator `id`, or of its `output` alone; on failure none, and an element in
// *refusals.
std::vector<Call> LowerOrRefuse(Lowering* lowering, graph::OpId id, bool boxed, Refusals* refusals,
                                std::optional<std::size_t> output = std::nullopt);

// A tensor of the interface, without an address; a refusal where it is not of 8 bits.
Port PortOf(const graph::Subgraph& subgraph, graph::TensorId id, Refusals* refusals);

// kBadInput with a message that counts them, unless there are none. Sorts them by operator.
Status RefusedStatus(Refusals* refusals, std::size_t num_operators);

}  // namespace neap::emit
