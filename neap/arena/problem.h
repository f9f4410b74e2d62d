// SPDX-License-Identifier: Apache-2.0
//
// The placement problem (dynamic storage allocation), without a word of neural networks: give every
// buffer an offset so that no two buffers that are live at the same step share a byte, and the
// arena is as low as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neap::arena {

using BufferIndex = std::int32_t;
using Step = std::int32_t;

// Live in the half-open range of steps [first, last). An empty range overlaps nothing in time, but
// the arena still has to be tall enough for it.
struct Buffer {
  std::int64_t bytes = 0;
  Step first = 0;
  Step last = 0;
  std::int64_t alignment = 1;                // >= 1
  std::optional<std::int64_t> fixed_offset;  // must be placed exactly here
};

struct Problem {
  std::vector<Buffer> buffers;
};

struct Placement {
  std::vector<std::int64_t> offsets;  // one per buffer
  std::int64_t height_bytes = 0;      // max of offset + bytes
};

// What is wrong with a problem, in one line; nullopt when it is well-formed.
std::optional<std::string> Validate(const Problem& problem);

}  // namespace neap::arena
