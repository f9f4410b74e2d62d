// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/baselines.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/index.h"
#include "neap/base/random.h"
#include "neap/base/topological_order.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/walk.h"

namespace neap::schedule {
namespace {

struct Links {
  std::vector<std::vector<OpIndex>> predecessors;
  std::vector<std::vector<OpIndex>> successors;
};

// Neighbours by position in the file order; positions rename the operators.
Links LinksOf(const Problem& problem, const std::vector<OpIndex>& file_order) {
  const std::vector<OpIndex> position = PositionsIn(file_order);
  Links links;
  links.predecessors.resize(At(problem.num_ops));
  links.successors.resize(At(problem.num_ops));
  for (const auto& [before, after] : problem.precedences) {
    links.predecessors[At(position[At(after)])].push_back(position[At(before)]);
    links.successors[At(position[At(before)])].push_back(position[At(after)]);
  }
  for (auto* lists : {&links.predecessors, &links.successors}) {
    for (auto& list : *lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  return links;
}

std::vector<OpIndex> Named(const std::vector<OpIndex>& positions,
                           const std::vector<OpIndex>& file_order) {
  std::vector<OpIndex> order;
  order.reserve(positions.size());
  for (const OpIndex at : positions) order.push_back(file_order[At(at)]);
  return order;
}

// Operators without predecessors, and the number of predecessors of each.
std::vector<OpIndex> Sources(const Links& links, std::vector<std::size_t>* missing) {
  std::vector<OpIndex> sources;
  for (std::size_t op = 0; op < links.predecessors.size(); ++op) {
    missing->push_back(links.predecessors[op].size());
    if (missing->back() == 0) sources.push_back(static_cast<OpIndex>(op));
  }
  return sources;
}

}  // namespace

std::vector<OpIndex> PositionsIn(const std::vector<OpIndex>& order) {
  std::vector<OpIndex> position(order.size(), 0);
  for (std::size_t at = 0; at < order.size(); ++at) {
    position[At(order[at])] = static_cast<OpIndex>(at);
  }
  return position;
}

std::vector<OpIndex> KahnOrder(const Problem& problem, const std::vector<OpIndex>& file_order) {
  const Links links = LinksOf(problem, file_order);
  std::vector<std::size_t> missing;
  std::vector<OpIndex> order = Sources(links, &missing);
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const OpIndex next : links.successors[At(order[at])]) {
      if (--missing[At(next)] == 0) order.push_back(next);
    }
  }
  return Named(order, file_order);
}

std::vector<OpIndex> DepthFirstOrder(const Problem& problem,
                                     const std::vector<OpIndex>& file_order) {
  const Links links = LinksOf(problem, file_order);
  std::vector<char> entered(links.predecessors.size(), 0);
  std::vector<OpIndex> order;
  std::vector<std::pair<OpIndex, std::size_t>> stack;
  for (std::size_t root = 0; root < links.successors.size(); ++root) {
    if (!links.successors[root].empty()) continue;
    stack.emplace_back(static_cast<OpIndex>(root), 0);
    entered[root] = 1;
    while (!stack.empty()) {
      auto& [op, at] = stack.back();
      const auto& before = links.predecessors[At(op)];
      if (at == before.size()) {
        order.push_back(op);
        stack.pop_back();
        continue;
      }
      const OpIndex next = before[at++];
      if (entered[At(next)] != 0) continue;
      entered[At(next)] = 1;
      stack.emplace_back(next, 0);
    }
  }
  return Named(order, file_order);
}

std::vector<OpIndex> RandomOrder(const Problem& problem, const std::vector<OpIndex>& file_order,
                                 std::uint64_t seed) {
  const Links links = LinksOf(problem, file_order);
  Random random(seed);
  std::vector<std::size_t> missing;
  std::vector<OpIndex> ready = Sources(links, &missing);
  std::vector<OpIndex> order;
  while (!ready.empty()) {
    const auto pick = static_cast<std::size_t>(random.Below(ready.size()));
    const OpIndex op = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    order.push_back(op);
    for (const OpIndex next : links.successors[At(op)]) {
      if (--missing[At(next)] == 0) ready.push_back(next);
    }
  }
  return Named(order, file_order);
}

std::vector<OpIndex> GreedyOrder(const Problem& problem, const std::vector<OpIndex>& file_order,
                                 const Limits& limits) {
  constexpr std::int64_t kEffectCost = 20;  // in about nanoseconds
  const std::vector<OpIndex> position = PositionsIn(file_order);
  Walk walk(problem);
  std::vector<OpIndex> ready = walk.sources();
  std::vector<OpIndex> order;
  while (!ready.empty()) {
    ChargeWork(static_cast<std::int64_t>(ready.size()) * kEffectCost);
    if (IsOver(limits)) return {};
    std::size_t best = 0;
    std::pair<std::int64_t, OpIndex> best_key;
    for (std::size_t at = 0; at < ready.size(); ++at) {
      const std::pair key(walk.EffectOf(ready[at]).live, position[At(ready[at])]);
      if (at > 0 && key >= best_key) continue;
      best = at;
      best_key = key;
    }
    const OpIndex op = ready[best];
    ready[best] = ready.back();
    ready.pop_back();
    order.push_back(op);
    walk.Run(op, &ready);
  }
  return order;
}

std::vector<OpIndex> FileOrder(const Problem& problem, const std::vector<OpIndex>& given) {
  if (!given.empty()) return given;
  std::vector<std::vector<OpIndex>> successors(At(problem.num_ops));
  for (const auto& [before, after] : problem.precedences) {
    successors[At(before)].push_back(after);
  }
  return TopologicalOrder(successors);
}

std::int64_t PeakOfOrder(const Problem& problem, const std::vector<OpIndex>& order) {
  std::string why;
  const auto replay = ReplayOrder(problem, order, &why);
  NEAP_CHECK(replay.has_value(), "a strategy returned a wrong order: " + why);
  return replay->peak_bytes;
}

Outcome SingleOpOutcome(const Problem& problem) {
  Outcome outcome;
  std::vector<std::int64_t> bytes(At(problem.num_ops), 0);
  if (!problem.scratch_bytes.empty()) bytes = problem.scratch_bytes;
  for (const Buffer& buffer : problem.buffers) {
    for (const OpIndex user : buffer.users) bytes[At(user)] += buffer.bytes;
  }
  for (const InPlace& pair : problem.in_place) {
    bytes[At(pair.op)] -= problem.buffers[At(pair.output)].bytes;
  }
  const auto sum = [&](const std::vector<BufferIndex>& list) {
    std::int64_t total = 0;
    for (const BufferIndex index : list) total += problem.buffers[At(index)].bytes;
    return total;
  };
  for (const TakeOver& part : problem.take_over) {
    bytes[At(part.op)] -= std::min(sum(part.inputs), sum(part.outputs));
  }
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    if (outcome.bound_op < 0 || bytes[At(op)] > outcome.lower_bound_bytes) {
      outcome.lower_bound_bytes = bytes[At(op)];
      outcome.bound_op = op;
    }
  }
  return outcome;
}

Outcome FallbackOutcome(const Problem& problem, const Limits& limits,
                        const std::vector<OpIndex>& file_order) {
  Outcome outcome = SingleOpOutcome(problem);
  outcome.order = file_order;
  outcome.peak_bytes = PeakOfOrder(problem, file_order);
  std::vector<OpIndex> others[] = {KahnOrder(problem, file_order),
                                   GreedyOrder(problem, file_order, limits)};
  for (std::vector<OpIndex>& order : others) {
    if (order.size() != file_order.size()) continue;  // the greedy one was stopped
    const std::int64_t peak = PeakOfOrder(problem, order);
    if (peak >= outcome.peak_bytes) continue;
    outcome.peak_bytes = peak;
    outcome.order = std::move(order);
  }
  return outcome;
}

bool TakeInstance(const Problem& problem, const Limits& limits) {
  const auto ops = static_cast<std::int64_t>(problem.num_ops);
  const auto rows = 2 * ops + static_cast<std::int64_t>(problem.buffers.size());
  const std::int64_t row_bytes = (ops + 63) / 64 * static_cast<std::int64_t>(sizeof(std::uint64_t));
  if (row_bytes > 0 && rows > limits.max_memory_bytes / 2 / row_bytes) return false;
  if (!Affords(limits, InstanceWork(problem))) return false;
  ChargeWork(InstanceWork(problem));
  return true;
}

void SetProven(std::vector<OpIndex> order, std::int64_t peak_bytes, Outcome* outcome) {
  outcome->order = std::move(order);
  outcome->peak_bytes = peak_bytes;
  RaiseBound(peak_bytes, outcome);
}

void RaiseBound(std::int64_t lower_bound_bytes, Outcome* outcome) {
  if (lower_bound_bytes <= outcome->lower_bound_bytes) return;
  outcome->lower_bound_bytes = lower_bound_bytes;
  outcome->proof = Proof::kSearch;
}

}  // namespace neap::schedule
