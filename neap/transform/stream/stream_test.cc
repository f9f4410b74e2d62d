// SPDX-License-Identifier: Apache-2.0
//
// Random networks, streamed in every way: the bytes of a run layer by layer, the arena that was
// promised, and a checker that agrees with the run.
#include "neap/transform/stream/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/plan/plan_json.h"
#include "neap/transform/stream/instructions.h"
#include "neap/transform/stream/network.h"
#include "neap/transform/stream/search.h"
#include "testing/cases.h"
#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using execute::Evaluate;
using execute::RandomInputs;
using execute::Value;
using plan::StreamInput;
using test::Depthwise;
using test::EntryWith;
using test::FileOrder;
using test::PlanOf;
using test::RandomNetwork;
using test::RandomNetworkOfMoves;
using test::RandomOnnxAudio;
using test::RandomOnnxNetwork;
using test::RandomSignals;
using test::Squeeze;
using testing::IsEmpty;

constexpr graph::SubgraphId kMain(0);
constexpr std::int64_t kMemory = 1 << 24;

std::vector<Value> InputsOf(const graph::Graph& graph, std::uint64_t seed) {
  return *RandomInputs(graph.subgraphs[kMain], seed, kMemory);
}

// Whether no operator computes more pixels than its output has.
bool ComputesOnce(const graph::Graph& graph, const plan::Stream& stream) {
  std::map<std::pair<graph::OpId, std::int32_t>, std::int64_t> pixels;  // of each output
  for (const plan::StreamSegment& segment : stream.segments) {
    for (const plan::StreamOp& step : segment.ops) {
      if (!step.op.valid() || step.sums || segment.whole) continue;
      std::int64_t rows = 0;
      std::int64_t columns = 0;
      for (const plan::StreamRange& range : step.rows) rows += range.size();
      for (const plan::StreamRange& range : step.columns) columns += range.size();
      pixels[{step.op, step.output.value_or(0)}] += rows * columns;
    }
  }
  const graph::Subgraph& main = graph.subgraphs[kMain];
  const plan::StreamImages images = plan::ImagesOf(main);
  return std::all_of(pixels.begin(), pixels.end(), [&](const auto& of_output) {
    const auto& [op, at] = of_output.first;
    const auto image = images[main.ops[op].outputs[static_cast<std::size_t>(at)]];
    return of_output.second <= image.height * image.width;
  });
}

// Checked, executed, compared.
void ExpectExact(const graph::Graph& graph, const Candidate& candidate, std::uint64_t seed) {
  const plan::EntryPlan entry = EntryOf(graph, kMain, candidate);
  test::ExpectExact(graph, entry, seed);
  if (ComputesOnce(graph, candidate.stream)) {
    EXPECT_LE(candidate.stream.lower_bound_bytes, candidate.arena_bytes);
    EXPECT_LE(check::CheckedStreamBound(graph, entry), candidate.arena_bytes);
  }
}

struct Case {
  graph::Graph graph;
  Options options;
};

Case RandomCase(Random* random) {
  Case drawn{RandomNetwork(random, static_cast<int>(random->Between(2, 14))), {}};
  Options& options = drawn.options;
  const std::int64_t columns[] = {0, 1, 2, 3, kFullRow};
  options.search.column_block = columns[random->Below(std::size(columns))];
  options.search.input = random->Below(2) == 0 ? StreamInput::kResident : StreamInput::kExternal;
  options.search.objective = random->Below(2) == 0 ? Objective::kMacs : Objective::kCycles;
  // With rows computed again and gates in two passes.
  if (random->Below(3) != 0) options.max_macs_permille = 100'000;
  return drawn;
}

TEST(Stream, RandomNetworksAreExact) {
  Random random(1);
  const int rounds = Cases(300);
  std::int64_t streamed = 0;
  std::int64_t sums = 0;
  std::int64_t by_channel = 0;
  std::int64_t twice = 0;  // plans that compute some rows more than once
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const auto& [graph, options] = RandomCase(&random);
    ASSERT_TRUE(graph::Verify(graph));
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
    ASSERT_TRUE(planned) << planned.error().ToString();
    for (const Candidate& candidate : planned->front) {
      ExpectExact(graph, candidate, static_cast<std::uint64_t>(n));
      twice += candidate.stream.macs > candidate.stream.layerwise_macs ? 1 : 0;
      for (const plan::StreamSegment& segment : candidate.stream.segments) {
        streamed += segment.whole ? 0 : 1;
        by_channel += segment.channel_plane ? 1 : 0;
        for (const plan::StreamOp& op : segment.ops) sums += op.sums ? 1 : 0;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(streamed, rounds);
  EXPECT_GT(sums, rounds / 10);
  EXPECT_GT(by_channel, rounds / 10);
  EXPECT_GT(twice, rounds / 50);
}

// Within the work that is allowed, the search is as good as one that may do any work (both are
// greedy), and smaller.
TEST(Stream, WorkThatNoPlanMayDoIsNotTried) {
  Random random(17);
  const int rounds = Cases(150);
  std::int64_t tried = 0;
  std::int64_t tried_all = 0;
  std::int64_t least_bytes = 0;
  std::int64_t least_of_all = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = RandomNetwork(&random, static_cast<int>(random.Between(4, 14)));
    const auto network =
        MakeNetwork(graph, kMain, FileOrder(graph), false, true, Processor::kCortexM7);
    ASSERT_TRUE(network) << network.error().ToString();
    const std::int64_t most = network->macs + network->macs * random.Between(0, 20) / 100;
    const auto least_within = [&](const Front& front) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (const Point& point : front.points) {
        if (point.macs <= most) least = std::min(least, point.bytes);
      }
      return least;
    };
    Prices prices;
    Prices prices_of_all;
    const Front front = Search(*network, {}, most, &prices);
    const Front all = Search(*network, {}, most * 1000, &prices_of_all);
    tried += front.placements;
    tried_all += all.placements;
    least_bytes += least_within(front);
    least_of_all += least_within(all);
  }
  EXPECT_LT(tried, tried_all);
  EXPECT_LE(least_bytes, least_of_all + least_of_all / 500);
}

TEST(Stream, LimitsOfInstructionsAreKept) {
  Random random(23);
  int larger = 0;  // arenas than without a limit
  for (int n = 0; n < Cases(30); ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = RandomNetwork(&random, static_cast<int>(random.Between(4, 14)));
    Options options;
    options.search.objective = Objective::kCycles;
    options.search.processor = Processor::kCortexM4Dsp;
    const auto instructions = [&](const Candidate& one) {
      return InstructionsOfEntry(options.search.processor, graph, EntryOf(graph, kMain, one));
    };
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
    ASSERT_TRUE(planned) << planned.error().ToString();
    const Candidate& least = planned->front[planned->chosen];
    options.max_instructions = instructions(least) * random.Between(60, 99) / 100 + 1;
    const auto limited = PlanStream(graph, kMain, FileOrder(graph), options);
    ASSERT_TRUE(limited) << limited.error().ToString();
    ASSERT_EQ(planned->front.size(), limited->front.size());
    const Candidate& chosen = limited->front[limited->chosen];
    if (instructions(chosen) > options.max_instructions) {
      EXPECT_EQ(limited->chosen + 1, limited->front.size());
      continue;
    }
    EXPECT_GT(chosen.arena_bytes, least.arena_bytes);
    ++larger;
    for (std::size_t i = planned->chosen; i < limited->chosen; ++i) {
      const Candidate& smaller = limited->front[i];
      EXPECT_TRUE(smaller.stream.macs > smaller.stream.layerwise_macs ||
                  instructions(smaller) > options.max_instructions);
    }
  }
  EXPECT_GT(larger, 0);
}

struct Streamed {
  std::map<std::string, int> types;  // operators in segments of several operators
  int sums = 0;                      // operators that add their input part by part
};

// Plans networks for every kind of input, and compares each plan of the fronts with a whole run.
void ExpectStreamsAreExact(std::uint64_t seed, int networks,
                           const std::function<graph::Graph(Random*, int)>& network,
                           Streamed* streamed) {
  Random random(seed);
  for (int n = 0; n < networks; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    Case drawn = RandomCase(&random);
    drawn.graph = network(&random, n);
    if (random.Below(3) == 0) drawn.options.search.input = StreamInput::kRows;
    ASSERT_TRUE(graph::Verify(drawn.graph)) << graph::Verify(drawn.graph).error().ToString();
    const auto planned = PlanStream(drawn.graph, kMain, FileOrder(drawn.graph), drawn.options);
    if (!planned && drawn.options.search.input == StreamInput::kRows) continue;
    ASSERT_TRUE(planned) << planned.error().ToString();
    for (const Candidate& candidate : planned->front) {
      ExpectExact(drawn.graph, candidate, static_cast<std::uint64_t>(n));
      for (const plan::StreamSegment& segment : candidate.stream.segments) {
        for (const plan::StreamOp& op : segment.ops) {
          if (segment.ops.size() > 1 && op.op.valid()) {
            ++streamed->types[drawn.graph.subgraphs[kMain].ops[op.op].type];
          }
          streamed->sums += op.sums ? 1 : 0;
        }
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

// Resizing, transposed convolutions, blocks of space and depth, slices, mirrored borders, pictures
// one above the other, channels in another order.
TEST(Stream, MovesAndResamplingAreExact) {
  const int rounds = Cases(400);
  Streamed streamed;
  ExpectStreamsAreExact(
      9, rounds,
      [](Random* random, int) {
        return RandomNetworkOfMoves(random, static_cast<int>(random->Between(2, 10)));
      },
      &streamed);
  for (const char* const type : {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "TRANSPOSE_CONV",
                                 "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "SLICE", "STRIDED_SLICE",
                                 "MIRROR_PAD", "GATHER", "SOFTMAX", "SPLIT", "SPLIT_V"}) {
    EXPECT_GE(streamed.types[type], rounds / 100) << type;
  }
}

// Images whose channels come first are stored pixel by pixel all the same.
TEST(Stream, OnnxNetworksAreExact) {
  const int rounds = Cases(200);
  Streamed streamed;
  ExpectStreamsAreExact(
      10, rounds,
      [](Random* random, int) {
        return RandomOnnxNetwork(random, static_cast<int>(random->Between(2, 12)));
      },
      &streamed);
  EXPECT_GE(streamed.sums, rounds / 60);
  for (const char* const type : {"Conv",
                                 "MaxPool",
                                 "AveragePool",
                                 "Add",
                                 "Concat",
                                 "Relu",
                                 "Mul",
                                 "BatchNormalization",
                                 "Softmax",
                                 "MatMul",
                                 "Resize",
                                 "ConvTranspose",
                                 "DepthToSpace",
                                 "SpaceToDepth",
                                 "Slice",
                                 "Pad",
                                 "Tile",
                                 "Split",
                                 "GlobalAveragePool",
                                 "ReduceMean",
                                 "Reshape",
                                 "Transpose"}) {
    EXPECT_GE(streamed.types[type], rounds / 100) << type;
  }
}

// Convolutions over time: rows are time steps, though the channels come first.
TEST(Stream, OnnxNetworksOverTimeAreExact) {
  const int rounds = Cases(300);
  Streamed streamed;
  ExpectStreamsAreExact(
      12, rounds,
      [](Random* random, int) {
        return RandomOnnxAudio(random, static_cast<int>(random->Between(2, 12)));
      },
      &streamed);
  EXPECT_GE(streamed.sums, rounds / 60);
  for (const char* const type :
       {"Conv", "MaxPool", "AveragePool", "Add", "Concat", "Relu", "Mul", "BatchNormalization",
        "Softmax", "MatMul", "Transpose", "Split", "Slice", "GlobalAveragePool", "ReduceMean"}) {
    EXPECT_GE(streamed.types[type], rounds / 100) << type;
  }
}

// Rows of tensors of any shape, in both formats.
TEST(Stream, SignalsAreExact) {
  const int rounds = Cases(600);
  Streamed streamed;
  ExpectStreamsAreExact(
      11, rounds,
      [](Random* random, int n) {
        return RandomSignals(random, static_cast<int>(random->Between(2, 10)), n % 2 == 0);
      },
      &streamed);
  EXPECT_GE(streamed.sums, rounds / 60);
  for (const char* const type :
       {"FULLY_CONNECTED", "RELU",      "SOFTMAX",      "CONCATENATION",
        "TRANSPOSE",       "RESHAPE",   "BATCH_MATMUL", "MEAN",
        "GATHER",          "ARG_MAX",   "SPLIT",        "SLICE",
        "STRIDED_SLICE",   "Slice",     "UNPACK",       "Split",
        "MatMul",          "Gemm",      "Relu",         "Softmax",
        "Concat",          "Transpose", "Reshape",      "LayerNormalization",
        "ReduceMean",      "Gather"}) {
    EXPECT_GE(streamed.types[type], rounds / 300) << type;
  }
}

// A result without consumers is computed, and none of it is kept.
TEST(Stream, UnreadResultsAreNotKept) {
  execute::GraphMaker maker;
  const graph::Shape shape = {1, 32, 4};
  const graph::TensorId in = maker.Input(graph::ElementType::kFloat32, shape);
  const graph::TensorId middle = maker.Floats(shape);
  const graph::TensorId unread = maker.Floats(shape);
  const graph::TensorId out = maker.Floats(shape);
  maker.Op("tflite", "RELU", {in}, {middle});
  maker.Op("tflite", "LOGISTIC", {middle}, {unread});
  maker.Op("tflite", "LOGISTIC", {middle}, {out});
  maker.Output(out);
  const auto planned = PlanStream(maker.graph(), kMain, FileOrder(maker.graph()), {});
  ASSERT_TRUE(planned) << planned.error().ToString();
  const Candidate& least = planned->front[0];
  ExpectExact(maker.graph(), least, 1);
  EXPECT_LT(least.arena_bytes, 2 * 32 * 4 * 4);
}

// A search that ended before it tried anything knows nothing about the input.
TEST(Stream, RowsThatALimitLeavesOutAreNotCalledReadAsAWhole) {
  execute::GraphMaker maker;
  const graph::Shape shape = {1, 8, 4};
  const graph::TensorId in = maker.Input(graph::ElementType::kFloat32, shape);
  const graph::TensorId out = maker.Floats(shape);
  maker.Op("tflite", "RELU", {in}, {out});
  maker.Output(out);
  Options options;
  options.search.input = StreamInput::kRows;
  EXPECT_TRUE(PlanStream(maker.graph(), kMain, FileOrder(maker.graph()), options));
  options.search.max_placements = 0;
  const auto planned = PlanStream(maker.graph(), kMain, FileOrder(maker.graph()), options);
  ASSERT_FALSE(planned);
  EXPECT_THAT(planned.error().ToString(), testing::HasSubstr("a limit ended the search"));
}

// The parts into which an operator splits its input are computed box by box, each by itself.
TEST(Stream, PartsOfASplitNeverExistAsAWhole) {
  execute::GraphMaker maker;
  const graph::Shape part = {1, 32, 32, 4};
  const graph::TensorId in = maker.Input(graph::ElementType::kFloat32, {1, 32, 32, 8});
  const graph::TensorId axis =
      maker.Constant(graph::ElementType::kInt32, {}, std::vector<std::int32_t>{3});
  const graph::TensorId first = maker.Floats(part);
  const graph::TensorId second = maker.Floats(part);
  const graph::TensorId changed = maker.Floats(part);
  const graph::TensorId joined = maker.Floats({1, 32, 32, 8});
  const graph::TensorId out = maker.Floats({1, 16, 16, 8});
  maker.Op("tflite", "SPLIT", {axis, in}, {first, second}, {{"num_splits", std::int64_t{2}}});
  maker.Op("tflite", "LOGISTIC", {first}, {changed});
  maker.Op("tflite", "CONCATENATION", {second, changed}, {joined}, {{"axis", std::int64_t{3}}});
  maker.Op("tflite", "MAX_POOL_2D", {joined}, {out},
           {{"padding", std::int64_t{1}},
            {"stride_h", std::int64_t{2}},
            {"stride_w", std::int64_t{2}},
            {"filter_height", std::int64_t{2}},
            {"filter_width", std::int64_t{2}}});
  maker.Output(out);
  const graph::Graph& graph = maker.graph();
  const auto planned = PlanStream(graph, kMain, FileOrder(graph), {});
  ASSERT_TRUE(planned) << planned.error().ToString();
  const Candidate& least = planned->front[0];
  ExpectExact(graph, least, 1);
  constexpr std::int64_t kInput = 32 * 32 * 8 * 4;
  EXPECT_LT(least.arena_bytes, kInput + kInput / 16);
  // A step that names no output, or one that there is not, is refused by checker and run.
  for (const std::optional<std::int32_t> wrong : {std::optional<std::int32_t>(), {2}, {-1}}) {
    Candidate changed_plan = least;
    for (plan::StreamSegment& segment : changed_plan.stream.segments) {
      for (plan::StreamOp& step : segment.ops) {
        if (step.output) step.output = wrong;
      }
    }
    const plan::EntryPlan entry = EntryWith(graph, changed_plan.stream.segments, least.arena_bytes);
    EXPECT_FALSE(check::CheckPlan(graph, PlanOf(entry)).empty());
    const auto run = execute::Run(graph, entry, InputsOf(graph, 1), {});
    EXPECT_TRUE(!run || !run->violations.empty());
  }
}

// Floats are added from left to right: the same sums in another order are other bytes.
TEST(Stream, SumsOfFloatsKeepTheirOrder) {
  execute::GraphMaker maker;
  const graph::TensorId in = maker.Input(graph::ElementType::kFloat32, {1, 6, 3});
  const graph::TensorId out = maker.Floats({1, 3});
  const graph::TensorId axis =
      maker.Constant(graph::ElementType::kInt32, {1}, std::vector<std::int32_t>{1});
  maker.Op("tflite", "MEAN", {in, axis}, {out});
  maker.Output(out);
  const graph::Graph& graph = maker.graph();
  const auto plan_with = [&](const std::vector<plan::StreamRange>& rows) {
    plan::StreamSegment segment;
    segment.areas = {{in, {{0, 6}}}, {out, {{72, 1}}}};
    plan::StreamOp op;
    op.op = graph::OpId(0);
    op.sums = true;
    op.rows = rows;
    op.columns = {{0, 1}};
    segment.ops = {op};
    return EntryWith(graph, {segment}, 84);
  };
  const auto inputs = InputsOf(graph, 1);
  const auto in_order = plan_with({{0, 2}, {2, 6}});
  EXPECT_THAT(check::CheckPlan(graph, PlanOf(in_order)), IsEmpty());
  const auto run = execute::Run(graph, in_order, inputs, {});
  ASSERT_TRUE(run) << run.error().ToString();
  EXPECT_THAT(run->violations, IsEmpty());
  EXPECT_EQ(run->outputs[0].bytes, (*Evaluate(graph, kMain, inputs, {}))[0].bytes);
  const auto turned = plan_with({{2, 6}, {0, 2}});
  EXPECT_THAT(check::CheckPlan(graph, PlanOf(turned)),
              testing::Contains(testing::HasSubstr("expected them in ascending order")));
  const auto wrong = execute::Run(graph, turned, inputs, {});
  ASSERT_TRUE(wrong);
  EXPECT_FALSE(wrong->violations.empty());
}

// A gate in two passes, whose second pass may not begin while the first values are needed: a
// segment has one place for a tensor.
TEST(Stream, TensorsThatAreComputedAgainHaveOnePlace) {
  execute::GraphMaker maker;
  const auto add = [&](const char* type, std::vector<graph::TensorId> inputs, graph::Shape shape,
                       std::map<std::string, graph::Attribute> attributes = {}) {
    const graph::TensorId out = maker.Floats(std::move(shape));
    const graph::OpId id = maker.Op("", type, std::move(inputs), {out}, std::move(attributes));
    maker.Main().ops[id].version = 13;
    return out;
  };
  using Integers = std::vector<std::int64_t>;
  const graph::TensorId in = maker.Input(graph::ElementType::kFloat32, {1, 2, 33});
  const graph::TensorId weights =
      maker.Constant(graph::ElementType::kFloat32, {3, 2, 1}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const graph::TensorId image = add("Conv", {in, weights}, {1, 3, 33});
  const graph::TensorId mean =
      add("ReduceMean", {image}, {1, 3, 1}, {{"axes", Integers{2}}, {"keepdims", std::int64_t{1}}});
  maker.Output(add("Mul", {image, mean}, {1, 3, 33}));
  const graph::TensorId pooled =
      add("MaxPool", {in}, {1, 2, 17}, {{"kernel_shape", Integers{1}}, {"strides", Integers{2}}});
  const graph::TensorId first = maker.Floats({1, 2, 15});
  const graph::TensorId rest = maker.Floats({1, 2, 2});
  const graph::TensorId sizes =
      maker.Constant(graph::ElementType::kInt64, {2}, std::vector<std::int64_t>{15, 2});
  const graph::OpId split =
      maker.Op("", "Split", {pooled, sizes}, {first, rest}, {{"axis", std::int64_t{2}}});
  maker.Main().ops[split].version = 13;
  maker.Output(first);
  maker.Output(add("Relu", {rest}, {1, 2, 2}));
  Options options;
  options.max_macs_permille = 100'000;
  options.search.column_block = 3;
  const auto planned = PlanStream(maker.graph(), kMain, FileOrder(maker.graph()), options);
  ASSERT_TRUE(planned) << planned.error().ToString();
  for (const Candidate& candidate : planned->front) ExpectExact(maker.graph(), candidate, 1);
}

// One in which the highest segment can be lower than the search placed it: the arena is the highest
// byte that is touched.
TEST(Stream, TheArenaIsNoHigherThanWhatIsLaidOut) {
  constexpr int kNumber = 2334;
  Random random(1);
  for (int n = 0; n < kNumber; ++n) RandomCase(&random);
  const auto& [graph, options] = RandomCase(&random);
  const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
  ASSERT_TRUE(planned) << planned.error().ToString();
  for (const Candidate& candidate : planned->front) ExpectExact(graph, candidate, kNumber);
}

TEST(Stream, NoBoundCountsAnExternalInputThatIsAnOutput) {
  Random random(6);
  graph::Graph graph = Squeeze(&random, 16, 16, 8);
  graph::Subgraph& subgraph = graph.subgraphs[kMain];
  subgraph.outputs.push_back(subgraph.inputs[0]);
  Options options;
  options.search.input = StreamInput::kExternal;
  const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
  ASSERT_TRUE(planned) << planned.error().ToString();
  for (const Candidate& candidate : planned->front) {
    EXPECT_LT(candidate.arena_bytes, 16 * 16 * 8);
    EXPECT_LE(candidate.stream.lower_bound_bytes, candidate.arena_bytes);
  }
}

TEST(Stream, RefusesWhatNoStepComputes) {
  Random random(5);
  const graph::Graph whole = Depthwise(&random, 4, 4, 2);
  const auto refusal = [](const graph::Graph& graph) {
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), {});
    return planned ? std::string() : planned.error().message;
  };
  EXPECT_EQ(refusal(whole), "");
  graph::Graph undriven = whole;
  undriven.subgraphs[kMain].inputs.clear();
  EXPECT_THAT(refusal(undriven), testing::HasSubstr("is read, but has no producer"));
  graph::Graph empty = whole;
  graph::Subgraph& subgraph = empty.subgraphs[kMain];
  subgraph.ops = {};
  subgraph.outputs = subgraph.inputs;
  EXPECT_THAT(refusal(empty), testing::HasSubstr("it has no operators"));
}

// The second input takes no memory while an operator on the first one runs as a whole.
TEST(Stream, RowsThatHaveNotComeTakeNoMemory) {
  execute::GraphMaker maker;
  const graph::TensorId first = maker.Input(graph::ElementType::kFloat32, {2, 4, 3});
  const graph::TensorId second = maker.Input(graph::ElementType::kFloat32, {1, 40, 5});
  const graph::TensorId middle = maker.Floats({2, 4, 3});
  const graph::TensorId part = maker.Floats({2, 4, 1});
  const graph::TensorId out = maker.Floats({1, 40, 5});
  const auto numbers = [&](const std::vector<std::int32_t>& values) {
    return maker.Constant(graph::ElementType::kInt32, {3}, values);
  };
  maker.Op("tflite", "LOGISTIC", {first}, {middle});
  maker.Op("tflite", "SLICE", {middle, numbers({0, 0, 1}), numbers({2, 4, 1})}, {part});
  maker.Op("tflite", "LOGISTIC", {second}, {out});
  maker.Output(out);
  Options options;
  options.search.input = StreamInput::kRows;
  const auto planned = PlanStream(maker.graph(), kMain, FileOrder(maker.graph()), options);
  ASSERT_TRUE(planned) << planned.error().ToString();
  const Candidate& least = planned->front[0];
  ExpectExact(maker.graph(), least, 1);
  EXPECT_LE(least.arena_bytes, 40 * 5 * 4 + 2 * 5 * 4);
}

// Rows through a callback: each once, in order, and nothing else of the input is touched.
TEST(Stream, RowsComeOnce) {
  Random random(2);
  int runs = 0;
  const int rounds = Cases(150);
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = RandomNetwork(&random, static_cast<int>(random.Between(2, 10)));
    Options options;
    options.search.input = StreamInput::kRows;
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
    if (!planned) continue;  // the first operator reads all of it
    ++runs;
    const Candidate& candidate = planned->front[planned->chosen];
    ExpectExact(graph, candidate, 7);
    auto inputs = InputsOf(graph, 7);
    const std::vector<std::byte> image = inputs[0].bytes;
    const auto apart = Evaluate(graph, kMain, inputs, {});
    std::fill(inputs[0].bytes.begin(), inputs[0].bytes.end(), std::byte{0});
    execute::RunOptions run_options;
    std::int64_t next = 0;
    run_options.rows = [&](std::size_t input, std::int64_t row, std::span<std::byte> bytes) {
      EXPECT_EQ(input, 0U);
      EXPECT_EQ(row, next++);
      std::copy_n(image.begin() + row * static_cast<std::int64_t>(bytes.size()), bytes.size(),
                  bytes.begin());
      return Status();
    };
    const auto run = execute::Run(graph, EntryOf(graph, kMain, candidate), inputs, run_options);
    ASSERT_TRUE(run) << run.error().ToString();
    EXPECT_THAT(run->violations, IsEmpty());
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(run->outputs[i].bytes, (*apart)[i].bytes);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(runs, rounds / 4);
}

// The same plan through its file.
TEST(Stream, PlansSurviveTheirFile) {
  Random random(3);
  for (int n = 0; n < 50; ++n) {
    const graph::Graph graph = RandomNetwork(&random, 8);
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), {});
    ASSERT_TRUE(planned);
    const plan::Plan plan = PlanOf(EntryOf(graph, kMain, planned->front[0]));
    const std::string text = plan::ToJson(plan);
    const auto again = plan::FromJson(text);
    ASSERT_TRUE(again) << again.error().ToString();
    EXPECT_EQ(plan::ToJson(*again), text);
    EXPECT_THAT(check::CheckPlan(graph, *again), IsEmpty());
  }
}

}  // namespace
}  // namespace neap::stream
