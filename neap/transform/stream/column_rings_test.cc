// SPDX-License-Identifier: Apache-2.0
//
// Rings of columns: a skip that reads every other column keeps no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/plan/plan_json.h"
#include "neap/transform/stream/network.h"
#include "neap/transform/stream/search.h"
#include "neap/transform/stream/stream.h"
#include "testing/cases.h"
#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using graph::ElementType;
using plan::StreamInput;
using test::ErrorOfRun;
using test::FileOrder;
using test::PlanOf;

constexpr graph::SubgraphId kMain(0);

class Maker {
 public:
  graph::TensorId Pool(graph::TensorId in, std::int64_t size, std::int64_t stride,
                       std::int64_t side) {
    const graph::TensorId out = maker_.Floats({1, side, side, kChannels});
    maker_.Op("tflite", "MAX_POOL_2D", {in}, {out},
              {{"padding", std::int64_t{0}},
               {"stride_h", stride},
               {"stride_w", stride},
               {"filter_height", size},
               {"filter_width", size}});
    return out;
  }

  // A residual block whose output has one row for `stride` rows of its input: two windows on one
  // side, a skip with the stride on the other.
  graph::Graph Residual(std::int64_t side, std::int64_t stride) {
    const std::int64_t less = (side + stride - 1) / stride;
    const graph::TensorId in = maker_.Input(ElementType::kFloat32, {1, side, side, kChannels});
    const graph::TensorId from = Pool(in, 3, 1, side);
    const graph::TensorId window = Pool(Pool(from, 3, stride, less), 3, 1, less);
    const graph::TensorId skip = Pool(from, 1, stride, less);
    const graph::TensorId sum = maker_.Floats({1, less, less, kChannels});
    maker_.Op("tflite", "ADD", {window, skip}, {sum});
    maker_.Output(sum);
    return maker_.graph();
  }

 private:
  static constexpr std::int64_t kChannels = 8;
  execute::GraphMaker maker_;
};

std::int64_t LeastBytes(const Network& network, const SearchOptions& options) {
  Prices prices;
  const Front front = Search(network, options, network.macs, &prices);
  std::int64_t least = front.points.at(0).bytes;
  for (const Point& point : front.points) least = std::min(least, point.bytes);
  return least;
}

bool HasColumnRings(const plan::Stream& stream) {
  return std::any_of(
      stream.segments.begin(), stream.segments.end(), [](const plan::StreamSegment& segment) {
        return std::any_of(segment.areas.begin(), segment.areas.end(),
                           [](const plan::StreamArea& area) { return area.columns > 1; });
      });
}

// Half of each row that waits for the skip is not stored, and the plan is exact.
TEST(ColumnRings, ASkipKeepsTheColumnsThatItReads) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {{32, 2}, {31, 2}, {33, 3}};
  for (const StreamInput input : {StreamInput::kExternal, StreamInput::kRows}) {
    for (const auto& [side, stride] : sizes) {
      SCOPED_TRACE(std::to_string(side) + " by " + std::to_string(stride));
      const graph::Graph graph = Maker().Residual(side, stride);
      Options options;
      options.search.input = input;
      options.search.recompute = false;
      const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
      ASSERT_TRUE(planned) << planned.error().ToString();
      const Candidate& least = planned->front[0];
      const plan::EntryPlan entry = EntryOf(graph, kMain, least);
      test::ExpectExact(graph, entry, 1);
      EXPECT_LE(least.stream.lower_bound_bytes, least.arena_bytes);
      EXPECT_TRUE(HasColumnRings(least.stream));
      const auto read = plan::FromJson(plan::ToJson(PlanOf(entry)));
      ASSERT_TRUE(read) << read.error().ToString();
      EXPECT_EQ(plan::ToJson(*read), plan::ToJson(PlanOf(entry)));
      auto network = MakeNetwork(graph, kMain, FileOrder(graph));
      ASSERT_TRUE(network);
      const std::int64_t apart = LeastBytes(*network, options.search);
      network->column_rings = false;
      const std::int64_t together = LeastBytes(*network, options.search);
      EXPECT_LT(apart, together);
    }
  }
}

// Checker and run refuse other columns, and a number of rings that is not one for each of them.
TEST(ColumnRings, OtherColumnsAreRefused) {
  const graph::Graph graph = Maker().Residual(16, 2);
  Options options;
  options.search.input = StreamInput::kExternal;
  options.search.recompute = false;
  const auto planned = PlanStream(graph, kMain, FileOrder(graph), options);
  ASSERT_TRUE(planned) << planned.error().ToString();
  const Candidate& least = planned->front[0];
  int changed = 0;
  for (const std::int64_t columns : {-2, 0, 1, 3, 4, 17}) {
    SCOPED_TRACE(columns);
    std::vector<plan::StreamSegment> segments = least.stream.segments;
    for (plan::StreamSegment& segment : segments) {
      for (plan::StreamArea& area : segment.areas) {
        if (area.columns == 1) continue;
        area.columns = columns;
        ++changed;
      }
    }
    plan::EntryPlan entry = EntryOf(graph, kMain, least);
    entry.stream->segments = std::move(segments);
    EXPECT_FALSE(check::CheckPlan(graph, PlanOf(entry)).empty());
    EXPECT_FALSE(ErrorOfRun(graph, entry).empty());
  }
  EXPECT_GE(changed, 6);
}

// Emitted C, two memories and other kernels keep all columns of a row in one ring.
TEST(ColumnRings, EmittedCodeHasNone) {
  const graph::Graph graph = Maker().Residual(32, 2);
  Options options;
  options.search.input = StreamInput::kExternal;
  options.search.recompute = false;
  options.search.emits = true;
  const auto emitted = PlanStream(graph, kMain, FileOrder(graph), options);
  ASSERT_TRUE(emitted) << emitted.error().ToString();
  for (const Candidate& candidate : emitted->front) {
    EXPECT_FALSE(HasColumnRings(candidate.stream));
  }
  options.search.emits = false;
  options.search.processor = Processor::kCortexM4Dsp;
  const auto counted = PlanStream(graph, kMain, FileOrder(graph), options);
  ASSERT_TRUE(counted) << counted.error().ToString();
  for (const Candidate& candidate : counted->front) {
    EXPECT_FALSE(HasColumnRings(candidate.stream));
  }
}

}  // namespace
}  // namespace neap::stream
