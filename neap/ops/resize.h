// SPDX-License-Identifier: Apache-2.0
//
// Where RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::ops {

struct Resize {
  bool nearest = false;
  bool whole_numbers = false;  // places in units of 1/1024 instead of in single precision
  bool align_corners = false;
  bool half_pixel_centers = false;
};
// nullopt: `op` is none of the two, its images are not as they should be, or in single precision so
// large (above 2048) that rounding could be off by more than is allowed for.
std::optional<Resize> ResizeOf(const graph::Subgraph& subgraph, const graph::Op& op);

// A lower bound of the index that each of `out` rows (or columns) reads among `in`, exact but where
// single precision might round a place down to the index before. By exact arithmetic.
std::vector<std::int64_t> LowestIndices(const Resize& resize, std::int64_t in, std::int64_t out);
// An upper bound of the same indices: exact but where a place might be rounded up to the index
// after.
std::vector<std::int64_t> LatestIndices(const Resize& resize, std::int64_t in, std::int64_t out);

// Of an `op` that ResizeOf() knows: a lower bound of the distance by which its output has to start
// below the image that it reads. OverlapRuleOf() (overlap.h) returns a sufficient distance, which
// is equal or larger: the two round single precision in opposite directions.
std::int64_t LeastResizeDistance(const graph::Subgraph& subgraph, const graph::Op& op);

}  // namespace neap::ops
