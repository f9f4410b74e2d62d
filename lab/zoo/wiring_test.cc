// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/wiring.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace neap::zoo {
namespace {

constexpr Probability kNever = {0, 1};
constexpr Probability kAlways = {1, 1};
constexpr Probability kPublished = {3, 4};

std::vector<int> Degrees(int nodes, const Edges& edges) {
  std::vector<int> degrees(static_cast<std::size_t>(nodes));
  for (const auto& [low, high] : edges) {
    ++degrees[static_cast<std::size_t>(low)];
    ++degrees[static_cast<std::size_t>(high)];
  }
  return degrees;
}

TEST(WattsStrogatz, IsARingLatticeWithoutRewiring) {
  Random random(1);
  const Edges ring = WattsStrogatz(6, 2, kNever, &random);
  EXPECT_EQ(ring, (Edges{{0, 1}, {0, 5}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}));
  const Edges lattice = WattsStrogatz(32, 4, kNever, &random);
  EXPECT_EQ(lattice.size(), 64U);
  EXPECT_EQ(Degrees(32, lattice), std::vector<int>(32, 4));
}

TEST(WattsStrogatz, KeepsTheNumberOfEdgesAndHalfOfEveryDegree) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const Edges edges = WattsStrogatz(32, 4, kPublished, &random);
    EXPECT_EQ(edges.size(), 64U);
    EXPECT_EQ(std::set(edges.begin(), edges.end()).size(), edges.size());
    for (const auto& [low, high] : edges) {
      EXPECT_LE(0, low);
      EXPECT_LT(low, high);
      EXPECT_LT(high, 32);
    }
    // The two edges that a node starts with stay at it, whichever their far ends.
    for (const int degree : Degrees(32, edges)) EXPECT_GE(degree, 2);
  }
}

TEST(WattsStrogatz, RewiresAsOftenAsRequested) {
  Random random(7);
  const Edges lattice = WattsStrogatz(256, 4, kNever, &random);
  const std::set<std::pair<int, int>> before(lattice.begin(), lattice.end());
  const auto moved = [&](Probability probability) {
    int count = 0;
    for (const auto& edge : WattsStrogatz(256, 4, probability, &random)) {
      count += before.contains(edge) ? 0 : 1;
    }
    return count;
  };
  // 512 edges, less the few that happen to land on a free place of the lattice.
  EXPECT_NEAR(moved(kPublished), 384, 40);
  EXPECT_GT(moved(kAlways), 490);
}

TEST(WattsStrogatz, LeavesACompleteGraphAlone) {
  Random random(3);
  EXPECT_EQ(WattsStrogatz(5, 4, kAlways, &random).size(), 10U);
}

TEST(WattsStrogatz, FollowsTheSeed) {
  const auto edges = [](std::uint64_t seed) {
    Random random(seed);
    return WattsStrogatz(32, 4, kPublished, &random);
  };
  EXPECT_EQ(edges(5), edges(5));
  EXPECT_NE(edges(5), edges(6));
}

// The nodes that a walk from node 0 reaches.
std::size_t Reached(const Edges& edges) {
  std::set<int> reached = {0};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& [low, high] : edges) {
      if (reached.contains(low) || reached.contains(high)) reached.insert({low, high});
    }
  }
  return reached.size();
}

TEST(ErdosRenyi, IsConnectedAndJoinsAFifth) {
  double edges = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Edges graph = ErdosRenyi(32, {1, 5}, &random);
    EXPECT_EQ(Reached(graph), 32U);
    edges += static_cast<double>(graph.size()) / 40;
  }
  EXPECT_NEAR(edges, 0.2 * 32 * 31 / 2, 5);
}

TEST(ErdosRenyi, DrawsAgainWhatIsNotConnected) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    EXPECT_EQ(Reached(ErdosRenyi(5, {1, 5}, &random)), 5U);
  }
}

TEST(BarabasiAlbert, JoinsEveryNewNodeToFiveEarlierOnes) {
  Random random(1);
  const Edges edges = BarabasiAlbert(32, 5, &random);
  EXPECT_EQ(edges.size(), 5U * 27);
  std::vector<int> earlier(32);
  for (const auto& [low, high] : edges) {
    EXPECT_LT(low, high);
    ++earlier[static_cast<std::size_t>(high)];
  }
  for (std::size_t node = 0; node < 32; ++node) EXPECT_EQ(earlier[node], node < 5 ? 0 : 5);
}

// Node 5 starts with five edges where the others start with none.
TEST(BarabasiAlbert, PrefersTheWellConnected) {
  double first = 0;
  double last = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    for (const auto& [low, high] : BarabasiAlbert(32, 5, &random)) {
      first += low == 5 ? 1 : 0;
      last += low == 25 ? 1 : 0;
    }
  }
  EXPECT_GT(first, 5 * last);
}

TEST(DirectByIndex, LeadsUpwards) {
  const Wiring wiring = DirectByIndex(4, {{0, 3}, {0, 2}, {2, 3}});
  EXPECT_EQ(wiring.predecessors, (std::vector<std::vector<int>>{{}, {}, {0}, {0, 2}}));
  EXPECT_EQ(wiring.has_successor, (std::vector<bool>{true, false, true, false}));
}

}  // namespace
}  // namespace neap::zoo
