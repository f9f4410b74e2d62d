// SPDX-License-Identifier: Apache-2.0
//
// The checker's own lower bound of streamed plans in which each row of a tensor has a progress of
// its own. Private to the checker of streamed plans.
#pragma once

#include <cstdint>

#include "neap/check/stream_pixels.h"

namespace neap::check {

// As BytesAtPixels(), but the progress of a tensor is a set of pixels, not their number: in each
// row those before some column, in no row more than in the row above, and where a row is not
// complete none `block_rows` rows below it. Boxes of at most `block_rows` rows make such sets. The
// minimum over all of them is one cut. Pixels in rows far from those that an event needs or allows
// do not count. Only for tensors of few pixels; otherwise `known`. `start`: an event to begin with.
std::int64_t BytesAtRows(const graph::Subgraph& subgraph, const PixelPlans& plans,
                         std::int64_t known, std::int64_t enough, const PixelMoment& start);

}  // namespace neap::check
