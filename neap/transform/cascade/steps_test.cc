// SPDX-License-Identifier: Apache-2.0
//
// Operators over time in tiles: the state goes from one tile to the next.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tile_rules.h"
#include "neap/transform/cascade/tiles_check.h"
#include "testing/cases.h"
#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::cascade {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;

constexpr SubgraphId kMain(0);
constexpr std::int64_t kMemory = 1 << 24;

void ExpectSame(const graph::Graph& graph, const graph::Graph& tiled, std::uint64_t seed) {
  const auto inputs = *execute::RandomInputs(graph.subgraphs[kMain], seed, kMemory);
  execute::EvaluateOptions options;
  options.kernels = execute::Kernels::kOnnx;
  const auto expected = execute::Evaluate(graph, kMain, inputs, options);
  ASSERT_TRUE(expected) << expected.error().ToString();
  const auto found = execute::Evaluate(tiled, kMain, inputs, options);
  ASSERT_TRUE(found) << found.error().ToString();
  for (std::size_t i = 0; i < expected->size(); ++i) {
    EXPECT_EQ((*expected)[i].bytes, (*found)[i].bytes) << "output " << i;
  }
}

bool HasSteps(const graph::Subgraph& main, const std::vector<OpId>& ops) {
  for (const OpId id : ops) {
    if (RunsInSteps(main, main.ops[id])) return true;
  }
  return false;
}

TEST(StepsInTiles, RandomNetworksAreByteIdentical) {
  Random random(51);
  const int rounds = Cases(4000);
  int cut = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph =
        stream::test::RandomRecurrent(&random, static_cast<int>(random.Between(1, 5)));
    const graph::Subgraph& main = graph.subgraphs[kMain];
    RegionPlan plan;
    const auto first = static_cast<std::int32_t>(random.Below(main.ops.size()));
    const auto last = static_cast<std::int32_t>(
        random.Between(first + 1, static_cast<std::int64_t>(main.ops.size())));
    for (std::int32_t id = first; id < last; ++id) plan.ops.emplace_back(id);
    const Border border = BorderOf(main, plan.ops);
    if (border.outputs.size() != 1) continue;
    const std::int64_t steps = (*main.tensors[border.outputs[0]].shape)[0];
    Split split;
    for (std::int64_t at = 1; at < steps; ++at) {
      if (random.Chance(1, 3)) split.cuts.push_back(at);
    }
    if (split.cuts.empty()) continue;
    plan.splits = {split};
    const auto tiles = TilesOf(main, plan);
    if (!tiles) continue;
    EXPECT_EQ(FindWrongTile(main, plan, *tiles), "");
    const auto tiled = Realise(graph, {plan});
    ASSERT_TRUE(tiled) << tiled.error().ToString();
    ExpectSame(graph, *tiled, static_cast<std::uint64_t>(n));
    cut += HasSteps(main, plan.ops) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GE(cut, rounds / 40);
}

// A product of each step, an LSTM over 9 steps, a product of each output.
class StepsOfLstm : public ::testing::Test {
 protected:
  StepsOfLstm() {
    Random random(52);
    const auto values = [&](const graph::Shape& shape, std::int64_t count) {
      return maker_.Constant(ElementType::kFloat32, shape, execute::RandomFloats(count, &random));
    };
    const TensorId in = maker_.Input(ElementType::kFloat32, {9, 1, 3});
    const TensorId wide = maker_.Floats({9, 1, 4});
    const TensorId a = values({3, 4}, 12);
    maker_.Op("", "MatMul", {in, a}, {wide});
    const TensorId w = values({1, 8, 4}, 32);
    const TensorId r = values({1, 8, 2}, 16);
    const TensorId all = maker_.Floats({9, 1, 1, 2});
    maker_.Op("", "LSTM", {wide, w, r}, {all}, {{"hidden_size", std::int64_t{2}}});
    const TensorId b = values({2, 5}, 10);
    const TensorId out = maker_.Floats({9, 1, 1, 5});
    maker_.Op("", "MatMul", {all, b}, {out});
    maker_.Output(out);
    for (graph::Op& op : maker_.Main().ops) op.version = 13;
    plan_.ops = {OpId(0), OpId(1), OpId(2)};
    plan_.splits = {{0, {2, 3, 7}}};
    tiles_ = *TilesOf(maker_.Main(), plan_);
  }
  std::string Wrong(const std::vector<Tile>& tiles) {
    return FindWrongTile(maker_.Main(), plan_, tiles);
  }

  execute::GraphMaker maker_;
  RegionPlan plan_;
  std::vector<Tile> tiles_;
};

TEST_F(StepsOfLstm, StatesGoFromTileToTile) {
  ASSERT_EQ(Wrong(tiles_), "");
  const auto tiled = Realise(maker_.graph(), {plan_});
  ASSERT_TRUE(tiled) << tiled.error().ToString();
  std::vector<TensorId> state;
  int clones = 0;
  for (const graph::Op& op : tiled->subgraphs[kMain].ops) {
    if (op.type != "LSTM") continue;
    const bool first = clones == 0;
    const bool last = ++clones == 4;
    ASSERT_EQ(op.inputs.size(), first ? 3U : 7U);
    if (!first) {
      EXPECT_EQ(std::vector<TensorId>(op.inputs.begin() + 5, op.inputs.end()), state);
    }
    ASSERT_EQ(op.outputs.size(), last ? 1U : 3U);
    state.assign(op.outputs.begin() + 1, op.outputs.end());
  }
  EXPECT_EQ(clones, 4);
  ExpectSame(maker_.graph(), *tiled, 1);
}

TEST_F(StepsOfLstm, WrongTilesAreFound) {
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    for (std::size_t s = 0; s < tiles_[t].steps.size(); ++s) {
      if (tiles_[t].steps[s].op != OpId(1)) continue;
      std::vector<Tile> changed = tiles_;
      TileStep& step = changed[t].steps[s];
      step.goes_on = !step.goes_on;
      EXPECT_NE(Wrong(changed), "") << "tile " << t;
      step.goes_on = !step.goes_on;
      step.leaves_state = !step.leaves_state;
      // The last one may leave it, too.
      if (t + 1 < tiles_.size()) {
        EXPECT_NE(Wrong(changed), "") << "tile " << t;
      }
    }
  }
  std::vector<Tile> changed = tiles_;
  std::swap(changed[1], changed[2]);
  EXPECT_NE(Wrong(changed), "");
}

// A window over time behind the LSTM needs some steps twice; of the last state there are no parts.
TEST_F(StepsOfLstm, StepsAreNotRepeated) {
  Random random(53);
  execute::GraphMaker& maker = maker_;
  const TensorId out = maker.Main().outputs[0];
  const TensorId image = maker.Floats({1, 1, 9, 5});
  maker.Op("", "Transpose", {out}, {image}, {{"perm", std::vector<std::int64_t>{1, 2, 0, 3}}});
  const TensorId filter =
      maker.Constant(ElementType::kFloat32, {1, 1, 3, 1}, execute::RandomFloats(3, &random));
  const TensorId windows = maker.Floats({1, 1, 7, 5});
  maker.Op("", "Conv", {image, filter}, {windows},
           {{"kernel_shape", std::vector<std::int64_t>{3, 1}}});
  maker.Main().outputs = {windows};
  for (graph::Op& op : maker.Main().ops) op.version = 13;
  RegionPlan plan;
  for (const OpId id : maker.Main().ops.Ids()) plan.ops.push_back(id);
  plan.splits = {{2, {3}}};
  const auto tiles = TilesOf(maker.Main(), plan);
  ASSERT_FALSE(tiles);
  EXPECT_NE(tiles.error().ToString().find("has a state that other steps left"), std::string::npos)
      << tiles.error().ToString();
}

}  // namespace
}  // namespace neap::cascade
