// SPDX-License-Identifier: Apache-2.0
//
// Boxes of the operators of streamed plans.
#pragma once

#include <vector>

#include "neap/plan/stream.h"

namespace neap::plan {

// Boxes of every combination of `rows` and `columns`.
struct StreamBoxes {
  std::vector<StreamRange> rows;
  std::vector<StreamRange> columns;
};

// The boxes of a segment with one operator as one box, where its pixels have the same order, which
// decides whether an output may overwrite its input: fewer calls of kernels, on longer rows.
StreamBoxes JoinedBoxes(StreamBoxes boxes);

}  // namespace neap::plan
