// SPDX-License-Identifier: Apache-2.0
//
// The checker's own lower bound of streamed plans, pixel by pixel, with skips and branches. Private
// to the checker of streamed plans.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/stream.h"

namespace neap::check {

// How operators run in the plans that the bound ranges over.
struct PixelPlans {
  plan::StreamInput input = plan::StreamInput::kResident;
  std::vector<graph::OpId> order;                      // each operator once, topological
  IdVector<graph::TensorId, std::int64_t> block_rows;  // most rows of a block
};

// The last pixel, in row-major order, that is computed at the moment of a bound.
struct PixelMoment {
  graph::TensorId tensor;  // TensorId(): none
  std::int64_t row = 0;
  std::int64_t column = 0;
};

// When an operator computes a pixel, every other tensor has some progress, limited from below by
// its consumers and from above by its inputs. The minimum of the live bytes over all progress is
// the minimum of a cut. An interval of progress counts the minimum of its bytes; intervals are
// divided at the minimum. The largest such minimum over some pixels of each operator, if above
// `known`; the search ends at `enough`. Work is limited by a count.
// `moment`: that of a result above `known`.
std::int64_t BytesAtPixels(const graph::Subgraph& subgraph, const PixelPlans& plans,
                           std::int64_t known, std::int64_t enough, PixelMoment* moment);

}  // namespace neap::check
