// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/deliver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "neap/deliver/edits.h"
#include "testing/deliver_networks.h"
#include "testing/graph_json.h"

namespace neap::deliver {
namespace {

TEST(MeasureTest, AFittingPlanThenBytesThenOperators) {
  const Measure small{true, 0, 100, 9};
  EXPECT_TRUE(IsBetter(small, {true, 0, 101, 1}));
  EXPECT_TRUE(IsBetter({true, 0, 100, 8}, small));
  EXPECT_FALSE(IsBetter(small, small));
  EXPECT_TRUE(IsBetter({true, 0, 500, 9}, {false, 0, 100, 1}));
  EXPECT_TRUE(IsBetter({true, 7, 500, 9}, {true, 8, 100, 1})) << "time of access, in memories";
  EXPECT_TRUE(IsBetter({true, 0, 500, 9, true}, {true, 0, 100, 1, false}))
      << "bytes that do not count everything are no fewer";
}

TEST(MeasureTest, TheTotalArenaDecidesBetweenEqualBytes) {
  const auto with_total = [](std::int64_t bytes, std::optional<std::int64_t> total) {
    Measure measure;
    measure.bytes = bytes;
    measure.total_arena_bytes = total;
    return measure;
  };
  EXPECT_TRUE(IsBetter(with_total(100, 901), with_total(200, 900))) << "the arena comes first";
  EXPECT_TRUE(IsBetter(with_total(100, 900), with_total(100, 901)));
  EXPECT_FALSE(IsBetter(with_total(100, 901), with_total(100, 900)));
  EXPECT_TRUE(IsBetter(with_total(100, 900), with_total(100, {}))) << "an unknown one is worse";
  Measure unknown = with_total(100, {});
  Measure compared = with_total(900, 900);
  unknown.compares_total = compared.compares_total = true;
  EXPECT_TRUE(IsBetter(compared, unknown)) << "activations are not compared with a total";
}

// Of every three measures: more candidates never give a worse best one.
TEST(MeasureTest, TheRuleIsAStrictWeakOrder) {
  std::vector<Measure> all;
  for (const bool compares_total : {false, true}) {
    for (int n = 0; n < 3 * 3 * 2 * 2 * 2; ++n) {
      Measure one;
      one.compares_total = compares_total;
      if (n % 3 > 0) one.total_arena_bytes = 100 + n % 3;
      one.bytes = compares_total && one.total_arena_bytes ? *one.total_arena_bytes : 60 + n / 3 % 3;
      one.fits = n / 9 % 2 == 0;
      one.known = n / 18 % 2 == 0;
      one.extra_macs = n / 36 % 2;
      all.push_back(one);
    }
  }
  const auto equal = [](const Measure& a, const Measure& b) {
    return !IsBetter(a, b) && !IsBetter(b, a);
  };
  for (const Measure& a : all) {
    for (const Measure& b : all) {
      if (a.compares_total != b.compares_total) continue;
      EXPECT_FALSE(IsBetter(a, b) && IsBetter(b, a));
      for (const Measure& c : all) {
        if (a.compares_total != c.compares_total) continue;
        ASSERT_TRUE(IsBetter(a, c) || !IsBetter(a, b) || !IsBetter(b, c));
        ASSERT_TRUE(equal(a, c) || !equal(a, b) || !equal(b, c));
      }
    }
  }
}

TEST(MeasureTest, WhatIsNotKnownIsWithinNoBudget) {
  const formats::SourceModel model = ModelOf(kChain);
  auto compiled = compile::Compile(model.graph, {});
  ASSERT_TRUE(compiled);
  const auto measured = [&](const Budgets& budgets) {
    return MeasureOf(model.graph, *compiled, true, budgets);
  };
  EXPECT_EQ(measured({}), (Measure{true, 0, 170, 2}));
  EXPECT_TRUE(measured({170, {}, {}}).fits);
  EXPECT_FALSE(measured({169, {}, {}}).fits);
  EXPECT_FALSE(measured({170, 1000, {}}).fits) << "there is no total";
  EXPECT_TRUE(measured({{}, {}, 170}).fits) << "a device's memory holds the arena";
  EXPECT_FALSE(measured({{}, {}, 169}).fits);
  Budgets weights;
  weights.weight_bytes = 40;
  EXPECT_TRUE(measured(weights).fits) << "their memory has no size";
  weights.weight_memory_bytes = 40;
  EXPECT_TRUE(measured(weights).fits);
  weights.weight_bytes = 41;
  EXPECT_FALSE(measured(weights).fits);
  const Verdict verdict = VerdictOf(*compiled, true, weights);
  EXPECT_TRUE(verdict.of_weights);
  EXPECT_EQ(verdict.required_bytes, 41);
  EXPECT_EQ(verdict.available_bytes, 40);
  compile::TflmTotal total;
  total.total_arena_bytes = 900;
  compiled->totals = {total};
  EXPECT_FALSE(measured({{}, {}, 899}).fits);
  EXPECT_EQ(measured({}), (Measure{true, 0, 170, 2, true, 0, false, 900, false}));
  EXPECT_EQ(measured({{}, 900, {}}), (Measure{true, 0, 900, 2, true, 0, false, 900, true}));
  EXPECT_EQ(measured({170, 900, {}}), (Measure{true, 0, 900, 2, true, 0, false, 900, true}));
  compiled->unknown_kernels = {{"#0 'CUSTOM'", ""}};
  EXPECT_FALSE(measured({170, 900, {}}).fits);
  EXPECT_TRUE(measured({}).fits);
  EXPECT_FALSE(measured({}).known);
}

TEST(DeliverTest, AModelThatNothingImprovesIsPlannedAsGiven) {
  const formats::SourceModel model = ModelOf(kChain);
  Request request;
  request.tiling.device = *cascade::DeviceNamed("cortex-m4");
  request.tiling.use = Use::kIfNeeded;
  request.budgets.arena_bytes = 10;
  const auto delivery = Deliver(model, request);
  ASSERT_TRUE(delivery) << delivery.error().ToString();
  EXPECT_EQ(delivery->kind, Kind::kAsGiven);
  EXPECT_FALSE(delivery->edited);
  ASSERT_EQ(delivery->tried.size(), 1U);
  EXPECT_EQ(delivery->tried[0].measure, (Measure{false, 0, 170, 2}));
  EXPECT_EQ(delivery->compiled.file_order.peak_bytes, 170);
}

// Rewrites that may be inexact are a choice of more rules, but an operator has one rule only.
TEST(DeliverTest, InexactRewritesNeedNoMoreThanExactOnes) {
  const formats::SourceModel model = TwoConvolutions::Make();
  Request request;
  request.compile.runtime = plan::Runtime::kNeap;
  request.compile.place = false;
  request.rewriting.sums_in_place = true;
  const auto exact = Deliver(model, request);
  ASSERT_TRUE(exact) << exact.error().ToString();
  ASSERT_EQ(exact->kind, Kind::kRewritten);
  request.rewriting.exactness = plan::Exactness::kReassociates;
  const auto inexact = Deliver(model, request);
  ASSERT_TRUE(inexact) << inexact.error().ToString();
  const auto peak = [](const Delivery& delivery) {
    return plan::LargestEntry(delivery.compiled.plan).peak_bytes;
  };
  EXPECT_EQ(peak(*inexact), peak(*exact));
  ASSERT_TRUE(inexact->rewriting);
  for (const plan::Rewrite& rewrite : inexact->compiled.plan.rewrites) {
    EXPECT_EQ(rewrite.exactness, plan::Exactness::kBitwise);
  }
  EXPECT_LE(inexact->rewriting->lower_bound_bytes, exact->rewriting->lower_bound_bytes)
      << "a bound of more choices";
}

TEST(DeliverTest, AStepIsLeftOutByItsName) {
  const formats::SourceModel model = TwoConvolutions::Make();
  Request request;
  request.compile.runtime = plan::Runtime::kNeap;
  request.streaming.use = Use::kAlways;
  const auto streams = [&] {
    const auto delivery = Deliver(model, request);
    EXPECT_TRUE(delivery) << delivery.error().ToString();
    return std::any_of(delivery->steps.begin(), delivery->steps.end(),
                       [](const StepTime& step) { return step.name == "stream"; });
  };
  EXPECT_TRUE(streams());
  request.skipped = {"stream"};
  EXPECT_FALSE(streams());
}

TEST(DeliverTest, FailsWithTheErrorOfTheModelAsGiven) {
  formats::SourceModel model = ModelOf(kChain);
  model.graph.subgraphs[graph::SubgraphId(0)].tensors[graph::TensorId(1)].shape.reset();
  Request request;
  const auto delivery = Deliver(model, request);
  ASSERT_FALSE(delivery);
  EXPECT_EQ(delivery.error().code, ErrorCode::kMissingSize);
}

TEST(ReplayEditsTest, AnEditThatDoesNotFitNamesTheModel) {
  plan::Plan plan;
  const auto none = ReplayEdits(ModelOf(kChain), plan, {});
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->edited);
  EXPECT_EQ(&none->Planned(), &none->interfaced);
  plan::Rewrite rewrite;
  rewrite.rule = "no-op";
  rewrite.op = graph::OpId(0);
  plan.rewrites = {rewrite};
  const auto refused = ReplayEdits(ModelOf(kChain), plan, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(refused.error().file, "folder/graph.json");
}

}  // namespace
}  // namespace neap::deliver
