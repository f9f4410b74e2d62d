// SPDX-License-Identifier: Apache-2.0
//
// Known faults of TVM's cascader, the first implementation of RFC 0037. One test for each of the
// ten verifies that they do not occur here.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/transform/cascade/cost.h"
#include "neap/transform/cascade/plan.h"
#include "neap/transform/cascade/region_search.h"
#include "testing/stripes.h"
#include "testing/tile_layers.h"
#include "testing/tile_networks.h"

namespace neap::cascade {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

constexpr LayerShape k1x1 = {};
constexpr LayerShape k3x3 = {{3, 3}};
constexpr LayerShape k3x3Half = {{3, 3}, {2, 2}};

SearchOptions OptionsOf(plan::Runtime runtime) {
  SearchOptions options = QuickOptions(runtime);
  options.grids.max_tiles = 16;
  return options;
}

// An image that is made larger inside and smaller at the end: worth cutting.
Layers Hourglass() {
  Layers net;
  TensorId at = net.Input({1, 32, 32, 4});
  at = net.Conv(at, 16, k3x3);
  at = net.Depthwise(at, k3x3);
  at = net.Conv(at, 8, k3x3Half);
  net.Output(at);
  return net;
}

Rules WithoutSharing() {
  Rules rules;
  rules.alignment = 1;
  return rules;
}

// Runs a proposal at its addresses, beside the network as it is. Its arena.
std::int64_t ArenaThatRuns(const Graph& graph, const SearchOptions& options,
                           const Proposal& proposal) {
  const auto realised = GraphOf(graph, proposal);
  if (!realised) return -1;
  const Graph planned = WithoutUnused(*realised);
  const auto compiled = compile::Compile(planned, OptionsFor(options, proposal));
  if (!compiled) return -1;
  const Subgraph& main = graph.subgraphs[SubgraphId(0)];
  const auto inputs = execute::RandomInputs(main, 9, 1 << 22);
  execute::RunOptions run;
  run.kernels = execute::Kernels::kTflm;
  const auto result = execute::Run(planned, compiled->plan.entries[0], *inputs, run);
  execute::EvaluateOptions whole;
  whole.kernels = execute::Kernels::kTflm;
  const auto expected = execute::Evaluate(graph, SubgraphId(0), *inputs, whole);
  if (!result || !expected || !result->violations.empty()) return -1;
  for (std::size_t i = 0; i < expected->size(); ++i) {
    if ((*expected)[i].bytes != result->outputs[i].bytes) return -1;
  }
  EXPECT_LE(result->high_water_bytes, compiled->plan.entries[0].arena_bytes);
  return compiled->delivered_arena_bytes >= 0 ? compiled->delivered_arena_bytes
                                              : compiled->plan.entries[0].arena_bytes;
}

// 1. Rolling buffers were planned and never made: the run needed more than was reported.
TEST(Faults, WhatIsPlannedIsWhatRuns) {
  const Layers net = Hourglass();
  SearchOptions options = OptionsOf(plan::Runtime::kTflm);
  options.whole_front = true;
  const auto outcome = FindPlan(net.Graph(), options);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  int cut = 0;
  for (const Proposal& proposal : outcome->front) {
    if (proposal.regions.empty()) continue;
    const std::int64_t arena = ArenaThatRuns(net.Graph(), options, proposal);
    ASSERT_GE(arena, 0) << "does not run, or with other bytes";
    EXPECT_LE(arena, proposal.arena_bytes);
    ++cut;
  }
  EXPECT_GT(cut, 1);
}

// 2. Plans carried configurations of plans that were tried before them.
TEST(Faults, APlanDoesNotRememberOthers) {
  Random random(31);
  int compared = 0;
  for (int round = 0; round < 120; ++round) {
    const Network network = RandomTflite(&random, true);
    const Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
    RegionSearch search(main, network.ops, WithoutSharing(), {{8, 6}});
    search.Run([](std::size_t, std::size_t) { return true; });
    for (const RegionCandidate& plan : search.Plans()) {
      // The same run and grid, tried alone.
      const auto begin = network.ops.begin() + static_cast<std::ptrdiff_t>(plan.begin);
      const auto end = network.ops.begin() + static_cast<std::ptrdiff_t>(plan.end);
      const RegionPlan region = {{begin, end}, plan.splits};
      const auto tiles = TilesOf(main, region);
      ASSERT_TRUE(tiles);
      const Border border = BorderOf(main, region.ops);
      if (plan.begin > 0 || plan.end < network.ops.size()) continue;  // others live beside it
      const std::vector<bool> dies(border.inputs.size(), true);
      const Cost alone = CostOf(main, region, *tiles, dies, WithoutSharing());
      EXPECT_EQ(alone.bytes, plan.cost.bytes);
      ++compared;
    }
  }
  EXPECT_GT(compared, 20);
}

// 3. Copies took bytes times bandwidth.
TEST(Faults, TransfersTakeBytesDividedByBandwidth) {
  Layers net;
  net.Output(net.Conv(net.Input({1, 16, 16, 16}), 16, k1x1));
  Device device = *DeviceNamed("cortex-m7");
  device.memories = {{"ram", "", 0, 4000, 4000, 0, 1, true, true}};
  const std::int64_t bytes = 16 * 16 * 16 + (16 * 16 + 64) + 16 * 16 * 16;
  EXPECT_EQ(CyclesOf(net.Main(), net.Main().ops[OpId(0)], device).transfer, bytes / 4);
}

// 4. Depthwise convolutions were looked up by a name that no operator has: their weights were free.
TEST(Faults, DepthwiseConvolutionsAreNotFree) {
  for (const std::string_view name : DevicePresets()) {
    const Device device = *DeviceNamed(name);
    Layers with;
    with.Output(with.Depthwise(with.Input({1, 8, 8, 32}), k3x3));
    Layers without;
    without.Output(without.Relu(without.Input({1, 8, 8, 32})));
    const auto of = [&](Layers& net) {
      return CyclesOf(net.Main(), net.Main().ops[OpId(0)], device);
    };
    EXPECT_GT(of(with).compute, of(without).compute) << name;
    EXPECT_GT(of(with).transfer, of(without).transfer) << name << ": weights are read";
    EXPECT_EQ(ClassOf(with.Main(), with.Main().ops[OpId(0)]), OpClass::kDepthwise);
  }
}

// 5a. No cascade went over a fork.
TEST(Faults, CascadesGoOverForks) {
  Layers net;
  const TensorId narrow = net.Conv(net.Input({1, 24, 24, 4}), 8, k1x1);
  TensorId wide = net.Conv(narrow, 48, k1x1);
  wide = net.Depthwise(wide, k3x3);
  net.Output(net.Add(net.Conv(wide, 8, k1x1), narrow));
  const auto outcome = FindPlan(net.Graph(), OptionsOf(plan::Runtime::kTflm));
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  const Proposal& chosen = outcome->front[outcome->chosen];
  ASSERT_EQ(chosen.regions.size(), 1U);
  const std::vector<OpId>& ops = chosen.regions[0].ops;
  EXPECT_NE(std::find(ops.begin(), ops.end(), OpId(4)), ops.end()) << "the sum is inside";
  EXPECT_LT(2 * chosen.arena_bytes, outcome->uncut.arena_bytes);
}

// 5b. An output of the graph that is written early was not kept.
TEST(Faults, EarlyOutputsAreKept) {
  Layers net;
  const TensorId early = net.Conv(net.Input({1, 24, 24, 4}), 8, k1x1);
  net.Output(early);
  TensorId late = net.Conv(early, 32, k1x1);
  late = net.Depthwise(late, k3x3);
  net.Output(net.Conv(late, 4, k1x1));
  SearchOptions options = OptionsOf(plan::Runtime::kTflm);
  options.whole_front = true;
  const auto outcome = FindPlan(net.Graph(), options);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  int cut = 0;
  for (const Proposal& proposal : outcome->front) {
    EXPECT_GE(proposal.arena_bytes, 24 * 24 * 8 + 24 * 24 * 4)
        << "both outputs are there in the end";
    if (proposal.regions.empty()) continue;
    ++cut;
    EXPECT_GE(ArenaThatRuns(net.Graph(), options, proposal), 0);
  }
  EXPECT_GT(cut, 0);
}

// 6. A plan's memory was the sum of all its buffers.
TEST(Faults, MemoryIsWhatLivesAtOnce) {
  Layers net;
  const TensorId input = net.Input({1, 8, 8, 8});
  TensorId at = input;
  for (int i = 0; i < 4; ++i) at = net.Relu(net.Conv(at, 8, k1x1));
  net.Output(at);
  const RegionPlan region = {net.Ops(), {EvenSplit(1, 8, 4)}};
  const auto tiles = TilesOf(net.Main(), region);
  ASSERT_TRUE(tiles);
  const Cost cost = CostOf(net.Main(), region, *tiles, {false}, WithoutSharing());
  // Two parts of a quarter at a time, beside the input and the parts that are done.
  const std::int64_t whole = net.BytesOf(input);
  const std::int64_t running = whole + 3 * whole / 4 + 2 * whole / 4;
  const std::int64_t joining = whole + 2 * whole;
  EXPECT_EQ(cost.bytes, std::max(running, joining));
}

// 7a. The order of operators was the order in which they were found.
TEST(Faults, TheOrderOfTheFileDoesNotDecide) {
  // Four branches that grow and shrink again: in a bad order all are large at once.
  const auto make = [](bool bad) {
    Layers net;
    const TensorId input = net.Input({1, 12, 12, 4});
    std::vector<TensorId> wide;
    std::vector<TensorId> narrow;
    for (int i = 0; i < 4; ++i) {
      wide.push_back(net.Conv(input, 32, k1x1));
      if (!bad) narrow.push_back(net.Conv(wide.back(), 4, k1x1));
    }
    for (int i = 0; bad && i < 4; ++i)
      narrow.push_back(net.Conv(wide[static_cast<std::size_t>(i)], 4, k1x1));
    net.Output(net.Add(net.Add(narrow[0], narrow[1]), net.Add(narrow[2], narrow[3])));
    return net;
  };
  const SearchOptions options = OptionsOf(plan::Runtime::kTflm);
  const auto good = FindPlan(make(false).Graph(), options);
  const auto bad = FindPlan(make(true).Graph(), options);
  ASSERT_TRUE(good && bad);
  EXPECT_GT(bad->compiled.file_order.arena_bytes, good->compiled.file_order.arena_bytes);
  EXPECT_EQ(bad->uncut.arena_bytes, good->uncut.arena_bytes);
}

// 7b. Memory and cycles were of 32 bits.
TEST(Faults, SizesBeyond32Bits) {
  Subgraph main;
  const auto add = [&](const graph::Shape& shape, bool constant) {
    graph::Tensor tensor;
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = shape;
    tensor.constant = constant;
    return main.tensors.push_back(std::move(tensor));
  };
  const TensorId input = add({1, 65536, 65536, 1}, false);
  main.inputs = {input};
  TensorId at = input;
  for (int i = 0; i < 2; ++i) {
    Op op;
    op.type = "CONV_2D";
    op.domain = "tflite";
    op.inputs = {at, add({1, 3, 3, 1}, true)};
    op.outputs = {add({1, 65536, 65536, 1}, false)};
    op.attributes = {
        {"padding", std::int64_t{0}}, {"stride_h", std::int64_t{1}}, {"stride_w", std::int64_t{1}}};
    at = op.outputs[0];
    main.ops.push_back(std::move(op));
  }
  main.outputs = {at};
  constexpr std::int64_t kWhole = std::int64_t{1} << 32;
  EXPECT_EQ(MacsOf(main), 2 * 9 * kWhole);
  EXPECT_GT(CyclesOf(main, *DeviceNamed("cortex-m4")), kWhole);
  const RegionPlan region = {{OpId(0), OpId(1)}, {EvenSplit(1, 65536, 4)}};
  const auto tiles = TilesOf(main, region);
  ASSERT_TRUE(tiles);
  EXPECT_GT(CostOf(main, region, *tiles, {true}, WithoutSharing()).bytes, kWhole);
}

// 7c. Plans were compared in 32-bit floats, in which neighbours above 2^24 are equal, and a front
// that was too long was thinned.
TEST(Faults, FrontsAreComparedExactlyAndNotThinned) {
  struct Item {
    Cost cost;
  };
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  std::vector<Item> items;
  for (std::int64_t i = 0; i < 1000; ++i) items.push_back({{kLarge + i, kLarge - i, 0}});
  std::vector<Item> shuffled = items;
  Random(5).Shuffle(shuffled);
  shuffled.push_back({{kLarge + 500, kLarge - 499, 0}});  // beaten by one
  KeepUndominated(&shuffled);
  ASSERT_EQ(shuffled.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(shuffled[i].cost, items[i].cost);
}

// As the definition has it, for numbers that are often equal.
TEST(Faults, FrontsAreThoseOfTheDefinition) {
  struct Item {
    Cost cost;
  };
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<Item> items(random.Below(40));
    for (Item& item : items) {
      const auto draw = [&] { return static_cast<std::int64_t>(random.Below(6)); };
      item.cost = {draw(), draw(), draw()};
    }
    std::vector<Item> front = items;
    KeepUndominated(&front);
    for (const Item& item : items) {
      const auto dominates = [&](const Item& other) { return Dominates(other.cost, item.cost); };
      EXPECT_TRUE(std::any_of(front.begin(), front.end(), dominates));
    }
    for (std::size_t i = 0; i < front.size(); ++i) {
      for (std::size_t j = 0; j < front.size(); ++j) {
        EXPECT_TRUE(i == j || !Dominates(front[j].cost, front[i].cost));
      }
    }
  }
}

// 7d. The depth of the recursion was the number of operators.
TEST(Faults, LongChainsDoNotOverflowTheStack) {
  Layers net;
  TensorId at = net.Input({1, 4, 4, 1});
  for (int i = 0; i < 1'500; ++i) at = net.Relu(at);
  net.Output(at);
  RegionSearch search(net.Main(), net.Ops(), WithoutSharing(), {{2, 2}});
  EXPECT_FALSE(search.Run([](std::size_t, std::size_t) { return true; }).empty());
}

// 8a. Every stripe of a sliding window was counted as if nothing of it were there.
TEST(Faults, SlidingWindowsReadOnlyWhatIsNew) {
  StripeConfig config;
  config.shape = {1, 3, 16, 4};
  config.extent = {1, 16, 16, 4};
  config.strides = {{1, 1}, {1, 1}, {16, 1}, {4, 1}};
  config.order = {1, 2, 3, 4};
  config.count = {1, 14, 1, 1};
  config.offset = {0, 0, 0, 0};
  const auto elements = [&](bool sliding) {
    std::int64_t sum = 0;
    for (const auto& [shape, times] : CountStripes(config, sliding)) {
      sum += times * shape[0] * shape[1] * shape[2] * shape[3];
    }
    return sum;
  };
  EXPECT_EQ(elements(true), 16 * 16 * 4);
  EXPECT_EQ(elements(false), 14 * 3 * 16 * 4);
}

// 8b. Stripes were not clipped at borders: on small maps they were larger than the map.
TEST(Faults, PartsEndAtBorders) {
  Layers net;
  TensorId at = net.Input({1, 6, 6, 4});
  for (int i = 0; i < 3; ++i) at = net.Conv(at, 4, {{5, 5}});
  net.Output(at);
  for (const std::int64_t parts : {2, 3, 6}) {
    const auto tiles = TilesOf(net.Main(), {net.Ops(), {EvenSplit(1, 6, parts)}});
    ASSERT_TRUE(tiles);
    for (const Tile& tile : *tiles) {
      for (const TileTensor& tensor : tile.tensors) {
        EXPECT_GE(tensor.box[1].begin, 0);
        EXPECT_LE(tensor.box[1].end, 6);
      }
    }
  }
}

// 8c. Stripes were powers of two of the whole, and single rows.
TEST(Faults, AnyNumberOfParts) {
  const Layers net = Hourglass();
  Layers copy = net;
  RegionSearch search(copy.Main(), copy.Ops(), WithoutSharing(), {{8, 16}});
  search.Run([](std::size_t, std::size_t) { return true; });
  std::map<std::size_t, int> counts;
  for (const RegionCandidate& plan : search.Plans()) {
    for (const Split& split : plan.splits) ++counts[split.cuts.size() + 1];
  }
  EXPECT_TRUE(counts.contains(3) || counts.contains(5) || counts.contains(6));
}

// 9a. Results followed the order of a hash.
TEST(Faults, NamesAndRunsDoNotChangePlans) {
  Layers net = Hourglass();
  const auto first = FindPlan(net.Graph(), OptionsOf(plan::Runtime::kTflm));
  for (graph::Tensor& tensor : net.Main().tensors) tensor.name = "x" + tensor.name + "y";
  const auto second = FindPlan(net.Graph(), OptionsOf(plan::Runtime::kTflm));
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->front.size(), second->front.size());
  for (std::size_t i = 0; i < first->front.size(); ++i) {
    const Proposal& a = first->front[i];
    const Proposal& b = second->front[i];
    EXPECT_EQ(a.arena_bytes, b.arena_bytes);
    EXPECT_EQ(a.cycles, b.cycles);
    ASSERT_EQ(a.regions.size(), b.regions.size());
    for (std::size_t r = 0; r < a.regions.size(); ++r) {
      EXPECT_EQ(a.regions[r].ops, b.regions[r].ops);
      EXPECT_EQ(a.regions[r].splits, b.regions[r].splits);
    }
  }
}

// 9b. Weights that two operators share ended the compiler.
TEST(Faults, WeightsMayBeShared) {
  Layers net;
  TensorId at = net.Conv(net.Input({1, 16, 16, 8}), 8, k3x3);
  at = net.ConvWith(at, OpId(0), k3x3);
  net.Output(net.ConvWith(at, OpId(0), k3x3Half));
  SearchOptions options = OptionsOf(plan::Runtime::kTflm);
  options.budget_bytes = 1;  // cut everything that can be cut
  const auto outcome = FindPlan(net.Graph(), options);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  const Proposal& chosen = outcome->front[outcome->chosen];
  ASSERT_FALSE(chosen.regions.empty());
  EXPECT_GE(ArenaThatRuns(net.Graph(), options, chosen), 0);
  const auto realised = GraphOf(net.Graph(), chosen);
  ASSERT_TRUE(realised);
  int constants = 0;
  const auto& tensors = realised->subgraphs[SubgraphId(0)].tensors;
  for (const graph::Tensor& tensor : tensors) {
    constants += tensor.constant && tensor.type == graph::ElementType::kInt8 ? 1 : 0;
  }
  EXPECT_EQ(constants, 1) << "tiles share the weights, too";
}

// 10. One target only, and numbers that an allocator outside the search changed.
TEST(Faults, EveryRuntimeAndEveryDevice) {
  const Layers net = Hourglass();
  for (const plan::Runtime runtime :
       {plan::Runtime::kIdeal, plan::Runtime::kTflm, plan::Runtime::kLitert}) {
    std::vector<std::int64_t> arenas;
    for (const std::string_view name : DevicePresets()) {
      SearchOptions options = OptionsOf(runtime);
      options.grids.max_tiles = 4;
      options.device = *DeviceNamed(name);
      const auto outcome = FindPlan(net.Graph(), options);
      ASSERT_TRUE(outcome) << outcome.error().ToString();
      const Proposal& chosen = outcome->front[outcome->chosen];
      EXPECT_LE(chosen.arena_bytes, outcome->uncut.arena_bytes);
      arenas.push_back(chosen.arena_bytes);
    }
    // The least memory is the same for every device of cycles.
    EXPECT_EQ(std::accumulate(arenas.begin(), arenas.end(), std::int64_t{0}),
              arenas.front() * static_cast<std::int64_t>(arenas.size()));
  }
}

}  // namespace
}  // namespace neap::cascade
