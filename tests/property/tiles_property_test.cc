// SPDX-License-Identifier: Apache-2.0
//
// Every operator alone, cut at random along any axis: wherever tiles are made, they pass their
// check, and the executor computes the same bytes.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/ops/op_table.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tiles_check.h"
#include "testing/cases.h"
#include "testing/random_network.h"

namespace neap::property {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// Parts of random sizes along any axis.
cascade::Split RandomSplit(const graph::Shape& shape, Random* random) {
  cascade::Split split;
  if (shape.empty()) return split;
  split.axis = random->Below(shape.size());
  const std::int64_t size = shape[split.axis];
  for (std::int64_t at = 1; at < size; ++at) {
    if (random->Chance(2, static_cast<std::uint64_t>(size))) split.cuts.push_back(at);
  }
  return split;
}

// How many networks of this operator were cut. Of a network of several operators the last one.
int CutOnce(const OperatorCase& one, ElementType type, Random* random) {
  Network network(random);
  one.add(network, one, type);
  graph::Graph graph = network.Finish();
  Subgraph& main = graph.subgraphs[SubgraphId(0)];
  const OpId id(static_cast<std::int32_t>(main.ops.size()) - 1);
  const graph::Op& op = main.ops[id];
  if (op.type != one.type || op.folded) return 0;
  // A region has one output.
  if (ops::Has(op, ops::trait::kSplits)) {
    main.outputs = {op.outputs[random->Below(op.outputs.size())]};
  } else if (op.outputs.size() != 1) {
    return 0;
  }
  cascade::RegionPlan plan;
  plan.ops = {id};
  plan.splits = {RandomSplit(*main.tensors[main.outputs[0]].shape, random)};
  if (plan.splits[0].cuts.empty()) return 0;
  const auto tiles = cascade::TilesOf(main, plan);
  if (!tiles) return 0;
  EXPECT_EQ(cascade::FindWrongTile(main, plan, *tiles), "") << one.type;
  const auto tiled = cascade::Realise(graph, {plan});
  EXPECT_TRUE(tiled) << one.type << ": " << tiled.error().ToString();
  const auto inputs = execute::RandomInputs(main, random->Next() >> 40U, 1 << 20);
  if (!tiled || !inputs) return 0;
  execute::EvaluateOptions options;
  options.kernels = one.domain == "tflite" ? execute::Kernels::kTflm : execute::Kernels::kOnnx;
  const auto expected = execute::Evaluate(graph, SubgraphId(0), *inputs, options);
  if (!expected) return 0;
  const auto found = execute::Evaluate(*tiled, SubgraphId(0), *inputs, options);
  EXPECT_TRUE(found) << one.type << ": " << found.error().ToString();
  if (!found) return 0;
  for (std::size_t i = 0; i < expected->size(); ++i) {
    EXPECT_EQ((*expected)[i].bytes, (*found)[i].bytes) << one.type;
  }
  return 1;
}

TEST(TilesProperty, EveryOperatorGivesTheSameBytes) {
  const std::set<std::string> always = {"SLICE", "STRIDED_SLICE", "TRANSPOSE_CONV", "TILE",
                                        "Slice", "Pad",           "Resize",         "ConvTranspose",
                                        "Tile",  "Gather",        "Upsample",       "CONV_2D",
                                        "SPLIT", "SPLIT_V",       "UNPACK",         "Split"};
  std::map<std::string, int> cut;
  Random random(31);
  for (const bool onnx : {false, true}) {
    for (const OperatorCase& one : onnx ? OnnxCases() : TfliteCases()) {
      if (one.domain == "neap") continue;
      const int rounds = Cases(always.contains(one.type) ? 200 : 20);
      for (int round = 0; round < rounds; ++round) {
        const ElementType type = one.types[random.Below(one.types.size())];
        cut[one.type] += CutOnce(one, type, &random);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  for (const std::string& type : always) {
    EXPECT_GT(cut[type], 0) << type;
    RecordProperty(type, cut[type]);
  }
}

}  // namespace
}  // namespace neap::property
