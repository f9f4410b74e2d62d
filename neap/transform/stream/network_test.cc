// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/network.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/transform/stream/rates.h"

namespace neap::stream {
namespace {

std::vector<plan::StreamRange> RandomRanges(Random* random) {
  std::vector<plan::StreamRange> ranges;
  std::int64_t at = 0;
  for (std::int64_t n = random->Between(0, 6); n > 0; --n) {
    const std::int64_t size = random->Between(0, 4);
    ranges.push_back({at, at + size});
    at += size;
  }
  return ranges;
}

// Box by box, as neap_rt goes through them.
TEST(Network, CountsOfBoxesAreThoseOfTheEngine) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto rows = RandomRanges(&random);
    const auto columns = RandomRanges(&random);
    BoxCounts expected;
    for (const plan::StreamRange& row : rows) {
      for (const plan::StreamRange& column : columns) {
        if (row.empty() || column.empty()) continue;
        ++expected.boxes;
        expected.pixels += row.size() * column.size();
        for (std::int64_t y = row.first; y < row.last;) {
          const bool pair = column.size() == 1 && y + 1 < row.last;
          ++expected.calls;
          if (!pair) expected.single += column.size() % 2;
          y += pair ? 2 : 1;
        }
      }
    }
    const BoxCounts counts = CountBoxes(rows, columns);
    ASSERT_EQ(counts.boxes, expected.boxes) << i;
    ASSERT_EQ(counts.pixels, expected.pixels) << i;
    ASSERT_EQ(counts.calls, expected.calls) << i;
    ASSERT_EQ(counts.single, expected.single) << i;
  }
}

TEST(Network, RatesOfProcessors) {
  EXPECT_EQ(RatesOf(Processor::kCortexM7).each[0].Of(7), 10);
  EXPECT_EQ(RatesOf(Processor::kCortexM7).call[1], 0);
  for (const Processor processor : {Processor::kCortexM4Dsp, Processor::kCortexM55Mve}) {
    const Rates& rates = RatesOf(processor);
    // A pixel alone takes more than one of two, and a box more than its products.
    EXPECT_GT(rates.single[0].Of(100), 0);
    EXPECT_GT(rates.call[2], rates.box);
  }
}

}  // namespace
}  // namespace neap::stream
