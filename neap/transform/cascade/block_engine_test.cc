// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/block_engine.h"

#include <gtest/gtest.h>

#include <random>

#include "testing/cases.h"

namespace neap::cascade {
namespace {

std::int64_t Draw(std::mt19937_64* rng, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, to)(*rng);
}

EngineLayer RandomLayer(std::mt19937_64* rng) {
  EngineLayer layer;
  layer.height = Draw(rng, 1, 14);
  layer.width = Draw(rng, 1, 14);
  layer.depth = Draw(rng, 1, 50);
  layer.per_channel = Draw(rng, 0, 3) == 0;
  layer.in_depth = layer.per_channel ? layer.depth : Draw(rng, 1, 70);
  layer.kernel_height = Draw(rng, 1, 10);
  layer.kernel_width = Draw(rng, 1, 4);
  layer.stride_height = Draw(rng, 1, 3);
  layer.stride_width = Draw(rng, 1, 2);
  layer.dilation_height = Draw(rng, 1, 2);
  layer.in_height = layer.height * layer.stride_height;
  layer.in_width = layer.width * layer.stride_width;
  layer.input_element_bytes = Draw(rng, 1, 2);
  layer.output_millicycles = Draw(rng, 0, 3000);
  return layer;
}

BlockEngine RandomEngine(std::mt19937_64* rng) {
  BlockEngine engine;
  engine.macs_per_cycle = 1;
  engine.block_height = Draw(rng, 1, 2);
  engine.block_width = Draw(rng, 1, 3);
  engine.block_depth = Draw(rng, 1, 8);
  engine.weight_cycles = Draw(rng, 0, 40);
  engine.buffer_bytes = Draw(rng, 64, 12000);
  engine.input_granule_bytes = Draw(rng, 1, 512);
  engine.sums_granule_bytes = Draw(rng, 1, 512);
  engine.largest_height = Draw(rng, 2, 16);
  engine.largest_width = Draw(rng, 3, 16);
  engine.largest_depth = Draw(rng, 8, 64);
  return engine;
}

// A time in which each count has a weight of its own, as under memories of any speed.
struct Rates {
  std::int64_t cycles, input, weights;
  std::int64_t Of(const EngineWork& work) const {
    return cycles * work.cycles + input * work.input_bytes + weights * work.weight_reads;
  }
};

TEST(BlockEngine, ABlockOfTheListIsTheBestOfAllMultiplesOfTheUnit) {
  std::mt19937_64 rng(31);
  std::size_t compared = 0;
  for (int i = 0; i < Cases(2000); ++i) {
    const EngineLayer layer = RandomLayer(&rng);
    const BlockEngine engine = RandomEngine(&rng);
    Rates rates{};
    rates.cycles = Draw(&rng, 0, 9);
    rates.input = Draw(&rng, 0, 9);
    rates.weights = Draw(&rng, 0, 9000);
    std::int64_t best = -1;
    for (const EngineBlock& block : BlocksOf(layer, engine)) {
      const auto work = WorkOf(layer, engine, block);
      if (work && (best < 0 || rates.Of(*work) < best)) best = rates.Of(*work);
    }
    std::int64_t least = -1;
    for (auto h = engine.block_height; h <= engine.largest_height; h += engine.block_height) {
      for (auto w = engine.block_width; w <= engine.largest_width; w += engine.block_width) {
        for (auto d = engine.block_depth; d <= engine.largest_depth; d += engine.block_depth) {
          const auto work = WorkOf(layer, engine, {h, w, d});
          if (work && (least < 0 || rates.Of(*work) < least)) least = rates.Of(*work);
        }
      }
    }
    ASSERT_EQ(best, least) << i;
    if (least >= 0) ++compared;
  }
  EXPECT_GT(compared, static_cast<std::size_t>(Cases(2000)) / 3);
}

// Every element that a block needs, counted one by one.
TEST(BlockEngine, BytesOfTheInputAreThoseOfItsBlocks) {
  EngineLayer layer;
  layer.height = layer.width = 12;
  layer.depth = 32;
  layer.in_height = layer.in_width = 14;
  layer.in_depth = 24;
  layer.kernel_height = layer.kernel_width = 3;
  BlockEngine engine;
  engine.buffer_bytes = 1 << 20;
  const auto whole = WorkOf(layer, engine, {12, 12, 32});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->input_bytes, 14 * 14 * 24);
  EXPECT_EQ(whole->weight_reads, 1);
  // Four planes of 8 x 8, each for both halves of the channels.
  const auto parts = WorkOf(layer, engine, {6, 6, 16});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->input_bytes, 4 * 8 * 8 * 24 * 2);
  EXPECT_EQ(parts->weight_reads, 4);
  layer.per_channel = true;
  layer.in_depth = 32;
  EXPECT_EQ(WorkOf(layer, engine, {6, 6, 16})->input_bytes, 4 * 8 * 8 * 32);
}

TEST(BlockEngine, TwoBlocksOfInputAndSumsFit) {
  EngineLayer layer;
  layer.height = layer.width = layer.in_height = layer.in_width = 8;
  layer.depth = 8;
  layer.in_depth = 8;
  BlockEngine engine;
  engine.buffer_bytes = 2 * 8 * 8 * 8 + 2 * 8 * 8 * 8 * 4;
  EXPECT_TRUE(WorkOf(layer, engine, {8, 8, 8}));
  --engine.buffer_bytes;
  EXPECT_FALSE(WorkOf(layer, engine, {8, 8, 8}));
  EXPECT_TRUE(WorkOf(layer, engine, {4, 8, 8}));
}

// The pipeline: the output unit works on one block while the array computes the next.
TEST(BlockEngine, TheSlowerUnitDecides) {
  EngineLayer layer;
  layer.height = 4;
  layer.width = 2;
  layer.depth = 8;
  layer.in_depth = 32;
  BlockEngine engine;
  engine.block_width = 2;
  engine.buffer_bytes = 1 << 16;
  layer.output_millicycles = 1000;
  // Of a row: 4 cycles of the array, 16 of the output unit.
  EXPECT_EQ(WorkOf(layer, engine, {1, 2, 8})->cycles, 4 * 16 + 4);
  engine.weight_cycles = 32;
  EXPECT_EQ(WorkOf(layer, engine, {1, 2, 8})->cycles, 4 * 32 + 16);
  EXPECT_EQ(WorkOf(layer, engine, {4, 2, 8})->cycles, 64 + 32);
}

TEST(BlockEngine, HugeSizesDoNotOverflow) {
  EngineLayer layer;
  for (std::int64_t* const size :
       {&layer.height, &layer.width, &layer.depth, &layer.in_height, &layer.in_width,
        &layer.in_depth, &layer.kernel_height, &layer.kernel_width, &layer.stride_height}) {
    *size = std::int64_t{1} << 31;
  }
  layer.output_millicycles = 3000;
  BlockEngine engine;
  engine.buffer_bytes = 1 << 20;
  EXPECT_GT(WorkInOneBlock(layer, engine).cycles, 0);
  for (const EngineBlock& block : BlocksOf(layer, engine)) {
    const auto work = WorkOf(layer, engine, block);
    EXPECT_TRUE(!work || work->cycles > 0);
  }
}

}  // namespace
}  // namespace neap::cascade
