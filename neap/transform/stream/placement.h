// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a segment: [tensors within a block][rows kept for later row steps][segment output,
// growing][segment inputs, shrinking][tensors that only pass through]. Exact: the number of stored
// pixels of each tensor, and the distance between the growing output and the shrinking inputs, are
// computed from the steps themselves, block by block.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/block_schedule.h"

namespace neap::stream {

// Of the offset of sums.
inline constexpr std::int64_t kSumAlignment = 4;

struct Placed {
  int image = -1;
  std::vector<plan::StreamRing> rings;
  std::int64_t columns = 1;  // plan::StreamArea::columns
};

struct SegmentPlacement {
  std::int64_t bytes = 0;  // height
  // Of a ring, which may be none of the segment's own: kept and dropped within a block, kept
  // longer.
  std::int64_t block_bytes = 0;
  std::int64_t kept_bytes = 0;
  std::vector<Placed> lanes;  // rings of the schedule's lanes, drivers included
  // The places of recomputed images from BlockSchedule::switch_row on.
  std::vector<Placed> later;
  std::vector<Placed> planes;     // shrinking, then kept whole
  std::size_t dying = 0;          // how many of them shrink
  std::int64_t plane_offset = 0;  // of one channel (PlaceChannels)
};

// `schedule` is valid. O(steps of the rows x (steps of the columns + lanes x rows)). `reversed`:
// the shrinking inputs are in the reverse order, the smallest that streams lowest.
SegmentPlacement PlaceSegment(const Network& network, const BlockSchedule& schedule,
                              bool reversed = false);

// The placement of one node that runs as a whole at position `node`: no lanes but its outputs, in
// place where it may.
SegmentPlacement PlaceWhole(const Network& network, int node, plan::StreamInput input);

// Channel by channel, the output in place of the input, a plane of one channel below. bytes 0: it
// cannot run so, or its input has to stay.
SegmentPlacement PlaceChannels(const Network& network, int node, plan::StreamInput input);

}  // namespace neap::stream
