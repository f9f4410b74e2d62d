// SPDX-License-Identifier: Apache-2.0
//
// The bound of whole networks, pixel by pixel. Private to the bound.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

// The moment of a bound: a pixel of an image is computed.
struct BoundMoment {
  int image = -1;  // none
  std::int64_t pixel = 0;
};

// Bytes that every plan has in its arena at some moment, of those that compute every pixel once, in
// blocks of at most `heights` rows (by image). A lower bound that is not above `known` is not
// worth finding, nor a larger one than `enough`: the result is then at least 0 or at least
// `enough`.
//
// A moment is the one at which an operator computes a given pixel. Every plan passes it with some
// progress of all other tensors. The minimum of the live bytes over that progress is a minimum cut:
// progress beyond a pixel costs its bytes and needs the operator's inputs; bytes are gained where
// every consumer is far enough. It is computed for intervals of progress, which are divided where
// the minimum is until it is exact. Halos, skips and branches count. The moments with the largest
// minimum are searched for; each is a bound, also where a limit ends the search.
// `found`: that of the result, where it is larger than `known`.
std::int64_t BoundOfMoments(const Network& network, plan::StreamInput input,
                            const std::vector<std::int64_t>& heights, std::int64_t known,
                            std::int64_t enough, BoundMoment* found);

}  // namespace neap::stream
