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
      }
    }
    const BoxCounts counts = CountBoxes(rows, columns);
    ASSERT_EQ(counts.boxes, expected.boxes) << i;
    ASSERT_EQ(counts.pixels, expected.pixels) << i;
  }
}

TEST(Network, RatesOfTheCycleModel) {
  EXPECT_EQ(RatesOf().each[0].Of(7), 10);
  EXPECT_EQ(RatesOf().box, 150);
}

}  // namespace
}  // namespace neap::stream
