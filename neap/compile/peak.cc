// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "neap/compile/compile.h"
#include "neap/compile/measured.h"
#include "neap/compile/order.h"
#include "neap/compile/peak_question.h"

namespace neap::compile {

Result<PeakOfOrder> FindPeak(const graph::Graph& graph, const Options& options, bool exact_bytes) {
  return FindPeakBelow(graph, options, exact_bytes, 0);
}

Result<PeakOfOrder> FindPeakBelow(const graph::Graph& graph, const Options& options,
                                  bool exact_bytes, std::int64_t below_bytes) {
  plan::Profile profile = plan::ProfileOf(options.runtime, *options.target);
  if (exact_bytes) profile.alignment = 1;
  NEAP_TRY(const Measured measured, Measure(graph, profile));
  NEAP_TRY(SubgraphOrders found,
           OrderSubgraphs(measured.merged(), measured.sizes, measured.file_orders, profile, options,
                          below_bytes));
  PeakOfOrder peak;
  for (const graph::SubgraphId entry : graph::EntrySubgraphs(measured.merged())) {
    peak.peak_bytes = std::max(peak.peak_bytes, found.proofs[entry].peak_bytes);
    peak.lower_bound_bytes =
        std::max(peak.lower_bound_bytes, found.proofs[entry].lower_bound_bytes);
    peak.states += found.proofs[entry].states;
  }
  peak.order = std::move(found.orders[graph::SubgraphId(0)]);
  return peak;
}

}  // namespace neap::compile
