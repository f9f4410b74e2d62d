// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/peak.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/check.h"
#include "neap/learn/repair.h"
#include "neap/solve/schedule/check.h"

namespace neap::learn {

Dag DagOfProblem(const schedule::Problem& problem) {
  const auto size = static_cast<std::size_t>(problem.num_ops);
  Dag dag;
  dag.parents.resize(size);
  for (const auto& [before, after] : problem.precedences) {
    dag.parents[static_cast<std::size_t>(after)].push_back(before);
  }
  for (auto& parents : dag.parents) {
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  }
  for (auto& channel : dag.weights) channel.assign(size, 0);
  std::vector<std::size_t> place(size);
  const auto order = TopologicalOrder(dag);
  for (std::size_t i = 0; i < size; ++i) place[static_cast<std::size_t>(order[i])] = i;
  for (const schedule::Buffer& buffer : problem.buffers) {
    if (buffer.users.empty()) continue;
    const Node first =
        *std::min_element(buffer.users.begin(), buffer.users.end(), [&](Node a, Node b) {
          return place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)];
        });
    if (!buffer.live_at_start) dag.weights[0][static_cast<std::size_t>(first)] += buffer.bytes;
    const auto readers =
        static_cast<std::int64_t>(buffer.users.size()) - (buffer.users.size() > 1 ? 1 : 0);
    for (const Node user : buffer.users) {
      const auto at = static_cast<std::size_t>(user);
      dag.weights[2][at] += buffer.bytes;
      if (buffer.live_at_end || (user == first && buffer.users.size() > 1)) continue;
      dag.weights[1][at] += buffer.bytes / readers;
    }
  }
  for (std::size_t op = 0; op < problem.scratch_bytes.size(); ++op) {
    dag.weights[2][op] += problem.scratch_bytes[op];
  }
  return dag;
}

schedule::Problem ProblemOfDag(const Dag& dag) {
  schedule::Problem problem;
  problem.num_ops = dag.NumNodes();
  const auto children = ChildrenOf(dag);
  for (Node node = 0; node < dag.NumNodes(); ++node) {
    const auto at = static_cast<std::size_t>(node);
    schedule::Buffer buffer;
    buffer.bytes = dag.weights[0].empty() ? 0 : dag.weights[0][at];
    buffer.users = children[at];
    buffer.users.push_back(node);
    std::sort(buffer.users.begin(), buffer.users.end());
    buffer.live_at_end = children[at].empty();
    problem.buffers.push_back(std::move(buffer));
    for (const Node parent : dag.parents[at]) problem.precedences.emplace_back(parent, node);
  }
  return problem;
}

schedule::Outcome LearnedOrder(const Network& network, const schedule::Problem& problem,
                               const Limits& limits) {
  NEAP_CHECK(problem.num_ops <= kMaxLearnedNodes, "too many operators for the network");
  const Dag dag = DagOfProblem(problem);
  Limits bound_only = limits;
  bound_only.max_states = 1;
  schedule::Outcome outcome = schedule::Solve(problem, bound_only);
  outcome.order = Repair(dag, GreedyNodes(network, dag));
  const auto replay = schedule::ReplayOrder(problem, outcome.order);
  NEAP_CHECK(replay.has_value(), "the repaired order is not valid");
  outcome.peak_bytes = replay->peak_bytes;
  return outcome;
}

}  // namespace neap::learn
