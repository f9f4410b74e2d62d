// SPDX-License-Identifier: Apache-2.0
//
// Which rows and columns the operators of a segment compute in which step.
//
// The segment's output (its driver) advances by a fixed number of rows a step; every tensor before
// it computes only the rows that this needs. Progress may be a fraction of a row, so that tensors
// with more rows advance by single ones. The rule is extrapolated to before the driver's first row,
// so that the lanes begin step by step. Columns go the same way.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

// What is read from slow memory is read one step before it is used, while the step before computes.
enum class Ahead : std::uint8_t { kNot, kColumns, kRows };

// The streamed nodes and their parameters.
struct SegmentChoice {
  int first = 0;  // nodes [first, last)
  int last = 0;
  bool whole = false;       // one node, as a whole
  bool by_channel = false;  // a whole, channel by channel, its output in place of its input
  // Rows and columns of the driver a step, as fractions.
  std::int64_t row_block = 1;
  std::int64_t row_parts = 1;
  std::int64_t column_block = 1;
  std::int64_t column_parts = 1;
  // Images whose rows are computed again where they are needed again, in steps before `switch_step`
  // of 256ths of all steps; afterwards they are kept.
  std::vector<int> recomputed;
  int switch_step = 256;
  // Nodes that run although they are outside of [first, last): nodes that an earlier segment
  // computed without storing the result, in order, before the others.
  std::vector<int> again;
  Ahead ahead = Ahead::kNot;

  friend bool operator==(const SegmentChoice&, const SegmentChoice&) = default;
  friend bool operator<(const SegmentChoice& a, const SegmentChoice& b) {
    const auto fields = [](const SegmentChoice& c) {
      return std::tie(c.first, c.last, c.whole, c.by_channel, c.row_block, c.row_parts,
                      c.column_block, c.column_parts, c.recomputed, c.switch_step, c.again,
                      c.ahead);
    };
    return fields(a) < fields(b);
  }
};

// One node of a segment.
struct Lane {
  int node = -1;   // -1: the rows of `image` are fed, or its boxes are read from slow memory
  int image = -1;  // the computed boxes
  std::vector<plan::StreamRange> rows;
  std::vector<plan::StreamRange> columns;
  bool recomputed = false;
  bool ahead = false;  // read from slow memory in the step before the one that it is for
};

// The image of which the boxes of `lane` are parts.
const plan::StreamImage& BoxesOf(const Network& network, const Lane& lane);

struct BlockSchedule {
  std::vector<Lane> lanes;  // in the order in which they run
  std::size_t row_steps = 0;
  std::size_t column_steps = 0;
  // From this row step on, rows of recomputed images are kept; row_steps: never.
  std::size_t switch_row = 0;
  std::vector<int> drivers;  // images that the segment leaves
  // Images without consumers, which advance like drivers and are not kept; only beside drivers.
  std::vector<int> unread;
  std::vector<int> dying;  // images stored before and not after
  std::vector<int> held;   // images stored before and after
  std::int64_t macs = 0;
  std::int64_t cycles = 0;
  std::int64_t read_bytes = 0;     // from slow memory
  std::int64_t written_bytes = 0;  // to slow memory
  std::int64_t ahead_bytes = 0;    // of those read
  bool valid = false;              // false: these nodes cannot be streamed together
};

// The live tensors at position `at` of the order (before node `at`), without inputs that are not
// stored.
std::vector<int> LiveAt(const Network& network, int at);
// Bytes of that for each position up to the end of the order; of inputs where they are resident.
std::vector<std::int64_t> BytesBetween(const Network& network, plan::StreamInput input);

// The columns of the lanes of some nodes, which do not depend on the rows.
struct ColumnCache {
  int first = 0;
  int last = 0;
  // By column_block and column_parts.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::vector<plan::StreamRange>>>
      ranges;
};

// `cache` is one of this network and this input; schedules of the same nodes one after the other
// take less time with it.
BlockSchedule MakeBlockSchedule(const Network& network, const SegmentChoice& choice,
                                plan::StreamInput input, ColumnCache* cache = nullptr);

// Rows of a lane that is not a driver are read in more than one step: by windows and, with `again`,
// by nodes that recompute their rows.
bool HasRowsToKeep(const Network& network, const BlockSchedule& schedule, const Lane& lane,
                   bool again);

}  // namespace neap::stream
