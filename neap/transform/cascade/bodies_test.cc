// SPDX-License-Identifier: Apache-2.0
//
// Tiles that share bodies: the same bytes as clones and as the network itself, in less than clones
// need, and plans of them that the checker refuses when they are changed.
#include "neap/transform/cascade/bodies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "neap/check/check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inline_calls.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/transform/cascade/plan.h"
#include "testing/cases.h"
#include "testing/sketch.h"
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

constexpr SubgraphId kMain(0);

const Op* FirstCall(const Graph& graph) {
  for (const Op& op : graph.subgraphs[kMain].ops) {
    if (op.type == "IF") return &op;
  }
  return nullptr;
}

std::int64_t CallsOf(const Graph& graph) {
  const auto& ops = graph.subgraphs[kMain].ops;
  return std::count_if(ops.begin(), ops.end(), [](const Op& op) { return op.type == "IF"; });
}

// A random network in rows of tiles, most of which are equal; nullopt: it cannot be cut so.
std::optional<Graph> InRows(const Network& network, Random* random) {
  const Subgraph& main = network.graph.subgraphs[kMain];
  const std::int64_t rows = (*main.tensors[main.outputs[0]].shape)[1];
  if (rows < 4) return std::nullopt;
  RegionPlan region;
  region.ops = network.ops;
  region.splits = {
      EvenSplit(1, rows, 4 + static_cast<std::int64_t>(random->Below(5)) % (rows - 3))};
  auto tiled = Realise(network.graph, {region}, {}, TileBodies::kShared);
  if (!tiled || tiled->subgraphs.size() == network.graph.subgraphs.size()) return std::nullopt;
  return std::move(*tiled);
}

std::vector<std::byte> OutputOf(const Graph& graph, const std::vector<execute::Value>& inputs) {
  execute::EvaluateOptions options;
  options.kernels = execute::Kernels::kTflm;
  const auto outputs = execute::Evaluate(graph, kMain, inputs, options);
  EXPECT_TRUE(outputs) << outputs.error().ToString();
  return outputs ? (*outputs)[0].bytes : std::vector<std::byte>();
}

// Three layers of the same form everywhere but at the borders.
Layers ThreeLayers(std::int64_t rows) {
  Layers net;
  const LayerShape window = {{3, 3}, {1, 1}, {1, 1}, true};
  TensorId at = net.Input({1, rows, 8, 4});
  at = net.Conv(at, 8, window);
  at = net.Depthwise(at, window);
  at = net.Conv(at, 4, window);
  net.Output(at);
  return net;
}

TEST(Bodies, EqualTilesShareOneAndBordersAreClones) {
  Layers net = ThreeLayers(32);
  const RegionPlan region = {net.Ops(), {EvenSplit(1, 32, 8)}};
  const auto tiles = TilesOf(net.Main(), region);
  ASSERT_TRUE(tiles);
  const std::vector<int> bodies = BodiesOf(net.Main(), *tiles, TileBodies::kShared);
  EXPECT_EQ(bodies, (std::vector<int>{kNoBody, 0, 0, 0, 0, 0, 0, kNoBody}));
  EXPECT_EQ(BodiesOf(net.Main(), *tiles, TileBodies::kClones), std::vector<int>(8, kNoBody));

  const auto tiled = Realise(net.Graph(), {region}, {}, TileBodies::kShared);
  ASSERT_TRUE(tiled) << tiled.error().ToString();
  ASSERT_EQ(tiled->subgraphs.size(), 2U);
  EXPECT_EQ(CallsOf(*tiled), 6);
  const Op& call = *FirstCall(*tiled);
  EXPECT_EQ(call.bodies, (std::vector<SubgraphId>{SubgraphId(1), SubgraphId(1)}));
  ASSERT_EQ(call.inputs.size(), 2U);
  const graph::Tensor& truth = tiled->subgraphs[kMain].tensors[call.inputs[0]];
  EXPECT_EQ(truth.type, graph::ElementType::kBool);
  ASSERT_TRUE(truth.data);
  EXPECT_EQ(truth.data->bytes[0], std::byte{1});
  const Subgraph& body = tiled->subgraphs[SubgraphId(1)];
  ASSERT_EQ(body.inputs.size(), 1U);
  EXPECT_EQ(body.tensors[body.inputs[0]].shape,
            tiled->subgraphs[kMain].tensors[call.inputs[1]].shape);
  EXPECT_EQ(body.tensors[body.outputs[0]].shape,
            tiled->subgraphs[kMain].tensors[call.outputs[0]].shape);
  // Three layers and the slice that drops what is wrong at the ends; weights are not copied.
  EXPECT_EQ(body.ops.size(), 4U);
  for (const graph::Tensor& tensor : body.tensors) {
    if (!tensor.constant || !tensor.data || tensor.type != graph::ElementType::kInt8) continue;
    const auto& all = net.Main().tensors;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const graph::Tensor& weights) {
      return weights.data && weights.data->bytes.data() == tensor.data->bytes.data();
    }));
  }
}

TEST(Bodies, TwoSmallTilesAreNoReasonForOne) {
  // One pooling layer: a clone costs less than half of a body and two calls.
  Layers net;
  net.Output(net.MaxPool(net.Input({1, 8, 4, 4}), {{2, 2}, {2, 2}, {1, 1}, false}));
  const RegionPlan region = {net.Ops(), {EvenSplit(1, 4, 2)}};
  const auto tiles = TilesOf(net.Main(), region);
  ASSERT_TRUE(tiles);
  EXPECT_EQ(BodiesOf(net.Main(), *tiles, TileBodies::kShared), (std::vector<int>{-1, -1}));
}

TEST(Bodies, RandomNetworksAreByteIdentical) {
  Random random(31);
  int equal = 0;
  int varied = 0;
  for (int round = 0; round < 1500; ++round) {
    const Network network =
        round % 4 == 0 ? RandomTfliteOfMoves(&random, true) : RandomTflite(&random, round % 3 != 0);
    const auto tiled = InRows(network, &random);
    if (!tiled) continue;
    ASSERT_TRUE(execute::HasKnownCalls(*tiled, kMain));
    const Graph flat = execute::InlineCalls(*tiled, kMain);
    ASSERT_TRUE(graph::Verify(flat));
    std::vector<std::byte> first;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      const auto inputs =
          execute::RandomInputs(network.graph.subgraphs[kMain], random.Next() >> 40U, 1 << 20);
      ASSERT_TRUE(inputs);
      const auto expected = OutputOf(network.graph, *inputs);
      ASSERT_EQ(OutputOf(flat, *inputs), expected) << "round " << round;
      if (seed == 0) first = expected;
      varied += seed == 1 && first != expected ? 1 : 0;
    }
    ++equal;
  }
  EXPECT_GT(equal, 300);
  EXPECT_GT(varied, equal * 9 / 10);
}

compile::Options TflmOptions(ops::KernelLibrary kernels) {
  compile::Options options;
  options.runtime = plan::Runtime::kTflm;
  options.order = compile::kFileOrder;
  options.placement_states = 2000;
  options.kernels = kernels;
  return options;
}

TEST(Bodies, PlansRunAtTheirAddresses) {
  Random random(32);
  int ran = 0;
  int inside = 0;  // overlaps inside bodies
  int handed = 0;  // outputs of calls over the inputs of the body
  for (int round = 0; round < Cases(500); ++round) {
    const Network network = RandomTflite(&random, true);
    const auto tiled = InRows(network, &random);
    if (!tiled) continue;
    const Graph planned = WithoutUnused(*tiled);
    const auto kernels =
        round % 2 == 0 ? ops::KernelLibrary::kCopies : ops::KernelLibrary::kTflmReference;
    const auto compiled = compile::Compile(planned, TflmOptions(kernels));
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    const plan::EntryPlan& entry = compiled->plan.entries[0];
    for (const plan::Overlap& overlap : entry.overlaps) {
      inside += overlap.subgraph != kMain ? 1 : 0;
      handed += overlap.kind == plan::OverlapKind::kCopiedIn ? 1 : 0;
    }
    const auto flat = execute::InlineCalls(planned, entry);
    ASSERT_TRUE(flat) << flat.error().ToString();
    const auto inputs =
        execute::RandomInputs(planned.subgraphs[kMain], random.Next() >> 40U, 1 << 20);
    execute::RunOptions run;
    run.kernels = execute::Kernels::kTflm;
    const auto result = execute::Run(execute::InlineCalls(planned, kMain), *flat, *inputs, run);
    ASSERT_TRUE(result) << result.error().ToString();
    ASSERT_TRUE(result->violations.empty()) << result->violations.front();
    ASSERT_EQ(result->outputs[0].bytes, OutputOf(network.graph, *inputs));
    EXPECT_EQ(result->arena_bytes, entry.arena_bytes);
    ++ran;
  }
  EXPECT_GT(ran, Cases(100));
  EXPECT_GT(inside, Cases(100));
  EXPECT_GT(handed, Cases(20));
}

// Every tensor of a body has one place for all calls. Put somewhere else it is wrong in some call:
// where the checker finds nothing, the run has no violation; where the run has one, the checker
// finds it.
TEST(Bodies, ChangedPlacesOfBodiesAreFound) {
  Random random(33);
  int refused = 0;
  int shown = 0;
  for (int round = 0; round < Cases(200); ++round) {
    const Network network = RandomTflite(&random, true);
    const auto tiled = InRows(network, &random);
    if (!tiled) continue;
    const Graph planned = WithoutUnused(*tiled);
    const auto compiled =
        compile::Compile(planned, TflmOptions(ops::KernelLibrary::kTflmReference));
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    plan::Plan changed = compiled->plan;
    plan::EntryPlan& entry = changed.entries[0];
    std::vector<plan::TensorPlacement*> places;
    for (plan::TensorPlacement& place : entry.tensors) {
      if (place.subgraph != kMain) places.push_back(&place);
    }
    plan::TensorPlacement& moved = *places[random.Below(places.size())];
    const std::int64_t room = entry.arena_bytes - (moved.bytes + 15) / 16 * 16;
    moved.offset =
        16 * static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(room / 16 + 1)));
    const bool found = !check::CheckPlan(planned, changed).empty();
    refused += found ? 1 : 0;
    const auto flat = execute::InlineCalls(planned, entry);
    ASSERT_TRUE(flat);
    const auto inputs = execute::RandomInputs(planned.subgraphs[kMain], 7, 1 << 20);
    execute::RunOptions run;
    run.kernels = execute::Kernels::kTflm;
    const auto result = execute::Run(execute::InlineCalls(planned, kMain), *flat, *inputs, run);
    ASSERT_TRUE(result);
    const bool wrong = result->outputs[0].bytes != OutputOf(network.graph, *inputs);
    shown += wrong ? 1 : 0;
    EXPECT_TRUE(found || !wrong) << "round " << round;
  }
  EXPECT_GT(refused, Cases(20));
  EXPECT_GT(shown, Cases(10));
}

TEST(Bodies, AreTakenWhereTheyNeedLess) {
  // The image is large, its tiles are many, and the persistent data of clones is expensive.
  Layers net = ThreeLayers(64);
  SearchOptions options;
  options.compile.runtime = plan::Runtime::kTflm;
  options.compile.kernels = ops::KernelLibrary::kTflmReference;
  options.compile.placement_states = 5000;
  options.compile.limits.max_states = 20000;
  options.device = *DeviceNamed("cortex-m4");
  const auto clones = FindPlan(net.Graph(), options);
  options.bodies = TileBodies::kShared;
  const auto shared = FindPlan(net.Graph(), options);
  ASSERT_TRUE(clones && shared);
  const Proposal& a = clones->front[clones->chosen];
  const Proposal& b = shared->front[shared->chosen];
  EXPECT_EQ(a.bodies, TileBodies::kClones);
  EXPECT_LE(b.total_arena_bytes, a.total_arena_bytes);
  for (const Proposal& point : shared->front) {
    const auto realised = GraphOf(net.Graph(), point);
    ASSERT_TRUE(realised);
    const bool has_bodies = realised->subgraphs.size() > 1;
    EXPECT_EQ(point.bodies == TileBodies::kShared, has_bodies);
  }
}

// Every clone of BATCH_MATMUL that reads a matrix by columns keeps its own copy of it.
TEST(Bodies, ClonesOfMatrixProductsKeepTheirMatrices) {
  constexpr std::int64_t kRows = 32;
  constexpr std::int64_t kTiles = 4;
  for (const std::int64_t turned : {0, 1}) {
    graph::Sketch sketch;
    const auto tensor = [&](graph::Shape shape) {
      const TensorId id = sketch.Tensor(graph::ElementType::kInt8, std::move(shape));
      sketch.Quantize(id, 0.5F, 0);
      return id;
    };
    const TensorId rows = tensor({1, kRows, 64});
    const TensorId matrix = tensor(turned != 0 ? graph::Shape{1, 96, 64} : graph::Shape{1, 64, 96});
    const TensorId product = tensor({1, kRows, 96});
    sketch.Main().inputs = {rows, matrix};
    sketch.Output(product);
    sketch.Op("tflite", "BATCH_MATMUL", {rows, matrix}, {product},
              {{"adj_x", std::int64_t{0}}, {"adj_y", turned}});
    const RegionPlan region{{OpId(0)}, {EvenSplit(1, kRows, kTiles)}};
    const auto tiles = TilesOf(sketch.Main(), region);
    const auto tiled = Realise(sketch.graph(), {region});
    ASSERT_TRUE(tiles && tiled);
    std::int64_t kept = kKeptByConcatenation;
    for (const Tile& tile : *tiles) kept += KeptByClones(sketch.Main(), tile);
    kept -= KeptBytes(sketch.Main(), sketch.Main().ops[OpId(0)]);
    const compile::Options options = QuickOptions(plan::Runtime::kTflm).compile;
    const auto before = compile::Compile(sketch.graph(), options);
    const auto after = compile::Compile(*tiled, options);
    ASSERT_TRUE(before && after && !before->totals.empty() && !after->totals.empty());
    const std::int64_t real =
        after->totals.front().persistent_bytes - before->totals.front().persistent_bytes;
    EXPECT_NEAR(static_cast<double>(kept), static_cast<double>(real), 64.0 * kTiles);  // of records
    if (turned == 0) {
      EXPECT_GT(real, (kTiles - 1) * 64 * 96);
    }
  }
}

// The work of a body counts at every call.
TEST(Bodies, WorkIsThatOfClones) {
  Layers net = ThreeLayers(64);
  SearchOptions options;
  options.compile.runtime = plan::Runtime::kTflm;
  options.compile.kernels = ops::KernelLibrary::kTflmReference;
  options.compile.limits.max_states = 20000;
  options.device = *DeviceNamed("cortex-m4");
  options.bodies = TileBodies::kShared;
  options.whole_front = true;
  const auto outcome = FindPlan(net.Graph(), options);
  ASSERT_TRUE(outcome);
  int shared = 0;
  for (const Proposal& point : outcome->front) {
    if (point.bodies != TileBodies::kShared) continue;
    ++shared;
    Proposal clones = point;
    clones.bodies = TileBodies::kClones;
    const auto realised = GraphOf(net.Graph(), clones);
    ASSERT_TRUE(realised);
    std::int64_t macs = 0;
    const Subgraph& main = realised->subgraphs[kMain];
    for (const Op& op : main.ops) {
      if (op.type != "CONV_2D" && op.type != "DEPTHWISE_CONV_2D") continue;
      const auto& weights = *main.tensors[op.inputs[1]].shape;
      std::int64_t product = weights[1] * weights[2] * (op.type == "CONV_2D" ? weights[3] : 1);
      for (const std::int64_t d : *main.tensors[op.outputs[0]].shape) product *= d;
      macs += product;
    }
    EXPECT_EQ(point.macs, macs);
  }
  EXPECT_GT(shared, 0);
}

}  // namespace
}  // namespace neap::cascade
