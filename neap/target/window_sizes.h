// SPDX-License-Identifier: Apache-2.0
//
// What the size functions of kernel libraries read. Sizes are positive, below 2^24; products of
// theirs are computed in 64 bits and may be wrong above 2^62, which callers exclude.
#pragma once

#include <cstdint>

namespace neap::target {

struct Hw {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

// A convolution, depthwise or not.
struct Convolution {
  std::int64_t batches = 1;
  Hw in;
  std::int64_t in_channels = 1;
  Hw filter;
  Hw out;
  std::int64_t out_channels = 1;
  Hw stride;
  Hw dilation;
  Hw padding = {0, 0};  // above and to the left
};

}  // namespace neap::target
