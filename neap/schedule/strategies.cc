// SPDX-License-Identifier: Apache-2.0
//
// The named strategies beside the exact search. They prove nothing and are what others do.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

#include "neap/base/random.h"
#include "neap/schedule/beam.h"
#include "neap/schedule/check.h"
#include "neap/schedule/instance.h"
#include "neap/schedule/schedule.h"
#include "neap/schedule/stopper.h"

namespace neap::schedule {
namespace {

constexpr std::array<Strategy, 7> kStrategies = {{
    {"exact", "least peak, proven, or the best found with a proven bound (the default)"},
    {"file", "the order of the file"},
    {"kahn", "first ready operator of the file order (Kahn 1962): breadth-first"},
    {"dfs", "depth-first from the last operator backwards, inputs in their order"},
    {"greedy", "the ready operator that leaves the fewest bytes live"},
    {"beam", "beam search, 64 states per number of operators"},
    {"random", "a random ready operator at every step (--seed)"},
}};

struct Links {
  std::vector<std::vector<OpIndex>> predecessors;
  std::vector<std::vector<OpIndex>> successors;
};

// Neighbours by position in the file order; positions rename the operators.
Links LinksOf(const Problem& problem, const std::vector<OpIndex>& position) {
  Links links;
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  links.predecessors.resize(ops);
  links.successors.resize(ops);
  for (const auto& [before, after] : problem.precedences) {
    const OpIndex b = position[static_cast<std::size_t>(before)];
    const OpIndex a = position[static_cast<std::size_t>(after)];
    links.predecessors[static_cast<std::size_t>(a)].push_back(b);
    links.successors[static_cast<std::size_t>(b)].push_back(a);
  }
  for (auto* lists : {&links.predecessors, &links.successors}) {
    for (auto& list : *lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  return links;
}

std::vector<OpIndex> KahnOrder(const Links& links) {
  std::vector<std::size_t> missing(links.predecessors.size());
  std::vector<OpIndex> order;
  for (std::size_t op = 0; op < missing.size(); ++op) {
    missing[op] = links.predecessors[op].size();
    if (missing[op] == 0) order.push_back(static_cast<OpIndex>(op));
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const OpIndex next : links.successors[static_cast<std::size_t>(order[at])]) {
      if (--missing[static_cast<std::size_t>(next)] == 0) order.push_back(next);
    }
  }
  return order;
}

// Post-order of a depth-first walk over predecessors, from the operators without successors on.
std::vector<OpIndex> DepthFirstOrder(const Links& links) {
  std::vector<char> entered(links.predecessors.size(), 0);
  std::vector<OpIndex> order;
  std::vector<std::pair<OpIndex, std::size_t>> stack;
  for (std::size_t root = 0; root < links.successors.size(); ++root) {
    if (!links.successors[root].empty()) continue;
    stack.emplace_back(static_cast<OpIndex>(root), 0);
    entered[root] = 1;
    while (!stack.empty()) {
      auto& [op, at] = stack.back();
      const auto& before = links.predecessors[static_cast<std::size_t>(op)];
      if (at == before.size()) {
        order.push_back(op);
        stack.pop_back();
        continue;
      }
      const OpIndex next = before[at++];
      if (entered[static_cast<std::size_t>(next)] != 0) continue;
      entered[static_cast<std::size_t>(next)] = 1;
      stack.emplace_back(next, 0);
    }
  }
  return order;
}

std::vector<OpIndex> RandomOrder(const Links& links, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::size_t> missing(links.predecessors.size());
  std::vector<OpIndex> ready;
  std::vector<OpIndex> order;
  for (std::size_t op = 0; op < missing.size(); ++op) {
    missing[op] = links.predecessors[op].size();
    if (missing[op] == 0) ready.push_back(static_cast<OpIndex>(op));
  }
  while (!ready.empty()) {
    const auto pick = static_cast<std::size_t>(random.Below(ready.size()));
    const OpIndex op = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    order.push_back(op);
    for (const OpIndex next : links.successors[static_cast<std::size_t>(op)]) {
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return order;
}

// Least live bytes after the step, ties by file position.
std::vector<OpIndex> GreedyOrder(const Problem& problem, const std::vector<OpIndex>& position) {
  const Instance instance(problem, 1, false);
  std::vector<Word> executed(instance.words(), 0);
  std::int64_t live = instance.start_live();
  std::vector<OpIndex> ready;
  std::vector<OpIndex> order;
  for (OpIndex op = 0; op < instance.num_ops(); ++op) {
    if (instance.Predecessors(op).empty()) ready.push_back(op);
  }
  while (!ready.empty()) {
    std::size_t best = 0;
    Effect best_effect;
    for (std::size_t at = 0; at < ready.size(); ++at) {
      const Effect effect = instance.EffectOf(executed.data(), live, ready[at]);
      const auto key = std::pair(effect.live, position[static_cast<std::size_t>(ready[at])]);
      if (at == 0 ||
          key < std::pair(best_effect.live, position[static_cast<std::size_t>(ready[best])])) {
        best = at;
        best_effect = effect;
      }
    }
    const OpIndex op = ready[best];
    ready[best] = ready.back();
    ready.pop_back();
    order.push_back(op);
    SetBit(executed.data(), op);
    live = best_effect.live;
    for (const OpIndex next : instance.Successors(op)) {
      if (instance.IsReady(executed.data(), next)) ready.push_back(next);
    }
  }
  return order;
}

// The bytes that one operator touches: a lower bound for any order.
void SetSingleOpBound(const Problem& problem, Outcome* outcome) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(problem.num_ops), 0);
  if (!problem.scratch_bytes.empty()) bytes = problem.scratch_bytes;
  for (const Buffer& buffer : problem.buffers) {
    for (const OpIndex user : buffer.users) bytes[static_cast<std::size_t>(user)] += buffer.bytes;
  }
  for (const InPlace& pair : problem.in_place) {
    bytes[static_cast<std::size_t>(pair.op)] -=
        problem.buffers[static_cast<std::size_t>(pair.output)].bytes;
  }
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    if (outcome->bound_op < 0 || bytes[static_cast<std::size_t>(op)] > outcome->lower_bound_bytes) {
      outcome->lower_bound_bytes = bytes[static_cast<std::size_t>(op)];
      outcome->bound_op = op;
    }
  }
}

}  // namespace

std::span<const Strategy> Strategies() { return kStrategies; }

std::optional<Outcome> Run(std::string_view strategy, const Problem& problem, const Limits& limits,
                           const StrategyOptions& options) {
  if (strategy == "exact") return Solve(problem, limits);
  if (std::none_of(kStrategies.begin(), kStrategies.end(),
                   [&](const Strategy& known) { return known.name == strategy; })) {
    return std::nullopt;
  }
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  std::vector<OpIndex> file = options.file_order;
  if (file.empty()) {
    for (OpIndex op = 0; op < problem.num_ops; ++op) file.push_back(op);
  }
  std::vector<OpIndex> position(ops, 0);
  for (std::size_t at = 0; at < ops; ++at) {
    position[static_cast<std::size_t>(file[at])] = static_cast<OpIndex>(at);
  }
  Outcome outcome;
  SetSingleOpBound(problem, &outcome);
  const Links links = LinksOf(problem, position);
  std::vector<OpIndex> by_position;
  if (strategy == "kahn") by_position = KahnOrder(links);
  if (strategy == "dfs") by_position = DepthFirstOrder(links);
  if (strategy == "random") by_position = RandomOrder(links, options.seed);
  if (strategy == "greedy") outcome.order = GreedyOrder(problem, position);
  if (strategy == "beam") {
    Stopper stopper(limits);
    constexpr std::size_t kWidth = 64;
    outcome.order =
        BeamSearch(Instance(problem, 1, false), std::int64_t{1} << 62, kWidth, &stopper);
    outcome.states = stopper.states();
    outcome.interrupted = stopper.interrupted();
  }
  for (const OpIndex at : by_position) outcome.order.push_back(file[static_cast<std::size_t>(at)]);
  if (outcome.order.size() != ops) outcome.order = file;  // "file", or a beam that was stopped
  const auto replay = ReplayOrder(problem, outcome.order);
  outcome.peak_bytes = replay ? replay->peak_bytes : 0;
  return outcome;
}

}  // namespace neap::schedule
