// SPDX-License-Identifier: Apache-2.0
//
// Weights of segments beside all ways to read them: those of each operator stay, or the first so
// many output channels do, and the others are read one channel after the other for every box.
#include "neap/transform/stream/spill_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "neap/check/check.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/plan/plan_json.h"
#include "neap/transform/stream/spill.h"
#include "testing/cases.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using graph::OpId;
using testing::HasSubstr;

constexpr graph::SubgraphId kSmall(0);
constexpr std::int64_t kMost = 200'000;  // ways to be tried

// One way to read the weights of an operator.
struct Way {
  std::int64_t stay = 0;    // bytes of memory
  std::int64_t shared = 0;  // of the buffer that all share
  std::int64_t read = 0;
};

// All ways for the weights that a plan has in `found`; empty: they cannot be in blocks.
std::vector<Way> WaysOf(const graph::Subgraph& main, const plan::StreamSegment& segment,
                        const plan::StreamWeights& found, bool may_keep) {
  const graph::Op& op = main.ops[found.op];
  const plan::WeightCopy all = plan::AllWeights(main, op);
  std::vector<Way> ways = {{plan::AlignedToWeights(all.bytes), 0, all.copied_bytes}};
  if (op.outputs.size() != 1) return {};
  const auto axis = static_cast<std::int64_t>(main.tensors[op.outputs[0]].shape->size()) - 1;
  const std::int64_t size = main.tensors[op.outputs[0]].shape->back();
  for (std::int64_t kept = 0; kept < (may_keep ? size : 1); ++kept) {
    const auto blocks = plan::BlocksOf(main, op, axis, 1, kept);
    if (!blocks || blocks->bytes == 0) return {};
    const std::int64_t once = kept > 0 ? blocks->blocks[0].copied_bytes : 0;
    const std::int64_t bytes = kept > 0 ? blocks->blocks[0].bytes : 0;
    ways.push_back({plan::AlignedToWeights(bytes), blocks->bytes,
                    once + (blocks->copied_bytes - once) * plan::BoxesOf(segment, found.op)});
  }
  return ways;
}

// The fewest bytes that are read with at most `limit` bytes of memory; -1: there is no way, or
// there are too many.
std::int64_t Least(const std::vector<std::vector<Way>>& ways, std::int64_t limit) {
  std::int64_t count = 1;
  for (const std::vector<Way>& some : ways) {
    count *= static_cast<std::int64_t>(some.size());
    if (count == 0 || count > kMost) return -1;
  }
  std::int64_t least = -1;
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t rest = number;
    Way sum;
    for (const std::vector<Way>& some : ways) {
      const auto size = static_cast<std::int64_t>(some.size());
      const Way& way = some[static_cast<std::size_t>(rest % size)];
      rest /= size;
      sum.stay += way.stay;
      sum.shared = std::max(sum.shared, way.shared);
      sum.read += way.read;
    }
    if (sum.stay + sum.shared <= limit && (least < 0 || sum.read < least)) least = sum.read;
  }
  return least;
}

// The largest range of bytes below `limit` that a segment does not use.
std::int64_t Gap(const UsedRanges& used, std::int64_t limit) {
  std::int64_t gap = 0;
  std::int64_t at = 0;
  for (const auto& [from, to] : used) {
    gap = std::max(gap, from - plan::AlignedToWeights(at));
    at = std::max(at, to);
  }
  return std::max(gap, limit - plan::AlignedToWeights(at));
}

TEST(SpillWeights, AreReadAsOftenAsInTheBestWay) {
  Random random(46);
  const int rounds = Cases(400);
  int compared = 0;
  int best = 0;
  int kept = 0;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const int operators = static_cast<int>(random.Between(1, 4));
    const graph::Graph graph = test::RandomNetwork(&random, operators);
    const graph::Subgraph& main = graph.subgraphs[kSmall];
    const std::vector<OpId> order = test::FileOrder(graph);
    SearchOptions options;
    options.input = plan::StreamInput::kSlow;
    bool cut_short = false;
    const std::int64_t fast = random.Between(1, 600);
    const auto plain = PlanSpilled(graph, kSmall, order, options, fast, &cut_short);
    ASSERT_TRUE(plain);
    const auto network = MakeNetwork(graph, kSmall, order);
    ASSERT_TRUE(network);
    const SlowWeights weights(main, *network);
    const plan::StreamImages images = plan::ImagesOf(main);
    std::int64_t most = 8;  // all weights
    for (const graph::Op& op : main.ops) most += plan::AllWeights(main, op).bytes;
    const std::int64_t limit = plain->arena_bytes + random.Between(8, most);
    plan::Stream stream = plain->stream;
    const std::int64_t arena = weights.AddTo(&stream, plain->arena_bytes, limit);
    if (arena > limit) continue;
    for (const plan::StreamSegment& segment : stream.segments) {
      std::int64_t read = 0;
      std::vector<std::vector<Way>> whole;
      std::vector<std::vector<Way>> parts;
      for (const plan::StreamWeights& one : segment.weights) {
        const std::int64_t first = plan::FirstCopy(main, one).copied_bytes;
        const std::int64_t all = plan::AllWeights(main, main.ops[one.op]).copied_bytes;
        const std::int64_t boxes = plan::BoxesOf(segment, one.op);
        if (one.block == 0) {
          read += first;
        } else {
          read += one.kept > 0 ? first + (all - first) * boxes : all * boxes;
        }
        kept += one.kept > 0 ? 1 : 0;
        whole.push_back(WaysOf(main, segment, one, false));
        parts.push_back(WaysOf(main, segment, one, true));
      }
      if (segment.weights.empty()) continue;
      const std::int64_t gap = Gap(UsedBy(main, images, segment), limit);
      const std::int64_t least = Least(parts, gap);
      if (least < 0) continue;
      ++compared;
      best += read == least ? 1 : 0;
      EXPECT_GE(read, least);
      const std::int64_t without = Least(whole, gap);
      if (without < 0) continue;
      EXPECT_LE(read, without);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, rounds / 4);
  EXPECT_GT(best, compared * 9 / 10);
  EXPECT_GT(kept, 0);
}

plan::StreamWeights* SomeKept(plan::EntryPlan* entry) {
  if (!entry->stream) return nullptr;
  for (plan::StreamSegment& segment : entry->stream->segments) {
    for (plan::StreamWeights& weights : segment.weights) {
      if (weights.kept > 0) return &weights;
    }
  }
  return nullptr;
}

// A plan in which some weights of an operator stay; without a stream: there is none.
plan::EntryPlan PlanThatKeepsSome(const graph::Graph& graph) {
  SearchOptions options;
  options.slow_weights = true;
  options.input = plan::StreamInput::kSlow;
  for (std::int64_t fast = 512; fast < 4096; fast += 64) {
    bool cut_short = false;
    const auto found =
        PlanSpilled(graph, kSmall, test::FileOrder(graph), options, fast, &cut_short);
    if (!found) return {};
    plan::EntryPlan entry = EntryOf(graph, kSmall, *found);
    if (SomeKept(&entry) != nullptr) return entry;
  }
  return {};
}

TEST(SpillWeights, RefusesWeightsThatDoNotStay) {
  Random random(47);
  const graph::Graph graph = test::Nested(&random, 8, 8, 1);
  const plan::EntryPlan entry = PlanThatKeepsSome(graph);
  ASSERT_TRUE(entry.stream);
  const auto inputs = *execute::RandomInputs(graph.subgraphs[kSmall], 5, 1 << 20);
  using Change = std::function<void(plan::StreamWeights*, plan::EntryPlan*)>;
  const auto finding = [&](const Change& change) {
    plan::EntryPlan changed = entry;
    change(SomeKept(&changed), &changed);
    const auto findings = check::CheckPlan(graph, test::PlanOf(changed));
    const auto run = execute::Run(graph, changed, inputs, {});
    const bool counts = run && run->slow_read_bytes == changed.stream->slow->read_bytes;
    EXPECT_EQ(findings.empty(), run && run->violations.empty() && counts);
    return findings.empty() ? std::string() : findings[0];
  };
  EXPECT_EQ(finding([](auto*, auto*) {}), "");
  const char* place = "has weights that stay outside the arena, or are in no blocks";
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->kept_offset += 4; }), HasSubstr(place));
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->kept_offset = -8; }), HasSubstr(place));
  EXPECT_THAT(
      finding([](auto* kept, auto* all) { kept->kept_offset = (all->arena_bytes + 7) / 8 * 8; }),
      HasSubstr(place));
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->second = kept->offset; }), HasSubstr(place));
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->after = kept->op; }), HasSubstr(place));
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->block = 0; }), HasSubstr(place));
  const char* blocks = "has weights in blocks that cannot be read one by one";
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->kept = 8; }), HasSubstr(blocks));
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->kept = -1; }), HasSubstr(blocks));
  // Blocks that are read over those that stay, and a line over them.
  const char* lost = "reads weights that are not stored or have been overwritten";
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->kept_offset = kept->offset; }),
              HasSubstr(lost));
  EXPECT_NE(finding([](auto* kept, auto* all) {
              for (const plan::StreamArea& area : all->stream->segments[0].areas) {
                kept->kept_offset = area.rings[0].offset / 8 * 8;
              }
            }),
            "");
  // Fewer stay than were counted.
  EXPECT_THAT(finding([](auto* kept, auto*) { kept->kept = 0; }), HasSubstr("read_bytes is"));
}

TEST(SpillWeights, OfAFileStayInBothMembersOrNone) {
  Random random(47);
  const plan::EntryPlan entry = PlanThatKeepsSome(test::Nested(&random, 8, 8, 1));
  ASSERT_TRUE(entry.stream);
  const std::string text = plan::ToJson(test::PlanOf(entry));
  const auto read = plan::FromJson(text);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(plan::ToJson(*read), text);
  const auto refusal = [&](const std::string& member, const std::string& other) {
    const std::size_t at = text.find("\"" + member + "\"");
    EXPECT_NE(at, std::string::npos) << member;
    std::string changed = text;
    changed.replace(at + 1, member.size(), other);
    const auto plan = plan::FromJson(changed);
    return plan ? std::string() : plan.error().ToString();
  };
  EXPECT_THAT(refusal("kept", "stay"), HasSubstr("unknown members"));
  EXPECT_THAT(refusal("kept_offset", "second"), HasSubstr("both or none"));
  EXPECT_THAT(refusal("kept", "second"), HasSubstr("both or none"));
}

}  // namespace
}  // namespace neap::stream
