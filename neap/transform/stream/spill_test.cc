// SPDX-License-Identifier: Apache-2.0
//
// Plans with two memories of random networks and random limits: the bytes of a run layer by layer,
// the slow memory's bytes as counted by planner, checker and run, and a checker that refuses what
// the run finds wrong.
#include "neap/transform/stream/spill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/plan/plan_json.h"
#include "neap/plan/stream_weights.h"
#include "testing/cases.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using test::FileOrder;
using test::PlanOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr graph::SubgraphId kSpilled(0);
constexpr std::int64_t kInputMemory = 1 << 24;

graph::Graph NetworkOf(Random* random, int kind) {
  const int operators = static_cast<int>(random->Between(1, 12));
  switch (kind) {
    case 0:
      return test::RandomNetworkOfMoves(random, operators);
    case 1:
      return test::RandomOnnxNetwork(random, operators);
    case 2:
      return test::RandomSignals(random, operators, random->Below(2) == 0);
    default:
      return test::RandomNetwork(random, operators);
  }
}

// From too little for any plan to enough for all tensors.
std::int64_t RandomLimit(Random* random, const graph::Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Tensor& tensor : graph.subgraphs[kSpilled].tensors) {
    if (!tensor.constant) bytes += graph::TensorBytes(tensor).value_or(0);
  }
  const std::int64_t part = random->Between(1, 6);
  return random->Between(1, std::max<std::int64_t>(bytes >> (part - 1), 2));
}

plan::EntryPlan Planned(const graph::Graph& graph, std::int64_t fast_bytes, bool prefetch = false,
                        bool slow_weights = false) {
  SearchOptions options;
  options.prefetch = prefetch;
  options.slow_weights = slow_weights;
  options.input = plan::StreamInput::kSlow;
  bool cut_short = false;
  const auto candidate =
      PlanSpilled(graph, kSpilled, FileOrder(graph), options, fast_bytes, &cut_short);
  EXPECT_TRUE(candidate) << candidate.error().ToString();
  if (!candidate) return {};
  EXPECT_FALSE(cut_short);
  return EntryOf(graph, kSpilled, *candidate);
}

bool HasReloads(const graph::Graph& graph, const plan::Stream& stream) {
  std::int64_t bytes = 0;
  for (const plan::SlowPlace& place : stream.slow->tensors) {
    bytes += *graph::TensorBytes(graph.subgraphs[kSpilled].tensors[place.tensor]);
  }
  return stream.slow->read_bytes > bytes;
}

TEST(Spill, RandomNetworksAreExact) {
  Random random(31);
  const int rounds = Cases(700);  // with 601, whose input has a column without a reader
  int fit = 0;
  int at_bound = 0;
  int spilled = 0;   // tensors beside inputs and outputs are in slow memory
  int reloaded = 0;  // pixels are read more than once
  int kept = 0;      // tensors are in fast memory between segments
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = NetworkOf(&random, n % 6);
    const std::int64_t limit = RandomLimit(&random, graph);
    const plan::EntryPlan entry = Planned(graph, limit);
    if (!entry.stream) continue;
    const plan::SlowMemory& slow = *entry.stream->slow;
    ASSERT_THAT(check::CheckPlan(graph, PlanOf(entry)), IsEmpty());
    EXPECT_EQ(slow.fast_bytes, std::max(limit, entry.arena_bytes));
    EXPECT_GE(slow.TrafficBytes(), slow.traffic_lower_bound_bytes);
    EXPECT_EQ(entry.stream->macs, entry.stream->layerwise_macs);
    const auto inputs = *execute::RandomInputs(graph.subgraphs[kSpilled],
                                               static_cast<std::uint64_t>(n), kInputMemory);
    const auto run = execute::Run(graph, entry, inputs, {});
    ASSERT_TRUE(run) << run.error().ToString();
    EXPECT_THAT(run->violations, IsEmpty());
    EXPECT_EQ(run->high_water_bytes, entry.arena_bytes);
    EXPECT_EQ(run->slow_read_bytes, slow.read_bytes);
    EXPECT_EQ(run->slow_written_bytes, slow.written_bytes);
    const auto apart = execute::Evaluate(graph, kSpilled, inputs, {});
    ASSERT_TRUE(apart) << apart.error().ToString();
    ASSERT_EQ(run->outputs.size(), apart->size());
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(run->outputs[i].bytes, (*apart)[i].bytes) << "output " << i;
    }
    if (HasFailure()) return;
    const graph::Subgraph& main = graph.subgraphs[kSpilled];
    fit += entry.arena_bytes <= limit ? 1 : 0;
    at_bound += slow.TrafficBytes() == slow.traffic_lower_bound_bytes ? 1 : 0;
    spilled += slow.tensors.size() > main.inputs.size() + main.outputs.size() ? 1 : 0;
    reloaded += HasReloads(graph, *entry.stream) ? 1 : 0;
    for (std::size_t s = 1; s < entry.stream->segments.size(); ++s) {
      kept += entry.stream->segments[s].moves.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(fit, rounds / 3);  // many limits are below every plan
  EXPECT_LT(fit, rounds);
  EXPECT_GT(at_bound, rounds / 10);
  EXPECT_GT(spilled, rounds / 10);
  EXPECT_GT(reloaded, rounds / 20);
  EXPECT_GT(kept, 0);
}

// Placements end before all stretches of so many nodes are tried; the longest that fit are known.
TEST(Spill, LongStretchesAreFoundInLargeNetworks) {
  Random random(46);
  const graph::Graph graph = test::Nested(&random, 40, 3, 6);
  SearchOptions options;
  options.input = plan::StreamInput::kSlow;
  options.max_placements = 1'000;
  constexpr std::int64_t kLimit = 14'000;  // seven tensors live at once have 33,600 bytes
  bool cut_short = false;
  const auto found = PlanSpilled(graph, kSpilled, FileOrder(graph), options, kLimit, &cut_short);
  ASSERT_TRUE(found);
  EXPECT_TRUE(cut_short);
  EXPECT_LE(found->arena_bytes, kLimit);
  const plan::SlowMemory& slow = *found->stream.slow;
  EXPECT_EQ(slow.TrafficBytes(), slow.traffic_lower_bound_bytes);
  EXPECT_THAT(check::CheckPlan(graph, PlanOf(EntryOf(graph, kSpilled, *found))), IsEmpty());
}

// Copies begin ahead in the same plan: as many bytes move, within the same limit, in less time.
TEST(Spill, PrefetchMovesTheSameBytesEarlier) {
  Random random(39);
  const int rounds = Cases(60);
  int ahead = 0;
  int all = 0;      // everything that is read
  int by_rows = 0;  // a row step ahead, and a column step
  int larger = 0;   // in more fast memory
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = NetworkOf(&random, n % 6);
    const std::int64_t limit = RandomLimit(&random, graph);
    const plan::EntryPlan before = Planned(graph, limit);
    const plan::EntryPlan entry = Planned(graph, limit, true);
    if (!entry.stream) continue;
    const plan::SlowMemory& slow = *entry.stream->slow;
    ASSERT_THAT(check::CheckPlan(graph, PlanOf(entry)), IsEmpty());
    EXPECT_EQ(slow.read_bytes, before.stream->slow->read_bytes);
    EXPECT_EQ(slow.written_bytes, before.stream->slow->written_bytes);
    EXPECT_LE(entry.arena_bytes, std::max(limit, before.arena_bytes));
    EXPECT_LE(entry.stream->cycles, before.stream->cycles);
    EXPECT_EQ(before.stream->slow->ahead_bytes, 0);
    if (slow.ahead_bytes == 0) continue;
    EXPECT_LT(entry.stream->cycles, before.stream->cycles);
    const auto inputs = *execute::RandomInputs(graph.subgraphs[kSpilled],
                                               static_cast<std::uint64_t>(n), kInputMemory);
    const auto run = execute::Run(graph, entry, inputs, {});
    ASSERT_TRUE(run) << run.error().ToString();
    EXPECT_THAT(run->violations, IsEmpty());
    EXPECT_EQ(run->high_water_bytes, entry.arena_bytes);
    EXPECT_EQ(run->slow_read_bytes, slow.read_bytes);
    const auto apart = execute::Evaluate(graph, kSpilled, inputs, {});
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(run->outputs[i].bytes, (*apart)[i].bytes) << "output " << i;
    }
    const std::string text = plan::ToJson(PlanOf(entry));
    const auto again = plan::FromJson(text);
    ASSERT_TRUE(again) << again.error().ToString();
    EXPECT_EQ(plan::ToJson(*again), text);
    if (HasFailure()) return;
    ++ahead;
    all += slow.ahead_bytes == slow.read_bytes ? 1 : 0;
    larger += entry.arena_bytes > before.arena_bytes ? 1 : 0;
    for (const plan::StreamSegment& segment : entry.stream->segments) {
      const plan::StreamOp& first = segment.ops[0];
      by_rows += first.ahead && first.rows.back().empty() && !first.columns.back().empty() ? 1 : 0;
    }
  }
  EXPECT_GT(ahead, 0);
  if (rounds < 60) return;  // the others are rare
  EXPECT_GT(all, 0);
  EXPECT_GT(by_rows, 0);
  EXPECT_GT(larger, 0);
}

// A limit that counts weights, too.
std::int64_t RandomLimitOfAll(Random* random, const graph::Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Tensor& tensor : graph.subgraphs[kSpilled].tensors) {
    bytes += graph::TensorBytes(tensor).value_or(0);
  }
  return random->Between(1, std::max<std::int64_t>(bytes >> random->Below(6), 2));
}

// Buffers of weights in the arena: planner, checker and run count the same bytes.
TEST(Spill, WeightsInSlowMemoryAreExact) {
  Random random(41);
  const int rounds = Cases(150);
  int fit = 0;
  int at_bound = 0;
  int stay = 0;       // weights are read once for a segment of many boxes
  int in_blocks = 0;  // an operator's weights in more than one block
  int again = 0;      // weights are read several times
  int some_stay = 0;  // and others of the same operator stay
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = NetworkOf(&random, n % 6);
    const std::int64_t limit = RandomLimitOfAll(&random, graph);
    const plan::EntryPlan entry = Planned(graph, limit, n % 3 == 0, true);
    if (!entry.stream) continue;
    const plan::SlowMemory& slow = *entry.stream->slow;
    ASSERT_THAT(check::CheckPlan(graph, PlanOf(entry)), IsEmpty());
    EXPECT_EQ(slow.fast_bytes, std::max(limit, entry.arena_bytes));
    EXPECT_GE(slow.TrafficBytes(), slow.traffic_lower_bound_bytes);
    ASSERT_TRUE(slow.weight_bytes);
    const auto inputs = *execute::RandomInputs(graph.subgraphs[kSpilled],
                                               static_cast<std::uint64_t>(n), kInputMemory);
    const auto run = execute::Run(graph, entry, inputs, {});
    ASSERT_TRUE(run) << run.error().ToString();
    EXPECT_THAT(run->violations, IsEmpty());
    EXPECT_EQ(run->high_water_bytes, entry.arena_bytes);
    EXPECT_EQ(run->slow_read_bytes, slow.read_bytes);
    EXPECT_EQ(run->slow_written_bytes, slow.written_bytes);
    const auto apart = execute::Evaluate(graph, kSpilled, inputs, {});
    ASSERT_TRUE(apart) << apart.error().ToString();
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(run->outputs[i].bytes, (*apart)[i].bytes) << "output " << i;
    }
    const std::string text = plan::ToJson(PlanOf(entry));
    const auto read = plan::FromJson(text);
    ASSERT_TRUE(read) << read.error().ToString();
    EXPECT_EQ(plan::ToJson(*read), text);
    if (HasFailure()) return;
    fit += entry.arena_bytes <= limit ? 1 : 0;
    at_bound += slow.TrafficBytes() == slow.traffic_lower_bound_bytes ? 1 : 0;
    for (const plan::StreamSegment& segment : entry.stream->segments) {
      for (const plan::StreamWeights& weights : segment.weights) {
        const graph::Subgraph& main = graph.subgraphs[kSpilled];
        const auto blocks = plan::BlocksOf(main, main.ops[weights.op], weights.axis, weights.block);
        stay += weights.block == 0 && !segment.whole ? 1 : 0;
        in_blocks += blocks && blocks->blocks.size() > 1 ? 1 : 0;
        again += weights.block > 0 && !segment.whole ? 1 : 0;
        some_stay += weights.kept > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(fit, rounds / 3);
  EXPECT_LT(fit, rounds);
  EXPECT_GT(at_bound, rounds / 10);
  EXPECT_GT(stay, rounds / 10);
  EXPECT_GT(in_blocks, rounds / 10);
  EXPECT_GT(again, 0);
  EXPECT_GE(some_stay, rounds / 75);
}

// Blocks in turn, and first copies with the operator before: the same weights within the same
// limit, in less time.
TEST(Spill, WeightsThatAreCopiedAheadAreExact) {
  Random random(45);
  const int rounds = Cases(60);
  int in_turn = 0;
  int with_own = 0;     // an operator of the same segment
  int with_before = 0;  // of the segment before
  int stay = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = NetworkOf(&random, n % 6);
    const std::int64_t limit = RandomLimitOfAll(&random, graph);
    const plan::EntryPlan before = Planned(graph, limit, false, true);
    const plan::EntryPlan entry = Planned(graph, limit, true, true);
    if (!entry.stream) continue;
    const plan::SlowMemory& slow = *entry.stream->slow;
    EXPECT_EQ(slow.read_bytes, before.stream->slow->read_bytes);
    EXPECT_EQ(slow.written_bytes, before.stream->slow->written_bytes);
    EXPECT_EQ(slow.weight_bytes, before.stream->slow->weight_bytes);
    EXPECT_EQ(before.stream->slow->ahead_bytes, 0);
    EXPECT_LE(entry.arena_bytes, std::max(limit, before.arena_bytes));
    if (slow.ahead_bytes == 0) continue;
    EXPECT_LT(entry.stream->cycles, before.stream->cycles);
    ASSERT_THAT(check::CheckPlan(graph, PlanOf(entry)), IsEmpty());
    const auto inputs = *execute::RandomInputs(graph.subgraphs[kSpilled],
                                               static_cast<std::uint64_t>(n), kInputMemory);
    const auto run = execute::Run(graph, entry, inputs, {});
    ASSERT_TRUE(run) << run.error().ToString();
    EXPECT_THAT(run->violations, IsEmpty());
    EXPECT_EQ(run->high_water_bytes, entry.arena_bytes);
    EXPECT_EQ(run->slow_read_bytes, slow.read_bytes);
    const auto apart = execute::Evaluate(graph, kSpilled, inputs, {});
    ASSERT_TRUE(apart) << apart.error().ToString();
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(run->outputs[i].bytes, (*apart)[i].bytes) << "output " << i;
    }
    const std::string text = plan::ToJson(PlanOf(entry));
    const auto read = plan::FromJson(text);
    ASSERT_TRUE(read) << read.error().ToString();
    EXPECT_EQ(plan::ToJson(*read), text);
    if (HasFailure()) return;
    for (const plan::StreamSegment& segment : entry.stream->segments) {
      for (const plan::StreamWeights& weights : segment.weights) {
        in_turn += weights.second ? 1 : 0;
        if (!weights.after.valid()) continue;
        stay += weights.block == 0 ? 1 : 0;
        const bool own =
            std::any_of(segment.ops.begin(), segment.ops.end(),
                        [&](const plan::StreamOp& step) { return step.op == weights.after; });
        (own ? with_own : with_before) += 1;
      }
    }
  }
  if (rounds < 60) return;  // each is rare
  EXPECT_GT(in_turn, 0);
  EXPECT_GT(with_before, 0);
  EXPECT_GT(with_own, 0);
  EXPECT_GT(stay, 0);
}

// Three depthwise convolutions one after the other, the second one channel by channel with its
// weights in blocks, at every offset of their buffer.
TEST(Spill, ChannelsTakeWeightsInBlocks) {
  Random random(43);
  constexpr std::int64_t kChannels = 3;
  constexpr std::int64_t kPixels = 20;
  constexpr std::int64_t kBytes = kPixels * kChannels;
  constexpr std::int64_t kWeightPlace = 2 * kBytes + kPixels + 4;
  graph::Graph graph = test::Depthwise(&random, 4, 5, kChannels);
  graph::Subgraph& main = graph.subgraphs[kSpilled];
  for (int more = 0; more < 2; ++more) {
    graph::Op op = main.ops[graph::OpId(static_cast<std::int32_t>(main.ops.size()) - 1)];
    op.inputs[0] = op.outputs[0];
    op.outputs[0] = main.tensors.push_back(main.tensors[op.inputs[0]]);
    main.outputs[0] = op.outputs[0];
    main.ops.push_back(op);
  }
  std::vector<plan::StreamSegment> segments(3);
  plan::SlowMemory slow;
  slow.fast_bytes = slow.bytes = 2 * kBytes;
  slow.read_bytes = slow.written_bytes = kBytes;
  slow.weight_bytes = 0;
  slow.tensors = {{main.inputs[0], 0}, {main.outputs[0], kBytes}};
  for (int s = 0; s < 3; ++s) {
    const graph::OpId id(s);
    const graph::Op& op = main.ops[id];
    plan::StreamSegment& segment = segments[static_cast<std::size_t>(s)];
    segment.whole = true;
    // From 0 to the second place, there in place by channels, and back.
    const std::int64_t from = s == 0 ? 0 : kBytes;
    segment.areas = {{op.inputs[0], {{from, kPixels}}},
                     {op.outputs[0], {{s == 2 ? 0 : kBytes, kPixels}}}};
    if (s == 1) segment.channel_plane = 2 * kBytes;
    segment.ops = {{id, {}, false, {}, {}}};
    segment.weights = {{id, kWeightPlace, s == 1 ? 1 : 0, s == 1 ? 3 : 0}};
    *slow.weight_bytes += plan::AllWeights(main, op).copied_bytes;
  }
  slow.read_bytes += *slow.weight_bytes;
  slow.fast_bytes = kWeightPlace + plan::AllWeights(main, main.ops[graph::OpId(0)]).bytes;
  plan::EntryPlan entry = test::EntryWith(graph, segments, slow.fast_bytes);
  entry.stream->input = plan::StreamInput::kSlow;
  entry.stream->slow = slow;
  const auto inputs = *execute::RandomInputs(main, 5, kInputMemory);
  const auto apart = *execute::Evaluate(graph, kSpilled, inputs, {});
  const auto run = execute::Run(graph, entry, inputs, {});
  ASSERT_TRUE(run) << run.error().ToString();
  EXPECT_THAT(run->violations, IsEmpty());
  EXPECT_EQ(run->outputs[0].bytes, apart[0].bytes);
  EXPECT_THAT(check::CheckPlan(graph, PlanOf(entry)), IsEmpty());
  int wrong = 0;
  plan::StreamWeights& weights = entry.stream->segments[1].weights[0];
  for (weights.offset = 0; weights.offset < kWeightPlace; weights.offset += 8) {
    const auto changed = execute::Run(graph, entry, inputs, {});
    const bool goes_wrong =
        !changed || !changed->violations.empty() || changed->outputs[0].bytes != apart[0].bytes;
    wrong += goes_wrong ? 1 : 0;
    EXPECT_FALSE(goes_wrong && check::CheckPlan(graph, PlanOf(entry)).empty()) << weights.offset;
  }
  EXPECT_GT(wrong, 0);
}

// One number of a plan's weights changed.
bool ChangeWeights(Random* random, plan::EntryPlan* entry) {
  plan::Stream& stream = *entry->stream;
  plan::StreamSegment& segment = stream.segments[random->Below(stream.segments.size())];
  if (segment.weights.empty()) return false;
  const std::size_t at = random->Below(segment.weights.size());
  plan::StreamWeights& weights = segment.weights[at];
  const std::int64_t change = random->Below(2) == 0 ? 1 : -1;
  switch (random->Below(10)) {
    case 0:
      weights.offset += change * 8 * random->Between(1, 16);
      return true;
    case 1:
      weights.block = std::max<std::int64_t>(weights.block + change, 0);
      return true;
    case 2:
      weights.axis += change;
      return weights.block > 0;
    case 3:
      segment.weights.erase(segment.weights.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    case 4:
      weights.op = segment.weights[random->Below(segment.weights.size())].op;
      return true;
    case 5:
      if (!weights.second) return false;
      *weights.second += change * 8 * random->Between(1, 16);
      return true;
    case 6: {
      // Of this segment or another one.
      const std::size_t other = random->Below(stream.segments.size());
      const auto& ops = stream.segments[other].ops;
      const std::size_t step = random->Below(ops.size());
      if (ops[step].op == weights.after) return false;
      weights.after = ops[step].op;
      return true;
    }
    case 7:
      weights.kept = std::max<std::int64_t>(weights.kept + change, 0);
      return true;
    case 8:
      weights.kept_offset += change * 8 * random->Between(1, 16);
      return weights.kept > 0;
    default:
      *stream.slow->weight_bytes += change;
      stream.slow->read_bytes += change;
      return true;
  }
}

TEST(Spill, ChangedWeightsThatGoWrongAreRefused) {
  Random random(42);
  const int rounds = Cases(200);
  int refused = 0;
  int wrong = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("change " + std::to_string(n));
    const graph::Graph graph = NetworkOf(&random, 3);
    const std::int64_t limit = RandomLimitOfAll(&random, graph);
    plan::EntryPlan entry = Planned(graph, limit, n % 2 == 0, true);
    if (!ChangeWeights(&random, &entry)) continue;
    const auto findings = check::CheckPlan(graph, PlanOf(entry));
    refused += findings.empty() ? 0 : 1;
    const std::string error = test::ErrorOfRun(graph, entry);
    wrong += error.empty() ? 0 : 1;
    EXPECT_TRUE(error.empty() || !findings.empty()) << error;
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, rounds / 5);
  EXPECT_GT(wrong, rounds / 5);
}

// What must not happen between the begin of a copy and the end of its block.
TEST(Spill, RefusesAccessToBytesThatAreBeingCopied) {
  Random random(40);
  const graph::Graph graph = test::Squeeze(&random, 16, 16, 8);
  const plan::EntryPlan plain = Planned(graph, 1200);
  const plan::EntryPlan entry = Planned(graph, 1200, true);
  ASSERT_GT(entry.stream->slow->ahead_bytes, 0);
  const auto finding = [&](const plan::EntryPlan& changed) {
    const auto findings = check::CheckPlan(graph, PlanOf(changed));
    const auto inputs = *execute::RandomInputs(graph.subgraphs[kSpilled], 5, kInputMemory);
    const auto run = execute::Run(graph, changed, inputs, {});
    EXPECT_EQ(!run || !run->violations.empty(), !findings.empty());
    return findings.empty() ? std::string() : findings[0];
  };
  EXPECT_EQ(finding(entry), "");
  // Boxes of the plan without prefetch are read in the block in which their copy begins.
  plan::EntryPlan early = plain;
  early.stream->slow->ahead_bytes = early.stream->slow->read_bytes;
  for (plan::StreamSegment& segment : early.stream->segments) {
    for (plan::StreamOp& op : segment.ops) op.ahead = !op.op.valid();
  }
  EXPECT_THAT(finding(early), HasSubstr("where its value is not stored"));
  // An output whose box is where a copy is in progress.
  plan::EntryPlan over = entry;
  for (plan::StreamArea& area : over.stream->segments[0].areas) {
    area.rings = over.stream->segments[0].areas[0].rings;
  }
  EXPECT_NE(finding(over), "");
  // A copy that is no step from slow memory.
  plan::EntryPlan op = entry;
  for (plan::StreamOp& step : op.stream->segments[0].ops) step.ahead = true;
  EXPECT_THAT(finding(op), HasSubstr("not a copy from slow memory"));
  plan::EntryPlan count = entry;
  count.stream->slow->ahead_bytes -= 1;
  EXPECT_THAT(check::CheckPlan(graph, PlanOf(count))[0], HasSubstr("ahead_bytes is"));
}

TEST(Spill, SurvivesItsFile) {
  Random random(32);
  for (int n = 0; n < 20; ++n) {
    const graph::Graph graph = NetworkOf(&random, 3);
    const plan::Plan plan = PlanOf(Planned(graph, RandomLimit(&random, graph)));
    const std::string text = plan::ToJson(plan);
    const auto again = plan::FromJson(text);
    ASSERT_TRUE(again) << again.error().ToString();
    EXPECT_EQ(plan::ToJson(*again), text);
    EXPECT_THAT(check::CheckPlan(graph, *again), IsEmpty());
  }
}

// One number of a plan, or whether a copy begins ahead, changed.
bool Change(Random* random, plan::EntryPlan* entry) {
  plan::Stream& stream = *entry->stream;
  plan::SlowMemory& slow = *stream.slow;
  plan::StreamSegment& segment = stream.segments[random->Below(stream.segments.size())];
  plan::StreamOp& op = segment.ops[random->Below(segment.ops.size())];
  const std::int64_t change = random->Below(2) == 0 ? 1 : -1;
  switch (random->Below(10)) {
    case 9:
      if (op.op.valid()) return false;
      op.ahead = !op.ahead;
      return true;
    case 0:
      slow.read_bytes += change;
      return true;
    case 1:
      slow.written_bytes += change;
      return true;
    case 2:
      slow.tensors[random->Below(slow.tensors.size())].offset += change * random->Between(1, 64);
      return true;
    case 3:
      slow.bytes += change;
      return true;
    case 4:
      slow.tensors.erase(slow.tensors.begin() +
                         static_cast<std::ptrdiff_t>(random->Below(slow.tensors.size())));
      return true;
    case 5: {
      auto& ranges = random->Below(2) == 0 ? op.rows : op.columns;
      if (ranges.empty()) return false;
      auto& range = ranges[random->Below(ranges.size())];
      (random->Below(2) == 0 ? range.first : range.last) += change;
      return true;
    }
    case 6: {
      auto& rings = segment.areas[random->Below(segment.areas.size())].rings;
      rings[random->Below(rings.size())].offset += change * random->Between(1, 9);
      return true;
    }
    case 7: {
      auto& rings = segment.areas[random->Below(segment.areas.size())].rings;
      rings[random->Below(rings.size())].pixels -= 1;
      return true;
    }
    default:
      segment.ops.erase(segment.ops.begin() +
                        static_cast<std::ptrdiff_t>(random->Below(segment.ops.size())));
      return true;
  }
}

// Changed plans that go wrong are refused.
TEST(Spill, ChangedPlansThatGoWrongAreRefused) {
  Random random(33);
  const int rounds = Cases(500);
  int refused = 0;
  int wrong = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("change " + std::to_string(n));
    const graph::Graph graph = NetworkOf(&random, 3);
    plan::EntryPlan entry = Planned(graph, RandomLimit(&random, graph), n % 2 == 0);
    if (!Change(&random, &entry)) continue;
    const auto findings = check::CheckPlan(graph, PlanOf(entry));
    refused += findings.empty() ? 0 : 1;
    const std::string error = test::ErrorOfRun(graph, entry);
    wrong += error.empty() ? 0 : 1;
    EXPECT_TRUE(error.empty() || !findings.empty()) << error;
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, rounds / 2);
  EXPECT_GT(wrong, rounds / 2);
}

// Rules that a run does not prove wrong.
TEST(Spill, RefusesUntrueNumbers) {
  Random random(34);
  const graph::Graph graph = test::Squeeze(&random, 16, 16, 8);
  const plan::EntryPlan entry = Planned(graph, 700);
  const auto finding = [&](const auto& change) {
    plan::EntryPlan changed = entry;
    change(&*changed.stream->slow);
    const auto findings = check::CheckPlan(graph, PlanOf(changed));
    return findings.empty() ? std::string() : findings[0];
  };
  EXPECT_EQ(finding([](auto*) {}), "");
  EXPECT_THAT(finding([](auto* slow) { slow->traffic_lower_bound_bytes += 1; }),
              HasSubstr("traffic_lower_bound_bytes is"));
  EXPECT_THAT(finding([](auto* slow) { slow->fast_bytes = 8; }),
              HasSubstr("the arena exceeds its limit of 8"));
  EXPECT_THAT(finding([](auto* slow) { slow->bytes += 1; }), HasSubstr("slow memory has"));
  plan::EntryPlan one = entry;
  one.stream->slow.reset();
  EXPECT_THAT(check::CheckPlan(graph, PlanOf(one)), testing::Not(IsEmpty()));
}

// The outputs of half of the chain are live when the other half is computed.
TEST(Spill, MomentsBoundTheTraffic) {
  Random random(38);
  const graph::Graph graph = test::Nested(&random, 4, 8, 8);
  constexpr std::int64_t kBytes = 4 * 4 * 8;  // of each tensor
  const plan::EntryPlan entry = Planned(graph, 3 * kBytes);
  const plan::SlowMemory& slow = *entry.stream->slow;
  EXPECT_LE(entry.arena_bytes, 3 * kBytes);
  // At a pixel of the eighth output, the first six are known, and the last two hold nothing more.
  EXPECT_GE(slow.traffic_lower_bound_bytes, 2 * kBytes + 2 * (6 - 3) * kBytes);
  EXPECT_LE(slow.traffic_lower_bound_bytes, slow.TrafficBytes());
  EXPECT_THAT(Planned(graph, 1 << 20).stream->slow->moments, IsEmpty());
}

// What a moment states that does not hold.
TEST(Spill, RefusesUntrueMoments) {
  Random random(37);
  const int rounds = Cases(20);
  int found = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const std::int64_t side = random.Between(2, 8);
    const std::int64_t channels = random.Between(1, 8);
    const graph::Graph graph =
        test::Nested(&random, side, channels, static_cast<int>(random.Between(2, 9)));
    const plan::EntryPlan entry = Planned(graph, side * side * channels * random.Between(2, 4));
    ASSERT_THAT(check::CheckPlan(graph, PlanOf(entry)), IsEmpty());
    EXPECT_LE(entry.stream->slow->traffic_lower_bound_bytes, entry.stream->slow->TrafficBytes());
    if (entry.stream->slow->moments.empty()) continue;
    ++found;
    const auto refuses = [&](const auto& change) {
      plan::EntryPlan changed = entry;
      change(&changed.stream->slow->moments);
      return !check::CheckPlan(graph, PlanOf(changed)).empty();
    };
    using Moments = std::vector<plan::SlowMoment>;
    EXPECT_TRUE(refuses([](Moments* moments) { moments->pop_back(); }));
    EXPECT_TRUE(refuses([](Moments* moments) { moments->push_back(moments->front()); }));
    EXPECT_TRUE(refuses([](Moments* moments) { moments->front().paths.clear(); }));
    EXPECT_TRUE(refuses([](Moments* moments) { ++moments->front().paths.front().bytes; }));
    EXPECT_TRUE(refuses([](Moments* moments) {
      std::erase_if(moments->front().paths, [](const plan::SlowPath& path) { return path.last; });
    }));
    EXPECT_TRUE(refuses([](Moments* moments) { moments->front().rows.last = 100; }));
    EXPECT_TRUE(refuses([&](Moments* moments) {
      moments->front().tensor = graph.subgraphs[kSpilled].inputs[0];
      moments->front().row = moments->front().column = 0;
    }));
    if (HasFailure()) return;
  }
  EXPECT_GT(found, rounds / 5);
}

// With enough memory every byte moves once; with little, pixels are read again.
TEST(Spill, MovesMoreBytesInLessMemory) {
  Random random(35);
  const graph::Graph graph = test::Depthwise(&random, 32, 32, 16);
  const plan::EntryPlan large = Planned(graph, 1 << 20);
  EXPECT_EQ(large.stream->slow->TrafficBytes(), 2 * 32 * 32 * 16);
  EXPECT_EQ(large.stream->slow->traffic_lower_bound_bytes, 2 * 32 * 32 * 16);
  const plan::EntryPlan small = Planned(graph, 300);
  EXPECT_LE(small.arena_bytes, 300);
  EXPECT_GT(small.stream->slow->TrafficBytes(), 2 * 32 * 32 * 16);
  EXPECT_LE(small.stream->slow->read_bytes, 3 * 32 * 32 * 16);
}

}  // namespace
}  // namespace neap::stream
