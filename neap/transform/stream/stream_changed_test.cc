// SPDX-License-Identifier: Apache-2.0
//
// Streamed plans that were changed: the checker has found every fault that a run finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/transform/stream/stream.h"
#include "testing/cases.h"
#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using test::Depthwise;
using test::EntryWith;
using test::ErrorOfRun;
using test::FileOrder;
using test::PlanOf;
using test::RandomNetwork;
using test::RandomNetworkOfMoves;
using test::RandomOnnxNetwork;
using test::Squeeze;

constexpr graph::SubgraphId kMain(0);

// One number of a plan, changed.
bool Mutate(Random* random, plan::EntryPlan* entry) {
  plan::Stream& stream = *entry->stream;
  plan::StreamSegment& segment = stream.segments[random->Below(stream.segments.size())];
  plan::StreamOp& op = segment.ops[random->Below(segment.ops.size())];
  const std::int64_t change = random->Below(2) == 0 ? 1 : -1;
  switch (random->Below(9)) {
    case 0: {
      if (segment.areas.empty()) return false;
      auto& rings = segment.areas[random->Below(segment.areas.size())].rings;
      rings[random->Below(rings.size())].offset += change * random->Between(1, 9);
      return true;
    }
    case 1: {
      if (segment.areas.empty()) return false;
      auto& rings = segment.areas[random->Below(segment.areas.size())].rings;
      rings[random->Below(rings.size())].pixels -= 1;
      return true;
    }
    case 2: {
      if (op.rows.empty()) return false;
      auto& range = op.rows[random->Below(op.rows.size())];
      (random->Below(2) == 0 ? range.first : range.last) += change;
      return true;
    }
    case 3: {
      if (op.columns.empty()) return false;
      auto& range = op.columns[random->Below(op.columns.size())];
      (random->Below(2) == 0 ? range.first : range.last) += change;
      return true;
    }
    case 4:
      if (segment.moves.empty()) return false;
      segment.moves[random->Below(segment.moves.size())].to += change;
      return true;
    case 5:
      if (!segment.channel_plane) return false;
      *segment.channel_plane += random->Between(1, 9);
      return true;
    case 6:
      if (!op.sums) return false;
      op.sums = false;
      return true;
    case 7:
      if (segment.areas.empty()) return false;
      segment.areas[random->Below(segment.areas.size())].columns += change;
      return true;
    default:
      if (segment.ops.size() < 2) return false;
      std::swap(segment.ops[0], segment.ops.back());
      return true;
  }
}

// Errors other than the height: an offset that was moved down may not change the top.
bool IsWrong(const std::vector<std::string>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const std::string& finding) {
    return finding.find("arena_bytes is") == std::string::npos &&
           finding.find("peak_bytes is") == std::string::npos;
  });
}

// Every error that the run finds, the checker has found before; and most changes are errors.
TEST(ChangedStream, CheckerFindsWhatRunsFind) {
  Random random(4);
  int mutants = 0;
  int wrong = 0;
  int caught = 0;
  const int rounds = Cases(700);
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("mutant " + std::to_string(n));
    const int operators = static_cast<int>(random.Between(2, 8));
    const graph::Graph graph = n % 4 == 2   ? RandomNetworkOfMoves(&random, operators)
                               : n % 4 == 3 ? RandomOnnxNetwork(&random, operators)
                                            : RandomNetwork(&random, operators);
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), {});
    ASSERT_TRUE(planned);
    plan::EntryPlan entry = EntryOf(graph, kMain, planned->front[0]);
    bool changed = false;  // some changes are for plans that have what they are about
    for (int tries = 0; tries < 6 && !changed; ++tries) changed = Mutate(&random, &entry);
    if (!changed) continue;
    ++mutants;
    const bool accepted = check::CheckPlan(graph, PlanOf(entry)).empty();
    caught += accepted ? 0 : 1;
    const bool right = ErrorOfRun(graph, entry).empty();
    wrong += right ? 0 : 1;
    EXPECT_TRUE(right || !accepted);
    if (HasFailure()) return;
  }
  EXPECT_GT(mutants, rounds / 2);
  EXPECT_GT(wrong, mutants / 2);
  EXPECT_GE(caught, wrong);
}

// Every offset of a channel or of sums in a plan, by name.
std::vector<std::pair<const char*, std::int64_t*>> PlacesOf(const graph::Graph& graph,
                                                            plan::Stream* stream) {
  std::vector<std::pair<const char*, std::int64_t*>> places;
  for (plan::StreamSegment& segment : stream->segments) {
    if (segment.channel_plane) places.emplace_back("plane", &*segment.channel_plane);
    for (const plan::StreamOp& op : segment.ops) {
      if (!op.sums) continue;
      for (plan::StreamArea& area : segment.areas) {
        const bool summed = area.tensor == graph.subgraphs[kMain].ops[op.op].outputs[0];
        if (summed) places.emplace_back("sums", &area.rings[0].offset);
      }
    }
  }
  return places;
}

// Planes and sums at every offset of the arena: every error that the run finds, the checker has
// found.
TEST(ChangedStream, PlanesAndSumsAreCheckedWhereverTheyLie) {
  Random random(6);
  const int rounds = ManyCases(60);
  std::map<std::string, int> wrong;
  std::map<std::string, int> right;
  for (int n = 0; n < rounds; ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    const graph::Graph graph = RandomNetwork(&random, static_cast<int>(random.Between(2, 8)));
    const auto planned = PlanStream(graph, kMain, FileOrder(graph), {});
    ASSERT_TRUE(planned);
    plan::EntryPlan entry = EntryOf(graph, kMain, planned->front[planned->chosen]);
    for (const auto& [what, offset] : PlacesOf(graph, &*entry.stream)) {
      const std::int64_t planned_offset = *offset;
      const std::int64_t step = std::max<std::int64_t>(1, entry.arena_bytes / 40);
      for (*offset = 0; *offset < entry.arena_bytes; *offset += step) {
        const bool runs = ErrorOfRun(graph, entry).empty();
        (runs ? right : wrong)[what] += 1;
        EXPECT_TRUE(runs || IsWrong(check::CheckPlan(graph, PlanOf(entry))))
            << what << " at " << *offset;
      }
      *offset = planned_offset;
    }
    if (HasFailure()) return;
  }
  for (const char* const what : {"plane", "sums"}) {
    EXPECT_GT(wrong[what], rounds / 2) << what;
    EXPECT_GT(right[what], 0) << what;
  }
}

// Output and plane of a depthwise convolution at every offset, overlapping in all ways.
TEST(ChangedStream, EveryPlaceOfAPlane) {
  Random random(7);
  int accepted = 0;
  int wrong = 0;
  for (const std::int64_t channels : {1, 2}) {
    const graph::Graph graph = Depthwise(&random, 2, 3, channels);
    const graph::Op& op = graph.subgraphs[kMain].ops[graph::OpId(0)];
    const std::int64_t pixels = 6;
    const std::int64_t bytes = pixels * channels;
    for (std::int64_t out = 0; out <= bytes; ++out) {
      for (std::int64_t plane = 0; plane <= out + bytes; ++plane) {
        plan::StreamSegment segment;
        segment.whole = true;
        segment.channel_plane = plane;
        segment.areas = {{op.inputs[0], {{0, pixels}}}, {op.outputs[0], {{out, pixels}}}};
        segment.ops = {{graph::OpId(0), {}, false, {}, {}}};
        const auto entry =
            EntryWith(graph, {segment}, std::max({bytes, out + bytes, plane + pixels}));
        const bool good = check::CheckPlan(graph, PlanOf(entry)).empty();
        const bool right = ErrorOfRun(graph, entry).empty();
        EXPECT_TRUE(right || !good)
            << channels << " channels, output " << out << ", plane " << plane;
        accepted += good ? 1 : 0;
        wrong += right ? 0 : 1;
      }
    }
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(wrong, 20);
}

// A depthwise convolution of 4 x 3 places and 2 channels, the sums of its mean, and a convolution
// of the mean, in three steps of one segment.
class Sums {
 public:
  using Steps = std::vector<plan::StreamRange>;

  // Rows of the first convolution, and those that the sums take.
  bool Try(const Steps& computed, const Steps& summed, std::size_t last, plan::StreamRing ring,
           std::int64_t sums, std::int64_t out) {
    plan::StreamSegment segment;
    segment.areas = {{Op(0).inputs[0], {{0, 12}}},
                     {Op(0).outputs[0], {ring}},
                     {Op(1).outputs[0], {{sums, 1}}},
                     {Op(2).outputs[0], {{out, 1}}}};
    Steps once(3);
    once[last] = {0, 1};
    segment.ops = {{graph::OpId(0), {}, false, computed, {{0, 3}}},
                   {graph::OpId(1), {}, true, summed, {{0, 3}}},
                   {graph::OpId(2), {}, false, once, {{0, 1}}}};
    const std::int64_t arena =
        std::max({std::int64_t{24}, ring.offset + 2 * ring.pixels, sums + 4, out + 2});
    const plan::EntryPlan entry = EntryWith(graph_, {segment}, arena);
    const bool good = check::CheckPlan(graph_, PlanOf(entry)).empty();
    const bool right = ErrorOfRun(graph_, entry).empty();
    accepted += good ? 1 : 0;
    wrong += right ? 0 : 1;
    return right || !good;
  }

  int accepted = 0;
  int wrong = 0;

 private:
  const graph::Op& Op(int index) const { return graph_.subgraphs[kMain].ops[graph::OpId(index)]; }

  Random random_{8};
  graph::Graph graph_ = Squeeze(&random_, 4, 3, 2);
};

// Each pixel once, some never, some twice; the mean read before and after it is complete.
TEST(ChangedStream, EveryTimeOfSums) {
  const Sums::Steps takes[] = {{{0, 2}, {2, 4}, {4, 4}}, {{0, 1}, {1, 4}, {4, 4}},
                               {{0, 0}, {0, 4}, {4, 4}}, {{2, 4}, {0, 2}, {4, 4}},
                               {{0, 2}, {1, 4}, {4, 4}}, {{0, 2}, {3, 4}, {4, 4}},
                               {{0, 1}, {1, 2}, {2, 4}}};
  Sums sums;
  for (const auto& summed : takes) {
    for (std::size_t last = 0; last < 3; ++last) {
      EXPECT_TRUE(sums.Try({{0, 4}, {4, 4}, {4, 4}}, summed, last, {24, 12}, 48, 52))
          << "rows " << summed[0].last << ", " << summed[1].last << ", read in step " << last;
    }
  }
  EXPECT_GT(sums.accepted, 4);
  EXPECT_GT(sums.wrong, 4);
}

// The sums and their inputs, overlapping in all ways.
TEST(ChangedStream, EveryPlaceOfSums) {
  // Of the ring's two rows the first step writes one: sums may overlap the other until it is
  // written.
  const Sums::Steps rows = {{0, 1}, {1, 3}, {3, 4}};
  Sums sums;
  for (std::int64_t ring = 0; ring <= 34; ++ring) {
    for (std::int64_t at = 0; at <= 52; ++at) {
      for (const std::int64_t out : {at, std::int64_t{56}}) {
        EXPECT_TRUE(sums.Try(rows, rows, 2, {ring, 6}, at, out))
            << "ring at " << ring << ", sums at " << at << ", output at " << out;
      }
    }
  }
  EXPECT_GT(sums.accepted, 50);
  EXPECT_GT(sums.wrong, 500);
}

}  // namespace
}  // namespace neap::stream
