// SPDX-License-Identifier: Apache-2.0
//
// Which segments, and how. Every stretch of the order that can be streamed is laid out for real, in
// several block sizes, and where it helps with rows computed again; the plans put together from
// these are searched exactly: for every arena the one of minimum cost.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "neap/transform/stream/block_schedule.h"
#include "neap/transform/stream/options.h"
#include "neap/transform/stream/placement.h"

namespace neap::stream {

// A plan: its segments cover the order.
struct Point {
  std::int64_t bytes = 0;
  std::int64_t macs = 0;
  std::int64_t cycles = 0;
  std::vector<SegmentChoice> segments;
};

struct Front {
  std::vector<Point> points;  // fewer bytes, higher cost; several of equal bytes and cost
  std::int64_t placements = 0;
  bool cut_short = false;  // a limit ended the search before all was tried
};

// The costs of segments, shared by searches of one network for several objectives.
struct Price {
  bool streams = false;  // false: these nodes cannot be streamed together
  std::int64_t bytes = 0;
  std::int64_t macs = 0;
  std::int64_t cycles = 0;
};
using Prices = std::map<SegmentChoice, Price>;

// Bytes are those of the segments alone: copies of tensors between them may need more where their
// order changes (Assemble()). Empty where the input cannot be provided as requested. `prices` are
// those of this network and this input; new ones are added, and results do not depend on its
// contents. Segments whose plans all exceed `most_macs` multiply-accumulates because they compute
// rows again are not tried.
Front Search(const Network& network, const SearchOptions& options, std::int64_t most_macs,
             Prices* prices);

}  // namespace neap::stream
