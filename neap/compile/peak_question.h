// SPDX-License-Identifier: Apache-2.0
//
// A cheaper query than FindPeak(), for architecture searches: is the peak below a number?
#pragma once

#include <cstdint>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::compile {

// FindPeak() of the exact order that ends as soon as it is known whether an order has a peak below
// `below_bytes`: then either peak_bytes is below it, or lower_bound_bytes is not (0: no query;
// graphs with bodies are always searched for the minimum peak). All numbers are valid, and often
// far apart. Fails as FindPeak().
Result<PeakOfOrder> FindPeakBelow(const graph::Graph& graph, const Options& options,
                                  bool exact_bytes, std::int64_t below_bytes);

}  // namespace neap::compile
