// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "testing/limits.h"
#include "testing/random_network.h"
#include "testing/sketch.h"
#include "testing/streams.h"
#include "testing/tile_layers.h"

namespace neap::stream {
namespace {

using graph::ElementType;
using graph::Sketch;
using graph::TensorId;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

compile::Options NeapOptions() {
  compile::Options options;
  options.runtime = plan::Runtime::kNeap;
  return options;
}

// A network that streams help.
graph::Graph Pyramid(std::int64_t size = 24) {
  cascade::Layers net;
  TensorId at = net.Input({1, size, size, 3});
  at = net.Conv(at, 16, {{3, 3}, {1, 1}});
  at = net.Depthwise(at, {{3, 3}, {2, 2}});
  at = net.Conv(at, 24, {{1, 1}, {1, 1}});
  at = net.Depthwise(at, {{3, 3}, {2, 2}});
  at = net.Conv(at, 8, {{1, 1}, {1, 1}});
  net.Output(at);
  return net.Graph();
}

std::vector<std::string> NamesOf(const std::vector<StepTime>& steps) {
  std::vector<std::string> names;
  for (const StepTime& step : steps) names.emplace_back(step.name);
  return names;
}

TEST(StreamEntries, AreTakenWhereTheyNeedLess) {
  const graph::Graph graph = Pyramid();
  const auto layers = compile::Compile(graph, NeapOptions());
  const auto streamed = CompileStreamed(graph, NeapOptions(), {});
  ASSERT_TRUE(layers && streamed);
  EXPECT_FALSE(layers->plan.entries[0].stream);
  ASSERT_TRUE(streamed->plan.entries[0].stream);
  EXPECT_LT(streamed->plan.entries[0].arena_bytes, layers->plan.entries[0].arena_bytes);
  EXPECT_THAT(check::CheckPlan(graph, streamed->plan), IsEmpty());
  EXPECT_THAT(streamed->peak_at.tensors, IsEmpty());
  EXPECT_THAT(streamed->notes, IsEmpty());
  EXPECT_EQ(NamesOf(streamed->steps).back(), "stream");
}

// Values are computed behind the scores in the file: attention is a stretch of another order.
TEST(StreamEntries, AttentionIsOneStretch) {
  Random random(3);
  property::Network network(&random);
  const auto add = [&](const char* type, std::vector<TensorId> inputs, const graph::Shape& shape) {
    const TensorId out = network.Out(ElementType::kFloat32, shape);
    network.Add("", type, std::move(inputs), {out});
    return out;
  };
  const TensorId x = network.TakeShaped(ElementType::kFloat32, {64, 4});
  const TensorId keys = add("Transpose", {x}, {4, 64});
  const TensorId scores = add("MatMul", {x, keys}, {64, 64});
  const TensorId weights = add("Softmax", {add("Relu", {scores}, {64, 64})}, {64, 64});
  const TensorId turned = add("Reshape", {x, network.Longs({4, 64})}, {4, 64});
  const TensorId values = add("Reshape", {turned, network.Longs({64, 4})}, {64, 4});
  add("MatMul", {weights, values}, {64, 4});
  graph::Graph graph = network.Finish();
  graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  main.control_edges.clear();
  main.outputs = {main.ops[graph::OpId(main.ops.size() - 1)].outputs[0]};
  for (graph::Op& op : main.ops) {
    op.scratch_bytes = 0;
    op.stateful = false;
  }
  const auto streamed = CompileStreamed(graph, NeapOptions(), {});
  ASSERT_TRUE(streamed) << streamed.error().ToString();
  // Less than the scores.
  EXPECT_LT(streamed->plan.entries[0].arena_bytes, 64 * 64 * 4 / 2);
}

TEST(StreamEntries, StayLayerByLayerWhereStreamsSaveNothing) {
  cascade::Layers net;
  net.Output(net.Relu(net.Input({1, 1, 1, 16})));
  const graph::Graph graph = net.Graph();
  const auto layers = compile::Compile(graph, NeapOptions());
  const auto streamed = CompileStreamed(graph, NeapOptions(), {});
  ASSERT_TRUE(layers && streamed);
  EXPECT_FALSE(streamed->plan.entries[0].stream);
  EXPECT_EQ(streamed->plan.entries[0].arena_bytes, layers->plan.entries[0].arena_bytes);
  ASSERT_EQ(streamed->notes.size(), 1U);
  EXPECT_THAT(streamed->notes, Each(HasSubstr("no part is streamed")));
}

// With the input elsewhere the plan is a stream or none.
TEST(StreamEntries, FailWhereTheInputCannotComeFromElsewhere) {
  cascade::Layers net;
  net.Output(net.Softmax(net.Input({1, 16})));
  Settings settings;
  settings.input = plan::StreamInput::kRows;
  const auto streamed = CompileStreamed(net.Graph(), NeapOptions(), settings);
  ASSERT_FALSE(streamed);
  EXPECT_THAT(streamed.error().message, HasSubstr("cannot be streamed"));
}

// Each input has rows of its own.
TEST(StreamEntries, RowsOfTwoInputsAreDelivered) {
  cascade::Layers net;
  const TensorId a = net.Input({1, 8, 8, 4});
  const TensorId b = net.Input({1, 8, 8, 4});
  net.Output(net.MaxPool(net.Add(a, b), {{2, 2}, {2, 2}}));
  Settings settings;
  settings.input = plan::StreamInput::kRows;
  compile::Options options = NeapOptions();
  options.check = false;
  const graph::Graph graph = net.Graph();
  const auto streamed = CompileStreamed(graph, options, settings);
  ASSERT_TRUE(streamed) << streamed.error().ToString();
  ASSERT_TRUE(streamed->plan.entries[0].stream);
  EXPECT_THAT(check::CheckPlan(graph, streamed->plan), IsEmpty());
}

// The graph of the profile neap gives variables to the caller; a streamed plan has no place for
// them.
TEST(StreamEntries, NetworksWithVariablesAreNotStreamed) {
  Sketch sketch;
  const TensorId in = sketch.Input(ElementType::kFloat32, {1, 3});
  const TensorId state = sketch.Tensor(ElementType::kFloat32, {1, 4});
  sketch.Main().tensors[state].variable = true;
  Random random(1);
  const TensorId features = sketch.RandomFloats({2, 3}, &random);
  const TensorId times = sketch.RandomFloats({2, 2}, &random);
  const TensorId out = sketch.Tensor(ElementType::kFloat32, {1, 2});
  const TensorId last = sketch.Tensor(ElementType::kFloat32, {1, 2});
  sketch.Op("tflite", "SVDF", {in, features, times, TensorId(), state}, {out},
            {{"rank", std::int64_t{1}}});
  sketch.Op("tflite", "EXP", {out}, {last});
  sketch.Output(last);
  const auto compiled = CompileStreamed(sketch.graph(), NeapOptions(), {});
  ASSERT_TRUE(compiled) << compiled.error().ToString();
  EXPECT_FALSE(compiled->plan.entries[0].stream);
}

TEST(StreamEntries, StopAtTheDeadlineAndAtTheEndOfTheWork) {
  const graph::Graph graph = Pyramid();
  // The plans that were found are placed and checked all the same.
  constexpr std::int64_t kLooksBehind = 512;
  constexpr std::int64_t kWorkBehind = 20'000'000;
  compile::Options options = NeapOptions();
  options.limits.max_states = kStatesForAFewSeconds;
  for (const std::int64_t looks : {1, 10, 100, 1000}) {
    SCOPED_TRACE(looks);
    const CountedClock clock;
    options.limits.deadline = CountedClock::At(looks);
    const auto compiled = CompileStreamed(graph, options, {});
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    EXPECT_LE(CountedClock::looks(), looks + kLooksBehind);
  }
  options.limits.deadline.reset();
  for (const std::int64_t work : {1, 1'000'000, 30'000'000}) {
    SCOPED_TRACE(work);
    const WorkScope scope(work);
    const std::int64_t before = WorkDone();
    const auto compiled = CompileStreamed(graph, options, {});
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    EXPECT_LE(WorkDone() - before, work + kWorkBehind);
  }
}

// A placement takes as long as it has rows and columns. The bound of these networks needs no cut.
TEST(StreamEntries, LargeImagesCountAsMoreWork) {
  const auto work_of = [](std::int64_t size) {
    cascade::Layers net;
    TensorId at = net.Input({1, size, size, 3});
    for (const std::int64_t channels : {16, 24, 8}) at = net.Conv(at, channels, {{1, 1}, {1, 1}});
    net.Output(at);
    const graph::Graph graph = net.Graph();
    const std::int64_t before = WorkDone();
    EXPECT_TRUE(CompileStreamed(graph, NeapOptions(), {}));
    return WorkDone() - before;
  };
  const std::int64_t large = work_of(512);
  const std::int64_t small = work_of(24);
  EXPECT_GT(large, 3 * small) << large << " " << small;
}

}  // namespace
}  // namespace neap::stream
