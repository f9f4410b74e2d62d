// SPDX-License-Identifier: Apache-2.0
//
// The rule key-blocks against Neap's executor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "neap/check/key_block_check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/transform/rewrite/rewrite.h"
#include "testing/attention_cases.h"

namespace neap::rewrite {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::TensorId;

constexpr std::int64_t kMemory = std::int64_t{1} << 28;
constexpr graph::SubgraphId kMain(0);
constexpr std::int64_t kScores = 0;
constexpr std::int64_t kSource = 2;

std::vector<std::vector<float>> Outputs(const Graph& graph,
                                        const std::vector<execute::Value>& inputs, bool tflite) {
  execute::EvaluateOptions options;
  options.kernels = tflite ? execute::Kernels::kLitert : execute::Kernels::kOnnx;
  const auto outputs = execute::Evaluate(graph, kMain, inputs, options);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().ToString());
  std::vector<std::vector<float>> floats;
  if (!outputs) return floats;
  for (const execute::Value& value : *outputs) {
    floats.emplace_back(value.bytes.size() / sizeof(float));
    std::memcpy(floats.back().data(), value.bytes.data(), value.bytes.size());
  }
  return floats;
}

plan::Rewrite InBlocks(const Graph& graph, std::int64_t count, std::int64_t reach) {
  plan::Rewrite rewrite;
  rewrite.rule = "key-blocks";
  rewrite.op = LastProductOf(graph);
  rewrite.parameters = {count, reach};
  rewrite.exactness = plan::Exactness::kReassociates;
  return rewrite;
}

AttentionCase Make(bool tflite, const AttentionSizes& sizes, std::uint64_t seed = 1) {
  Random random(seed);
  return AttentionMaker(tflite, &random).Make(sizes);
}

std::size_t CountOf(const Graph& graph, const std::string& type) {
  const auto& ops = graph.subgraphs[kMain].ops;
  return static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.type == type; }));
}

// Largest difference of the outputs, as a share of the bound. Neap's kernels compute a score and a
// value in the same way for every number of keys.
double ShareOfBound(const AttentionCase& made, const Graph& edited, std::int64_t count,
                    std::uint64_t seed, bool tflite) {
  const auto inputs = execute::RandomInputs(made.graph.subgraphs[kMain], seed, kMemory);
  EXPECT_TRUE(inputs);
  Graph inside = made.graph;
  inside.subgraphs[kMain].outputs = {made.values};
  const auto values = Outputs(inside, *inputs, tflite);
  const auto before = Outputs(made.graph, *inputs, tflite);
  const auto after = Outputs(edited, *inputs, tflite);
  if (values.size() != 1 || before.size() != 1 || after.size() != 1 ||
      before[0].size() != after[0].size()) {
    return std::numeric_limits<double>::infinity();
  }
  double largest = 0;
  for (const float value : values[0]) largest = std::max<double>(largest, std::fabs(value));
  const double bound = KeyBlocksBound(made.sizes.keys, count) * largest;
  double share = 0;
  for (std::size_t i = 0; i < before[0].size(); ++i) {
    if (!std::isfinite(before[0][i]) || !std::isfinite(after[0][i])) {
      return std::numeric_limits<double>::infinity();
    }
    share = std::max(share, std::fabs(double{before[0][i]} - after[0][i]) / bound);
  }
  return share;
}

TEST(KeyBlocksTest, RandomAttentionStaysWithinTheBound) {
  Random random(5);
  int different = 0;
  for (int i = 0; i < 300; ++i) {
    const bool tflite = i % 2 == 0;
    const AttentionCase made =
        AttentionMaker(tflite, &random).Make(AttentionMaker::AnySizes(&random));
    ASSERT_TRUE(graph::Verify(made.graph)) << i;
    const std::int64_t count = random.Between(2, std::min<std::int64_t>(made.sizes.keys, 9));
    const std::int64_t reach = random.Between(0, 2);
    const auto edited = Apply(made.graph, std::vector{InBlocks(made.graph, count, reach)}, {});
    ASSERT_TRUE(edited) << i << ": " << edited.error().ToString();
    const double share = ShareOfBound(made, *edited, count, static_cast<std::uint64_t>(i), tflite);
    ASSERT_LE(share, 1) << i;
    different += share > 0 ? 1 : 0;
  }
  EXPECT_GT(different, 150);
}

// Nothing of the whole attention is left, and nothing of the keys is whole.
TEST(KeyBlocksTest, NoTensorHasAllKeys) {
  AttentionSizes sizes;
  sizes.keys = 37;
  sizes.scale = sizes.mask = sizes.turned = true;
  for (const bool tflite : {true, false}) {
    const AttentionCase made = Make(tflite, sizes);
    const auto edited = Apply(made.graph, std::vector{InBlocks(made.graph, 4, kSource)}, {});
    ASSERT_TRUE(edited);
    EXPECT_EQ(CountOf(*edited, tflite ? "SOFTMAX" : "Softmax"), 0U);
    EXPECT_EQ(CountOf(*edited, tflite ? "SLICE" : "Slice"), 4U);
    const graph::Subgraph& main = edited->subgraphs[kMain];
    for (const Op& op : main.ops) {
      const graph::Shape& shape = *main.tensors[op.outputs[0]].shape;
      EXPECT_EQ(std::count(shape.begin(), shape.end(), 37), 0) << main.tensors[op.outputs[0]].name;
    }
    const auto scores = Apply(made.graph, std::vector{InBlocks(made.graph, 4, kScores)}, {});
    ASSERT_TRUE(scores);
    EXPECT_EQ(CountOf(*scores, tflite ? "SLICE" : "Slice"), 8U);
  }
}

// One scale in the comparison is wrong: it is seen.
TEST(KeyBlocksTest, AWrongFactorIsSeen) {
  AttentionSizes sizes;
  sizes.keys = 16;
  sizes.width = 8;
  const AttentionCase made = Make(true, sizes);
  auto edited = Apply(made.graph, std::vector{InBlocks(made.graph, 4, kSource)}, {});
  ASSERT_TRUE(edited);
  EXPECT_LE(ShareOfBound(made, *edited, 4, 1, true), 1);
  for (Op& op : edited->subgraphs[kMain].ops) {
    // The factor of the sum is left out.
    if (op.type == "MUL") op.inputs[1] = op.inputs[0];
  }
  EXPECT_GT(ShareOfBound(made, *edited, 4, 1, true), 100);
}

bool Fits(const Graph& graph) {
  return Apply(graph, std::vector{InBlocks(graph, 2, kSource)}, {}).has_value();
}

TEST(KeyBlocksTest, InfiniteMasksAreRefused) {
  AttentionSizes sizes;
  sizes.mask = true;
  AttentionCase made = Make(true, sizes);
  EXPECT_TRUE(Fits(made.graph));
  graph::Subgraph& main = made.graph.subgraphs[kMain];
  TensorId mask;
  for (const Op& op : main.ops) {
    if (op.type == "ADD") mask = op.inputs[1];
  }
  const graph::Tensor finite = main.tensors[mask];
  std::vector<float> values(8, 0);
  values[3] = -std::numeric_limits<float>::infinity();
  main.tensors[mask] = graph::ConstantOf(graph::ElementType::kFloat32, *finite.shape, values);
  main.tensors[mask].name = finite.name;
  ASSERT_EQ(finite.data->bytes.size(), values.size() * sizeof(float));
  EXPECT_FALSE(Fits(made.graph));
  // Unknown values may be infinite, and so may computed ones.
  main.tensors[mask] = finite;
  main.tensors[mask].data.reset();
  EXPECT_FALSE(Fits(made.graph));
  main.tensors[mask].constant = false;
  main.inputs.push_back(mask);
  EXPECT_FALSE(Fits(made.graph));
}

TEST(KeyBlocksTest, WrongParametersAndOtherOperatorsAreRefused) {
  const AttentionCase made = Make(false, {});
  for (const std::vector<std::int64_t>& parameters :
       {std::vector<std::int64_t>{1, 2}, {9, 2}, {2, 3}, {2, -1}, {2}, {2, 2, 2}}) {
    plan::Rewrite rewrite = InBlocks(made.graph, 2, kSource);
    rewrite.parameters = parameters;
    EXPECT_FALSE(Apply(made.graph, std::vector{rewrite}, {}));
  }
  plan::Rewrite claims = InBlocks(made.graph, 2, kSource);
  claims.exactness = plan::Exactness::kBitwise;
  EXPECT_FALSE(Apply(made.graph, std::vector{claims}, {}));
  plan::Rewrite other = InBlocks(made.graph, 2, kSource);
  other.op = OpId(0);
  EXPECT_FALSE(Apply(made.graph, std::vector{other}, {}));
  // The weights are an output of the graph.
  AttentionCase read = Make(false, {});
  graph::Subgraph& main = read.graph.subgraphs[kMain];
  main.outputs.push_back(main.ops[LastProductOf(read.graph)].inputs[0]);
  EXPECT_FALSE(Fits(read.graph));
}

// ---- the checker

TEST(KeyBlocksCheckTest, AcceptsRandomAttention) {
  Random random(6);
  for (int i = 0; i < 200; ++i) {
    const AttentionCase made =
        AttentionMaker(i % 2 == 0, &random).Make(AttentionMaker::AnySizes(&random));
    const std::int64_t count = random.Between(2, std::min<std::int64_t>(made.sizes.keys, 9));
    const auto edited =
        Apply(made.graph, std::vector{InBlocks(made.graph, count, random.Between(0, 2))}, {});
    ASSERT_TRUE(edited);
    ASSERT_EQ(check::FindWrongKeyBlocks(made.graph, *edited), "") << i;
  }
}

// Another input of the same shape, another operator, a changed number.
std::string Mutate(Graph* graph, std::size_t given, Random* random) {
  graph::Subgraph& main = graph->subgraphs[kMain];
  std::vector<OpId> added;
  for (const OpId id : main.ops.Ids()) {
    if (main.ops[id].source_index < 0) added.push_back(id);
  }
  Op& op = main.ops[added[random->Below(added.size())]];
  const std::uint64_t kind = random->Below(8);
  if (kind == 0) {
    const std::map<std::string, std::string> others = {{"MUL", "ADD"},  {"ADD", "SUB"},
                                                       {"SUB", "ADD"},  {"MAXIMUM", "MINIMUM"},
                                                       {"EXP", "ABS"},  {"Mul", "Add"},
                                                       {"Add", "Sub"},  {"Sub", "Add"},
                                                       {"Max", "Min"},  {"Exp", "Abs"},
                                                       {"DIV", "MUL"},  {"Div", "Mul"},
                                                       {"SUM", "MEAN"}, {"ReduceMax", "ReduceMin"}};
    const auto other = others.find(op.type);
    if (other == others.end()) return "";
    op.type = other->second;
    return "operator " + op.name + " is " + op.type;
  }
  const std::size_t at = random->Below(op.inputs.size());
  const graph::Tensor& input = main.tensors[op.inputs[at]];
  if (kind == 1) {
    // A new constant is no longer the part that it was, or another range.
    if (!input.constant || op.inputs[at].index() < given) return "";
    auto bytes = std::make_shared<std::vector<std::byte>>(input.data->bytes.begin(),
                                                          input.data->bytes.end());
    (*bytes)[0] = (*bytes)[0] ^ std::byte{1};
    main.tensors[op.inputs[at]].data = graph::ConstantData{bytes, *bytes};
    return "constant of " + op.name;
  }
  std::vector<TensorId> others;
  for (const TensorId id : main.tensors.Ids()) {
    const graph::Tensor& other = main.tensors[id];
    if (id != op.inputs[at] && other.type == input.type && other.shape == input.shape &&
        other.constant == input.constant &&
        !(other.data && input.data &&
          std::equal(other.data->bytes.begin(), other.data->bytes.end(), input.data->bytes.begin(),
                     input.data->bytes.end()))) {
      others.push_back(id);
    }
  }
  if (others.empty()) return "";
  op.inputs[at] = others[random->Below(others.size())];
  return "input " + std::to_string(at) + " of " + op.name + " is " +
         main.tensors[op.inputs[at]].name;
}

TEST(KeyBlocksCheckTest, FindsEveryChange) {
  Random random(7);
  int changed = 0;
  for (int i = 0; i < 600; ++i) {
    const AttentionCase made =
        AttentionMaker(i % 2 == 0, &random).Make(AttentionMaker::AnySizes(&random));
    const std::int64_t count = random.Between(2, std::min<std::int64_t>(made.sizes.keys, 5));
    auto edited =
        Apply(made.graph, std::vector{InBlocks(made.graph, count, random.Between(0, 2))}, {});
    ASSERT_TRUE(edited);
    const std::string what = Mutate(&*edited, made.graph.subgraphs[kMain].tensors.size(), &random);
    if (what.empty()) continue;
    ++changed;
    EXPECT_NE(check::FindWrongKeyBlocks(made.graph, *edited), "") << i << ": " << what;
  }
  EXPECT_GT(changed, 250);
}

TEST(KeyBlocksCheckTest, MasksAreFinite) {
  AttentionSizes sizes;
  sizes.mask = true;
  const AttentionCase made = Make(true, sizes);
  auto edited = Apply(made.graph, std::vector{InBlocks(made.graph, 2, kSource)}, {});
  ASSERT_TRUE(edited);
  EXPECT_EQ(check::FindWrongKeyBlocks(made.graph, *edited), "");
  // In both graphs, so that they compute the same.
  Graph given = made.graph;
  const float infinity = std::numeric_limits<float>::infinity();
  for (graph::Subgraph* main : {&given.subgraphs[kMain], &edited->subgraphs[kMain]}) {
    for (graph::Tensor& tensor : main->tensors) {
      if (!tensor.constant || tensor.shape->size() != 4 || !tensor.data) continue;
      auto bytes = std::make_shared<std::vector<std::byte>>(tensor.data->bytes.begin(),
                                                            tensor.data->bytes.end());
      for (std::size_t at = 0; at < bytes->size(); at += sizeof(float)) {
        std::memcpy(bytes->data() + at, &infinity, sizeof(infinity));
      }
      tensor.data = graph::ConstantData{bytes, *bytes};
    }
  }
  EXPECT_NE(check::FindWrongKeyBlocks(given, *edited), "");
}

// ---- the search

// One query over many keys: the keys and values are most of the memory. Only where rewrites may
// reassociate.
TEST(KeyBlocksTest, TheSearchFindsIt) {
  AttentionSizes sizes;
  sizes.keys = 256;
  sizes.width = 16;
  sizes.depth = 16;
  for (const bool tflite : {true, false}) {
    const AttentionCase made = Make(tflite, sizes);
    compile::Options options;
    options.runtime = plan::Runtime::kIdeal;
    SearchOptions search;
    const auto bitwise = Search(made.graph, options, search);
    search.exactness = plan::Exactness::kReassociates;
    const auto found = Search(made.graph, options, search);
    ASSERT_TRUE(bitwise && found);
    const bool used =
        std::any_of(bitwise->applications.begin(), bitwise->applications.end(),
                    [](const plan::Rewrite& rewrite) { return rewrite.rule == "key-blocks"; });
    EXPECT_FALSE(used);
    EXPECT_LT(found->peak_bytes * 3, bitwise->peak_bytes * 2);
    EXPECT_LE(found->lower_bound_bytes, found->peak_bytes);
    ASSERT_EQ(found->applications.back().rule, "key-blocks");
  }
}

// Self-attention in a small model: never worse than without the rule.
TEST(KeyBlocksTest, TheSearchIsNeverWorse) {
  Random random(9);
  for (int i = 0; i < 12; ++i) {
    AttentionSizes sizes = AttentionMaker::AnySizes(&random);
    const AttentionCase made = AttentionMaker(i % 2 == 0, &random).Make(sizes);
    compile::Options options;
    SearchOptions search;
    search.max_work = 20'000;
    search.exactness = plan::Exactness::kReassociates;
    const auto found = Search(made.graph, options, search);
    search.exactness = plan::Exactness::kBitwise;
    const auto without = Search(made.graph, options, search);
    ASSERT_TRUE(found && without);
    EXPECT_LE(found->peak_bytes, without->peak_bytes);
  }
}

}  // namespace
}  // namespace neap::rewrite
