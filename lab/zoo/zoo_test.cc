// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace neap::zoo {
namespace {

using graph::OpId;
using graph::Shape;
using graph::SubgraphId;
using graph::TensorId;

const graph::Subgraph& Main(const Network& network) {
  return network.graph.subgraphs[SubgraphId(0)];
}

Network Make(std::string_view name, const ZooOptions& options = {}) {
  auto network = BuildNetwork(name, options);
  EXPECT_TRUE(network.has_value()) << network.error().ToString();
  return std::move(network).value();
}

std::map<std::string, int> CountOps(const Network& network) {
  std::map<std::string, int> counts;
  for (const graph::Op& op : Main(network).ops) ++counts[op.type];
  return counts;
}

// Everything that two equal networks share, data of the constants included.
std::string Fingerprint(const Network& network) {
  std::string text;
  for (const graph::Op& op : Main(network).ops) {
    text += op.type + " " + op.name;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const TensorId id : *list) text.append(1, ' ').append(std::to_string(id.value()));
    }
    text += "\n";
  }
  for (const graph::Tensor& tensor : Main(network).tensors) {
    text += tensor.name;
    if (tensor.data) {
      text.append(reinterpret_cast<const char*>(tensor.data->bytes.data()),
                  tensor.data->bytes.size());
    }
  }
  return text;
}

std::string WiringOf(const Network& network) {
  std::string text;
  for (const graph::Op& op : Main(network).ops) {
    for (const TensorId id : op.inputs) text += std::to_string(id.value()) + " ";
    text += op.type + "\n";
  }
  return text;
}

// Shapes, without the weights.
Network MakeShapes(std::string_view name) { return Make(name, {.weights = false}); }

std::int64_t Product(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t dimension : shape) product *= dimension;
  return product;
}

std::string TestName(const testing::TestParamInfo<Recipe>& instance) {
  std::string name(instance.param.name);
  const auto odd = [](unsigned char c) { return std::isalnum(c) == 0; };
  std::replace_if(name.begin(), name.end(), odd, '_');
  return name;
}

class EveryNetwork : public testing::TestWithParam<Recipe> {};

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork, testing::ValuesIn(Recipes().begin(), Recipes().end()),
                         TestName);

// Networks of 6,000,000 parameters and more, whose weights take long to draw, by the same code as
// those of the others. Named, not counted: instances are listed again in the process of every test.
constexpr std::string_view kHeavy[] = {
    "densenet-121", "densenet-169",     "densenet-201",     "inception-resnet-v2", "inception-v3",
    "resnet-101",   "resnet-101-v2",    "resnet-152",       "resnet-152-v2",       "resnet-50",
    "resnet-50-v2", "ssd-mobilenet-v1", "ssd-mobilenet-v2", "transformer-encoder", "unet",
    "unet++",       "xception"};

std::vector<Recipe> LightRecipes() {
  std::vector<Recipe> light;
  for (const Recipe& recipe : Recipes()) {
    if (std::ranges::find(kHeavy, recipe.name) == std::end(kHeavy)) light.push_back(recipe);
  }
  return light;
}

class EveryLightNetwork : public testing::TestWithParam<Recipe> {};

INSTANTIATE_TEST_SUITE_P(Zoo, EveryLightNetwork, testing::ValuesIn(LightRecipes()), TestName);

TEST_P(EveryNetwork, IsAVerifiedGraphInTopologicalOrder) {
  const Network network = MakeShapes(GetParam().name);
  const auto verified = graph::Verify(network.graph);
  ASSERT_TRUE(verified.has_value()) << verified.error().ToString();
  const graph::Subgraph& main = Main(network);
  EXPECT_EQ(main.name, GetParam().name);
  const auto producer = graph::Producers(main);
  for (const OpId id : main.ops.Ids()) {
    for (const TensorId input : main.ops[id].inputs) EXPECT_LT(producer[input], id);
  }
}

TEST_P(EveryNetwork, IsLightOrHeavyByItsParameters) {
  const bool heavy = MakeShapes(GetParam().name).facts.parameters >= 6'000'000;
  EXPECT_EQ(heavy, std::ranges::find(kHeavy, GetParam().name) != std::end(kHeavy));
}

bool IsLearned(const std::string& name) {
  return name.ends_with("/weight") || name.ends_with("/bias") || name.ends_with("/mean") ||
         name.ends_with("/variance") || name.find("/gate") != std::string::npos;
}

TEST_P(EveryNetwork, KnowsEveryShapeAndCountsEveryWeight) {
  const Network network = MakeShapes(GetParam().name);
  std::set<std::string> names;
  std::int64_t numbers = 0;
  for (const graph::Tensor& tensor : Main(network).tensors) {
    EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
    const auto bytes = graph::TensorBytes(tensor);
    ASSERT_TRUE(bytes.has_value()) << tensor.name;
    EXPECT_GT(*bytes, 0) << tensor.name;
    if (tensor.constant && IsLearned(tensor.name)) numbers += *bytes / 4;
  }
  EXPECT_EQ(network.facts.parameters, numbers);
}

// With weights it is the same network, every constant of which has its bytes.
TEST_P(EveryLightNetwork, HasEveryWeight) {
  const Network shapes = MakeShapes(GetParam().name);
  const Network network = Make(GetParam().name);
  ASSERT_EQ(Main(network).tensors.size(), Main(shapes).tensors.size());
  for (const TensorId id : Main(network).tensors.Ids()) {
    const graph::Tensor& tensor = Main(network).tensors[id];
    EXPECT_EQ(tensor.name, Main(shapes).tensors[id].name);
    EXPECT_EQ(tensor.shape, Main(shapes).tensors[id].shape);
    ASSERT_EQ(tensor.constant, tensor.data.has_value()) << tensor.name;
    if (!tensor.constant) continue;
    EXPECT_EQ(static_cast<std::int64_t>(tensor.data->bytes.size()), *graph::TensorBytes(tensor));
  }
  EXPECT_EQ(WiringOf(network), WiringOf(shapes));
  EXPECT_EQ(network.facts.parameters, shapes.facts.parameters);
}

TEST_P(EveryNetwork, UsesEveryOutputOnceProduced) {
  const Network network = MakeShapes(GetParam().name);
  const graph::Subgraph& main = Main(network);
  std::set<TensorId> read(main.outputs.begin(), main.outputs.end());
  for (const graph::Op& op : main.ops) read.insert(op.inputs.begin(), op.inputs.end());
  for (const TensorId id : main.tensors.Ids()) {
    EXPECT_TRUE(read.contains(id)) << graph::Describe(id, main.tensors[id]);
  }
}

TEST_P(EveryLightNetwork, FollowsTheSeed) {
  const std::string first = Fingerprint(Make(GetParam().name, {.seed = 4}));
  EXPECT_EQ(first, Fingerprint(Make(GetParam().name, {.seed = 4})));
  EXPECT_NE(first, Fingerprint(Make(GetParam().name, {.seed = 5})));
}

TEST_P(EveryNetwork, CountsItsMultiplications) {
  const Network network = MakeShapes(GetParam().name);
  const graph::Subgraph& main = Main(network);
  std::int64_t multiplications = 0;
  for (const graph::Op& op : main.ops) {
    const Shape& out = *main.tensors[op.outputs[0]].shape;
    if (op.type == "MatMul") {
      multiplications += Product(out) * main.tensors[op.inputs[0]].shape->back();
    } else if (op.type == "Conv" || op.type == "Gemm") {
      // Every output reads one filter of the weights.
      const Shape& weight = *main.tensors[op.inputs[1]].shape;
      EXPECT_EQ(out[1], weight[0]);
      multiplications += Product(out) * (Product(weight) / weight[0]);
    } else if (op.type == "ConvTranspose") {
      // Every input is written through all filters of its channel.
      const Shape& weight = *main.tensors[op.inputs[1]].shape;
      multiplications += Product(*main.tensors[op.inputs[0]].shape) * (Product(weight) / weight[0]);
    }
  }
  EXPECT_EQ(network.facts.multiply_accumulates, multiplications);
}

TEST(Zoo, RefusesWhatItDoesNotHave) {
  const auto code = [](std::string_view name, const ZooOptions& options) {
    const auto result = Build(name, options);
    return result.has_value() ? "built" : result.error().ToString();
  };
  EXPECT_NE(code("resnet-50", {.width = 8}).find("one published width"), std::string::npos);
  EXPECT_NE(code("randwire-ba", {.nodes = 5}).find("from 6 to 256"), std::string::npos);
  EXPECT_EQ(Build("resnet", {}).error().code, ErrorCode::kUsage);
  EXPECT_NE(code("resnet", {}).find("randwire-ws"), std::string::npos);
  EXPECT_NE(code("randwire-ws", {.width = 7}).find("a multiple of 2"), std::string::npos);
  EXPECT_NE(code("randwire-ws", {.width = -2}).find("width is -2"), std::string::npos);
  EXPECT_NE(code("randwire-ws", {.nodes = 4}).find("from 5 to 256"), std::string::npos);
  EXPECT_NE(code("darts-imagenet", {.nodes = 8}).find("fixed cells"), std::string::npos);
  EXPECT_NE(code("resnet-50", {.resolution = 96}).find("no width multiplier"), std::string::npos);
  EXPECT_NE(code("randwire-ws", {.width_thousandths = 500}).find("no width multiplier"),
            std::string::npos);
  EXPECT_NE(code("mobilenet-v1-vww", {.resolution = 64}).find("no width"), std::string::npos);
  EXPECT_NE(code("mobilenet-v2", {.resolution = 8}).find("from 32 to 2048"), std::string::npos);
  EXPECT_NE(code("mobilenet-v2", {.width = 8}).find("one published width"), std::string::npos);
  EXPECT_EQ(code("mobilenet-v2", {.width_thousandths = 100, .resolution = 33, .weights = false}),
            "built");
  EXPECT_EQ(code("randwire-ws", {.width = 2, .nodes = 5}), "built");
  EXPECT_EQ(code("darts-cifar", {.width = 2}), "built");
}

// Liu et al. 2019, tables 1 and 3: 3.3 and 4.7 million parameters. To the last digit these are the
// sums that the definition gives by hand, auxiliary heads left out.
TEST(Darts, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(MakeShapes("darts-imagenet").facts.published_parameters, 4'718'752);
  EXPECT_EQ(MakeShapes("darts-cifar").facts.published_parameters, 3'349'342);
}

// The paper prints 574 million, which recounts by others do not reach (523 and 545 million,
// depending on the counted operators); the constraint of the mobile setting is 600 million.
TEST(Darts, HasAboutThePublishedNumberOfMultiplications) {
  const std::int64_t count = MakeShapes("darts-imagenet").facts.multiply_accumulates;
  EXPECT_EQ(count, 529'911'552);
  EXPECT_NEAR(static_cast<double>(count), 574e6, 0.08 * 574e6);
}

TEST(Darts, HasThePublishedOperations) {
  const auto counts = CountOps(MakeShapes("darts-imagenet"));
  // 12 normal cells with 5 separable and 1 dilated convolution, 2 reductions with 5 pools; 28
  // preprocessings, of which 3 by two convolutions of stride 2; 3 convolutions of the stem.
  EXPECT_EQ(counts.at("Conv"), 12 * (5 * 4 + 2) + 25 + 3 * 2 + 3);
  EXPECT_EQ(counts.at("MaxPool"), 2 * 5);
  EXPECT_EQ(counts.at("Add"), 14 * 4);
  EXPECT_EQ(counts.at("Slice"), 3);
  EXPECT_EQ(counts.at("Concat"), 14 + 3);
  EXPECT_EQ(counts.at("Relu"), 12 * (5 * 2 + 1) + 28 + 2);
}

// Which states the two sides of every node of a cell read, by the names of the states' operators.
std::string Sources(const Network& network, const std::string& cell) {
  const graph::Subgraph& main = Main(network);
  const auto producer = graph::Producers(main);
  std::string text;
  for (const graph::Op& op : main.ops) {
    if (op.type != "Add" || !op.name.starts_with(cell + "/")) continue;
    const std::string node = op.name.substr(0, op.name.rfind('/') + 1);
    for (TensorId source : op.inputs) {
      while (main.tensors[source].name.starts_with(node)) {
        source = main.ops[producer[source]].inputs[0];
      }
      const std::string state = main.tensors[source].name.substr(cell.size() + 1);
      text += state.substr(0, state.find('/')) + " ";
    }
  }
  return text;
}

// Liu et al. 2019, figures 4 and 5.
TEST(Darts, HasThePublishedWiring) {
  const Network network = MakeShapes("darts-imagenet");
  EXPECT_EQ(Sources(network, "cell0"), "input0 input1 input0 input1 input1 input0 input0 node2 ");
  EXPECT_EQ(Sources(network, "cell4"), "input0 input1 node2 input1 input0 node2 node2 input1 ");
}

TEST(Darts, EndsInTheClassesOfItsTask) {
  const auto shape = [](std::string_view name) {
    const Network network = MakeShapes(name);
    return *Main(network).tensors[Main(network).outputs[0]].shape;
  };
  EXPECT_EQ(shape("darts-imagenet"), (Shape{1, 1000}));
  EXPECT_EQ(shape("darts-cifar"), (Shape{1, 10}));
  EXPECT_EQ(shape("darts-imagenet-cell"), (Shape{1, 192, 28, 28}));
}

// Xie et al. 2019, table 2: WS(4, 0.75) in the small regime has 5.6 +- 0.1 million parameters and
// 583 +- 6.2 million multiplications, over several networks.
TEST(Randwire, HasThePublishedSizeOnAverage) {
  constexpr int kSeeds = 16;
  double parameters = 0;
  double multiplications = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Facts facts =
        Make("randwire-ws", {.seed = static_cast<std::uint64_t>(seed), .weights = false}).facts;
    parameters += static_cast<double>(facts.published_parameters) / kSeeds;
    multiplications += static_cast<double>(facts.multiply_accumulates) / kSeeds;
  }
  EXPECT_NEAR(parameters, 5.6e6, 0.1e6);
  EXPECT_NEAR(multiplications, 583e6, 6.2e6);
}

TEST(Randwire, HasOneTripletANode) {
  const auto counts = CountOps(Make("randwire-ws"));
  EXPECT_EQ(counts.at("Conv"), 3 * 32 * 2 + 3);
  EXPECT_EQ(counts.at("Relu"), 3 * 32 + 2);
  const auto cell = CountOps(Make("randwire-cell-ws", {.nodes = 48}));
  EXPECT_EQ(cell.at("Conv"), 48 * 2);
  EXPECT_EQ(cell.at("Relu"), 48);
}

// Every edge of the cell is a term of a sum or the only input of a node.
TEST(Randwire, HasTheEdgesOfItsWiring) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Network network = Make("randwire-cell-ws", {.seed = seed});
    const graph::Subgraph& main = Main(network);
    const auto producer = graph::Producers(main);
    std::size_t edges = 0;
    for (const graph::Op& op : main.ops) {
      if (op.type == "Sum" && op.name != "conv3/sum") edges += op.inputs.size();
      if (op.type != "Relu" || op.inputs[0] == main.inputs[0]) continue;
      edges += main.ops[producer[op.inputs[0]]].type == "Conv" ? 1 : 0;
    }
    EXPECT_EQ(edges, 32U * 4 / 2);
  }
}

TEST(Randwire, StepsDownOnlyWhereAStageIsEntered) {
  const Network network = Make("randwire-cell-ws", {.seed = 2});
  const graph::Subgraph& main = Main(network);
  const auto producer = graph::Producers(main);
  int entries = 0;
  for (const graph::Op& op : main.ops) {
    if (!op.name.ends_with("/depthwise")) continue;
    const auto strides = std::get<std::vector<std::int64_t>>(op.attributes.at("strides"));
    const graph::Op& relu = main.ops[producer[op.inputs[0]]];
    const bool enters = relu.inputs[0] == main.inputs[0];
    entries += enters ? 1 : 0;
    EXPECT_EQ(strides, std::vector<std::int64_t>(2, enters ? 2 : 1)) << op.name;
  }
  EXPECT_GE(entries, 1);
  EXPECT_EQ(*main.tensors[main.outputs[0]].shape, (Shape{1, 78, 28, 28}));
}

TEST(Randwire, WiresEveryStageAndEverySeedDifferently) {
  EXPECT_NE(WiringOf(Make("randwire-cell-ws", {.seed = 0})),
            WiringOf(Make("randwire-cell-ws", {.seed = 1})));
  // The cell is the first stage of the whole network: same seed, same wiring at any width.
  EXPECT_EQ(WiringOf(Make("randwire-cell-ws", {.seed = 3})),
            WiringOf(Make("randwire-cell-ws", {.seed = 3, .width = 16})));
}

TEST(Randwire, KeepsTheWeightsOfWeightedSums) {
  const auto plain = CountOps(Make("randwire-ws"));
  const auto weighted = CountOps(Make("randwire-ws-weighted"));
  EXPECT_EQ(plain.at("Sum"), weighted.at("Sum"));
  EXPECT_EQ(plain.at("Mul"), 3);
  EXPECT_GT(weighted.at("Mul"), 100);
}

}  // namespace
}  // namespace neap::zoo
