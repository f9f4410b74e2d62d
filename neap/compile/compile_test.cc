// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "testing/cases.h"
#include "testing/plans.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using plan::test::AddTensor;

TensorId AddOp(Subgraph* subgraph, std::vector<TensorId> inputs, std::int64_t bytes,
               std::string type = "Any", std::int64_t scratch_bytes = 0) {
  const TensorId output = AddTensor(*subgraph, bytes);
  Op op;
  op.type = std::move(type);
  if (op.type == "Any") op.domain = "json";  // its scratch is known: as stated
  op.inputs = std::move(inputs);
  op.outputs = {output};
  op.scratch_bytes = scratch_bytes;
  subgraph->ops.push_back(op);
  return output;
}

// Two branches, each wide inside and narrow at its end; the file runs both wide parts first.
Graph TwoBranches(const std::string& type = "Any") {
  Graph graph;
  Subgraph subgraph;
  const TensorId in = AddTensor(subgraph, 10);
  subgraph.inputs = {in};
  const TensorId wide_a = AddOp(&subgraph, {in}, 100, type);
  const TensorId wide_b = AddOp(&subgraph, {in}, 100, type);
  const TensorId narrow_a = AddOp(&subgraph, {wide_a}, 10, type);
  const TensorId narrow_b = AddOp(&subgraph, {wide_b}, 10, type);
  subgraph.outputs = {AddOp(&subgraph, {narrow_a, narrow_b}, 10, type)};
  graph.subgraphs.push_back(subgraph);
  return graph;
}

Compiled MustCompile(const Graph& graph, const Options& options = {}) {
  EXPECT_TRUE(graph::Verify(graph).has_value());
  auto compiled = Compile(graph, options);
  EXPECT_TRUE(compiled.has_value()) << compiled.error().ToString();
  EXPECT_EQ(check::CheckPlan(graph, compiled->plan), std::vector<std::string>{});
  return std::move(*compiled);
}

TEST(Compile, FindsTheBetterOrder) {
  const Compiled compiled = MustCompile(TwoBranches());
  const plan::EntryPlan& entry = compiled.plan.entries.front();
  EXPECT_EQ(compiled.file_order.peak_bytes, 100 + 100 + 10);
  EXPECT_EQ(entry.peak_bytes, 100 + 10 + 10);  // in + wide + narrow
  EXPECT_EQ(entry.peak_lower_bound_bytes, 120);
  EXPECT_EQ(entry.order_status, plan::BoundStatus::kOptimal);
  EXPECT_EQ(entry.arena_bytes, 120);
  EXPECT_EQ(entry.arena_status, plan::BoundStatus::kOptimal);
  EXPECT_EQ(compiled.delivered_arena_bytes, -1);
  EXPECT_EQ(compiled.peak_at.tensors.front().bytes, 100);
}

TEST(Compile, KeepsTheFileOrderWhenItIsOptimal) {
  Graph graph;
  Subgraph subgraph;
  const TensorId in = AddTensor(subgraph, 8);
  subgraph.inputs = {in};
  const TensorId a = AddOp(&subgraph, {in}, 8);
  const TensorId b = AddOp(&subgraph, {in}, 8);
  subgraph.outputs = {AddOp(&subgraph, {b, a}, 8)};
  graph.subgraphs.push_back(subgraph);
  const Compiled compiled = MustCompile(graph);
  EXPECT_EQ(compiled.order[SubgraphId(0)], (std::vector<OpId>{OpId(0), OpId(1), OpId(2)}));
}

std::vector<std::string> StepsOf(const Options& options) {
  const auto compiled = Compile(TwoBranches(), options);
  std::vector<std::string> steps;
  for (const StepTime& step : compiled->steps) {
    EXPECT_GE(step.seconds, 0);
    steps.emplace_back(step.name);
  }
  return steps;
}

TEST(Compile, TimesEachStepOnceInTheOrderInWhichTheyBegan) {
  Options options;
  using Names = std::vector<std::string>;
  EXPECT_EQ(StepsOf(options), (Names{"measure", "file order", "order", "arena order", "place",
                                     "joint search", "moves", "allocate", "check"}));
  options.place = false;
  options.check = false;
  EXPECT_EQ(StepsOf(options), (Names{"measure", "file order", "order", "allocate"}));
}

TEST(Compile, SecondsOfTheOrderAndOfAllBehindIt) {
  Compiled compiled;
  compiled.steps = {{"measure", 1}, {"order", 2}, {"place", 4}, {"allocate", 8}, {"check", 16}};
  EXPECT_EQ(OrderSeconds(compiled), 2);
  EXPECT_EQ(PlaceSeconds(compiled), 12);
}

TEST(Compile, TflmCountsAlignedBytesAndReproducesItsPlanner) {
  Options options;
  options.runtime = plan::Runtime::kTflm;
  const Compiled compiled = MustCompile(TwoBranches(), options);
  EXPECT_EQ(compiled.file_order.peak_bytes, 112 + 112 + 16);
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 112 + 16 + 16);
  EXPECT_EQ(compiled.plan.entries.front().arena_bytes, 144);
  EXPECT_EQ(compiled.file_order.arena_bytes, 240);
  EXPECT_EQ(compiled.delivered_arena_bytes, 144);
}

TEST(Compile, TflmGivesRoomToTensorsThatNothingRefersTo) {
  Graph graph = TwoBranches();
  AddTensor(graph.subgraphs[SubgraphId(0)], 1000);
  Options options;
  options.runtime = plan::Runtime::kTflm;
  const Compiled compiled = MustCompile(graph, options);
  EXPECT_EQ(compiled.plan.entries.front().arena_bytes, 144);
  EXPECT_EQ(compiled.delivered_arena_bytes, 1008);
}

TEST(Compile, RunsElementwiseOperatorsInPlace) {
  Graph graph;
  Subgraph subgraph;
  TensorId at = AddTensor(subgraph, 64);
  subgraph.inputs = {at};
  for (int i = 0; i < 3; ++i) at = AddOp(&subgraph, {at}, 64, "Relu");
  subgraph.outputs = {at};
  graph.subgraphs.push_back(subgraph);
  EXPECT_EQ(MustCompile(graph).plan.entries.front().arena_bytes, 128);
  Options options;
  options.runtime = plan::Runtime::kIdealInPlace;
  const Compiled compiled = MustCompile(graph, options);
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 64);
  EXPECT_EQ(compiled.plan.entries.front().arena_bytes, 64);
  EXPECT_EQ(compiled.plan.entries.front().overlaps.size(), 3U);
}

TEST(Compile, CountsScratch) {
  Graph graph = TwoBranches();
  graph.subgraphs[SubgraphId(0)].ops[OpId(2)].scratch_bytes = 50;
  const Compiled compiled = MustCompile(graph);
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 100 + 10 + 50 + 10);
}

TEST(Compile, RunsBodiesInsideTheirCaller) {
  Graph graph;
  Subgraph main;
  const TensorId in = AddTensor(main, 10);
  main.inputs = {in};
  const TensorId aside = AddOp(&main, {in}, 7);
  const TensorId called = AddOp(&main, {in}, 10, "If");
  main.outputs = {AddOp(&main, {called, aside}, 1)};
  main.ops[OpId(1)].bodies = {SubgraphId(1), SubgraphId(2)};
  graph.subgraphs.push_back(main);
  for (const std::int64_t wide : {200, 30}) {
    Subgraph body;
    const TensorId body_in = AddTensor(body, 10);
    body.inputs = {body_in};
    body.outputs = {AddOp(&body, {AddOp(&body, {body_in}, wide)}, 10)};
    graph.subgraphs.push_back(body);
  }
  const Compiled compiled = MustCompile(graph);
  // Outside: in and the caller's output, with `aside` best left for later (it reads `in`: 10).
  EXPECT_EQ(compiled.plan.entries.size(), 1U);
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 10 + 10 + (10 + 200));
  EXPECT_EQ(compiled.plan.entries.front().steps.size(), 7U);
}

TEST(Compile, NamesTheTensorWithoutASize) {
  Graph graph = TwoBranches();
  Tensor& tensor = graph.subgraphs[SubgraphId(0)].tensors[TensorId(3)];
  tensor.shape = graph::Shape{-1};
  tensor.symbols = {"batch"};
  const auto compiled = Compile(graph, Options{});
  ASSERT_FALSE(compiled.has_value());
  EXPECT_EQ(compiled.error().code, ErrorCode::kMissingSize);
  EXPECT_NE(compiled.error().ToString().find("t3"), std::string::npos);
  EXPECT_NE(compiled.error().ToString().find("bind the dimension 'batch' to a number"),
            std::string::npos);
}

TEST(Compile, OrderStrategiesHaveNames) {
  for (const std::string_view name : OrderStrategyNames()) {
    const auto strategy = OrderStrategyNamed(name);
    ASSERT_TRUE(strategy.has_value()) << name;
    EXPECT_EQ(NameOf(*strategy), name);
  }
  EXPECT_FALSE(OrderStrategyNamed("no-such").has_value());
  EXPECT_FALSE(ForcedRuleNamed("no-such").has_value());
}

TEST(Compile, PassesTheRulesOfAStrategyOn) {
  Options options;
  options.order.method = schedule::Method::kBestFirst;
  for (const std::string_view rule : ForcedRuleNames()) {
    options.forced = *ForcedRuleNamed(rule);
    options.slack_bytes = rule == "relaxed" ? 1'000'000 : 0;
    const Compiled compiled = MustCompile(TwoBranches(), options);
    // So much slack takes the first operator every time: both wide branches first.
    EXPECT_EQ(compiled.plan.entries.front().peak_bytes, rule == "relaxed" ? 210 : 120) << rule;
  }
}

TEST(Compile, HandlesAGraphWithoutOperators) {
  Graph graph;
  Subgraph subgraph;
  const TensorId in = AddTensor(subgraph, 10);
  subgraph.inputs = {in};
  subgraph.outputs = {in};
  graph.subgraphs.push_back(subgraph);
  EXPECT_EQ(MustCompile(graph).plan.entries.front().arena_bytes, 10);
}

// Random graphs with everything at once, in every profile: Compile() runs the independent checker
// on its own result and would throw.
Graph RandomGraph(Random& random) {
  Graph graph;
  const int bodies = static_cast<int>(random.Below(3));
  for (int s = 0; s <= bodies; ++s) {
    Subgraph subgraph;
    for (int i = 0; i < 2; ++i) {
      const TensorId in = AddTensor(subgraph, random.Between(0, 40));
      subgraph.inputs.push_back(in);
    }
    const auto ops = static_cast<int>(random.Below(8));
    for (int i = 0; i < ops; ++i) {
      std::vector<TensorId> inputs;
      for (int k = static_cast<int>(random.Below(3)); k >= 0; --k) {
        inputs.emplace_back(static_cast<std::size_t>(random.Below(subgraph.tensors.size())));
      }
      const bool same = random.Chance(1, 2);
      const std::int64_t bytes =
          same ? subgraph.tensors[inputs[0]].shape->front() : random.Between(0, 40);
      AddOp(&subgraph, inputs, bytes, same ? "Relu" : "Any",
            random.Chance(1, 4) ? random.Between(1, 20) : 0);
      Op& op = subgraph.ops.back();
      op.stateful = random.Chance(1, 6);
      if (s == 0 && bodies > 0 && random.Chance(1, 3)) {
        op.bodies = {SubgraphId(static_cast<std::int32_t>(random.Between(1, bodies)))};
      }
    }
    subgraph.outputs.push_back(TensorId(subgraph.tensors.size() - 1));
    graph.subgraphs.push_back(subgraph);
  }
  return graph;
}

TEST(Compile, PassesTheIndependentCheckerOnRandomGraphs) {
  Random random(3);
  for (int i = 0; i < Cases(600); ++i) {
    const Graph graph = RandomGraph(random);
    ASSERT_TRUE(graph::Verify(graph).has_value());
    for (const plan::Profile& profile : plan::Profiles()) {
      Options options;
      options.runtime = profile.runtime;
      options.placement_states = 50'000;  // of the plans, not of how good they are
      const auto compiled = Compile(graph, options);
      ASSERT_TRUE(compiled.has_value()) << compiled.error().ToString();
      EXPECT_LE(compiled->plan.entries.front().peak_lower_bound_bytes,
                compiled->plan.entries.front().peak_bytes);
    }
  }
}

// The checker searches again for bounds that come from a search; it rejects one that is a byte too
// high, with any certificate.
TEST(Compile, BoundsAreConfirmedByTheCheckersOwnCode) {
  Random random(4);
  int cuts = 0;
  int searches = 0;
  for (int i = 0; i < Cases(1500); ++i) {
    Graph graph = RandomGraph(random);
    for (Op& op : graph.subgraphs[SubgraphId(0)].ops) op.bodies.clear();
    for (const plan::Profile& profile : plan::Profiles()) {
      Options options;
      options.runtime = profile.runtime;
      auto compiled = Compile(graph, options);
      ASSERT_TRUE(compiled.has_value());
      plan::Plan& plan = compiled->plan;
      const auto replayed = check::ReplayBounds(graph, plan, 100'000);
      ASSERT_TRUE(replayed.refuted.empty()) << replayed.refuted.front();
      ASSERT_TRUE(replayed.unfinished.empty()) << replayed.unfinished.front();
      plan::EntryPlan& entry = plan.entries.front();
      if (entry.certificate.kind == plan::CertificateKind::kCut) ++cuts;
      if (entry.certificate.kind == plan::CertificateKind::kSearch) ++searches;
      // The same plan with a bound above its peak, as if the peak were that high.
      if (entry.certificate.kind == plan::CertificateKind::kNone || entry.peak_bytes == 0) continue;
      entry.peak_lower_bound_bytes = entry.peak_bytes + profile.alignment;
      const bool caught = !check::CheckPlan(graph, plan).empty();
      EXPECT_TRUE(caught);
      const auto again = check::ReplayBounds(graph, plan, 100'000);
      EXPECT_EQ(again.refuted.empty(), entry.certificate.kind != plan::CertificateKind::kSearch);
    }
  }
  EXPECT_GT(cuts, Cases(20));
  EXPECT_GT(searches, Cases(20));
}

// Every number of a cut matters.
TEST(Compile, DamagedCutsAreFoundOut) {
  Random random(5);
  int damaged = 0;
  for (int i = 0; i < 3000 && damaged < 100; ++i) {
    Graph graph = RandomGraph(random);
    for (Op& op : graph.subgraphs[SubgraphId(0)].ops) op.bodies.clear();
    auto compiled = Compile(graph, Options{});
    ASSERT_TRUE(compiled.has_value());
    plan::Plan& plan = compiled->plan;
    plan::Certificate& certificate = plan.entries.front().certificate;
    if (certificate.kind != plan::CertificateKind::kCut || certificate.flow.empty()) continue;
    ++damaged;
    const plan::Certificate good = certificate;
    certificate.flow.pop_back();
    EXPECT_FALSE(check::CheckPlan(graph, plan).empty());
    certificate = good;
    certificate.flow.front().bytes += 1000;
    EXPECT_FALSE(check::CheckPlan(graph, plan).empty());
    certificate = good;
    if (good.flow.front().bytes > 1) {
      certificate.flow.push_back(good.flow.front());
      certificate.flow.front().bytes -= 1;
      certificate.flow.back().bytes = 1;
      EXPECT_TRUE(check::CheckPlan(graph, plan).empty());  // only split: still a proof
    }
    certificate = good;
    for (auto& link : certificate.flow.front().through) link.clear();
    certificate.flow.front().tensors.front() = TensorId(1 << 20);
    EXPECT_FALSE(check::CheckPlan(graph, plan).empty());
  }
  EXPECT_GT(damaged, 10);
}

TEST(Inspect, HasLiveBytesInFileOrder) {
  const auto inspections = Inspect(TwoBranches(), plan::Runtime::kIdeal);
  ASSERT_TRUE(inspections.has_value());
  std::vector<std::int64_t> live;
  for (const StepMemory& step : inspections->front().steps) live.push_back(step.live_bytes);
  EXPECT_EQ(live, (std::vector<std::int64_t>{110, 210, 210, 120, 30}));
  EXPECT_EQ(inspections->front().peak_at.op, OpId(1));
}

}  // namespace
}  // namespace neap::compile
