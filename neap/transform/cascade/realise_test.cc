// SPDX-License-Identifier: Apache-2.0
//
// Random networks, cut at random, run by the executor: the same bytes as the network itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tiles_check.h"
#include "testing/cases.h"
#include "testing/tile_networks.h"

namespace neap::cascade {
namespace {

using graph::Graph;
using graph::SubgraphId;

enum class Kind { kInt8, kFloat, kOnnx, kMoves, kRows, kAxes, kColumns, kOnnxColumns };

struct Counts {
  int equal = 0;
  int refused = 0;
  int varied = 0;  // outputs differ between inputs
  int splits = 0;  // operators with several outputs among them
};

void Compare(const Network& network, const Graph& tiled, std::uint64_t seed, Counts* counts,
             execute::Kernels kernels) {
  const graph::Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
  execute::EvaluateOptions options;
  options.kernels = kernels;
  std::vector<std::byte> first;
  for (std::uint64_t s = 0; s < 2; ++s) {
    const auto inputs = execute::RandomInputs(main, seed + s, 1 << 20);
    ASSERT_TRUE(inputs) << inputs.error().ToString();
    const auto expected = execute::Evaluate(network.graph, SubgraphId(0), *inputs, options);
    ASSERT_TRUE(expected) << expected.error().ToString();
    const auto found = execute::Evaluate(tiled, SubgraphId(0), *inputs, options);
    ASSERT_TRUE(found) << found.error().ToString();
    ASSERT_EQ((*expected)[0].bytes, (*found)[0].bytes) << "seed " << seed;
    if (s == 0) first = (*expected)[0].bytes;
    if (s == 1 && first != (*expected)[0].bytes) ++counts->varied;
  }
  ++counts->equal;
  const bool splits = std::any_of(main.ops.begin(), main.ops.end(),
                                  [](const graph::Op& op) { return op.outputs.size() > 1; });
  if (splits) ++counts->splits;
}

// All operators in random tiles; no splits where the output has none.
RegionPlan AllInTiles(const Network& network, Random* random) {
  const graph::Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
  return {network.ops, RandomSplits(*main.tensors[main.outputs[0]].shape, 1, random)};
}

// Cuts between rows, of tensors of two or three dimensions.
std::vector<Split> RandomRows(const graph::Shape& shape, Random* random) {
  Split split;
  while (shape[split.axis] == 1 && split.axis + 2 < shape.size()) ++split.axis;
  const std::int64_t rows = shape[split.axis];
  for (std::int64_t at = 1; at < rows; ++at) {
    if (random->Chance(2, static_cast<std::uint64_t>(rows))) split.cuts.push_back(at);
  }
  return split.cuts.empty() ? std::vector<Split>() : std::vector<Split>{split};
}

Network RandomOfKind(Kind kind, Random* random) {
  switch (kind) {
    case Kind::kOnnx:
      return RandomOnnx(random);
    case Kind::kOnnxColumns:
      return RandomOnnxOfColumns(random);
    case Kind::kColumns:
      return RandomTfliteOfColumns(random, random->Chance(1, 2));
    case Kind::kMoves:
      return RandomTfliteOfMoves(random, random->Chance(1, 2));
    case Kind::kRows:
      return RandomTfliteOfRows(random, random->Chance(1, 2));
    case Kind::kAxes:
      return RandomTfliteOfAxes(random, random->Chance(1, 2));
    default:
      return RandomTflite(random, kind == Kind::kInt8);
  }
}

// Where a region that is cut by columns begins: behind operators on the first operand.
void StartAtProduct(const graph::Subgraph& main, std::vector<graph::OpId>* ops) {
  const auto first = std::find_if(ops->begin(), ops->end(), [&](graph::OpId id) {
    const std::string& type = main.ops[id].type;
    return type == "FULLY_CONNECTED" || type == "BATCH_MATMUL" || type.ends_with("Conv") ||
           type.ends_with("MatMul") || type == "Gemm" || type == "CONV_2D";
  });
  ops->erase(ops->begin(), first);
}

Counts RunMany(Kind kind, int rounds, std::uint64_t seed) {
  Random random(seed);
  Counts counts;
  for (int round = 0; round < rounds; ++round) {
    const Network network = RandomOfKind(kind, &random);
    const graph::Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
    RegionPlan plan;
    plan.ops = network.ops;
    // A region need not be the whole.
    const auto first = random.Below(plan.ops.size());
    const bool by_columns = kind == Kind::kColumns || kind == Kind::kOnnxColumns;
    if (by_columns && random.Chance(1, 2)) {
      StartAtProduct(main, &plan.ops);
    } else if (random.Chance(1, 3)) {
      plan.ops.erase(plan.ops.begin(), plan.ops.begin() + static_cast<std::ptrdiff_t>(first));
    }
    if (plan.ops.empty()) continue;
    const Border border = BorderOf(main, plan.ops);
    if (border.outputs.size() != 1) continue;
    const graph::Shape& shape = *main.tensors[border.outputs[0]].shape;
    const std::size_t columns =
        kind == Kind::kOnnxColumns && shape.size() == 4 ? 1 : shape.size() - 1;
    plan.splits = by_columns && random.Chance(4, 5) ? RandomColumns(shape, columns, &random)
                  : by_columns                      ? RandomSplitsOfAnyAxis(shape, &random)
                  : kind == Kind::kRows             ? RandomRows(shape, &random)
                  : kind == Kind::kAxes             ? RandomSplitsOfAnyAxis(shape, &random)
                                        : RandomSplits(shape, kind == Kind::kOnnx ? 2 : 1, &random);
    if (plan.splits.empty()) continue;
    const auto tiled = Realise(network.graph, {plan});
    if (!tiled) {
      ++counts.refused;
      continue;
    }
    const auto tiles = TilesOf(main, plan);
    EXPECT_EQ(tiles ? FindWrongTile(main, plan, *tiles) : tiles.error().ToString(), "");
    const bool onnx = kind == Kind::kOnnx || kind == Kind::kOnnxColumns;
    const auto kernels = onnx ? execute::Kernels::kOnnx : execute::Kernels::kTflm;
    Compare(network, *tiled, random.Next() >> 40U, &counts, kernels);
    if (testing::Test::HasFatalFailure()) return counts;
  }
  return counts;
}

TEST(Realise, Int8NetworksAreByteIdentical) {
  const Counts counts = RunMany(Kind::kInt8, Cases(3000), 1);
  EXPECT_GT(counts.equal, Cases(1500));
  EXPECT_GT(counts.varied, counts.equal * 9 / 10);
  RecordProperty("equal", counts.equal);
  RecordProperty("refused", counts.refused);
}

TEST(Realise, FloatNetworksAreByteIdenticalInTheExecutor) {
  const Counts counts = RunMany(Kind::kFloat, Cases(1500), 2);
  EXPECT_GT(counts.equal, Cases(700));
  EXPECT_GT(counts.varied, counts.equal * 9 / 10);
}

TEST(Realise, ResizingAndBlocksAreByteIdentical) {
  const int rounds = Cases(2000);
  const Counts counts = RunMany(Kind::kMoves, rounds, 4);
  EXPECT_GT(counts.equal, rounds / 2);
  EXPECT_GT(counts.varied, counts.equal * 9 / 10);
  EXPECT_GT(counts.splits, rounds / 20);
  RecordProperty("equal", counts.equal);
  RecordProperty("splits", counts.splits);
  RecordProperty("refused", counts.refused);
}

// Products of rows, softmax and element-wise operators: nothing prevents cuts between rows.
TEST(Realise, RowsOfSignalsAreByteIdentical) {
  const int rounds = Cases(2000);
  const Counts counts = RunMany(Kind::kRows, rounds, 5);
  EXPECT_GT(counts.equal, rounds / 2);
  EXPECT_GT(counts.varied, counts.equal * 8 / 10);
  EXPECT_GT(counts.splits, rounds / 20);
  EXPECT_EQ(counts.refused, 0);
  RecordProperty("equal", counts.equal);
  RecordProperty("splits", counts.splits);
}

// Batches, channels and time, through operators that move, add, remove and reduce axes.
TEST(Realise, AnyAxisIsByteIdentical) {
  const int rounds = Cases(4000);
  const Counts counts = RunMany(Kind::kAxes, rounds, 6);
  EXPECT_GT(counts.equal, rounds / 5);
  EXPECT_GT(counts.varied, counts.equal * 8 / 10);
  EXPECT_GT(counts.splits, rounds / 20);
  RecordProperty("equal", counts.equal);
  RecordProperty("splits", counts.splits);
  RecordProperty("refused", counts.refused);
}

// Products by columns, and what follows them.
TEST(Realise, ColumnsAreByteIdentical) {
  const int rounds = Cases(3000);
  const Counts counts = RunMany(Kind::kColumns, rounds, 7);
  EXPECT_GT(counts.equal, rounds / 4);
  EXPECT_GT(counts.varied, counts.equal * 8 / 10);
  RecordProperty("equal", counts.equal);
  RecordProperty("refused", counts.refused);
}

TEST(Realise, ColumnsOfOnnxAreByteIdenticalInTheExecutor) {
  const int rounds = Cases(3000);
  const Counts counts = RunMany(Kind::kOnnxColumns, rounds, 8);
  EXPECT_GT(counts.equal, rounds / 4);
  EXPECT_GT(counts.varied, counts.equal * 8 / 10);
  RecordProperty("equal", counts.equal);
  RecordProperty("refused", counts.refused);
}

TEST(Realise, OnnxNetworksAreByteIdenticalInTheExecutor) {
  const int rounds = Cases(2000);
  const Counts counts = RunMany(Kind::kOnnx, rounds, 3);
  EXPECT_GT(counts.equal, rounds / 2);
  EXPECT_GT(counts.varied, counts.equal * 9 / 10);
  EXPECT_GT(counts.splits, rounds / 40);
  RecordProperty("equal", counts.equal);
  RecordProperty("splits", counts.splits);
  RecordProperty("refused", counts.refused);
  // Operators get explicit padding: only ragged borders prevent tiles.
  EXPECT_LT(counts.refused, counts.equal / 10);
}

// A kernel of float activations and integer weights has a scale for the whole image.
TEST(Realise, HybridConvolutionsAreNotCut) {
  Random random(5);
  int refused = 0;
  int found = 0;
  for (int round = 0; round < Cases(400); ++round) {
    const Network network = RandomTflite(&random, false);
    const graph::Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
    const RegionPlan plan = AllInTiles(network, &random);
    if (plan.splits.empty()) continue;
    const auto tiles = TilesOf(main, plan);
    if (!tiles) continue;
    graph::Subgraph hybrid = main;
    graph::OpId changed;
    for (const graph::OpId id : hybrid.ops.Ids()) {
      const graph::Op& op = hybrid.ops[id];
      if (op.type != "CONV_2D" && op.type != "DEPTHWISE_CONV_2D") continue;
      hybrid.tensors[op.inputs[1]].type = graph::ElementType::kInt8;
      changed = id;
      break;
    }
    if (!changed.valid()) continue;
    const auto cut = TilesOf(hybrid, plan);
    if (cut) {
      // Every tile needs all of its output.
      EXPECT_EQ(FindWrongTile(hybrid, plan, *cut), "");
      continue;
    }
    EXPECT_EQ(cut.error().op, graph::Describe(changed, hybrid.ops[changed]));
    // The checker finds it in tiles that others made.
    EXPECT_EQ(FindWrongTile(main, plan, *tiles), "");
    found += FindWrongTile(hybrid, plan, *tiles).empty() ? 0 : 1;
    ++refused;
  }
  EXPECT_GT(refused, Cases(100));
  // Where every tile computes all of the convolution, its part is right.
  EXPECT_GT(found, refused / 2);
}

TEST(Realise, TheCheckFindsPartsThatAreMoved) {
  Random random(6);
  int found = 0;
  int moved = 0;
  for (int round = 0; round < 300; ++round) {
    const Network network = RandomTflite(&random, true);
    const graph::Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
    const RegionPlan plan = AllInTiles(network, &random);
    if (plan.splits.empty()) continue;
    auto tiles = TilesOf(main, plan);
    if (!tiles) continue;
    const std::size_t axis = plan.splits[0].axis;
    for (Tile& tile : *tiles) {
      const TileStep& step = tile.steps.front();
      if (step.op.valid()) continue;
      ops::Interval& part = tile.tensors[static_cast<std::size_t>(step.output)].box[axis];
      if (part.begin == 0) continue;
      --part.begin;
      --part.end;
      ++moved;
      found += FindWrongTile(main, plan, *tiles).empty() ? 0 : 1;
      break;
    }
  }
  EXPECT_GT(moved, 50);
  EXPECT_EQ(found, moved);
}

// The control: cut one row too few of the input, and outputs differ.
TEST(Realise, ATileThatReadsTooLittleShows) {
  Random random(4);
  int shown = 0;
  for (int round = 0; round < 300 && shown < 20; ++round) {
    const Network network = RandomTflite(&random, true);
    const graph::Subgraph& main = network.graph.subgraphs[SubgraphId(0)];
    const RegionPlan plan = AllInTiles(network, &random);
    if (plan.splits.empty()) continue;
    auto tiled = Realise(network.graph, {plan});
    if (!tiled) continue;
    graph::Subgraph& changed = tiled->subgraphs[SubgraphId(0)];
    for (graph::Op& op : changed.ops) {
      if (op.type != "SLICE" || op.inputs[0] != changed.inputs[0]) continue;
      graph::Tensor& begin = changed.tensors[op.inputs[1]];
      auto bytes = std::make_shared<std::vector<std::byte>>(begin.data->bytes.begin(),
                                                            begin.data->bytes.end());
      // The second number is the first row.
      if ((*bytes)[4] == std::byte{0}) continue;
      (*bytes)[4] = std::byte(std::to_integer<unsigned>((*bytes)[4]) - 1U);
      begin.data = graph::ConstantData{bytes, *bytes};
      break;
    }
    const auto inputs = execute::RandomInputs(main, 5, 1 << 20);
    const auto expected = execute::Evaluate(network.graph, SubgraphId(0), *inputs, {});
    const auto found = execute::Evaluate(*tiled, SubgraphId(0), *inputs, {});
    ASSERT_TRUE(expected && found);
    shown += (*expected)[0].bytes != (*found)[0].bytes ? 1 : 0;
  }
  EXPECT_GE(shown, 20);
}

}  // namespace
}  // namespace neap::cascade
