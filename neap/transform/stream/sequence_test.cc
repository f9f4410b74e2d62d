// SPDX-License-Identifier: Apache-2.0
//
// Operators whose state is in variables, step by step: plans are checked, executed, compared and
// changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/ops/recurrence.h"
#include "neap/transform/stream/spill.h"
#include "neap/transform/stream/stream.h"
#include "testing/cases.h"
#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using execute::Evaluate;
using execute::RandomInputs;
using execute::Value;
using graph::ElementType;
using graph::OpId;
using graph::TensorId;
using plan::StreamInput;
using test::EntryWith;
using test::ErrorOfRun;
using test::ExpectExact;
using test::FileOrder;
using test::PlanOf;
using test::RandomSequences;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr graph::SubgraphId kMain(0);
constexpr std::int64_t kMemory = 1 << 24;

// Whether an operator with a state in variables runs in steps.
bool HasSteps(const graph::Graph& graph, const plan::Stream& stream) {
  for (const plan::StreamSegment& segment : stream.segments) {
    for (const plan::StreamOp& step : segment.ops) {
      const bool one = step.op.valid() && !segment.whole && step.rows.size() > 1;
      if (one && ops::OwnsVariables(graph.subgraphs[kMain], graph.subgraphs[kMain].ops[step.op])) {
        return true;
      }
    }
  }
  return false;
}

TEST(Sequence, RandomNetworksAreExact) {
  Random random(31);
  const int rounds = Cases(400);
  int in_steps = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = RandomSequences(&random, static_cast<int>(random.Between(1, 4)));
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
      in_steps += HasSteps(graph, candidate.stream) ? 1 : 0;
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(in_steps, rounds / 6);
}

// Every error that a run finds, the checker has found before.
TEST(Sequence, CheckerFindsWhatRunsFind) {
  Random random(32);
  const int rounds = Cases(400);
  int wrong = 0;
  int caught = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("mutant " + std::to_string(n));
    const graph::Graph graph = RandomSequences(&random, static_cast<int>(random.Between(1, 3)));
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), {});
    ASSERT_TRUE(planned);
    plan::EntryPlan entry = EntryOf(graph, kMain, planned->front[0]);
    auto& segments = entry.stream->segments;
    plan::StreamSegment& segment = segments[random.Below(segments.size())];
    plan::StreamOp& op = segment.ops[random.Below(segment.ops.size())];
    const std::int64_t change = random.Below(2) == 0 ? 2 : -2;
    const std::uint64_t kind = random.Below(4);
    if (kind == 0) {  // the same for all segments, so that the variable stays in one place
      const TensorId moved = segment.areas.back().tensor;
      for (plan::StreamSegment& one : segments) {
        for (plan::StreamArea& area : one.areas) {
          if (area.tensor == moved) area.rings[0].offset -= 2;
        }
      }
    } else if (kind == 1 && !op.rows.empty()) {
      const std::size_t a = random.Below(op.rows.size());
      const std::size_t b = random.Below(op.rows.size());
      std::swap(op.rows[a], op.rows[b]);
    } else if (kind == 2 && !op.rows.empty()) {
      const std::size_t from = random.Below(op.rows.size());
      op.rows[random.Below(op.rows.size())] = op.rows[from];
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

constexpr std::int64_t kSteps = 8;
constexpr std::int64_t kWidth = 2;
constexpr std::int64_t kCells = 3;
constexpr std::int64_t kFloat = 4;

// An LSTM of floats, of one batch; the hidden state is tensor `hidden`, the cell is behind it.
struct Lstm {
  graph::Graph graph;
  TensorId in;
  TensorId out;
  TensorId hidden;
  TensorId cell;
};
Lstm MakeLstm(std::int64_t steps, bool time_major = false, std::int64_t batch = 1) {
  Random random(33);
  execute::GraphMaker maker;
  const auto values = [&](const graph::Shape& shape, std::int64_t count) {
    return maker.Constant(ElementType::kFloat32, shape, execute::RandomFloats(count, &random));
  };
  const auto lead = [&](std::int64_t channels) {
    return time_major ? graph::Shape{steps, batch, channels} : graph::Shape{batch, steps, channels};
  };
  Lstm lstm;
  lstm.in = maker.Input(ElementType::kFloat32, lead(kWidth));
  std::vector<TensorId> inputs(24);
  inputs[0] = lstm.in;
  for (std::size_t gate = 0; gate < 4; ++gate) {
    inputs[1 + gate] = values({kCells, kWidth}, kCells * kWidth);
    inputs[5 + gate] = values({kCells, kCells}, kCells * kCells);
    inputs[12 + gate] = values({kCells}, kCells);
  }
  lstm.hidden = inputs[ops::kHiddenVariable] = maker.Floats({batch, kCells});
  lstm.cell = inputs[ops::kCellVariable] = maker.Floats({batch, kCells});
  for (const TensorId id : {lstm.hidden, lstm.cell}) maker.Main().tensors[id].variable = true;
  lstm.out = maker.Floats(lead(kCells));
  const OpId id = maker.Op("tflite", "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, {lstm.out},
                           {{"time_major", std::int64_t{time_major ? 1 : 0}},
                            {"fused_activation_function", std::int64_t{4}}});
  maker.Main().ops[id].stateful = true;
  maker.Output(lstm.out);
  lstm.graph = maker.graph();
  return lstm;
}

// The input at 0, outputs behind it, then both states.
class SequenceByHand : public ::testing::Test {
 protected:
  using Steps = std::vector<plan::StreamRange>;
  static constexpr std::int64_t kOut = kSteps * kWidth * kFloat;
  static constexpr std::int64_t kState = kOut + kSteps * kCells * kFloat;
  static constexpr std::int64_t kBytes = kState + 2 * kCells * kFloat;

  plan::StreamSegment Segment(const Steps& rows) const {
    plan::StreamSegment segment;
    segment.areas = {{lstm_.in, {{0, kSteps}}},
                     {lstm_.out, {{kOut, kSteps}}},
                     {lstm_.hidden, {{hidden_, 1}}},
                     {lstm_.cell, {{cell_, 1}}}};
    segment.ops = {{OpId(0), {}, false, rows, {{0, 1}}}};
    return segment;
  }
  plan::EntryPlan Entry(const Steps& rows) const {
    return EntryWith(lstm_.graph, {Segment(rows)}, kBytes);
  }
  std::vector<std::string> FindingsOf(const plan::EntryPlan& entry) const {
    return check::CheckPlan(lstm_.graph, PlanOf(entry));
  }

  Lstm lstm_ = MakeLstm(kSteps);
  std::int64_t hidden_ = kState;
  std::int64_t cell_ = kState + kCells * kFloat;
};

TEST_F(SequenceByHand, StepsAreComputedOnceAndInOrder) {
  for (const Steps& rows : {Steps{{0, 8}}, Steps{{0, 3}, {3, 4}, {4, 8}}}) {
    EXPECT_THAT(FindingsOf(Entry(rows)), IsEmpty());
    ExpectExact(lstm_.graph, Entry(rows), 3);
  }
  const auto refused = Contains(HasSubstr("with the state before step"));
  EXPECT_THAT(FindingsOf(Entry({{4, 8}, {0, 4}})), refused);          // exchanged
  EXPECT_THAT(FindingsOf(Entry({{0, 4}, {0, 4}, {4, 8}})), refused);  // twice
  EXPECT_THAT(FindingsOf(Entry({{0, 4}, {3, 8}})), refused);
  EXPECT_THAT(FindingsOf(Entry({{0, 3}, {4, 8}})), refused);  // left out
  EXPECT_THAT(FindingsOf(Entry({{0, 4}, {4, 7}})), Contains(HasSubstr("is not stored")));
}

TEST_F(SequenceByHand, VariablesAreNobodyElsesMemory) {
  const Steps rows = {{0, 3}, {3, 8}};
  const auto refused = Contains(::testing::AnyOf(
      HasSubstr("overwrites values that the same box reads"),
      HasSubstr("is not stored or has been overwritten"), HasSubstr("is read at row")));
  for (hidden_ = 0; hidden_ < kState; hidden_ += kFloat) {
    EXPECT_THAT(FindingsOf(Entry(rows)), refused) << hidden_;
  }
  hidden_ = kState;
  for (cell_ = kOut; cell_ < kState + kCells * kFloat; cell_ += kFloat) {
    EXPECT_THAT(FindingsOf(Entry(rows)), refused) << cell_;
  }
}

TEST_F(SequenceByHand, VariablesHaveOnePlaceInEverySegment) {
  const auto two = [&](const auto& change) {
    plan::StreamSegment second = Segment({{4, 8}});
    change(&second);
    return EntryWith(lstm_.graph, {Segment({{0, 4}}), second}, kBytes + 2 * kCells * kFloat);
  };
  plan::EntryPlan same = two([](plan::StreamSegment*) {});
  same.arena_bytes = same.peak_bytes = kBytes;
  EXPECT_THAT(FindingsOf(same), IsEmpty());
  ExpectExact(lstm_.graph, same, 6);
  const auto refused = Contains(HasSubstr("expected all of it at one place in every segment"));
  EXPECT_THAT(FindingsOf(two([](auto* second) { second->areas[2].rings[0].offset += 24; })),
              refused);
  EXPECT_THAT(FindingsOf(two([](auto* second) { second->areas.pop_back(); })), refused);
  const TensorId cell = lstm_.cell;
  EXPECT_THAT(FindingsOf(two([&](auto* second) {
                second->moves = {{cell, kState + 12, kState + 24}};
              })),
              Contains(HasSubstr("keeps its place in every run")));
}

TEST_F(SequenceByHand, VariablesChangeOnceInARun) {
  plan::StreamSegment whole = Segment({});
  whole.whole = true;
  whole.ops[0].columns.clear();
  const plan::EntryPlan once = EntryWith(lstm_.graph, {whole}, kBytes);
  EXPECT_THAT(FindingsOf(once), IsEmpty());
  ExpectExact(lstm_.graph, once, 7);
  EXPECT_THAT(FindingsOf(EntryWith(lstm_.graph, {whole, whole}, kBytes)),
              Contains(HasSubstr("changes its variables again")));
  EXPECT_THAT(FindingsOf(EntryWith(lstm_.graph, {whole, Segment({{0, 8}})}, kBytes)),
              Contains(HasSubstr("with the state before step 8")));
  EXPECT_THAT(FindingsOf(EntryWith(lstm_.graph, {Segment({{0, 8}}), whole}, kBytes)),
              Contains(HasSubstr("changes its variables again")));
}

TEST_F(SequenceByHand, HasNoStateButItsVariables) {
  plan::StreamSegment segment = Segment({{0, 8}});
  segment.states = {{OpId(0), 0}};
  EXPECT_THAT(FindingsOf(EntryWith(lstm_.graph, {segment}, kBytes)),
              Contains(HasSubstr("has a place for a state")));
}

// Two runs of a plan, the second with the variables of the first, are one run of twice the steps.
TEST(Sequence, TheNextRunGoesOnWithTheState) {
  for (const bool time_major : {false, true}) {
    for (const std::int64_t batch : {1, 2}) {
      SCOPED_TRACE(std::to_string(batch) + (time_major ? " time first" : " batch first"));
      const Lstm one = MakeLstm(kSteps, time_major, batch);
      const Lstm both = MakeLstm(2 * kSteps, time_major, batch);
      const auto planned = PlanStream(one.graph, kMain, FileOrder(one.graph), {});
      ASSERT_TRUE(planned) << planned.error().ToString();
      const plan::EntryPlan entry = EntryOf(one.graph, kMain, planned->front[0]);
      EXPECT_EQ(HasSteps(one.graph, *entry.stream), time_major || batch == 1);
      const auto first = *RandomInputs(one.graph.subgraphs[kMain], 8, kMemory);
      const auto second = *RandomInputs(one.graph.subgraphs[kMain], 9, kMemory);
      // In chunks of a run's bytes; with the batch first, those of each batch are adjacent.
      const std::size_t chunks = time_major ? 1 : static_cast<std::size_t>(batch);
      const auto joined = [&](const Value& a, const Value& b) {
        std::vector<std::byte> bytes;
        const auto size = static_cast<std::ptrdiff_t>(a.bytes.size() / chunks);
        for (std::size_t c = 0; c < chunks; ++c) {
          for (const Value* value : {&a, &b}) {
            const auto from = value->bytes.begin() + static_cast<std::ptrdiff_t>(c) * size;
            bytes.insert(bytes.end(), from, from + size);
          }
        }
        return bytes;
      };
      auto all = *RandomInputs(both.graph.subgraphs[kMain], 10, kMemory);
      all[0].bytes = joined(first[0], second[0]);
      const auto expected = Evaluate(both.graph, kMain, all, {});
      ASSERT_TRUE(expected);
      const auto before = execute::Run(one.graph, entry, first, {});
      ASSERT_TRUE(before);
      execute::RunOptions options;
      options.variables = before->variables;
      EXPECT_EQ(options.variables.size(), 2U);
      const auto after = execute::Run(one.graph, entry, second, options);
      ASSERT_TRUE(after);
      EXPECT_THAT(after->violations, IsEmpty());
      EXPECT_EQ(joined(before->outputs[0], after->outputs[0]), (*expected)[0].bytes);
    }
  }
}

TEST(Sequence, OtherVariablesAndTwoMemoriesAreRefused) {
  Lstm lstm = MakeLstm(kSteps);
  bool cut_short = false;
  const auto slow = PlanSpilled(lstm.graph, kMain, FileOrder(lstm.graph), {}, 1 << 20, &cut_short);
  ASSERT_FALSE(slow);
  EXPECT_THAT(slow.error().message, HasSubstr("state in variables"));
  // Somebody else reads the cell.
  graph::Subgraph& main = lstm.graph.subgraphs[kMain];
  main.outputs.push_back(lstm.cell);
  EXPECT_FALSE(ops::OwnsVariables(main, main.ops[OpId(0)]));
  EXPECT_FALSE(PlanStream(lstm.graph, kMain, FileOrder(lstm.graph), {}));
}

}  // namespace
}  // namespace neap::stream
