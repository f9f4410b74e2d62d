// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "testing/sketch.h"

namespace neap::compile {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Sketch;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// A network of window operators and additions on 8-bit images, some of them with a skip around.
class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed) : random_(seed) {
    at_ = sketch_.Input(ElementType::kInt8,
                        {1, random_.Between(4, 12), random_.Between(4, 12), random_.Between(1, 8)});
    const std::int64_t layers = random_.Between(2, 6);
    for (std::int64_t i = 0; i < layers; ++i) AddLayer();
    sketch_.Output(at_);
  }
  Graph Take() { return sketch_.graph(); }

 private:
  const Shape& ShapeOf(TensorId id) { return *sketch_.Main().tensors[id].shape; }

  TensorId AddOp(const std::string& type, std::vector<TensorId> inputs, Shape shape,
                 std::map<std::string, graph::Attribute> attributes) {
    const TensorId output = sketch_.Tensor(ElementType::kInt8, std::move(shape));
    sketch_.Op("tflite", type, std::move(inputs), {output}, std::move(attributes));
    return output;
  }

  TensorId AddConv(TensorId input, std::int64_t channels, std::int64_t stride) {
    const Shape in = ShapeOf(input);
    const std::int64_t kernel = random_.Between(1, 3);
    const bool depthwise = channels == in[3] && random_.Chance(1, 2);
    const TensorId filter =
        sketch_.Tensor(ElementType::kInt8, depthwise ? Shape{1, kernel, kernel, channels}
                                                     : Shape{channels, kernel, kernel, in[3]});
    sketch_.Main().tensors[filter].constant = true;
    return AddOp(depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D", {input, filter},
                 {1, (in[1] + stride - 1) / stride, (in[2] + stride - 1) / stride, channels},
                 {{"padding", std::int64_t{0}}, {"stride_h", stride}, {"stride_w", stride}});
  }

  void AddLayer() {
    const std::int64_t channels = ShapeOf(at_)[3];
    if (random_.Chance(1, 4)) {
      const TensorId inner = AddConv(at_, channels, 1);
      at_ = AddOp("ADD", {at_, inner}, ShapeOf(inner), {});
    } else if (random_.Chance(1, 4)) {
      at_ = AddOp("RELU", {at_}, ShapeOf(at_), {});
    } else {
      at_ = AddConv(at_, random_.Chance(1, 2) ? channels : random_.Between(1, 12),
                    random_.Between(1, 2));
    }
  }

  Random random_;
  Sketch sketch_;
  TensorId at_;
};

Compiled MustCompile(const Graph& graph, ops::KernelLibrary kernels, bool keep_inputs = false) {
  Options options;
  options.runtime = plan::Runtime::kTflm;
  options.kernels = kernels;
  options.keep_inputs = keep_inputs;
  options.placement_states = 20'000;
  auto compiled = Compile(graph, options);
  EXPECT_TRUE(compiled) << compiled.error().ToString();
  return std::move(*compiled);
}

TEST(OverlapTest, IsNeverWorseAndOftenBetter) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomNetwork(seed).Take();
    const Compiled apart = MustCompile(graph, ops::KernelLibrary::kNone);
    const Compiled over = MustCompile(graph, ops::KernelLibrary::kTflmReference);
    const Compiled kept = MustCompile(graph, ops::KernelLibrary::kTflmReference, true);
    const auto arena = [](const Compiled& c) { return c.plan.entries[0].arena_bytes; };
    EXPECT_LE(arena(over), arena(apart)) << seed;
    EXPECT_LE(arena(over), arena(kept)) << seed;
    EXPECT_LE(over.plan.entries[0].arena_lower_bound_bytes, arena(over)) << seed;
    better += arena(over) < arena(apart) ? 1 : 0;
    for (const plan::Overlap& overlap : kept.plan.entries[0].overlaps) {
      const auto& inputs = graph.subgraphs[SubgraphId(0)].inputs;
      EXPECT_TRUE(std::find(inputs.begin(), inputs.end(), overlap.input) == inputs.end());
    }
  }
  EXPECT_GT(better, 100);
}

// One unit of alignment too deep: the checker must reject it wherever the plan had no spare unit.
TEST(OverlapTest, OneUnitTooDeepIsCaught) {
  int caught = 0;
  for (std::uint64_t seed = 1000; seed < 1600; ++seed) {
    const Graph graph = RandomNetwork(seed).Take();
    const Compiled over = MustCompile(graph, ops::KernelLibrary::kTflmReference);
    const plan::EntryPlan& entry = over.plan.entries[0];
    for (std::size_t i = 0; i < entry.overlaps.size(); ++i) {
      const plan::Overlap& overlap = entry.overlaps[i];
      const auto offset_of = [&](TensorId id) {
        const auto found = std::find_if(entry.tensors.begin(), entry.tensors.end(),
                                        [&](const auto& t) { return t.tensor == id; });
        return found - entry.tensors.begin();
      };
      const auto in = static_cast<std::size_t>(offset_of(overlap.input));
      const auto out = static_cast<std::size_t>(offset_of(overlap.output));
      const std::int64_t distance = entry.tensors[in].offset - entry.tensors[out].offset;
      if (overlap.kind != plan::OverlapKind::kStartsBelow || distance - 16 >= overlap.bytes) {
        continue;
      }
      plan::Plan wrong = over.plan;
      wrong.entries[0].tensors[out].offset += 16;
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty()) << "seed " << seed;
      // Nor does it help to claim that less is needed.
      wrong.entries[0].overlaps[i].bytes = 0;
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty()) << "seed " << seed;
      ++caught;
    }
  }
  EXPECT_GT(caught, 200);
}

TEST(OverlapTest, APlanThatNamesNoKernelsMayNotOverlap) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = RandomNetwork(seed).Take();
    Compiled over = MustCompile(graph, ops::KernelLibrary::kTflmReference);
    if (over.plan.entries[0].overlaps.empty()) continue;
    over.plan.kernels = ops::KernelLibrary::kNone;
    EXPECT_FALSE(check::CheckPlan(graph, over.plan).empty()) << seed;
    return;
  }
  FAIL() << "no plan with an overlap";
}

// The last but one stays live: its bytes must not be reused.
TEST(OverlapTest, AnInputThatIsNeededLaterIsLeftAlone) {
  Graph graph = RandomNetwork(5).Take();
  Subgraph& subgraph = graph.subgraphs[SubgraphId(0)];
  subgraph.outputs.push_back(subgraph.inputs[0]);
  const Compiled over = MustCompile(graph, ops::KernelLibrary::kTflmReference);
  for (const plan::Overlap& overlap : over.plan.entries[0].overlaps) {
    EXPECT_NE(overlap.input, subgraph.inputs[0]);
  }
}

// Sums, products and activations of two to four inputs.
Graph RandomSums(std::uint64_t seed) {
  Random random(seed);
  Sketch sketch;
  const Shape shape = {1, random.Between(1, 40)};
  std::vector<TensorId> there;
  for (std::int64_t i = random.Between(2, 4); i > 0; --i) {
    there.push_back(sketch.Input(ElementType::kFloat32, shape));
  }
  for (std::int64_t i = random.Between(1, 4); i > 0; --i) {
    const char* const types[] = {"ADD", "MUL", "SUB", "RELU"};
    const std::string type = types[random.Below(4)];
    std::vector<TensorId> inputs = {there[random.Below(there.size())]};
    if (type != "RELU") inputs.push_back(there[random.Below(there.size())]);
    there.push_back(sketch.Tensor(ElementType::kFloat32, shape));
    sketch.Op("tflite", type, std::move(inputs), {there.back()});
  }
  sketch.Output(there.back());
  return sketch.graph();
}

// In place, below, or over rows that no slice reads any more: no byte of an input is overwritten.
TEST(OverlapTest, InputsAreKeptUnderEveryProfile) {
  Sketch slices;
  const TensorId in = slices.Input(ElementType::kFloat32, {8, 16});
  for (const std::int32_t row : {0, 4}) {
    const TensorId begins =
        slices.Constant(ElementType::kInt32, {2}, std::vector<std::int32_t>{row, 0});
    const TensorId sizes =
        slices.Constant(ElementType::kInt32, {2}, std::vector<std::int32_t>{4, 16});
    const TensorId piece = slices.Tensor(ElementType::kFloat32, {4, 16});
    const TensorId out = slices.Tensor(ElementType::kFloat32, {4, 16});
    slices.Op("tflite", "SLICE", {in, begins, sizes}, {piece});
    slices.Op("tflite", "TANH", {piece}, {out});
    slices.Output(out);
  }
  std::vector<Graph> graphs = {slices.graph()};
  for (std::uint64_t seed = 0; seed < 60; ++seed) graphs.push_back(RandomSums(seed));
  int over = 0;
  for (const Graph& graph : graphs) {
    for (const plan::Runtime runtime : {plan::Runtime::kNeap, plan::Runtime::kIdealInPlace,
                                        plan::Runtime::kOnnxRuntime, plan::Runtime::kTflm}) {
      for (const bool keep : {false, true}) {
        Options options;
        options.runtime = runtime;
        options.kernels = ops::KernelLibrary::kTflmReference;
        options.keep_inputs = keep;
        const auto compiled = Compile(graph, options);
        ASSERT_TRUE(compiled) << compiled.error().ToString();
        for (const plan::Overlap& overlap : compiled->plan.entries[0].overlaps) {
          const auto& inputs = graph.subgraphs[SubgraphId(0)].inputs;
          const bool holds = overlap.kind == plan::OverlapKind::kHoldsInput ||
                             overlap.kind == plan::OverlapKind::kHoldsOutput;
          if (holds || std::find(inputs.begin(), inputs.end(), overlap.input) == inputs.end()) {
            continue;
          }
          EXPECT_FALSE(keep) << "input " << overlap.input.value() << " is written over";
          ++over;
        }
      }
    }
  }
  EXPECT_GT(over, 100);
}

// Two tensors that are live in one slot share a byte only where an overlap names the pair.
TEST(OverlapTest, InputsThatOneOutputLiesOverAreApart) {
  int in_place = 0;
  for (std::uint64_t seed = 0; seed < 230; ++seed) {
    const Graph graph = RandomSums(seed);
    Options options;
    options.runtime = seed % 4 == 0 ? plan::Runtime::kIdealInPlace : plan::Runtime::kNeap;
    if (seed % 8 == 0) options.kernels = ops::KernelLibrary::kTflmReference;
    const auto compiled = Compile(graph, options);
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    const plan::EntryPlan& entry = compiled->plan.entries[0];
    const auto named = [&](TensorId a, TensorId b) {
      return std::any_of(entry.overlaps.begin(), entry.overlaps.end(), [&](const auto& overlap) {
        return (overlap.input == a && overlap.output == b) ||
               (overlap.input == b && overlap.output == a);
      });
    };
    for (const plan::TensorPlacement& a : entry.tensors) {
      for (const plan::TensorPlacement& b : entry.tensors) {
        const bool together = a.first < b.last && b.first < a.last;
        const bool share = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        if (a.tensor == b.tensor || !together || !share) continue;
        EXPECT_TRUE(named(a.tensor, b.tensor)) << "seed " << seed;
        ++in_place;
      }
    }
  }
  EXPECT_GT(in_place, 200);
}

}  // namespace
}  // namespace neap::compile
