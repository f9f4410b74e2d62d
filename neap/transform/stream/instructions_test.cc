// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/instructions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/plan/stream_boxes.h"
#include "testing/cases.h"

namespace neap::stream {
namespace {

using plan::StreamRange;
using plan::StreamRing;

std::vector<StreamRange> Blocks(std::int64_t size, std::int64_t block) {
  std::vector<StreamRange> blocks;
  for (std::int64_t at = 0; at < size; at += block) {
    blocks.push_back({at, std::min(size, at + block)});
  }
  return blocks;
}

// A 3x3 convolution of padded input.
KernelShape Padded() {
  KernelShape shape;
  shape.kernel = Kernel::kConvolution;
  shape.taps_high = shape.taps_wide = 3;
  shape.pad_y = shape.pad_x = 1;
  shape.rows = shape.in_height = 10;
  shape.columns = shape.in_width = 8;
  shape.inputs = 1;
  shape.channels = 32;
  return shape;
}

TEST(Instructions, EventsOfRowsAndEdges) {
  // Of 8 rows inside, the first pixel and the next one are a pair, then come a run of 5 pixels and
  // the last pixel. The pixels of the other two rows are pairs with taps of their own.
  const Events events = EventsOf(Processor::kCortexM4Dsp, Padded(), Blocks(10, 10), Blocks(8, 8));
  EXPECT_EQ(events[0], 1);    // boxes
  EXPECT_EQ(events[1], 10);   // rows
  EXPECT_EQ(events[3], 32);   // calls of the kernel: 8 * 3 + 2 * 4
  EXPECT_EQ(events[6], 16);   // runs: 8 * 2
  EXPECT_EQ(events[9], 32);   // edges: 8 * 2 + 2 * 8
  EXPECT_EQ(events[14], 32);  // pairs: 8 * 3 + 2 * 4
  EXPECT_EQ(events[15], 16);  // singles: 8 * 2
}

TEST(Instructions, BoxesOfOneColumnGoByTwoRows) {
  const Events events = EventsOf(Processor::kCortexM4Dsp, Padded(), Blocks(10, 10), Blocks(8, 1));
  EXPECT_EQ(events[0], 8);
  EXPECT_EQ(events[1], 40);
  EXPECT_EQ(events[2], 40);
  EXPECT_EQ(events[14], 40);
  EXPECT_EQ(events[15], 0);
}

// Rows that are alike are counted once; with rings that never end each one is gone through.
TEST(Instructions, RingsOfAllPixelsChangeNothing) {
  Random random(27);
  for (int i = 0; i < Cases(400); ++i) {
    KernelShape shape;
    shape.kernel = random.Chance(1, 2) ? Kernel::kConvolution : Kernel::kDepthwise;
    shape.taps_high = random.Between(1, 4);
    shape.taps_wide = random.Between(1, 4);
    shape.stride_y = random.Between(1, 2);
    shape.stride_x = random.Between(1, 2);
    shape.pad_y = random.Between(0, shape.taps_high - 1);
    shape.pad_x = random.Between(0, shape.taps_wide - 1);
    shape.in_height = random.Between(shape.taps_high, 12);
    shape.in_width = random.Between(shape.taps_wide, 12);
    shape.rows = (shape.in_height + shape.pad_y - shape.taps_high) / shape.stride_y + 1;
    shape.columns = (shape.in_width + shape.pad_x - shape.taps_wide) / shape.stride_x + 1;
    shape.inputs = shape.kernel == Kernel::kDepthwise ? 1 : random.Between(1, 20);
    shape.channels = random.Between(1, 40);
    const std::vector<StreamRange> rows = Blocks(shape.rows, random.Between(1, shape.rows));
    const std::vector<StreamRange> columns =
        Blocks(shape.columns, random.Between(1, shape.columns));
    const std::vector<StreamRing> to = {{0, shape.rows * shape.columns}};
    const std::vector<StreamRing> from = {{0, shape.in_height * shape.in_width}};
    for (const Processor processor : {Processor::kCortexM4Dsp, Processor::kCortexM55Mve}) {
      const Events alike = EventsOf(processor, shape, rows, columns);
      ASSERT_EQ(EventsOf(processor, shape, rows, columns, {to, from}), alike) << i;
    }
  }
}

TEST(Instructions, EveryCountedKernelHasRates) {
  Events one = {};
  std::fill(one.begin(), one.end(), 1);
  for (std::size_t i = 0; i < kKernels; ++i) {
    for (const Processor processor : {Processor::kCortexM4Dsp, Processor::kCortexM55Mve}) {
      EXPECT_GT(InstructionsOf(processor, static_cast<Kernel>(i), one), 100)
          << NameOf(static_cast<Kernel>(i));
    }
  }
  EXPECT_EQ(InstructionsOf(Processor::kCortexM4Dsp, Kernel::kNothing, one), 0);
}

TEST(Instructions, BoxesOfOneOperatorAreJoined) {
  const auto boxes = plan::JoinedBoxes({{{0, 1}, {1, 2}, {2, 2}}, {{0, 3}, {3, 8}}});
  EXPECT_EQ(boxes.rows, (std::vector<StreamRange>{{0, 2}}));
  EXPECT_EQ(boxes.columns, (std::vector<StreamRange>{{0, 8}}));
  // Joined, the pixels would have another order.
  const auto two = plan::JoinedBoxes({{{0, 2}, {2, 4}}, {{0, 3}, {3, 8}}});
  EXPECT_EQ(two.rows.size(), 2U);
  EXPECT_EQ(two.columns.size(), 2U);
}

}  // namespace
}  // namespace neap::stream
