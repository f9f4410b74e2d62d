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

// "cut": what certainly is live while `certificate.op` runs, plus the flow, is at least
// `bound_bytes`. nullopt when the certificate proves it, otherwise what is wrong, in one line.
// O(graph + certificate).
std::optional<std::string> RefuteCut(const graph::Subgraph& subgraph, const plan::Profile& profile,
                                     const plan::Certificate& certificate,
                                     std::int64_t bound_bytes);

enum class ReplayVerdict : std::uint8_t {
  kProven,      // searched again: no order has a peak below the bound
  kRefuted,     // an order with a smaller peak exists: the bound is wrong
  kGaveUp,      // more than max_states states
  kOutOfReach,  // too many operators, or the bound rests on what runs inside control flow
  kNotASearch,  // the certificate is of another kind: nothing to replay
};

// "search": exhausts the orders below `bound_bytes` once more, between the hourglass operators
// around `certificate.op`, in the direction of the certificate. A search of its own, plainer than
// the planner's: forced operators, next-freed tensors where their conditions hold, a table of
// refuted states. Working memory of bodies is left out, so bounds that rest on it end in kRefuted
// only if the rest already allows less, which is then reported as kOutOfReach.
ReplayVerdict ReplaySearch(const BoundModel& model, const plan::Certificate& certificate,
                           std::int64_t bound_bytes, std::int64_t max_states, std::int64_t* states);

}  // namespace neap::check
