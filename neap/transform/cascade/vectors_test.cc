// SPDX-License-Identifier: Apache-2.0
//
// Results of TVM's cascader for whole networks: bounds of its proposals, arenas of its tests. Its
// numbers are limits: fronts here reach from the original graph to less than its minimum.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "neap/base/random.h"
#include "neap/transform/cascade/region_search.h"
#include "testing/stripes.h"
#include "testing/tile_layers.h"

namespace neap::cascade {
namespace {

using graph::TensorId;

struct Bytes {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::size_t plans = 0;
};

// Of all combinations that none other dominates.
Bytes FrontOf(Layers net, const Rules& rules, std::int64_t max_tiles = 64) {
  RegionSearch search(net.Main(), net.Ops(), rules, {{24, max_tiles}});
  const auto front = search.Run([](std::size_t, std::size_t) { return true; });
  Bytes bytes;
  bytes.plans = front.size();
  bytes.least = front.front().cost.bytes;
  for (const Combination& combination : front) {
    bytes.least = std::min(bytes.least, combination.cost.bytes);
    bytes.most = std::max(bytes.most, combination.cost.bytes);
  }
  return bytes;
}

// Slices are copies, a concatenation has its parts and the whole at once.
Rules Copying() {
  Rules rules;
  rules.alignment = 1;
  return rules;
}
// Whole rows are where they belong.
Rules InPlace() {
  Rules rules;
  rules.alignment = 16;
  rules.kernels = ops::KernelLibrary::kCopies;
  return rules;
}

TensorId MobileNetV1(Layers* net, int blocks) {
  struct Block {
    std::int64_t channels;
    std::int64_t stride;
  };
  constexpr Block kBlocks[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                               {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                               {512, 1}, {1024, 2}, {1024, 1}};
  TensorId at = net->Conv(net->Input({1, 224, 224, 3}), 32, {{3, 3}, {2, 2}});
  for (int b = 0; b < blocks; ++b) {
    at = net->Depthwise(at, {{3, 3}, {kBlocks[b].stride, kBlocks[b].stride}});
    at = net->Conv(at, kBlocks[b].channels, {});
  }
  return at;
}

// Every limit of the grids leaves something out, and nothing else does.
TEST(Vectors, GridsWithinTheLimitsAreTried) {
  Layers net;
  TensorId x = net.Input({1, 16, 16, 3});
  x = net.Conv(x, 8, {.kernel = {3, 3}});
  net.Output(net.Conv(x, 4, {.kernel = {3, 3}}));
  const auto searched = [&](const Rules& rules, const Grids& grids) {
    RegionSearch search(net.Main(), net.Ops(), rules, {grids});
    search.Run([](std::size_t, std::size_t) { return true; });
    return search.Searched();
  };
  const std::int64_t copying = searched(Copying(), {});
  EXPECT_GT(copying, 0);
  EXPECT_LT(searched(InPlace(), {}), copying);
  EXPECT_EQ(searched(InPlace(), {.all = true}), copying);
  EXPECT_GT(searched(Copying(), {.max_aspect = 16}), copying);
  EXPECT_LT(searched(Copying(), {.max_aspect = 1}), copying);
  EXPECT_LT(searched(Copying(), {.max_tiles = 8}), copying);
  EXPECT_LT(searched(Copying(), {.max_operators = 1}), copying);
}

TEST(Proposals, TwoConvolutions) {
  Layers net;
  const TensorId middle = net.Conv(net.Input({1, 12, 12, 8}), 32, {});
  net.Output(net.Conv(middle, 16, {{3, 3}}));
  for (const Rules& rules : {Copying(), InPlace()}) {
    const Bytes bytes = FrontOf(net, rules);
    EXPECT_EQ(bytes.most, 12 * 12 * 32 + 12 * 12 * 16);
    EXPECT_LT(bytes.most, 11'700);
    EXPECT_GT(bytes.least, 3'700);
    EXPECT_GT(bytes.plans, 1U);
  }
}

TEST(Proposals, MobileNetV1) {
  Layers start;
  start.Output(MobileNetV1(&start, 4));
  const Bytes first = FrontOf(start, Copying(), 16);
  EXPECT_GT(first.least, 200'000);
  EXPECT_LT(first.most, 1'300'000);
  EXPECT_GT(first.plans, 5U);
  Layers whole;
  whole.Output(MobileNetV1(&whole, 13));
  const Bytes all = FrontOf(whole, Copying(), 16);
  // Pairs of a pointwise and a depthwise convolution, channel by channel, need no more work.
  EXPECT_EQ(all.most, 112 * 112 * (32 + 32));
  EXPECT_GT(all.least, 200'000);
  // The least that TVM's model of memory reaches with stripes along one axis.
  EXPECT_LT(all.least, 433'728);
}

TEST(Proposals, TheDiamondOfMobileNetV2) {
  Layers net;
  const TensorId narrow = net.Conv(net.Input({1, 56, 56, 96}), 24, {});
  TensorId wide = net.Conv(narrow, 144, {});
  wide = net.Depthwise(wide, {{3, 3}});
  net.Output(net.Add(net.Conv(wide, 24, {}), narrow));
  const Bytes bytes = FrontOf(net, Copying(), 16);
  // TVM cannot go below the sum of the whole input and the first output.
  EXPECT_LE(bytes.least, 56 * 56 * (96 + 24));
  EXPECT_EQ(bytes.most, 56 * 56 * (24 + 144 + 144));
  EXPECT_LT(bytes.most, 990'000);
}

// Two convolutions of which the second skips most of the output of the first: 4,064 bytes beside
// input and output on the smallest Ethos-U55.
TEST(Proposals, TwoConvolutionsOnALargeImage) {
  Layers net;
  const TensorId input = net.Input({1, 321, 212, 6});
  const TensorId middle = net.Conv(input, 10, {{3, 2}, {1, 1}, {2, 2}, false});
  const TensorId output = net.Conv(middle, 3, {{1, 1}, {3, 2}, {1, 1}, false});
  net.Output(output);
  EXPECT_EQ(net.BytesOf(middle), 317 * 210 * 10);
  const Bytes bytes = FrontOf(net, InPlace(), 128);
  // Rows that the second one skips are not computed: to run the first as a whole is worse in all.
  EXPECT_LT(2 * bytes.most, net.BytesOf(input) + net.BytesOf(middle));
  EXPECT_LE(bytes.least, net.BytesOf(input) + net.BytesOf(output) + 4'064);
}

// Dominance as the reference states it: a cost goes if some other is less in one respect and no
// more in all.
TEST(Pareto, AgreesWithTheDefinition) {
  struct Item {
    Cost cost;
  };
  Random random(41);
  for (int round = 0; round < 200; ++round) {
    std::vector<Item> items;
    const auto count = random.Between(1, 60);
    for (std::int64_t i = 0; i < count; ++i) {
      items.push_back({{random.Between(0, 12), random.Between(0, 12), random.Between(0, 3)}});
    }
    std::vector<Cost> expected;
    for (const Item& a : items) {
      const bool beaten = std::any_of(items.begin(), items.end(), [&](const Item& b) {
        return b.cost.bytes <= a.cost.bytes && b.cost.macs <= a.cost.macs &&
               b.cost.kept_bytes <= a.cost.kept_bytes && !(a.cost == b.cost);
      });
      const bool known = std::find(expected.begin(), expected.end(), a.cost) != expected.end();
      if (!beaten && !known) expected.push_back(a.cost);
    }
    std::vector<Item> kept = items;
    KeepUndominated(&kept);
    ASSERT_EQ(kept.size(), expected.size());
    for (const Item& item : kept) {
      EXPECT_NE(std::find(expected.begin(), expected.end(), item.cost), expected.end());
    }
  }
}

// The costs of all ways through the order, without those that others dominate at a position.
std::vector<Cost> FrontOfAllWays(const RegionSearch& search) {
  struct Way {
    Cost cost;
  };
  std::vector<std::vector<Way>> ways(search.Loads().size() + 1);
  ways[0].push_back({{search.LeastPossible(), 0, 0}});
  for (std::size_t at = 1; at < ways.size(); ++at) {
    const auto extend = [&](std::size_t from, const Cost& by) {
      for (const Way& way : ways[from]) {
        ways[at].push_back({{std::max(way.cost.bytes, by.bytes), way.cost.macs + by.macs,
                             way.cost.kept_bytes + by.kept_bytes}});
      }
    };
    extend(at - 1, {search.Loads()[at - 1], 0, 0});
    for (const RegionCandidate& plan : search.Plans()) {
      if (plan.end == at) extend(plan.begin, plan.cost);
    }
    KeepUndominated(&ways[at]);
  }
  std::vector<Cost> costs;
  for (const Way& way : ways.back()) costs.push_back(way.cost);
  return costs;
}

TEST(Pareto, CombinationsAreTheFrontOfAllWays) {
  std::size_t most = 0;
  for (const int blocks : {2, 4, 6}) {
    Layers net;
    net.Output(MobileNetV1(&net, blocks));
    Rules rules = Copying();
    rules.charges_operators = blocks != 4;
    RegionSearch search(net.Main(), net.Ops(), rules, {{8, 24}});
    const auto found = search.Run([](std::size_t, std::size_t) {});
    std::vector<Cost> costs;
    costs.reserve(found.size());
    for (const Combination& combination : found) costs.push_back(combination.cost);
    EXPECT_EQ(costs, FrontOfAllWays(search)) << blocks;
    most = std::max(most, costs.size());
  }
  EXPECT_GT(most, 30U);
}

TEST(Propagate, BricksBackToRows) {
  // From bricks of 16 channels to 6 planes of 5 indices each: the last brick may be ragged.
  const auto row = [](const std::vector<std::int64_t>& numbers) {
    std::vector<Fraction> fractions;
    fractions.reserve(numbers.size());
    for (const std::int64_t number : numbers) fractions.push_back({number, 1});
    return fractions;
  };
  Propagator p;
  p.matrix = {row({1, 0, 0, 0, 0, 0}), row({0, 1, 0, 0, 0, 0}), row({0, 0, 0, 1, 0, 0}),
              row({0, 0, 16, 0, 0, -12}), row({0, 0, 0, 0, 0, 1})};
  p.offset = {0, 0, 0, 0};
  StripeConfig config;
  config.shape = {1, 12, 3, 14, 16};
  config.extent = {1, 24, 5, 18, 16};
  config.strides = {{1, 1}, {12, 1}, {3, 1}, {14, 1}, {16, 1}};
  config.order = {1, 2, 4, 3, 0};
  config.count = {1, 2, 2, 2, 1};
  config.offset = {0, 0, 0, 0, 0};
  const auto in = p.Propagate(config);
  ASSERT_TRUE(in);
  EXPECT_EQ(in->shape, (std::vector<std::int64_t>{1, 12, 14, 36}));
  EXPECT_EQ(in->extent, (std::vector<std::int64_t>{1, 24, 18, 68}));
  EXPECT_EQ(in->order, (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(PropagatorOf, TwiceAsLargeIsAHalf) {
  Layers net;
  const TensorId input = net.Input({1, 8, 8, 4});
  graph::Tensor larger = net.Main().tensors[input];
  larger.shape = graph::Shape{1, 16, 16, 4};
  graph::Op op;
  op.type = "RESIZE_NEAREST_NEIGHBOR";
  op.domain = "tflite";
  op.inputs = {input};
  op.outputs = {net.Main().tensors.push_back(larger)};
  const graph::OpId id = net.Main().ops.push_back(op);
  const auto p = PropagatorOf(net.Main(), net.Main().ops[id], 0);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->matrix[1][1], (Fraction{1, 2}));
  EXPECT_EQ(p->matrix[2][2], (Fraction{1, 2}));
  EXPECT_EQ(p->matrix[3][3], (Fraction{1, 1}));
}

}  // namespace
}  // namespace neap::cascade
