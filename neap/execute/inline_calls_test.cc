// SPDX-License-Identifier: Apache-2.0
//
// Calls whose body is known. Models whose tiles share bodies are in neap/transform/cascade.
#include "neap/execute/inline_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "testing/execute.h"

namespace neap::execute {
namespace {

using graph::ElementType;
using graph::SubgraphId;
using graph::TensorId;
using testing::IsEmpty;

constexpr SubgraphId kMain(0);
constexpr std::int64_t kMemory = 1 << 20;

// A body with one operator.
graph::Subgraph Body(const std::string& type, std::int64_t size) {
  GraphMaker maker;
  const TensorId in = maker.Input(ElementType::kFloat32, {size});
  const TensorId out = maker.Floats({size});
  maker.Op("tflite", type, {in}, {out});
  maker.Output(out);
  return maker.Main();
}

// A chain of calls, with inputs that no operator reads before, between and behind those that it
// reads.
graph::Graph ChainOfCalls(Random* random) {
  GraphMaker maker;
  const std::int64_t size = random->Between(1, 40);
  const auto unread = [&] {
    if (random->Chance(1, 2)) maker.Input(ElementType::kFloat32, {random->Between(1, 80)});
  };
  unread();
  TensorId last = maker.Input(ElementType::kFloat32, {size});
  unread();
  const std::int64_t calls = random->Between(1, 3);
  for (std::int64_t i = 0; i < calls; ++i) {
    if (random->Chance(1, 3)) {
      const TensorId out = maker.Floats({size});
      maker.Op("tflite", "TANH", {last}, {out});
      last = out;
    }
    const TensorId condition =
        maker.Constant<std::uint8_t>(ElementType::kBool, {1}, {std::uint8_t{random->Chance(1, 2)}});
    const TensorId out = maker.Floats({size});
    const graph::OpId call = maker.Op("tflite", "IF", {condition, last}, {out});
    maker.Main().ops[call].bodies = {SubgraphId(1), SubgraphId(2)};
    last = out;
    if (random->Chance(1, 4)) maker.Output(out);
  }
  const TensorId out = maker.Floats({size});
  maker.Op("tflite", "ABS", {last}, {out});
  maker.Output(out);
  unread();
  maker.graph().subgraphs.push_back(Body("NEG", size));
  maker.graph().subgraphs.push_back(Body("TANH", size));
  return std::move(maker.graph());
}

TEST(InlineCalls, PlansWithUnreadInputsRun) {
  Random random(5);
  constexpr plan::Runtime kRuntimes[] = {plan::Runtime::kTflm, plan::Runtime::kLitert,
                                         plan::Runtime::kNeap};
  for (int round = 0; round < 600; ++round) {
    const graph::Graph graph = ChainOfCalls(&random);
    compile::Options options;
    options.runtime = kRuntimes[round % 3];
    const auto compiled = compile::Compile(graph, options);
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    ASSERT_THAT(check::CheckPlan(graph, compiled->plan), IsEmpty());
    const auto flat = InlineCalls(graph, compiled->plan.entries[0]);
    ASSERT_TRUE(flat) << flat.error().ToString();
    const graph::Graph inlined = InlineCalls(graph, kMain);
    const auto inputs = RandomInputs(inlined.subgraphs[kMain], random.Next() >> 40U, kMemory);
    ASSERT_TRUE(inputs);
    const auto planned = execute::Run(inlined, *flat, *inputs, {});
    ASSERT_TRUE(planned) << planned.error().ToString();
    EXPECT_THAT(planned->violations, IsEmpty()) << "round " << round;
    const auto apart = Evaluate(inlined, kMain, *inputs, {});
    ASSERT_TRUE(apart);
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(planned->outputs[i].bytes, (*apart)[i].bytes) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace neap::execute
