// SPDX-License-Identifier: Apache-2.0
//
// Random networks and plans of all kinds, emitted as C (unit.h). NEAP_EMIT_NETWORKS: how many.
#include <gmock/gmock.h>
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
#include "neap/ops/traits.h"
#include "neap/plan/stream_weights.h"
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

// `fast_bytes`: of two memories. `slow_weights`: planned as `neap emit` does.
Result<deliver::Delivery> PlanIn(const Way& way, const formats::SourceModel& source,
                                 std::int64_t fast_bytes = 0, bool slow_weights = false,
                                 ops::KernelLibrary kernels = compile::Options().kernels) {
  deliver::Request request;
  request.compile.kernels = kernels;
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
    request.streaming.settings.slow_weights = slow_weights;
    if (slow_weights) request.compile.kernels = ops::kNeapRt;
    request.streaming.settings.max_macs_permille = 1000;
    request.tiling.use = deliver::Use::kNever;
    request.use_extras = deliver::Use::kNever;
  }
  return deliver::Deliver(source, request);
}

bool HasRingsOfColumns(const plan::Plan& plan) {
  for (const plan::EntryPlan& entry : plan.entries) {
    if (!entry.stream) continue;
    for (const plan::StreamSegment& segment : entry.stream->segments) {
      for (const plan::StreamArea& area : segment.areas) {
        if (area.columns > 1) return true;
      }
    }
  }
  return false;
}

constexpr int kInOneUnit = 20;

int Networks() { return test::FromEnvironment("NEAP_EMIT_NETWORKS", 60); }

TEST(EmitProperty, RandomNetworksComputeTheBytesOfTheExecutor) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const int networks = Networks();
  int with_columns = 0;  // only the executor runs them
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
    if (HasRingsOfColumns(delivery->compiled.plan)) {
      ++with_columns;
      const auto refused = Emit(delivery->Planned(*source).graph, delivery->compiled.plan, {});
      ASSERT_FALSE(refused.has_value()) << i;
      EXPECT_THAT(refused.error().message, testing::HasSubstr("the kernels neap-rt")) << i;
      delivery = PlanIn(way, *source, 0, false, ops::kNeapRt);
      ASSERT_TRUE(delivery.has_value()) << delivery.error().ToString();
    }
    const graph::Graph& planned = delivery->Planned(*source).graph;
    ASSERT_TRUE(check::CheckPlan(planned, delivery->compiled.plan).empty()) << i;
    const auto added = unit.Add(planned, delivery->compiled.plan, {planned},
                                "network " + std::to_string(i) + " " + way.name);
    ASSERT_TRUE(added.has_value()) << i << ": " << added.error().ToString();
    ASSERT_TRUE(*added) << i;
  }
  EXPECT_GT(with_columns, 0);
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
  int stay = 0;       // weights of slow memory stay in the arena during a segment
  int divided = 0;    // they are read in several blocks
  int beside = 0;     // those of operators that are no convolutions
  int in_turn = 0;    // blocks are in two buffers
  int with = 0;       // copies of weights begin with another operator
  int kept = 0;       // those of the first channels stay, and the others are in blocks
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
    for (const plan::StreamWeights& weights : segment.weights) {
      const graph::Op& op = main.ops[weights.op];
      const auto blocks = plan::BlocksOf(main, op, weights.axis, weights.block);
      variety->stay += weights.block == 0 ? 1 : 0;
      variety->divided += blocks && blocks->blocks.size() > 1 ? 1 : 0;
      variety->beside += ops::IsElementwise(op) ? 1 : 0;
      variety->in_turn += weights.second ? 1 : 0;
      variety->with += weights.after.valid() ? 1 : 0;
      variety->kept += weights.kept > 0 ? 1 : 0;
    }
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

graph::TensorId AddConstant(Random* random, graph::Subgraph* main, graph::Shape shape,
                            graph::ElementType type) {
  graph::Tensor tensor;
  tensor.name = "c" + std::to_string(main->tensors.size());
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.constant = true;
  const bool is_byte = type == graph::ElementType::kInt8;
  tensor.quantization = graph::Quantization{{is_byte ? 0.02F : 0.001F}, {0}, 0};
  auto bytes = std::make_shared<std::vector<std::byte>>();
  const std::int64_t size = *graph::TensorBytes(tensor);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t value = is_byte || i % 4 < 1 ? random->Between(-90, 90) : 0;
    bytes->push_back(static_cast<std::byte>(value));
  }
  tensor.data = graph::ConstantData{bytes, *bytes};
  return main->tensors.push_back(std::move(tensor));
}

// Behind the first output: an operator whose weights have another layout than those of a plain
// convolution. Two constants of a product, depthwise with several outputs of a channel, groups, or
// a layer on all bytes.
void AppendWeights(Random* random, graph::Graph* graph) {
  graph::Subgraph& main = graph->subgraphs[SubgraphId(0)];
  const graph::TensorId in = main.outputs[0];
  const graph::Shape shape = *main.tensors[in].shape;
  const std::int64_t channels = shape.back();
  graph::Tensor out = main.tensors[in];
  out.name = "appended";
  out.quantization = graph::Quantization{{0.05F}, {random->Between(-20, 20)}, 0};
  graph::Op op;
  op.domain = "tflite";
  op.inputs = {in};
  const auto weigh = [&](graph::Shape filter) {
    op.inputs.push_back(AddConstant(random, &main, std::move(filter), graph::ElementType::kInt8));
    const std::int64_t outputs = out.shape->back();
    op.inputs.push_back(AddConstant(random, &main, {outputs}, graph::ElementType::kInt32));
  };
  const auto kind = random->Below(4);
  const std::int64_t times = random->Between(2, 5);
  if (kind == 0) {
    op.type = "MUL";
    op.inputs.push_back(AddConstant(random, &main, {1, 1, 1, channels}, graph::ElementType::kInt8));
  } else if (kind == 1) {
    op.type = "DEPTHWISE_CONV_2D";
    out.shape->back() = channels * times;
    weigh({1, 3, 2, channels * times});
    op.attributes["depth_multiplier"] = times;
  } else if (kind == 2) {
    op.type = "CONV_2D";
    out.shape->back() = channels * times;
    weigh({channels * times, 2, 3, 1});  // as many groups as channels
  } else {
    op.type = "FULLY_CONNECTED";
    out.shape = graph::Shape{1, 7 * times};
    weigh({7 * times, *graph::TensorBytes(main.tensors[in])});
  }
  if (kind == 1 || kind == 2) {
    for (const char* name : {"stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor"}) {
      op.attributes[name] = std::int64_t{1};
    }
    op.attributes["padding"] = std::int64_t{0};  // SAME
  }
  op.outputs = {main.tensors.push_back(std::move(out))};
  op.source_index = static_cast<std::int32_t>(main.ops.size());
  main.outputs[0] = op.outputs[0];
  main.ops.push_back(std::move(op));
}

// Fast memory from too little for any plan to enough for all tensors.
Variety EmitInTwoMemories(const std::string& name, const std::vector<std::uint64_t>& seeds,
                          bool slow_weights) {
  test::Unit unit(name, kInOneUnit);
  Variety variety;
  for (const std::uint64_t seed : seeds) {
    if (::testing::Test::HasFailure()) break;
    Random random(seed);
    graph::Graph graph =
        stream::test::RandomNetwork(&random, static_cast<int>(random.Between(1, 9)));
    if (slow_weights) AppendWeights(&random, &graph);
    const auto bytes = formats::ExportTflite(graph, "random");
    EXPECT_TRUE(bytes.has_value()) << bytes.error().ToString();
    formats::LoadOptions load;
    load.weights = true;
    const auto source = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                           "random.tflite", load);
    EXPECT_TRUE(source.has_value());
    std::int64_t all = 0;
    for (const graph::Tensor& tensor : source->graph.subgraphs[SubgraphId(0)].tensors) {
      if (slow_weights || !tensor.constant) all += graph::TensorBytes(tensor).value_or(0);
    }
    const std::int64_t limit = random.Between(1, std::max<std::int64_t>(all >> random.Below(6), 2));
    const auto delivery = PlanIn(kTwoMemories, *source, limit, slow_weights);
    EXPECT_TRUE(delivery.has_value()) << delivery.error().ToString();
    if (!delivery) break;
    const graph::Graph& planned = delivery->Planned(*source).graph;
    const plan::Plan& plan = delivery->compiled.plan;
    EXPECT_TRUE(check::CheckPlan(planned, plan).empty()) << seed;
    const auto added = unit.Add(planned, plan, {planned}, name + " " + std::to_string(seed));
    EXPECT_TRUE(added.has_value()) << seed << ": " << added.error().ToString();
    EXPECT_TRUE(added.has_value() && *added) << seed;
    Count(planned.subgraphs[SubgraphId(0)], *plan.entries[0].stream, &variety);
  }
  unit.Run();
  return variety;
}

std::vector<std::uint64_t> SeedsFrom(std::uint64_t first, int divisor) {
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(std::max(Networks() / divisor, 1)));
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

TEST(EmitProperty, TwoMemoriesComputeTheBytesOfTheExecutorAndCopyThoseOfThePlan) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  std::vector<std::uint64_t> seeds = SeedsFrom(2'000'000, 3);
  seeds.back() = 2'000'525;  // a mean is written to slow memory
  const Variety variety = EmitInTwoMemories("two_memories", seeds, false);
  EXPECT_GT(variety.spilled, 0);
  EXPECT_GT(variety.read_twice, 0);
  EXPECT_GT(variety.whole, 0);
  EXPECT_GT(variety.sums, 0);
  EXPECT_GT(variety.in_blocks, 0);
  EXPECT_GT(variety.moved, 0);
  EXPECT_GT(variety.ahead, 0);
}

// Weights have no access but for copies, and buffers have the bytes that the plan counts.
TEST(EmitProperty, SlowWeightsComputeTheBytesOfTheExecutorAndCopyThoseOfThePlan) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  std::vector<std::uint64_t> seeds = SeedsFrom(3'000'000, 6);
  seeds.back() = 3'000'011;  // blocks in two buffers
  const Variety variety = EmitInTwoMemories("slow_weights", seeds, true);
  EXPECT_GT(variety.stay, 0);
  EXPECT_GT(variety.divided, 0);
  EXPECT_GT(variety.beside, 0);
  EXPECT_GT(variety.in_turn, 0);
  EXPECT_GT(variety.with, 0);
  EXPECT_GT(variety.kept, 0);
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
