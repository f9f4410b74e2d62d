// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/moved_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "testing/cases.h"

namespace neap::compile {
namespace {

using Problem = MovedOrderProblem;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Operators whose tensors fill the capacity in the order in which they are made, so that few
// placements fit. Every tensor is read last by a random later operator. nullopt: they do not fit.
std::optional<Problem> Drawn(Random* random) {
  Problem problem;
  problem.capacity_units = random->Between(6, 10);
  problem.disjoint = random->Chance(1, 3);
  std::vector<std::int64_t> producer;
  std::vector<std::int64_t> last;
  const auto add = [&](std::int64_t units, std::int64_t made_by, std::int64_t read_by) {
    problem.tensors.push_back({units, units * 10 + random->Between(0, 3), made_by < 0, false});
    producer.push_back(made_by);
    last.push_back(read_by);
  };
  const std::int64_t ops = random->Between(5, 7);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t read_by = random->Between(0, 4);
    add(random->Between(1, 4), -1, read_by);
  }
  for (std::int64_t i = 0; i < ops; ++i) {
    Problem::Op op;
    std::int64_t live = 0;
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      if (last[t] < i) continue;
      live += problem.tensors[t].units;
      const bool follows = producer[t] >= 0 && producer[t] + 1 == i && random->Chance(1, 2);
      if (last[t] == i || i + 1 == ops || follows) op.inputs.push_back(t);
    }
    for (const std::size_t input : op.inputs) {
      if (producer[input] >= 0) op.before |= std::uint64_t{1} << producer[input];
    }
    const std::int64_t left = problem.capacity_units - live;
    if (left < 1) return std::nullopt;
    const std::int64_t first = random->Chance(1, 3) ? left : random->Between(1, left);
    for (const std::int64_t units : {first, left - first}) {
      if (units == 0) continue;
      op.outputs.push_back(problem.tensors.size());
      add(units, i, i + random->Between(1, 4));
    }
    problem.ops.push_back(std::move(op));
  }
  problem.tensors.back().at_end = true;
  if (random->Chance(1, 8)) --problem.capacity_units;
  return problem;
}

Problem RandomProblem(std::uint64_t seed) {
  Random random(seed);
  for (;;) {
    if (auto problem = Drawn(&random)) return *std::move(problem);
  }
}

// Every order, and for each all placements before every operator with their least costs.
class AllOrders {
 public:
  explicit AllOrders(const Problem& problem) : problem_(problem) {}

  std::int64_t Least() {
    std::map<Map, std::int64_t> start = {{{}, 0}};
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      if (problem_.tensors[t].at_start && IsNeeded(t, 0)) start = Added(start, t);
    }
    From(0, start);
    return least_;
  }

 private:
  using Map = std::map<std::size_t, std::int64_t>;  // tensor -> offset

  bool IsNeeded(std::size_t tensor, std::uint64_t done) const {
    if (problem_.tensors[tensor].at_end) return true;
    for (std::size_t op = 0; op < problem_.ops.size(); ++op) {
      const auto& inputs = problem_.ops[op].inputs;
      if ((done >> op & 1) == 0 && std::count(inputs.begin(), inputs.end(), tensor) > 0)
        return true;
    }
    return false;
  }

  bool IsFree(const Map& map, std::int64_t at, std::int64_t units, std::size_t without) const {
    if (at < 0 || at + units > problem_.capacity_units) return false;
    return std::all_of(map.begin(), map.end(), [&](const auto& entry) {
      return entry.first == without || entry.second >= at + units ||
             entry.second + problem_.tensors[entry.first].units <= at;
    });
  }

  std::map<Map, std::int64_t> Added(const std::map<Map, std::int64_t>& from, std::size_t t) const {
    std::map<Map, std::int64_t> added;
    for (const auto& [map, cost] : from) {
      for (std::int64_t at = 0; at < problem_.capacity_units; ++at) {
        if (!IsFree(map, at, problem_.tensors[t].units, t)) continue;
        Map with = map;
        with[t] = at;
        added.emplace(std::move(with), cost);
      }
    }
    return added;
  }

  // Until no move makes any placement cheaper.
  void Move(std::map<Map, std::int64_t>* layer) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [map, cost] : std::map<Map, std::int64_t>(*layer)) {
        for (const auto& [t, old] : map) {
          const auto& tensor = problem_.tensors[t];
          for (std::int64_t at = 0; at < problem_.capacity_units; ++at) {
            const std::size_t without = problem_.disjoint ? problem_.tensors.size() : t;
            if (!IsFree(map, at, tensor.units, without)) continue;
            Map moved = map;
            moved[t] = at;
            const auto known = layer->emplace(moved, kNever).first;
            if (known->second <= cost + tensor.move_bytes) continue;
            known->second = cost + tensor.move_bytes;
            changed = true;
          }
        }
      }
    }
  }

  void From(std::uint64_t done, std::map<Map, std::int64_t> layer) {
    if (layer.empty()) return;
    if (done + 1 == std::uint64_t{1} << problem_.ops.size()) {
      for (const auto& [map, cost] : layer) least_ = std::min(least_, cost);
      return;
    }
    Move(&layer);
    for (std::size_t op = 0; op < problem_.ops.size(); ++op) {
      if ((done >> op & 1) != 0 || (problem_.ops[op].before & ~done) != 0) continue;
      auto during = layer;
      for (const std::size_t output : problem_.ops[op].outputs) during = Added(during, output);
      std::map<Map, std::int64_t> after;
      const std::uint64_t next = done | std::uint64_t{1} << op;
      for (const auto& [map, cost] : during) {
        bool scratch = problem_.ops[op].scratch_units == 0;
        for (std::int64_t at = 0; !scratch && at < problem_.capacity_units; ++at) {
          scratch = IsFree(map, at, problem_.ops[op].scratch_units, problem_.tensors.size());
        }
        if (!scratch) continue;
        Map left = map;
        std::erase_if(left, [&](const auto& entry) { return !IsNeeded(entry.first, next); });
        const auto known = after.emplace(std::move(left), cost).first;
        known->second = std::min(known->second, cost);
      }
      From(next, std::move(after));
    }
  }

  const Problem& problem_;
  std::int64_t least_ = kNever;
};

// 0: none; kNever: no order fits.
std::int64_t CompareWithAllOrders(std::uint64_t seed) {
  const Problem problem = RandomProblem(seed);
  const std::int64_t least = AllOrders(problem).Least();
  const MovedOrderOutcome found = SearchMovedOrder(problem, -1, Limits{});
  EXPECT_TRUE(found.complete) << seed;
  EXPECT_EQ(found.best.has_value(), least != kNever) << seed;
  if (!found.best) return least;
  EXPECT_EQ(found.best->moved_bytes, least) << seed;
  // One byte less is impossible, and that is known.
  const MovedOrderOutcome fewer = SearchMovedOrder(problem, least, Limits{});
  EXPECT_FALSE(fewer.best) << seed;
  EXPECT_TRUE(fewer.complete) << seed;
  return least;
}

TEST(MovedOrder, MovesTheFewestBytesOverAllOrdersAndPlacements) {
  int impossible = 0;
  for (int seed = 0; seed < Cases(40); ++seed) {
    const std::int64_t least = CompareWithAllOrders(static_cast<std::uint64_t>(seed));
    impossible += least == kNever ? 1 : 0;
  }
  RecordProperty("impossible", impossible);
  // Problems of which every order needs moves are rare.
  for (const std::uint64_t seed :
       {323U, 959U, 2835U, 3029U, 3894U, 8164U, 11703U, 16326U, 20270U, 32208U, 38358U}) {
    const std::int64_t least = CompareWithAllOrders(seed);
    EXPECT_GT(least, 0) << seed;
    EXPECT_LT(least, kNever) << seed;
  }
}

TEST(MovedOrder, EndsWithTheWork) {
  const Problem problem = RandomProblem(1);
  const WorkScope work(0);
  const MovedOrderOutcome found = SearchMovedOrder(problem, -1, Limits{});
  EXPECT_FALSE(found.best);
  EXPECT_FALSE(found.complete);
}

TEST(MovedOrder, EndsWithTheMemory) {
  Limits limits;
  limits.max_memory_bytes = 1 << 14;
  const MovedOrderOutcome found = SearchMovedOrder(RandomProblem(323), -1, limits);
  EXPECT_FALSE(found.complete);
}

TEST(MovedOrder, LeavesLargerGraphs) {
  Problem problem;
  problem.ops.resize(Problem::kMaxOps + 1);
  EXPECT_FALSE(SearchMovedOrder(problem, -1, Limits{}).complete);
}

// --- whole compilations

// The problem of a seed as a graph, a byte for each unit.
graph::Graph GraphOf(const Problem& problem) {
  graph::Subgraph subgraph;
  std::vector<graph::TensorId> ids;
  const auto list = [&](const std::vector<std::size_t>& tensors) {
    std::vector<graph::TensorId> out;
    for (const std::size_t t : tensors) out.push_back(ids[t]);
    return out;
  };
  for (const Problem::Tensor& made : problem.tensors) {
    ids.emplace_back(static_cast<std::int32_t>(ids.size()));
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(ids.back().value());
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{made.units};
    subgraph.tensors.push_back(std::move(tensor));
    if (made.at_start) subgraph.inputs.push_back(ids.back());
    if (made.at_end) subgraph.outputs.push_back(ids.back());
  }
  for (const Problem::Op& made : problem.ops) {
    graph::Op op;
    op.type = "Mix";
    op.source_index = static_cast<std::int32_t>(subgraph.ops.size());
    op.inputs = list(made.inputs);
    op.outputs = list(made.outputs);
    subgraph.ops.push_back(std::move(op));
  }
  graph::Graph graph;
  graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

std::int64_t MovedBytes(const graph::Graph& graph, const plan::EntryPlan& entry) {
  std::int64_t bytes = 0;
  for (const plan::Step& step : entry.steps) {
    if (!step.moved.valid()) continue;
    bytes += *graph::TensorBytes(graph.subgraphs[step.subgraph].tensors[step.moved]);
  }
  return bytes;
}

// Of all orders, not of one: fewer bytes move than in the order without moves, in the same arena.
TEST(MovedOrder, OtherOrdersNeedFewerMoves) {
  int compared = 0;
  int fewer = 0;
  for (int seed = 0; seed < ManyCases(12'000); ++seed) {
    const graph::Graph graph = GraphOf(RandomProblem(static_cast<std::uint64_t>(seed)));
    Options options;
    options.runtime = plan::Runtime::kIdeal;
    options.joint_search = false;
    const auto still = Compile(graph, options);
    ASSERT_TRUE(still);
    const plan::EntryPlan& whole = still->plan.entries[0];
    if (whole.arena_bytes <= whole.peak_bytes) continue;
    ++compared;
    options.moves = MoveStrategy::kBest;
    const auto together = Compile(graph, options);
    ASSERT_TRUE(together);
    const plan::EntryPlan& entry = together->plan.entries[0];
    EXPECT_EQ(entry.arena_bytes, whole.peak_bytes) << seed;
    EXPECT_TRUE(check::CheckPlan(graph, together->plan).empty()) << seed;
    // The moves of the order without moves.
    Options fixed = options;
    graph::Graph ordered = graph;
    IdVector<graph::OpId, graph::Op> ops;
    for (const graph::OpId op : still->order[graph::SubgraphId(0)]) {
      ops.push_back(graph.subgraphs[graph::SubgraphId(0)].ops[op]);
    }
    ordered.subgraphs[graph::SubgraphId(0)].ops = std::move(ops);
    fixed.order = kFileOrder;
    const auto after = Compile(ordered, fixed);
    ASSERT_TRUE(after);
    const std::int64_t moved = MovedBytes(ordered, after->plan.entries[0]);
    EXPECT_LE(MovedBytes(graph, entry), moved) << seed;
    fewer += MovedBytes(graph, entry) < moved ? 1 : 0;
  }
  EXPECT_GT(compared, 8);
  EXPECT_GT(fewer, 2);
  RecordProperty("compared", compared);
  RecordProperty("fewer", fewer);
}

}  // namespace
}  // namespace neap::compile
