// SPDX-License-Identifier: Apache-2.0
//
// Third part of the checker: why no order has a smaller peak. Works on the graph and the
// certificate alone; neither the planner's lowering nor its search is used, or may be linked here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "neap/check/bound_model.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::check {

// kCut: the bytes that are certainly live while `certificate.op` runs, plus the flow, are at least
// `bound_bytes`. nullopt when the certificate proves it, otherwise one line with the error. O(graph
// + certificate).
std::optional<std::string> RefuteCut(const graph::Subgraph& subgraph, const plan::Profile& profile,
                                     const plan::Certificate& certificate,
                                     std::int64_t bound_bytes);

enum class ReplayVerdict : std::uint8_t {
  kProven,      // searched again: no order has a peak below the bound
  kRefuted,     // an order with a smaller peak exists: the bound is wrong
  kGaveUp,      // more than max_states states
  kOutOfReach,  // too many operators, or the bound depends on operators inside control flow
  kNotASearch,  // the certificate is of another kind: nothing to replay
};

// "search": exhausts the orders below `bound_bytes` again, between the hourglass operators around
// `certificate.op`, in the direction of the certificate. A separate search, simpler than the
// planner's: forced operators, next-freed tensors where their conditions hold, commitment to
// cheapest states, a table of refuted states. Scratch of bodies is left out, so bounds that depend
// on it end in kRefuted only if the rest already allows less; that case is reported as kOutOfReach.
ReplayVerdict ReplaySearch(const BoundModel& model, const plan::Certificate& certificate,
                           std::int64_t bound_bytes, std::int64_t max_states, std::int64_t* states);

}  // namespace neap::check
