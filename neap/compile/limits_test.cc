// SPDX-License-Identifier: Apache-2.0
//
// Every kind of plan is made soon after a deadline, whenever that is. Compile() checks each.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "neap/base/random.h"
#include "neap/compile/compile.h"
#include "testing/limits.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::Subgraph;
using graph::TensorId;

// Element-wise operators in layers, each on two tensors of the layer before.
Graph Layered(std::int32_t layers, std::int32_t width) {
  Random random(6);
  Subgraph subgraph;
  const auto add = [&] {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(subgraph.tensors.size());
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{1, random.Between(1, 30), 4, 4};
    subgraph.tensors.push_back(std::move(tensor));
    return TensorId(static_cast<std::int32_t>(subgraph.tensors.size()) - 1);
  };
  std::vector<TensorId> before;
  for (std::int32_t i = 0; i < width; ++i) before.push_back(add());
  subgraph.inputs = before;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    std::vector<TensorId> made;
    for (std::int32_t i = 0; i < width; ++i) {
      Op op;
      op.type = "Mix";
      op.inputs = {before[static_cast<std::size_t>(i)],
                   before[static_cast<std::size_t>(random.Below(before.size()))]};
      if (op.inputs[0] == op.inputs[1]) op.inputs.pop_back();
      op.outputs = {add()};
      op.source_index = static_cast<std::int32_t>(subgraph.ops.size());
      made.push_back(op.outputs[0]);
      subgraph.ops.push_back(std::move(op));
    }
    before = std::move(made);
  }
  subgraph.outputs = before;
  Graph graph;
  graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

std::vector<std::pair<std::string, Options>> Kinds() {
  std::vector<std::pair<std::string, Options>> kinds;
  for (const plan::Profile& profile : plan::Profiles()) {
    kinds.emplace_back(profile.name, Options{});
    kinds.back().second.runtime = profile.runtime;
  }
  for (const std::string_view order : OrderStrategyNames()) {
    kinds.emplace_back(order, Options{});
    kinds.back().second.order = *OrderStrategyNamed(order);
  }
  kinds.emplace_back("moves", Options{});
  kinds.back().second.moves = MoveStrategy::kBest;
  kinds.emplace_back("overlap", Options{});
  kinds.back().second.runtime = plan::Runtime::kTflm;
  kinds.back().second.kernels = ops::KernelLibrary::kTflmReference;
  kinds.emplace_back("kernels of neap", Options{});
  kinds.back().second.runtime = plan::Runtime::kNeap;
  kinds.back().second.kernels = ops::KernelLibrary::kNeap;
  return kinds;
}

TEST(CompileLimits, EveryKindOfPlanIsMadeAtTheDeadline) {
  const Graph graph = Layered(6, 8);
  constexpr std::int64_t kLooksBehind = 64;
  for (const auto& [name, kind] : Kinds()) {
    for (const std::int64_t looks : {1, 10, 100, 400}) {
      SCOPED_TRACE(name + ", " + std::to_string(looks));
      const CountedClock clock;
      Options options = kind;
      options.limits = CountedClock::DeadlineAfter(looks);
      const auto compiled = Compile(graph, options);
      ASSERT_TRUE(compiled) << compiled.error().ToString();
      const plan::EntryPlan& entry = compiled->plan.entries[0];
      EXPECT_LE(entry.peak_lower_bound_bytes, entry.peak_bytes);
      EXPECT_LE(entry.arena_lower_bound_bytes, entry.arena_bytes);
      EXPECT_FALSE(compiled->interrupted);
      EXPECT_LE(CountedClock::looks(), looks + kLooksBehind);
    }
  }
}

// Also where it prevents a search from expanding its first state.
TEST(CompileLimits, AnInterruptIsReportedWheneverItComes) {
  const Graph graph = Layered(6, 8);
  for (auto& [name, options] : Kinds()) {
    SCOPED_TRACE(name);
    std::atomic<bool> stop = false;
    options.limits.stop = &stop;
    options.limits.max_states = kStatesForAFewSeconds;
    const WorkScope scope(100'000'000);
    const auto whole = Compile(graph, options);
    ASSERT_TRUE(whole) << whole.error().ToString();
    EXPECT_FALSE(whole->interrupted);
    stop = true;
    const auto cut = Compile(graph, options);
    ASSERT_TRUE(cut) << cut.error().ToString();
    EXPECT_TRUE(cut->interrupted);
  }
}

// Work is charged wherever it is done: after a limit the rest ends soon.
TEST(CompileLimits, EveryKindOfPlanIsMadeAtTheEndOfTheWork) {
  const Graph graph = Layered(6, 8);
  constexpr std::int64_t kWorkBehind = 50'000'000;
  for (const auto& [name, kind] : Kinds()) {
    for (const std::int64_t work : {1, 1'000'000, 100'000'000}) {
      SCOPED_TRACE(name + ", " + std::to_string(work));
      Options options = kind;
      options.limits.max_states = kStatesForAFewSeconds;
      const WorkScope scope(work);
      const std::int64_t before = WorkDone();
      const auto compiled = Compile(graph, options);
      ASSERT_TRUE(compiled) << compiled.error().ToString();
      EXPECT_LE(WorkDone() - before, work + kWorkBehind);
    }
  }
}

// The file order needs no search: the observer sees only the placement.
TEST(CompileLimits, TheObserverHearsOfThePlacement) {
  const CountedClock clock;
  Options options;
  options.order = kFileOrder;
  options.placement_states = 200'000;
  std::int64_t heard = 0;
  options.limits.observer = [&](const Progress& seen) {
    EXPECT_LE(seen.lower_bound_bytes, seen.upper_bound_bytes);
    ++heard;
  };
  for (const std::int32_t width : {6, 8, 12, 16, 24, 40}) {
    for (const std::int32_t layers : {3, 6, 12})
      ASSERT_TRUE(Compile(Layered(layers, width), options));
  }
  EXPECT_GT(heard, 0);
}

}  // namespace
}  // namespace neap::compile
