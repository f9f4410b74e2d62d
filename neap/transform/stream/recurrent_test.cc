// SPDX-License-Identifier: Apache-2.0
//
// Operators with a state, step by step: plans are checked, executed, compared and changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/ops/recurrence.h"
#include "neap/plan/plan_json.h"
#include "neap/transform/stream/stream.h"
#include "testing/cases.h"
#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using graph::ElementType;
using graph::TensorId;
using plan::StreamInput;
using test::EntryWith;
using test::ErrorOfRun;
using test::ExpectExact;
using test::FileOrder;
using test::PlanOf;
using test::RandomRecurrent;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr graph::SubgraphId kMain(0);
constexpr std::int64_t kFloat = 4;

TEST(Recurrent, RandomNetworksAreExact) {
  Random random(21);
  const int rounds = Cases(400);
  int with_outputs = 0;
  int last_only = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = RandomRecurrent(&random, static_cast<int>(random.Between(1, 5)));
    ASSERT_TRUE(graph::Verify(graph)) << graph::Verify(graph).error().ToString();
    Options options;
    const StreamInput inputs[] = {StreamInput::kResident, StreamInput::kExternal,
                                  StreamInput::kRows};
    options.search.input = inputs[random.Below(3)];
    if (random.Below(2) == 0) options.max_macs_permille = 100'000;
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
    if (!planned && options.search.input == StreamInput::kRows) continue;
    ASSERT_TRUE(planned) << planned.error().ToString();
    for (const Candidate& candidate : planned->front) {
      const plan::EntryPlan entry = EntryOf(graph, kMain, candidate);
      ExpectExact(graph, entry, static_cast<std::uint64_t>(n));
      EXPECT_LE(check::CheckedStreamBound(graph, entry), candidate.arena_bytes);
      EXPECT_LE(candidate.stream.lower_bound_bytes, candidate.arena_bytes);
      for (const plan::StreamSegment& segment : candidate.stream.segments) {
        if (segment.ops.size() > 1) with_outputs += segment.states.empty() ? 0 : 1;
        for (const plan::StreamOp& step : segment.ops) {
          if (step.op.valid() && step.sums && segment.ops.size() > 1) ++last_only;
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(with_outputs, rounds / 8);
  EXPECT_GE(last_only, rounds / 40);
}

// Every error that a run finds, the checker has found before.
TEST(Recurrent, CheckerFindsWhatRunsFind) {
  Random random(22);
  const int rounds = Cases(400);
  int wrong = 0;
  int caught = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("mutant " + std::to_string(n));
    const graph::Graph graph = RandomRecurrent(&random, static_cast<int>(random.Between(1, 4)));
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), {});
    ASSERT_TRUE(planned);
    plan::EntryPlan entry = EntryOf(graph, kMain, planned->front[0]);
    auto& segments = entry.stream->segments;
    plan::StreamSegment& segment = segments[random.Below(segments.size())];
    plan::StreamOp& op = segment.ops[random.Below(segment.ops.size())];
    const std::int64_t change = random.Below(2) == 0 ? kFloat : -kFloat;
    const std::uint64_t kind = random.Below(4);
    if (kind == 0 && !segment.states.empty()) {
      segment.states[0].offset = std::max<std::int64_t>(0, segment.states[0].offset + change);
    } else if (kind == 1 && !op.rows.empty()) {
      const std::size_t a = random.Below(op.rows.size());
      const std::size_t b = random.Below(op.rows.size());
      std::swap(op.rows[a], op.rows[b]);
    } else if (kind == 2 && !op.rows.empty()) {
      op.rows[random.Below(op.rows.size())] = op.rows[random.Below(op.rows.size())];
    } else if (!segment.areas.empty()) {
      auto& ring = segment.areas[random.Below(segment.areas.size())].rings[0];
      ring.offset = std::max<std::int64_t>(0, ring.offset + change);
    }
    const bool accepted = check::CheckPlan(graph, PlanOf(entry)).empty();
    caught += accepted ? 0 : 1;
    const bool right = ErrorOfRun(graph, entry).empty();
    wrong += right ? 0 : 1;
    EXPECT_TRUE(right || !accepted);
    if (HasFailure()) return;
  }
  EXPECT_GT(wrong, rounds / 8);
  EXPECT_GE(caught, wrong);
}

// An LSTM over 8 steps of 2 channels, of 3 hidden ones: the input at 0, outputs and state behind.
graph::Graph Lstm(bool last) {
  Random random(23);
  execute::GraphMaker maker;
  const auto values = [&](const graph::Shape& shape, std::int64_t count) {
    return maker.Constant(ElementType::kFloat32, shape, execute::RandomFloats(count, &random));
  };
  const TensorId in = maker.Input(ElementType::kFloat32, {8, 1, 2});
  const TensorId w = values({1, 12, 2}, 24);
  const TensorId r = values({1, 12, 3}, 36);
  const TensorId out = maker.Floats(last ? graph::Shape{1, 1, 3} : graph::Shape{8, 1, 1, 3});
  maker.Op("", "LSTM", {in, w, r},
           last ? std::vector<TensorId>{TensorId(), out} : std::vector<TensorId>{out},
           {{"hidden_size", std::int64_t{3}}});
  maker.Output(out);
  return maker.graph();
}

class WrittenByHand : public ::testing::Test {
 protected:
  using Steps = std::vector<plan::StreamRange>;

  plan::EntryPlan Entry(const Steps& rows) const {
    const graph::Op& op = graph_.subgraphs[kMain].ops[graph::OpId(0)];
    plan::StreamSegment segment;
    segment.areas = {{op.inputs[0], {{0, 8}}}, {op.outputs[0], {{64, 8}}}};
    if (state_ >= 0) segment.states = {{graph::OpId(0), state_}};
    segment.ops = {{graph::OpId(0), {}, false, rows, {{0, 1}}}};
    return EntryWith(graph_, {segment}, 64 + 96 + 24);
  }
  std::vector<std::string> FindingsOf(const Steps& rows) const {
    return check::CheckPlan(graph_, PlanOf(Entry(rows)));
  }

  graph::Graph graph_ = Lstm(false);
  std::int64_t state_ = 64 + 96;
};

TEST_F(WrittenByHand, StepsAreComputedOnceAndInOrder) {
  for (const Steps& rows : {Steps{{0, 8}}, Steps{{0, 3}, {3, 4}, {4, 8}}}) {
    EXPECT_THAT(FindingsOf(rows), IsEmpty());
    ExpectExact(graph_, Entry(rows), 3);
  }
  const auto refused = Contains(HasSubstr("with the state before step"));
  EXPECT_THAT(FindingsOf({{4, 8}, {0, 4}}), refused);          // exchanged
  EXPECT_THAT(FindingsOf({{0, 4}, {0, 4}, {4, 8}}), refused);  // twice
  EXPECT_THAT(FindingsOf({{0, 4}, {3, 8}}), refused);
  EXPECT_THAT(FindingsOf({{0, 3}, {4, 8}}), refused);  // left out
  EXPECT_THAT(FindingsOf({{0, 4}, {4, 7}}), Contains(HasSubstr("computes 7 of 8 steps")));
}

TEST_F(WrittenByHand, TheStateIsResidentAndNobodyElsesMemory) {
  const Steps rows = {{0, 3}, {3, 8}};
  for (state_ = 0; state_ < 64 + 96; state_ += kFloat) {
    EXPECT_THAT(FindingsOf(rows),
                Contains(::testing::AnyOf(HasSubstr("overwrites values that the same box reads"),
                                          HasSubstr("has a state that has been overwritten"),
                                          HasSubstr("is not stored or has been overwritten"),
                                          HasSubstr("overwrites its own state"))))
        << state_;
  }
  state_ = 64 + 96 + 4;
  EXPECT_THAT(FindingsOf(rows), Contains(HasSubstr("has a state outside the arena")));
  state_ = -1;
  EXPECT_THAT(FindingsOf(rows), Contains(HasSubstr("has no place for its state")));
}

TEST_F(WrittenByHand, AStateDoesNotOutliveItsSegment) {
  plan::EntryPlan entry = Entry({{0, 4}});
  entry.stream->segments.push_back(entry.stream->segments[0]);
  entry.stream->segments[1].ops[0].rows = {{4, 8}};
  EXPECT_THAT(check::CheckPlan(graph_, PlanOf(entry)), Contains(HasSubstr("4 of 8 steps")));
}

TEST_F(WrittenByHand, TheStateStaysUntilItsSegmentEnds) {
  graph::Subgraph& main = graph_.subgraphs[kMain];
  const TensorId last = main.tensors.push_back(main.tensors[main.outputs[0]]);
  graph::Op relu;
  relu.type = "Relu";
  relu.inputs = main.outputs;
  relu.outputs = {last};
  plan::StreamSegment segment = Entry({{0, 8}}).stream->segments[0];
  main.ops.push_back(relu);
  main.outputs = {last};
  segment.ops.push_back({graph::OpId(1), {}, false, {{0, 8}}, {{0, 1}}});
  segment.areas.push_back({last, {{state_ + 24, 8}}});
  const auto findings = [&](std::int64_t bytes) {
    return check::CheckPlan(graph_, PlanOf(EntryWith(graph_, {segment}, bytes)));
  };
  EXPECT_THAT(findings(state_ + 24 + 96), IsEmpty());
  segment.areas.back().rings[0].offset = state_;  // behind the last step
  EXPECT_THAT(findings(state_ + 96), Contains(HasSubstr("overwritten before the segment ends")));
}

TEST_F(WrittenByHand, TheStateIsReadAndWritten) {
  const std::string text = plan::ToJson(PlanOf(Entry({{0, 3}, {3, 8}})));
  EXPECT_THAT(text, HasSubstr("\"states\": [\n              {\"op\":0,\"offset\":160}"));
  const auto read = plan::FromJson(text);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(plan::ToJson(*read), text);
}

TEST(Recurrent, TheLastStateIsInThePlaceOfTheOutput) {
  const graph::Graph graph = Lstm(true);
  const graph::Op& op = graph.subgraphs[kMain].ops[graph::OpId(0)];
  const auto entry_of = [&](std::vector<plan::StreamRange> rows, std::int64_t at) {
    plan::StreamSegment segment;
    segment.areas = {{op.inputs[0], {{0, 8}}}, {op.outputs[1], {{at, 1}}}};
    segment.ops = {{graph::OpId(0), {}, true, std::move(rows), {{0, 1}}, 1}};
    return EntryWith(graph, {segment}, 64 + 24);
  };
  const auto findings = [&](std::vector<plan::StreamRange> rows, std::int64_t at = 64) {
    return check::CheckPlan(graph, PlanOf(entry_of(std::move(rows), at)));
  };
  EXPECT_THAT(findings({{0, 2}, {2, 8}}), IsEmpty());
  ExpectExact(graph, entry_of({{0, 2}, {2, 8}}, 64), 4);
  EXPECT_THAT(findings({{4, 8}, {0, 4}}), Contains(HasSubstr("in ascending order")));
  EXPECT_THAT(findings({{0, 4}, {0, 4}, {4, 8}}), Contains(HasSubstr("adds a pixel twice")));
  EXPECT_THAT(findings({{0, 4}, {4, 7}}), Contains(HasSubstr("is not stored")));
  EXPECT_THAT(findings({{0, 2}, {2, 8}}, 48), Contains(HasSubstr("is not stored")));
}

// A long sequence is never stored: not behind convolutions over time, nor before a product.
TEST(Recurrent, SequencesAreNotStored) {
  Random random(24);
  execute::GraphMaker maker;
  const auto values = [&](const graph::Shape& shape, std::int64_t count) {
    return maker.Constant(ElementType::kFloat32, shape, execute::RandomFloats(count, &random));
  };
  constexpr std::int64_t kSteps = 100;
  const TensorId in = maker.Input(ElementType::kFloat32, {kSteps, 1, 4});
  const TensorId wide = maker.Floats({kSteps, 1, 32});
  const TensorId b = values({4, 32}, 128);
  maker.Op("", "MatMul", {in, b}, {wide});
  const TensorId w = values({1, 48, 32}, 1536);
  const TensorId r = values({1, 48, 16}, 768);
  const TensorId all = maker.Floats({kSteps, 1, 1, 16});
  const TensorId last = maker.Floats({1, 1, 16});  // has no consumer
  maker.Op("", "GRU", {wide, w, r}, {all, last}, {{"hidden_size", std::int64_t{16}}});
  const TensorId rows = maker.Floats({kSteps, 16});
  const std::vector<std::int64_t> shape = {kSteps, 16};
  const TensorId to = maker.Constant(ElementType::kInt64, {2}, shape);
  maker.Op("", "Reshape", {all, to}, {rows});
  const TensorId classes = maker.Floats({kSteps, 2});
  const TensorId d = values({16, 2}, 32);
  maker.Op("", "MatMul", {rows, d}, {classes});
  maker.Output(classes);
  const auto planned = PlanStream(maker.graph(), kMain, FileOrder(maker.graph()), {});
  ASSERT_TRUE(planned) << planned.error().ToString();
  const plan::EntryPlan entry = EntryOf(maker.graph(), kMain, planned->front[0]);
  ExpectExact(maker.graph(), entry, 5);
  // The input, one step of each tensor behind it, the state.
  EXPECT_LE(entry.arena_bytes, (kSteps * 4 + 32 + 16 + 16 + 2 + 16) * kFloat);
}

}  // namespace
}  // namespace neap::stream
