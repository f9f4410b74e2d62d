// SPDX-License-Identifier: Apache-2.0
//
// Random networks and plans of all kinds, emitted as C (unit.h). NEAP_EMIT_NETWORKS: how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/formats/formats.h"
#include "neap/ops/neap_rt.h"
#include "testing/streams.h"
#include "tests/emit/unit.h"

namespace neap::emit {
namespace {

using graph::SubgraphId;

// How a network is planned: streams with each kind of input, or tensors as a whole.
struct Way {
  const char* name;
  bool streams;
  plan::StreamInput input;
};
constexpr Way kWays[] = {{"resident", true, plan::StreamInput::kResident},
                         {"external", true, plan::StreamInput::kExternal},
                         {"rows", true, plan::StreamInput::kRows},
                         {"whole", false, plan::StreamInput::kResident}};
constexpr Way kTwoMemories{"slow", true, plan::StreamInput::kSlow};

// `fast_bytes`: of two memories.
Result<deliver::Delivery> PlanIn(const Way& way, const formats::SourceModel& source,
                                 std::int64_t fast_bytes = 0) {
  deliver::Request request;
  request.compile.runtime = plan::Runtime::kNeap;
  request.compile.limits.max_states = 20'000;
  request.compile.limits.threads = 1;
  request.rewriting.any = false;
  request.streaming.use = way.streams ? deliver::Use::kAlways : deliver::Use::kNever;
  request.streaming.settings.input = way.input;
  request.streaming.settings.max_macs_permille =
      source.graph.subgraphs[SubgraphId(0)].ops.size() % 2 == 0 ? 1000 : 1500;
  request.load.weights = true;
  if (fast_bytes > 0) {
    request.streaming.settings.fast_bytes = fast_bytes;
    request.streaming.settings.prefetch = fast_bytes % 2 == 0;
    request.streaming.settings.max_macs_permille = 1000;
    request.tiling.use = deliver::Use::kNever;
    request.use_extras = deliver::Use::kNever;
  }
  return deliver::Deliver(source, request);
}

constexpr int kInOneUnit = 20;

int Networks() { return test::FromEnvironment("NEAP_EMIT_NETWORKS", 60); }

TEST(EmitProperty, RandomNetworksComputeTheBytesOfTheExecutor) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const int networks = Networks();
  test::Unit unit("networks", kInOneUnit);
  for (int i = 0; i < networks && !HasFailure(); ++i) {
    Random random(static_cast<std::uint64_t>(i) + 1);
    const graph::Graph graph =
        stream::test::RandomNetwork(&random, static_cast<int>(random.Between(1, 9)));
    const auto bytes = formats::ExportTflite(graph, "random");
    ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
    formats::LoadOptions load;
    load.weights = true;
    const auto source = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                           "random.tflite", load);
    ASSERT_TRUE(source.has_value());
    const Way& way = kWays[i % 4];
    auto delivery = PlanIn(way, *source);
    // An operator that reads the input as a whole cannot be fed by rows.
    if (!delivery && way.input == plan::StreamInput::kRows) delivery = PlanIn(kWays[0], *source);
    ASSERT_TRUE(delivery.has_value()) << delivery.error().ToString();
    const graph::Graph& planned = delivery->Planned(*source).graph;
    ASSERT_TRUE(check::CheckPlan(planned, delivery->compiled.plan).empty()) << i;
    const auto added = unit.Add(planned, delivery->compiled.plan, {planned},
                                "network " + std::to_string(i) + " " + way.name);
    ASSERT_TRUE(added.has_value()) << i << ": " << added.error().ToString();
    ASSERT_TRUE(*added) << i;
  }
  unit.Run();
}

// A convolution of one input plus another input: both arrive by rows.
TEST(EmitProperty, SeveralInputsArriveByRows) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  Random random(1);
  graph::Graph joined = stream::test::Depthwise(&random, 9, 6, 4);
  graph::Subgraph& main = joined.subgraphs[SubgraphId(0)];
  const graph::TensorId filtered = main.outputs[0];
  const auto add = [&](const char* name) {
    graph::Tensor tensor = main.tensors[filtered];
    tensor.name = name;
    return main.tensors.push_back(std::move(tensor));
  };
  graph::Op op;
  op.type = "ADD";
  op.domain = "tflite";
  op.inputs = {filtered, add("other")};
  op.outputs = {add("sum")};
  op.source_index = 1;
  main.inputs.push_back(op.inputs[1]);
  main.outputs = op.outputs;
  main.ops.push_back(std::move(op));
  const auto bytes = formats::ExportTflite(joined, "joined");
  ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
  formats::LoadOptions load;
  load.weights = true;
  const auto source = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                         "joined.tflite", load);
  ASSERT_TRUE(source.has_value());
  const auto delivery = PlanIn({"rows", true, plan::StreamInput::kRows}, *source);
  ASSERT_TRUE(delivery.has_value()) << delivery.error().ToString();
  const graph::Graph& planned = delivery->Planned(*source).graph;
  ASSERT_EQ(planned.subgraphs[SubgraphId(0)].inputs.size(), 2U);
  test::Unit unit("inputs_by_rows", 1);
  const auto added = unit.Add(planned, delivery->compiled.plan, {planned}, "inputs by rows");
  ASSERT_TRUE(added.has_value()) << added.error().ToString();
  ASSERT_TRUE(*added);
}

// What the plans of two memories have in them.
struct Variety {
  int spilled = 0;  // tensors beside inputs and outputs are in slow memory
  int read_twice = 0;
  int whole = 0;      // an operator runs as a whole and reads or writes slow memory
  int sums = 0;       // a mean of parts is written to slow memory
  int in_blocks = 0;  // a segment in blocks writes to slow memory
  int moved = 0;      // tensors move within fast memory
  int ahead = 0;      // copies begin ahead
};

void Count(const graph::Subgraph& main, const plan::Stream& stream, Variety* variety) {
  std::int64_t bytes = 0;
  std::set<graph::TensorId> slow;
  for (const plan::SlowPlace& place : stream.slow->tensors) {
    slow.insert(place.tensor);
    bytes += *graph::TensorBytes(main.tensors[place.tensor]);
  }
  variety->spilled += slow.size() > main.inputs.size() + main.outputs.size() ? 1 : 0;
  variety->ahead += stream.slow->ahead_bytes > 0 ? 1 : 0;
  variety->read_twice += stream.slow->read_bytes > bytes ? 1 : 0;
  for (const plan::StreamSegment& segment : stream.segments) {
    variety->moved += segment.moves.empty() ? 0 : 1;
    for (const plan::StreamOp& step : segment.ops) {
      if (!step.op.valid()) continue;
      const graph::Op& op = main.ops[step.op];
      const auto is_slow = [&](graph::TensorId tensor) { return slow.contains(tensor); };
      const bool writes = std::any_of(op.outputs.begin(), op.outputs.end(), is_slow);
      const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(), is_slow);
      variety->whole += segment.whole && (reads || writes) ? 1 : 0;
      variety->sums += step.sums && writes ? 1 : 0;
      variety->in_blocks += !segment.whole && !step.sums && writes ? 1 : 0;
    }
  }
}

// Fast memory from too little for any plan to enough for all tensors.
TEST(EmitProperty, TwoMemoriesComputeTheBytesOfTheExecutorAndCopyThoseOfThePlan) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  test::Unit unit("two_memories", kInOneUnit);
  Variety variety;
  // The mean of the last one is written to slow memory.
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(std::max(Networks() / 3, 1)));
  std::iota(seeds.begin(), seeds.end(), 2'000'000);
  seeds.back() = 2'000'525;
  for (const std::uint64_t seed : seeds) {
    if (HasFailure()) break;
    Random random(seed);
    const graph::Graph graph =
        stream::test::RandomNetwork(&random, static_cast<int>(random.Between(1, 9)));
    const auto bytes = formats::ExportTflite(graph, "random");
    ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
    formats::LoadOptions load;
    load.weights = true;
    const auto source = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                           "random.tflite", load);
    ASSERT_TRUE(source.has_value());
    std::int64_t all = 0;
    for (const graph::Tensor& tensor : source->graph.subgraphs[SubgraphId(0)].tensors) {
      if (!tensor.constant) all += graph::TensorBytes(tensor).value_or(0);
    }
    const std::int64_t limit = random.Between(1, std::max<std::int64_t>(all >> random.Below(6), 2));
    const auto delivery = PlanIn(kTwoMemories, *source, limit);
    ASSERT_TRUE(delivery.has_value()) << delivery.error().ToString();
    const graph::Graph& planned = delivery->Planned(*source).graph;
    const plan::Plan& plan = delivery->compiled.plan;
    ASSERT_TRUE(check::CheckPlan(planned, plan).empty()) << seed;
    const auto added = unit.Add(planned, plan, {planned}, "two memories " + std::to_string(seed));
    ASSERT_TRUE(added.has_value()) << seed << ": " << added.error().ToString();
    ASSERT_TRUE(*added) << seed;
    Count(planned.subgraphs[SubgraphId(0)], *plan.entries[0].stream, &variety);
  }
  unit.Run();
  EXPECT_GT(variety.spilled, 0);
  EXPECT_GT(variety.read_twice, 0);
  EXPECT_GT(variety.whole, 0);
  EXPECT_GT(variety.sums, 0);
  EXPECT_GT(variety.in_blocks, 0);
  EXPECT_GT(variety.moved, 0);
  EXPECT_GT(variety.ahead, 0);
}

// Each output as far over its input as the rule of the kernels permits.
TEST(EmitProperty, OverlapsAtTheirDistanceComputeTheSameBytes) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  test::Unit unit("overlaps", kInOneUnit);
  int overlaps = 0;
  for (int i = 0; i < Networks() && !HasFailure(); ++i) {
    Random random(static_cast<std::uint64_t>(i) + 1'000'000);
    const graph::Graph graph = stream::test::RandomNetwork(&random, 1);
    const graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
    if (main.ops.size() != 1 || main.ops[graph::OpId(0)].inputs[0] != main.inputs[0]) continue;
    const graph::Op& op = main.ops[graph::OpId(0)];
    const auto rule = ops::OverlapRuleOf(main, op, 0, ops::kNeapRt);
    if (!rule || rule->kind != ops::OverlapRule::Kind::kStartsBelow) continue;
    const std::int64_t in = *graph::TensorBytes(main.tensors[main.inputs[0]]);
    const std::int64_t out = *graph::TensorBytes(main.tensors[main.outputs[0]]);
    plan::EntryPlan entry;
    entry.subgraph = SubgraphId(0);
    entry.steps = {{SubgraphId(0), graph::OpId(0)}};
    entry.tensors = {{SubgraphId(0), main.inputs[0], rule->bytes, in, 0, 1},
                     {SubgraphId(0), main.outputs[0], 0, out, 0, 1}};
    entry.overlaps = {{0, SubgraphId(0), main.inputs[0], main.outputs[0],
                       plan::OverlapKind::kStartsBelow, rule->bytes}};
    entry.arena_bytes = std::max(rule->bytes + in, out);
    plan::Plan plan;
    plan.entries = {entry};
    const auto added =
        unit.Add(graph, plan, {graph}, "overlap " + std::to_string(i) + " of " + op.type);
    ASSERT_TRUE(added.has_value()) << i << ": " << added.error().ToString();
    ASSERT_TRUE(*added) << i;
    ++overlaps;
  }
  unit.Run();
  EXPECT_GT(overlaps, 0);
}

}  // namespace
}  // namespace neap::emit
