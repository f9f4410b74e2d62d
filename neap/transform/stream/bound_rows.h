// SPDX-License-Identifier: Apache-2.0
//
// The bound of networks with small images, in which every row has a progress of its own. Private to
// the bound.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/bound_moments.h"

namespace neap::stream {

// As BoundOfMoments, at the same moments. There the progress of a tensor is a count of pixels; in
// blocks of several rows these may be any of several sets, and every constraint takes the one that
// is the best for it. Here the progress is a set of pixels: of each row the columns before some
// one, which never grows from a row to the next one, and at most `heights` rows are not complete.
// One such set is valid for all constraints, so that the bound is larger. Running sums count, too.
//
// The minimum over all sets is a closure of pixels. Rows that are far from those that the moment
// needs or allows are left out: their bytes do not count. The work is limited; where the pixels
// around a moment are too many, the result is `known`.
// `start`: a moment to begin with.
std::int64_t BoundOfRows(const Network& network, plan::StreamInput input,
                         const std::vector<std::int64_t>& heights, std::int64_t known,
                         std::int64_t enough, const BoundMoment& start);

}  // namespace neap::stream
