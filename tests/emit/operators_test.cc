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
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/ops/neap_rt.h"
#include "testing/cases.h"
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
                                              "SUM",
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
                                              "RESIZE_BILINEAR",
                                              "RESIZE_NEAREST_NEIGHBOR",
                                              "MAXIMUM",
                                              "MINIMUM",
                                              "TRANSPOSE_CONV",
                                              "DEPTH_TO_SPACE",
                                              "UNIDIRECTIONAL_SEQUENCE_LSTM"};
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
  static const std::set<std::string> types = {"ADD",           "SUB",
                                              "MUL",           "QUANTIZE",
                                              "CONV_2D",       "DEPTHWISE_CONV_2D",
                                              "CONCATENATION", "SOFTMAX",
                                              "LOGISTIC",      "TANH",
                                              "HARD_SWISH",    "MEAN",
                                              "SUM",           "FULLY_CONNECTED",
                                              "TRANSPOSE_CONV"};
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

// NEAP_EMIT_OPERATORS: how many networks. In fewer, some operators are missing.
std::size_t Networks() {
  return static_cast<std::size_t>(
      test::FromEnvironment("NEAP_EMIT_OPERATORS", std::max(Cases(400), 160)));
}

// NEAP_EMIT_CASE: the number of one network, whose files stay.
TEST(EmitOperators, RandomOperatorsComputeTheBytesOfTheExecutor) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const std::size_t networks = Networks();
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

// Addresses for the only operator of a graph: its output `distance` bytes below input `input`, all
// other tensors above.
plan::Plan PlanAt(const graph::Subgraph& main, std::size_t input, std::int64_t distance,
                  std::int64_t claimed) {
  const graph::Op& op = main.ops[graph::OpId(0)];
  const graph::TensorId in = op.inputs[input];
  const graph::TensorId out = op.outputs[0];
  const auto bytes = [&](graph::TensorId id) { return *graph::TensorBytes(main.tensors[id]); };
  // A negative distance: the input begins below the output.
  const std::int64_t base = std::max<std::int64_t>(0, -distance);
  plan::EntryPlan entry;
  entry.subgraph = SubgraphId(0);
  entry.steps = {{SubgraphId(0), graph::OpId(0)}};
  entry.tensors = {{SubgraphId(0), in, base + distance, bytes(in), 0, 1},
                   {SubgraphId(0), out, base, bytes(out), 0, 1}};
  std::int64_t top = base + std::max(bytes(out), distance + bytes(in));
  for (const graph::TensorId other : main.inputs) {
    if (other == in) continue;
    entry.tensors.push_back({SubgraphId(0), other, top, bytes(other), 0, 1});
    top += bytes(other);
  }
  entry.arena_bytes = top;
  entry.overlaps = {{0, SubgraphId(0), in, out, plan::OverlapKind::kStartsBelow, claimed}};
  plan::Plan plan;
  plan.entries = {entry};
  return plan;
}

// A network of one operator that the executor runs, or none.
std::optional<graph::Graph> SingleOperator(std::size_t number, Random* random) {
  const auto cases = EmittedCases();
  const OperatorCase& focus = *cases[number % cases.size()];
  const ElementType type = random->Chance(2, 3) ? ElementType::kInt8 : ElementType::kUint8;
  if (std::find(focus.types.begin(), focus.types.end(), type) == focus.types.end()) return {};
  property::Network network(random);
  focus.add(network, focus, type);
  graph::Graph graph = network.Finish();
  const graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
  const bool single = main.ops.size() == 1 && main.ops[graph::OpId(0)].outputs.size() == 1 &&
                      main.outputs == main.ops[graph::OpId(0)].outputs;
  if (!single) return {};
  Requantize(&graph, HasScalesOfItsOwn(focus.type), random);
  return graph;
}

// Each output as near to each input as the library neap-rt permits, and one byte nearer. A distance
// of 0 is the least that plans use, whether or not the kernels allow less; a largest element hides
// others, so that nearer outputs of pooling and of clamped functions may be equal.
TEST(EmitOperators, DistancesAreThoseOfTheKernels) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const int only = test::FromEnvironment("NEAP_EMIT_CASE", -1);
  Unit unit("distances", kInOneUnit, only >= 0);
  const std::size_t networks = Networks();
  std::map<std::string, int> found;
  for (std::size_t i = 0; i < networks && !HasFailure(); ++i) {
    if (only >= 0 && i != static_cast<std::size_t>(only)) continue;
    Random random(9000 + i);
    const auto graph = SingleOperator(i, &random);
    if (!graph) continue;
    const graph::Subgraph& main = graph->subgraphs[SubgraphId(0)];
    const graph::Op& op = main.ops[graph::OpId(0)];
    for (std::size_t input = 0; input < op.inputs.size(); ++input) {
      if (!op.inputs[input].valid() || main.tensors[op.inputs[input]].constant) continue;
      const auto rule = ops::OverlapRuleOf(main, op, input, ops::kNeapRt);
      if (!rule || rule->kind != ops::OverlapRule::Kind::kStartsBelow) continue;
      const std::int64_t out_bytes = *graph::TensorBytes(main.tensors[op.outputs[0]]);
      const plan::Plan apart = PlanAt(main, input, out_bytes, rule->bytes);
      const plan::Plan near = PlanAt(main, input, rule->bytes, rule->bytes);
      const plan::Plan nearer = PlanAt(main, input, rule->bytes - 1, rule->bytes);
      const bool tight = rule->bytes > 0 && (op.type == "CONV_2D" || op.type == "FULLY_CONNECTED");
      const auto added = unit.AddDistance(*graph, apart, near, tight ? &nearer : nullptr,
                                          "distance " + std::to_string(i) + " of " + op.type);
      if (added) ++found[tight ? op.type + ", tight" : op.type];
    }
  }
  unit.Run();
  if (only >= 0) return;
  for (const char* const type : {"CONV_2D, tight", "FULLY_CONNECTED, tight", "DEPTHWISE_CONV_2D",
                                 "AVERAGE_POOL_2D", "ADD", "SOFTMAX", "PAD", "MEAN", "SUM"}) {
    EXPECT_GT(found[type], 0) << type;
  }
  if (std::getenv("NEAP_EMIT_VERBOSE") != nullptr) {
    for (const auto& [type, count] : found) printf("%-24s %4d\n", type.c_str(), count);
  }
}

}  // namespace
}  // namespace neap::emit
