// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/check/offsets_check.h"
#include "neap/compile/compile.h"
#include "neap/compile/moved_model.h"
#include "testing/cases.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// Operators in a row. Every tensor is read last by a random later operator, and every output fills
// the rest of a fixed number of bytes, so that no byte is unused and few placements fit.
Graph RandomGraph(std::uint64_t seed) {
  constexpr std::int64_t kCapacity = 24;
  Random random(seed);
  Subgraph subgraph;
  struct Made {
    TensorId tensor;
    std::int64_t bytes = 0;
    std::int64_t last = 0;
  };
  std::vector<Made> made;
  const auto add = [&](std::int64_t bytes, std::int64_t last) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(subgraph.tensors.size());
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{bytes};
    subgraph.tensors.push_back(std::move(tensor));
    made.push_back({TensorId(static_cast<std::int32_t>(subgraph.tensors.size()) - 1), bytes, last});
  };
  const std::int64_t ops = random.Between(8, 14);
  for (int i = 0; i < 3; ++i) {
    add(random.Between(1, 7), random.Between(0, 4));
    subgraph.inputs.push_back(made.back().tensor);
  }
  for (std::int64_t i = 0; i < ops; ++i) {
    Op op;
    op.type = "Mix";
    std::int64_t live = 0;
    for (const Made& tensor : made) {
      if (tensor.last < i) continue;
      live += tensor.bytes;
      if (tensor.last == i || &tensor == &made.back()) op.inputs.push_back(tensor.tensor);
    }
    if (op.inputs.empty()) op.inputs.push_back(made.back().tensor);
    const std::int64_t left = std::max<std::int64_t>(kCapacity - live, 1);
    add(random.Chance(1, 2) ? left : random.Between(1, left), i + random.Between(1, 5));
    op.outputs = {made.back().tensor};
    op.source_index = static_cast<std::int32_t>(i);
    subgraph.ops.push_back(std::move(op));
  }
  subgraph.outputs = {made.back().tensor};
  Graph graph;
  graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

Compiled MustCompile(const Graph& graph, plan::Runtime runtime, MoveStrategy moves) {
  Options options;
  options.runtime = runtime;
  options.moves = moves;
  auto compiled = Compile(graph, options);
  EXPECT_TRUE(compiled) << compiled.error().ToString();
  return std::move(*compiled);
}

std::int64_t MovedBytes(const Graph& graph, const plan::EntryPlan& entry) {
  std::int64_t bytes = 0;
  for (const plan::Step& step : entry.steps) {
    if (!step.moved.valid()) continue;
    bytes += *graph::TensorBytes(graph.subgraphs[step.subgraph].tensors[step.moved]);
  }
  return bytes;
}

// Runs the steps on bytes: every operator writes its own number, every reader looks for the numbers
// of those it reads, every move copies.
bool Executes(const Graph& graph, const plan::EntryPlan& entry) {
  const Subgraph& subgraph = graph.subgraphs[SubgraphId(0)];
  std::vector<int> arena(static_cast<std::size_t>(entry.arena_bytes), -1);
  std::map<TensorId, std::vector<const plan::TensorPlacement*>> places;
  for (const auto& placement : entry.tensors) places[placement.tensor].push_back(&placement);
  std::map<TensorId, std::size_t> stretch;
  const auto place = [&](TensorId id) { return places[id][stretch[id]]; };
  const auto write = [&](TensorId id) {
    const auto begin = arena.begin() + place(id)->offset;
    std::fill(begin, begin + place(id)->bytes, id.value());
  };
  const auto holds = [&](TensorId id) {
    const auto begin = arena.begin() + place(id)->offset;
    return std::all_of(begin, begin + place(id)->bytes, [&](int b) { return b == id.value(); });
  };
  for (const TensorId id : subgraph.inputs) write(id);
  for (const plan::Step& step : entry.steps) {
    if (step.moved.valid()) {
      if (!holds(step.moved)) return false;
      ++stretch[step.moved];
      write(step.moved);  // memmove of its bytes
      continue;
    }
    const Op& op = subgraph.ops[step.op];
    for (const TensorId id : op.inputs) {
      if (!holds(id)) return false;
    }
    for (const TensorId id : op.outputs) write(id);
    for (const TensorId id : op.inputs) {
      if (place(id)->last > &step - entry.steps.data() + 1 && !holds(id)) return false;
    }
  }
  return std::all_of(subgraph.outputs.begin(), subgraph.outputs.end(), holds);
}

TEST(MovesTest, ReachThePeakWhereNoPlacementDoes) {
  int needed = 0;
  std::int64_t best_total = 0;
  std::int64_t compact_total = 0;
  for (int seed = 0; seed < Cases(10'000); ++seed) {
    const Graph graph = RandomGraph(static_cast<std::uint64_t>(seed));
    const Compiled still = MustCompile(graph, plan::Runtime::kIdeal, MoveStrategy::kNone);
    if (still.plan.entries[0].arena_bytes <= still.plan.entries[0].peak_bytes) continue;
    ++needed;
    const Compiled best = MustCompile(graph, plan::Runtime::kIdeal, MoveStrategy::kBest);
    const Compiled compact = MustCompile(graph, plan::Runtime::kIdeal, MoveStrategy::kCompact);
    for (const Compiled* moved : {&best, &compact}) {
      const plan::EntryPlan& entry = moved->plan.entries[0];
      EXPECT_EQ(entry.arena_bytes, entry.peak_bytes) << seed;
      EXPECT_GT(MovedBytes(graph, entry), 0) << seed;
      EXPECT_TRUE(Executes(graph, entry)) << seed;
    }
    EXPECT_LE(MovedBytes(graph, best.plan.entries[0]), MovedBytes(graph, compact.plan.entries[0]));
    best_total += MovedBytes(graph, best.plan.entries[0]);
    compact_total += MovedBytes(graph, compact.plan.entries[0]);
  }
  EXPECT_GT(needed, Cases(20));
  EXPECT_LT(best_total, compact_total);
}

// Tensors of one byte that are all live at every step.
struct ManyLive {
  Timeline timeline;
  AllSizes sizes;
  explicit ManyLive(std::int32_t tensors, std::int32_t steps) {
    const SubgraphId main(0);
    sizes.push_back({});
    for (std::int32_t i = 0; i < tensors; ++i) {
      timeline.tensors.push_back({main, TensorId(i), 0, steps});
      sizes[main].exact.push_back(1);
      sizes[main].counted.push_back(1);
    }
    for (std::int32_t i = 0; i < steps; ++i) timeline.steps.push_back({main, OpId(i)});
  }
};

TEST(MovesTest, ALongCompactionEndsWithTheWorkAndAShortOneByItself) {
  const plan::Profile& profile = plan::ProfileOf(plan::Runtime::kIdeal);
  constexpr std::int32_t kTensors = 1000;
  for (const std::int32_t steps : {100, 5000}) {
    const ManyLive many(kTensors, steps);
    const auto compact = [&] {
      return PlaceWithMoves(many.timeline, many.sizes, profile, kTensors, MoveStrategy::kCompact,
                            false, Limits{});
    };
    EXPECT_TRUE(compact()) << steps;
    const WorkScope scope(0);
    EXPECT_EQ(compact().has_value(), steps == 100) << steps;
  }
}

TEST(MovesTest, WrongMovesAreCaught) {
  int caught = 0;
  for (int seed = 0; seed < Cases(10'000); ++seed) {
    const Graph graph = RandomGraph(static_cast<std::uint64_t>(seed));
    const Compiled moved = MustCompile(graph, plan::Runtime::kIdeal, MoveStrategy::kBest);
    const plan::EntryPlan& entry = moved.plan.entries[0];
    for (std::size_t slot = 0; slot < entry.steps.size(); ++slot) {
      if (!entry.steps[slot].moved.valid()) continue;
      plan::Plan wrong = moved.plan;
      auto& steps = wrong.entries[0].steps;
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(slot));
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty()) << seed;
      wrong = moved.plan;
      wrong.entries[0].steps[slot].moved = TensorId(1'000'000);
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty()) << seed;
      wrong = moved.plan;
      std::swap(wrong.entries[0].steps[slot], wrong.entries[0].steps[slot - 1]);
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty()) << seed;
      ++caught;
    }
    for (std::size_t i = 1; i < entry.tensors.size(); ++i) {
      if (entry.tensors[i].tensor != entry.tensors[i - 1].tensor) continue;
      plan::Plan wrong = moved.plan;
      wrong.entries[0].tensors[i].last += 1;
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty()) << seed;
      wrong = moved.plan;
      wrong.entries[0].tensors.erase(wrong.entries[0].tensors.begin() +
                                     static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty()) << seed;
    }
  }
  EXPECT_GT(caught, Cases(20));
}

// For TensorFlow Lite Micro: copies are operators, whose inputs and outputs are disjoint.
class MovesAsOperatorsTest : public testing::TestWithParam<MoveStrategy> {};

TEST_P(MovesAsOperatorsTest, HaveOffsetsOfTheirOwn) {
  const plan::Profile& profile = plan::ProfileOf(plan::Runtime::kTflm);
  int moved = 0;
  int needed = 0;
  for (int seed = 0; seed < Cases(10'000); ++seed) {
    Graph graph = RandomGraph(static_cast<std::uint64_t>(seed));
    Subgraph& main = graph.subgraphs[SubgraphId(0)];
    for (graph::Tensor& tensor : main.tensors) tensor.shape->front() *= 16;
    for (Op& op : main.ops) op.domain = "tflite";
    const Compiled compiled = MustCompile(graph, plan::Runtime::kTflm, GetParam());
    const plan::EntryPlan& entry = compiled.plan.entries[0];
    needed += HasMoves(compiled.plan) || entry.arena_bytes > entry.peak_bytes ? 1 : 0;
    const bool noted = std::any_of(
        compiled.notes.begin(), compiled.notes.end(),
        [](const std::string& note) { return note.starts_with("no left-compaction reaches"); });
    EXPECT_EQ(noted, GetParam() == MoveStrategy::kCompact && entry.arena_bytes > entry.peak_bytes);
    if (!HasMoves(compiled.plan)) continue;
    ++moved;
    EXPECT_EQ(entry.arena_bytes, entry.peak_bytes) << seed;
    EXPECT_TRUE(Executes(graph, entry)) << seed;
    const auto model = MovesAsOperators(graph, compiled.plan, compiled.order, profile);
    ASSERT_TRUE(model) << seed;
    ASSERT_TRUE(graph::Verify(model->graph)) << seed;
    const Subgraph& edited = model->graph.subgraphs[SubgraphId(0)];
    EXPECT_EQ(edited.inputs, main.inputs);
    EXPECT_EQ(edited.outputs, main.outputs);
    EXPECT_EQ(edited.ops.size(), entry.steps.size());
    EXPECT_EQ(model->placement.height_bytes, entry.arena_bytes) << seed;
    EXPECT_TRUE(check::CheckOffsets(model->graph, model->offsets).problems.empty()) << seed;
    for (const OpId id : edited.ops.Ids()) {
      const Op& op = edited.ops[id];
      EXPECT_EQ(op.type == "RESHAPE", entry.steps[id.index()].moved.valid()) << seed;
      EXPECT_EQ(op.type == "RESHAPE", op.source_index < 0) << seed;
      if (op.type != "RESHAPE") continue;
      const auto offset = [&](TensorId t) { return model->offsets[SubgraphId(0)][t]; };
      const std::int64_t bytes = *graph::TensorBytes(edited.tensors[op.inputs[0]]);
      EXPECT_EQ(edited.tensors[op.inputs[0]].shape, edited.tensors[op.outputs[0]].shape);
      EXPECT_GE(std::abs(offset(op.inputs[0]) - offset(op.outputs[0])), bytes) << seed;
    }
  }
  EXPECT_GT(moved, Cases(10));
  RecordProperty("needed", needed);
  RecordProperty("moved", moved);
}

INSTANTIATE_TEST_SUITE_P(All, MovesAsOperatorsTest,
                         testing::Values(MoveStrategy::kCompact, MoveStrategy::kBest));

TEST(MovesTest, StrategiesHaveNames) {
  EXPECT_EQ(MoveStrategyNamed("compact"), MoveStrategy::kCompact);
  EXPECT_FALSE(MoveStrategyNamed("sideways"));
}

}  // namespace
}  // namespace neap::compile
