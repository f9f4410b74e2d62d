// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/copies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "neap/base/random.h"
#include "testing/tile_layers.h"

namespace neap::cascade {
namespace {

using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;

std::int64_t SavedBy(const std::vector<WeightCopy>& copies) {
  std::int64_t sum = 0;
  for (const WeightCopy& copy : copies) sum += copy.saved_cycles;
  return sum;
}
std::int64_t BytesOf(const std::vector<WeightCopy>& copies) {
  std::int64_t sum = 0;
  for (const WeightCopy& copy : copies) sum += copy.bytes;
  return sum;
}

TEST(BestCopies, AgreeWithAllSubsets) {
  Random random(51);
  for (int round = 0; round < 300; ++round) {
    std::vector<WeightCopy> copies(random.Below(11));
    for (WeightCopy& copy : copies) {
      copy.bytes = random.Between(1, 40);
      copy.saved_cycles = random.Between(1, 40);
    }
    const std::int64_t free_bytes = random.Between(0, 160);
    std::int64_t most = 0;
    std::int64_t bytes = 0;
    for (std::size_t set = 0; set < std::size_t{1} << copies.size(); ++set) {
      std::int64_t saved = 0;
      std::int64_t taken = 0;
      for (std::size_t i = 0; i < copies.size(); ++i) {
        if ((set >> i & 1U) == 0) continue;
        saved += copies[i].saved_cycles;
        taken += copies[i].bytes;
      }
      if (taken > free_bytes || saved < most || (saved == most && taken >= bytes)) continue;
      most = saved;
      bytes = taken;
    }
    const auto best = BestCopies(copies, free_bytes);
    EXPECT_EQ(SavedBy(best), most);
    EXPECT_EQ(BytesOf(best), bytes);
    EXPECT_LE(BytesOf(best), free_bytes);
  }
}

struct Cut {
  Layers net;
  RegionPlan region;
  graph::Graph realised;
};

Cut InTiles(std::int64_t parts) {
  Cut cut;
  TensorId at = cut.net.Conv(cut.net.Input({1, 16, 16, 8}), 16, {{3, 3}});
  at = cut.net.Conv(at, 16, {{3, 3}});
  cut.net.Output(cut.net.Conv(at, 8, {{3, 3}}));
  cut.region = {cut.net.Ops(), {EvenSplit(1, 16, parts)}};
  const auto realised = Realise(cut.net.Graph(), {cut.region});
  EXPECT_TRUE(realised);
  if (realised) cut.realised = *realised;
  return cut;
}

Device SlowFlash() {
  Device device = *DeviceNamed("cortex-m7");
  device.memories[0].bytes = 64 << 10;
  device.memories[1].read_per_kilocycle = 250;  // a quarter of a byte a cycle
  return device;
}

TEST(CopiesThatPay, SaveWhatTheRealisedGraphTakesLess) {
  const Cut cut = InTiles(4);
  const Device device = SlowFlash();
  Cut whole = cut;
  const auto& realised = cut.realised.subgraphs[SubgraphId(0)];
  const auto copies = CopiesThatPay(whole.net.Main(), cut.region, realised, device);
  ASSERT_EQ(copies.size(), 3U);
  for (const WeightCopy& copy : copies) {
    EXPECT_EQ(copy.reads, 4);
    EXPECT_EQ(copy.tensors.size(), 2U) << "weights and biases";
    // Counted by hand: each of four readings at 0.25 and at 8 bytes a cycle, and one copy.
    const std::int64_t slow = 4 * copy.bytes;
    const std::int64_t fast = copy.bytes / 8;
    EXPECT_NEAR(static_cast<double>(copy.saved_cycles),
                static_cast<double>(4 * (slow - fast) - slow - fast), 16);
  }
}

TEST(CopiesThatPay, NotForOneReadingAndNotWithinOneMemory) {
  Cut cut = InTiles(4);
  const auto& tiled = cut.realised.subgraphs[SubgraphId(0)];
  // As it is, every weight is read once: a copy would be one reading more.
  EXPECT_TRUE(CopiesThatPay(cut.net.Main(), cut.region, cut.net.Main(), SlowFlash()).empty());
  Device one = SlowFlash();
  one.memories[0].holds_weights = true;
  EXPECT_TRUE(CopiesThatPay(cut.net.Main(), cut.region, tiled, one).empty());
}

TEST(FreeBytes, OfTheMemoryThatHoldsActivations) {
  EXPECT_EQ(FreeBytes(SlowFlash(), 1000), (64 << 10) - 1000);
  EXPECT_EQ(FreeBytes(SlowFlash(), 1 << 20), 0);
  Device unknown = SlowFlash();
  for (DeviceMemory& memory : unknown.memories) memory.bytes = 0;
  EXPECT_EQ(FreeBytes(unknown, 1000), 0) << "its size is unknown";
}

}  // namespace
}  // namespace neap::cascade
