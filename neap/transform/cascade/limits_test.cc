// SPDX-License-Identifier: Apache-2.0
//
// The search for tiles ends soon after a deadline, whenever that is, with plans that hold.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/work.h"
#include "neap/transform/cascade/plan.h"
#include "neap/transform/cascade/region_search.h"
#include "testing/limits.h"
#include "testing/tile_layers.h"
#include "testing/tile_networks.h"

namespace neap::cascade {
namespace {

// A network that tiles help.
graph::Graph Pyramid() {
  Layers net;
  graph::TensorId at = net.Input({1, 24, 24, 3});
  at = net.Conv(at, 16, {{3, 3}, {1, 1}});
  at = net.Depthwise(at, {{3, 3}, {2, 2}});
  at = net.Conv(at, 24, {{1, 1}, {1, 1}});
  at = net.Depthwise(at, {{3, 3}, {2, 2}});
  at = net.Conv(at, 8, {{1, 1}, {1, 1}});
  net.Output(at);
  return net.Graph();
}

TEST(CascadeLimits, TheSearchStopsAtTheDeadline) {
  const graph::Graph graph = Pyramid();
  // The plans that were found are placed and checked all the same.
  constexpr std::int64_t kLooksBehind = 512;
  std::int64_t uncut = 0;
  bool whole = false;
  for (const std::int64_t looks : {1, 10, 100, 1000, 10'000, 10'000'000}) {
    SCOPED_TRACE(looks);
    const CountedClock clock;
    SearchOptions options = QuickOptions(plan::Runtime::kTflm);
    options.compile.limits.deadline = CountedClock::At(looks);
    const auto outcome = FindPlan(graph, options);
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_LE(CountedClock::looks(), looks + kLooksBehind);
    const Proposal& chosen = outcome->front[outcome->chosen];
    uncut = std::max(uncut, outcome->uncut.arena_bytes);
    EXPECT_LE(chosen.arena_bytes, outcome->uncut.arena_bytes);
    whole = !outcome->cut_short;
    if (whole) {
      EXPECT_LT(chosen.arena_bytes, uncut);
    }
  }
  EXPECT_TRUE(whole);
}

TEST(CascadeLimits, TheSearchStopsAtTheEndOfTheWork) {
  const graph::Graph graph = Pyramid();
  constexpr std::int64_t kWorkBehind = 20'000'000;
  for (const std::int64_t work : {1, 300'000, 1'000'000}) {
    SCOPED_TRACE(work);
    const SearchOptions options = QuickOptions(plan::Runtime::kTflm);
    const WorkScope scope(work);
    const std::int64_t before = WorkDone();
    const auto outcome = FindPlan(graph, options);
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_TRUE(outcome->cut_short);
    EXPECT_LE(WorkDone() - before, work + kWorkBehind);
  }
}

// Whether a limit ends the search of regions or not.
TEST(CascadeLimits, ThreadsChangeNothing) {
  const graph::Graph graph = Pyramid();
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  std::vector<graph::OpId> order;
  for (const graph::OpId op : main.ops.Ids()) order.push_back(op);
  const auto search = [&](int threads, std::int64_t work) {
    RegionLimits limits{{8, 24}};
    limits.search.threads = threads;
    limits.enough_bytes = 0;
    const WorkScope scope(work);
    const std::int64_t before = WorkDone();
    RegionSearch regions(main, order, {}, limits);
    const auto found = regions.Run([](std::size_t, std::size_t) {});
    std::string text = std::to_string(WorkDone() - before) + " " +
                       std::to_string(regions.Searched()) + (regions.cut_short() ? " cut" : "");
    const auto add = [&](const Cost& cost, const std::vector<Split>& splits) {
      text += "\n" + std::to_string(cost.bytes) + " " + std::to_string(cost.macs) + " " +
              std::to_string(cost.kept_bytes);
      for (const Split& split : splits) text += " " + std::to_string(split.cuts.size());
    };
    for (const RegionCandidate& plan : regions.Plans()) add(plan.cost, plan.splits);
    for (const Combination& one : found) {
      for (const RegionPlan& region : one.regions) add(one.cost, region.splits);
    }
    return text;
  };
  bool cut = false;
  bool whole = false;
  for (std::int64_t work = 100'000; work < 1'000'000'000; work = work / 2 * 3) {
    const std::string one = search(1, work);
    ASSERT_EQ(search(2, work), one) << work;
    (one.find("cut") != std::string::npos ? cut : whole) = true;
  }
  EXPECT_TRUE(cut);
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace neap::cascade
