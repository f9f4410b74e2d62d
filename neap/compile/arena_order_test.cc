// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/arena_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/compile/place.h"
#include "neap/ops/overlap.h"
#include "neap/ops/state.h"
#include "neap/solve/schedule/check.h"
#include "testing/cases.h"
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

// Branches that join again: windows, additions, concatenations, reshapes, and operators that copy
// pieces of their input, some of them with state, on 8-bit images.
class BranchedNetwork {
 public:
  explicit BranchedNetwork(std::uint64_t seed, bool onnx = false) : random_(seed), onnx_(onnx) {
    const int inputs = static_cast<int>(random_.Between(1, 2));
    for (int i = 0; i < inputs; ++i) {
      sketch_.Input(ElementType::kInt8, {1, random_.Between(2, 6), 4, random_.Between(1, 12)});
    }
    live_ = sketch_.Main().inputs;
    const std::int64_t ops = random_.Between(3, 7);
    for (std::int64_t i = 0; i < ops; ++i) AddOp();
    std::vector<TensorId>& outputs = sketch_.Main().outputs;
    outputs = {live_.back()};
    if (random_.Chance(1, 4)) outputs.push_back(live_[random_.Below(live_.size())]);
    std::sort(outputs.begin(), outputs.end());
    outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  }
  // Operators with state in their order, as the planner sees them.
  Graph Take() {
    ops::AddStateEdges(&sketch_.graph());
    return sketch_.graph();
  }

 private:
  TensorId Add(Shape shape) { return sketch_.Tensor(ElementType::kInt8, std::move(shape)); }
  const Shape& ShapeOf(TensorId id) { return *sketch_.Main().tensors[id].shape; }
  // Its values do not matter here.
  TensorId Filter(Shape shape) {
    const TensorId filter = Add(std::move(shape));
    sketch_.Main().tensors[filter].constant = true;
    return filter;
  }
  TensorId Pick() { return live_[random_.Below(live_.size())]; }

  void Put(const std::string& type, std::vector<TensorId> inputs, Shape shape,
           std::map<std::string, graph::Attribute> attributes) {
    live_.push_back(Add(std::move(shape)));
    sketch_.Op(onnx_ ? "" : "tflite", type, std::move(inputs), {live_.back()},
               std::move(attributes));
  }

  TensorId Integers(const std::vector<std::int32_t>& values, Shape shape) {
    if (!onnx_)
      return sketch_.Constant<std::int32_t>(ElementType::kInt32, std::move(shape), values);
    return sketch_.Constant<std::int64_t>(ElementType::kInt64,
                                          {static_cast<std::int64_t>(values.size())},
                                          std::vector<std::int64_t>(values.begin(), values.end()));
  }
  void PutState() {
    if (random_.Chance(1, 4)) sketch_.Main().ops.back().stateful = true;
  }

  void PutSplit(TensorId input, const Shape& in) {
    const auto rows = static_cast<std::int32_t>(random_.Between(1, in[1] - 1));
    const auto left = static_cast<std::int32_t>(in[1]) - rows;
    const Shape first = {1, rows, in[2], in[3]};
    if (onnx_) {
      Put("Split", {input, Integers({rows, left}, {2})}, first, {{"axis", std::int64_t{1}}});
    } else {
      Put("SPLIT", {Integers({1}, {}), input}, first, {});
    }
    live_.push_back(Add({1, left, in[2], in[3]}));
    sketch_.Main().ops.back().outputs.push_back(live_.back());
    PutState();
  }

  void PutSlice(TensorId input, const Shape& in) {
    const auto begin = static_cast<std::int32_t>(random_.Between(0, in[1] - 1));
    const auto end = static_cast<std::int32_t>(random_.Between(begin + 1, in[1]));
    const Shape out = {1, end - begin, in[2], in[3]};
    if (onnx_) {
      const TensorId first = Integers({begin}, {1});
      const TensorId last = Integers({end}, {1});
      Put("Slice", {input, first, last, Integers({1}, {1})}, out, {});
    } else {
      const TensorId first = Integers({0, begin, 0, 0}, {4});
      Put("SLICE", {input, first, Integers({1, end - begin, -1, -1}, {4})}, out, {});
    }
    PutState();
  }

  void PutUnpack(TensorId input, const Shape& in) {
    std::vector<TensorId> parts;
    for (std::int64_t i = 0; i < in[1]; ++i) parts.push_back(Add({1, in[2], in[3]}));
    sketch_.Op("tflite", "UNPACK", {input}, parts, {{"num", in[1]}, {"axis", std::int64_t{1}}});
    PutState();
    const TensorId part = parts[random_.Below(parts.size())];
    Put("RESHAPE", {part}, {1, 1, in[2], in[3]}, {});
  }

  void PutConvolution(TensorId input, const Shape& in) {
    const std::int64_t kernel = random_.Between(1, 3);
    const std::size_t axis = onnx_ ? 1 : 3;  // of channels
    Shape out = in;
    if (!random_.Chance(1, 2)) out[axis] = random_.Between(1, onnx_ ? 6 : 12);
    if (onnx_) return Put("Conv", {input, Filter({out[1], in[1], 1, 1})}, out, {});
    const TensorId filter = Filter({out[3], kernel, kernel, in[3]});
    Put("CONV_2D", {input, filter}, out,
        {{"padding", std::int64_t{0}},
         {"stride_h", std::int64_t{1}},
         {"stride_w", std::int64_t{1}}});
  }

  void AddOp() {
    const TensorId first = Pick();
    const TensorId second = Pick();
    const Shape in = ShapeOf(first);
    const Shape other = ShapeOf(second);
    const auto kind = random_.Below(9);
    if (kind == 6 && in[1] > 1) return PutSplit(first, in);
    if (kind == 7 && in[1] > 1) return PutSlice(first, in);
    if (kind == 8 && in[1] > 1 && in[1] < 4 && !onnx_) return PutUnpack(first, in);
    if (kind == 0 && in == other) return Put(onnx_ ? "Add" : "ADD", {first, second}, in, {});
    if (kind == 1 && in[2] == other[2] && in[3] == other[3]) {
      return Put(onnx_ ? "Concat" : "CONCATENATION", {first, second},
                 {1, in[1] + other[1], in[2], in[3]}, {{"axis", std::int64_t{1}}});
    }
    if (kind == 2 && !onnx_) return Put("RESHAPE", {first}, {1, in[2], in[1], in[3]}, {});
    if (kind == 3) return Put(onnx_ ? "Relu" : "RELU", {first}, in, {});
    PutConvolution(first, in);
  }

  Random random_;
  bool onnx_;
  Sketch sketch_;
  std::vector<TensorId> live_;
};

// Every order, up to `most` of them.
void AllOrders(const std::vector<std::pair<OpId, OpId>>& before, std::size_t ops, std::size_t most,
               std::vector<OpId>* order, std::vector<std::vector<OpId>>* all) {
  if (all->size() >= most) return;
  if (order->size() == ops) {
    all->push_back(*order);
    return;
  }
  const auto has = [&](OpId op) {
    return std::find(order->begin(), order->end(), op) != order->end();
  };
  for (std::size_t i = 0; i < ops; ++i) {
    const OpId op(static_cast<std::int32_t>(i));
    const bool ready = !has(op) && std::all_of(before.begin(), before.end(), [&](const auto& pair) {
      return pair.second != op || has(pair.first);
    });
    if (!ready) continue;
    order->push_back(op);
    AllOrders(before, ops, most, order, all);
    order->pop_back();
  }
}

struct Networks {
  const char* name;
  plan::Runtime runtime;
  bool onnx;
};

class ArenaOrderTest : public testing::TestWithParam<Networks> {
 protected:
  static ops::KernelLibrary Kernels() {
    return GetParam().runtime == plan::Runtime::kNeap ? ops::KernelLibrary::kNeap
                                                      : ops::KernelLibrary::kTflmReference;
  }
};

// All orders, each placed by the exact search: none is below the bound, and the bound is often
// met (what may be held in two outputs, and pieces of a tensor, count for less than they should).
// The checker's own search finds the same number: it confirms it and refutes one unit more.
TEST_P(ArenaOrderTest, NoOrderAndNoPlacementIsBelowTheBound) {
  const plan::Profile& profile = plan::ProfileOf(GetParam().runtime);
  int cases = 0;
  int met = 0;
  int searched = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(Cases(150)); ++seed) {
    const Graph graph = BranchedNetwork(seed, GetParam().onnx).Take();
    const SubgraphId main(0);
    const Subgraph& subgraph = graph.subgraphs[main];
    AllSizes sizes;
    sizes.push_back(*SizesOf(subgraph, profile));
    std::vector<std::vector<OpId>> orders;
    std::vector<OpId> order;
    constexpr std::size_t kMax = 300;
    AllOrders(PrecedencesOf(subgraph), subgraph.ops.size(), kMax, &order, &orders);
    if (orders.size() < 2 || orders.size() == kMax) continue;
    ++cases;
    // Live bytes are no bound there.
    const bool dead_parts =
        std::any_of(subgraph.ops.begin(), subgraph.ops.end(),
                    [&](const Op& op) { return ops::FirstByteRead(subgraph, op, 0) > 0; });
    const ArenaOrder found = SearchArenaOrder(subgraph, sizes[main],
                                              IdVector<OpId, std::int64_t>(subgraph.ops.size(), 0),
                                              profile, {Kernels(), false}, Limits{});
    Limits limits;
    limits.max_states = 20'000;
    std::int64_t least = -1;
    for (const auto& each : orders) {
      Orders all;
      all.push_back(each);
      const Timeline timeline = *BuildTimeline(graph, main, all, profile);
      const Placed placed =
          PlaceTimeline(graph, main, timeline, sizes, profile, {Kernels(), false}, limits);
      ASSERT_GE(placed.arena_bytes, dead_parts ? 0 : found.lower_bound_bytes) << seed;
      least = least < 0 ? placed.arena_bytes : std::min(least, placed.arena_bytes);
    }
    Options options;
    options.runtime = GetParam().runtime;
    options.kernels = Kernels();
    auto compiled = Compile(graph, options);
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    ASSERT_TRUE(check::CheckPlan(graph, compiled->plan).empty()) << seed;
    plan::EntryPlan& entry = compiled->plan.entries[0];
    ASSERT_LE(entry.arena_lower_bound_bytes, least) << seed;
    if (dead_parts) continue;
    met += least == found.lower_bound_bytes ? 1 : 0;
    ASSERT_GE(entry.arena_lower_bound_bytes, std::min(found.lower_bound_bytes, entry.arena_bytes));
    if (entry.arena_certificate.kind != plan::CertificateKind::kSearch) continue;
    ++searched;
    const auto replayed = check::ReplayBounds(graph, compiled->plan, 1'000'000);
    ASSERT_TRUE(replayed.refuted.empty() && replayed.unfinished.empty()) << seed;
    entry.arena_lower_bound_bytes = found.lower_bound_bytes + 1;
    ASSERT_FALSE(check::ReplayBounds(graph, compiled->plan, 1'000'000).refuted.empty()) << seed;
  }
  EXPECT_GT(cases, Cases(150) / 3);
  EXPECT_GT(met, cases / 4);
  EXPECT_GT(searched, cases / 20);
}

// The order that the search returns has the reported bytes, by a replay of the same problem.
TEST_P(ArenaOrderTest, TheOrderHasWhatTheSearchSays) {
  const plan::Profile& profile = plan::ProfileOf(GetParam().runtime);
  for (std::uint64_t seed = 5000; seed < 5100; ++seed) {
    const Graph graph = BranchedNetwork(seed, GetParam().onnx).Take();
    const Subgraph& subgraph = graph.subgraphs[SubgraphId(0)];
    const TensorSizes sizes = *SizesOf(subgraph, profile);
    const IdVector<OpId, std::int64_t> scratch(subgraph.ops.size(), 0);
    const OverlapOptions overlap = {Kernels(), false};
    const Lowered lowered = LowerArena(subgraph, sizes, scratch, profile, overlap);
    ASSERT_FALSE(schedule::Validate(lowered.problem));
    const ArenaOrder found = SearchArenaOrder(subgraph, sizes, scratch, profile, overlap, Limits{});
    std::vector<schedule::OpIndex> order;
    for (const OpId op : found.order) {
      const auto at = std::find(lowered.ops.begin(), lowered.ops.end(), op);
      order.push_back(static_cast<schedule::OpIndex>(at - lowered.ops.begin()));
    }
    const auto replay = schedule::ReplayOrder(lowered.problem, order);
    ASSERT_TRUE(replay) << seed;
    EXPECT_EQ(replay->peak_bytes, found.lower_bound_bytes) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, ArenaOrderTest,
                         testing::Values(Networks{"Tflm", plan::Runtime::kTflm, false},
                                         Networks{"Neap", plan::Runtime::kNeap, false},
                                         Networks{"NeapOnnx", plan::Runtime::kNeap, true}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace neap::compile
