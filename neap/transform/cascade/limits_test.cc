// SPDX-License-Identifier: Apache-2.0
//
// The search for tiles ends soon after a deadline, whenever that is, with plans that hold.
#include <gtest/gtest.h>

#include <string>

#include "neap/transform/cascade/plan.h"
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

}  // namespace
}  // namespace neap::cascade
