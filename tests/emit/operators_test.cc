// SPDX-License-Identifier: Apache-2.0
//
// Every operator that is emitted, on random shapes, attributes and quantization, alone and in small
// networks, in random plans (unit.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "testing/random_network.h"
#include "testing/random_plans.h"
#include "tests/emit/unit.h"

namespace neap::emit {
namespace {

using graph::ElementType;
using graph::SubgraphId;
using property::OperatorCase;
using property::PlanKind;
using test::Expected;
using test::Unit;

constexpr int kSeeds = 3;
constexpr int kInOneUnit = 40;

// What neap_rt computes. RELU_N1_TO_1 and the like are refused for types that the executor lacks.
const std::set<std::string>& EmittedTypes() {
  static const std::set<std::string> types = {"ADD",
                                              "SUB",
                                              "MUL",
                                              "SOFTMAX",
                                              "LOGISTIC",
                                              "TANH",
                                              "HARD_SWISH",
                                              "RELU",
                                              "RELU6",
                                              "RELU_N1_TO_1",
                                              "LEAKY_RELU",
                                              "QUANTIZE",
                                              "CONV_2D",
                                              "DEPTHWISE_CONV_2D",
                                              "AVERAGE_POOL_2D",
                                              "MAX_POOL_2D",
                                              "FULLY_CONNECTED",
                                              "MEAN",
                                              "RESHAPE",
                                              "SQUEEZE",
                                              "EXPAND_DIMS",
                                              "SLICE",
                                              "STRIDED_SLICE",
                                              "SPLIT",
                                              "SPLIT_V",
                                              "PAD",
                                              "PADV2",
                                              "CONCATENATION",
                                              "RESIZE_NEAREST_NEIGHBOR"};
  return types;
}

std::vector<const OperatorCase*> EmittedCases() {
  std::vector<const OperatorCase*> cases;
  for (const OperatorCase& one : property::TfliteCases()) {
    if (one.domain == "tflite" && EmittedTypes().contains(one.type)) cases.push_back(&one);
  }
  return cases;
}

// Scales of all quantized activations, which operators that move bytes or pool need to be equal. In
// a network of one operator that computes, each tensor has its own.
void Requantize(graph::Graph* graph, bool each, Random* random) {
  graph::Subgraph& main = graph->subgraphs[SubgraphId(0)];
  const auto draw = [&](ElementType type) {
    graph::Quantization quantization;
    quantization.scales = {0.001F * static_cast<float>(random->Between(3, 200))};
    quantization.zero_points = {type == ElementType::kInt8 ? random->Between(-128, 127)
                                                           : random->Between(0, 255)};
    return quantization;
  };
  const graph::Quantization bytes = draw(ElementType::kInt8);
  const graph::Quantization unsigned_bytes = draw(ElementType::kUint8);
  for (graph::Tensor& tensor : main.tensors) {
    const bool common = tensor.quantization && tensor.quantization->scales.size() == 1 &&
                        tensor.quantization->scales[0] == 0.05F;
    if (!common || (tensor.type != ElementType::kInt8 && tensor.type != ElementType::kUint8)) {
      continue;
    }
    tensor.quantization = each                                ? draw(tensor.type)
                          : tensor.type == ElementType::kInt8 ? bytes
                                                              : unsigned_bytes;
  }
}

bool HasScalesOfItsOwn(const std::string& type) {
  static const std::set<std::string> types = {
      "ADD",     "SUB",      "MUL",  "QUANTIZE",   "CONV_2D", "DEPTHWISE_CONV_2D", "CONCATENATION",
      "SOFTMAX", "LOGISTIC", "TANH", "HARD_SWISH", "MEAN",    "FULLY_CONNECTED"};
  return types.contains(type);
}

struct Made {
  graph::Graph graph;
  ElementType type = ElementType::kInt8;
  std::string focus;
};

Made MakeNetwork(std::size_t number, Random* random) {
  const auto cases = EmittedCases();
  const OperatorCase& focus = *cases[number % cases.size()];
  Made made;
  made.focus = focus.type;
  made.type = random->Chance(2, 3) ? ElementType::kInt8 : ElementType::kUint8;
  const bool alone = random->Chance(2, 3);
  property::Network network(random);
  const auto add = [&](const OperatorCase& one) {
    const bool has = std::find(one.types.begin(), one.types.end(), made.type) != one.types.end();
    if (has) one.add(network, one, made.type);
    return has;
  };
  for (std::uint64_t more = alone ? 0 : random->Below(3); more > 0; --more) {
    add(*cases[random->Below(cases.size())]);
  }
  if (!add(focus)) {
    made.type = ElementType::kInt8;
    property::Network other(random);
    focus.add(other, focus, made.type);
    made.graph = other.Finish();
    return made;
  }
  for (std::uint64_t more = alone ? 0 : random->Below(3); more > 0; --more) {
    add(*cases[random->Below(cases.size())]);
  }
  made.graph = network.Finish();
  Requantize(&made.graph, alone && HasScalesOfItsOwn(focus.type), random);
  return made;
}

struct Tally {
  int emitted = 0;
  int refused = 0;
};

PlanKind RandomKind(Random* random) {
  constexpr PlanKind kKinds[] = {PlanKind::kAddresses, PlanKind::kAddresses, PlanKind::kMoves,
                                 PlanKind::kTiles, PlanKind::kStreams};
  return kKinds[random->Below(std::size(kKinds))];
}

TEST(EmitOperators, EveryEmittedOperatorHasACase) {
  std::set<std::string> types;
  for (const OperatorCase* one : EmittedCases()) types.insert(one->type);
  EXPECT_EQ(types, EmittedTypes());
}

// The focus of network i gets more attempts until one is emitted: operators with few kernels.
class RandomOperators {
 public:
  explicit RandomOperators(bool single) : unit_("operators", kInOneUnit, single), single_(single) {}

  void Run(std::size_t i) {
    Random random(7000 + i);
    Made made = MakeNetwork(i, &random);
    const auto planned = property::MakePlan(made.graph, RandomKind(&random), &random);
    if (!planned || !property::Check(*planned).empty()) return;
    const Expected expected{
        made.graph,
        made.type == ElementType::kUint8 ? execute::Kernels::kLitert : execute::Kernels::kTflm,
        kSeeds};
    const auto added = unit_.Add(planned->graph, planned->plan, expected,
                                 "network " + std::to_string(i) + " " + made.focus);
    Tally& tally = tallies_[made.focus];
    if (!added) {
      ++tally.refused;
      ++refusals_[added.error().message];
    } else if (*added) {
      ++tally.emitted;
    }
    if (single_) Describe(made, *planned);
  }

  void RunRest() { unit_.Run(); }
  bool WasEmitted(const std::string& type) const {
    const auto found = tallies_.find(type);
    return found != tallies_.end() && found->second.emitted > 0;
  }

  void ExpectAllEmitted() const {
    const bool verbose = std::getenv("NEAP_EMIT_VERBOSE") != nullptr;
    for (const auto& [type, tally] : tallies_) {
      EXPECT_GT(tally.emitted, 0) << type << " was refused " << tally.refused << " times";
      if (verbose) {
        printf("%-24s emitted %4d refused %4d\n", type.c_str(), tally.emitted, tally.refused);
      }
    }
    for (const auto& [message, count] : refusals_) {
      if (verbose) printf("%4d %s\n", count, message.c_str());
    }
  }

 private:
  static void Describe(const Made& made, const property::Planned& planned) {
    printf("%s", property::Describe(made.graph, planned).c_str());
    for (const graph::Tensor& tensor : made.graph.subgraphs[SubgraphId(0)].tensors) {
      if (!tensor.quantization) continue;
      printf("%s scale %g zero %d\n", tensor.name.c_str(),
             static_cast<double>(tensor.quantization->scales[0]),
             static_cast<int>(tensor.quantization->zero_points[0]));
    }
  }

  Unit unit_;
  bool single_;
  std::map<std::string, Tally> tallies_;
  std::map<std::string, int> refusals_;
};

// NEAP_EMIT_OPERATORS: how many networks. NEAP_EMIT_CASE: the number of one, whose files stay.
TEST(EmitOperators, RandomOperatorsComputeTheBytesOfTheExecutor) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const auto networks = static_cast<std::size_t>(test::FromEnvironment("NEAP_EMIT_OPERATORS", 400));
  const int only = test::FromEnvironment("NEAP_EMIT_CASE", -1);
  RandomOperators operators(only >= 0);
  const auto cases = EmittedCases();
  for (std::size_t i = 0; i < 8 * networks && !HasFailure(); ++i) {
    if (only >= 0 ? i != static_cast<std::size_t>(only)
                  : i >= networks && operators.WasEmitted(cases[i % cases.size()]->type)) {
      continue;
    }
    operators.Run(i);
  }
  operators.RunRest();
  if (only < 0) operators.ExpectAllEmitted();
}

}  // namespace
}  // namespace neap::emit
