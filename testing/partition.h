// SPDX-License-Identifier: Apache-2.0
//
// Random small problems, and the optimum by trying every assignment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/partition/check.h"
#include "neap/solve/partition/problem.h"

namespace neap::partition {

inline Machine RandomMachine(Random* random) {
  Machine machine;
  machine.fixed_cost = random->Between(0, 5);
  machine.cache_bytes = random->Between(0, 25);
  machine.stream_cost_per_byte = random->Between(0, 3);
  machine.link_cost_per_byte = random->Between(0, 3);
  if (random->Chance(1, 4)) machine.parameter_limit_bytes = random->Between(10, 50);
  return machine;
}

inline Tensor RandomTensor(Random* random, OpIndex producer, OpIndex ops) {
  Tensor tensor;
  tensor.bytes = random->Between(0, 10);
  tensor.producer = producer;
  tensor.output = producer != kOutside && random->Chance(1, 6);
  for (OpIndex op = producer + 1; op < ops; ++op) {
    if (random->Chance(1, 3)) tensor.consumers.push_back(op);
  }
  return tensor;
}

// `ops` operators whose indices are a topological order.
inline Problem RandomProblem(Random* random, OpIndex ops, bool groups) {
  Problem problem;
  problem.num_ops = ops;
  problem.num_stages = static_cast<Stage>(random->Between(1, 4));
  problem.machine = RandomMachine(random);
  for (OpIndex op = 0; op < ops; ++op) {
    problem.compute_cost.push_back(random->Chance(1, 3) ? 0 : random->Between(0, 20));
    problem.parameter_bytes.push_back(random->Chance(1, 2) ? 0 : random->Between(0, 20));
    if (random->Chance(5, 6)) problem.tensors.push_back(RandomTensor(random, op, ops));
    if (random->Chance(1, 8)) problem.tensors.push_back(RandomTensor(random, op, ops));
  }
  problem.tensors.push_back(RandomTensor(random, kOutside, ops));
  if (ops >= 2 && random->Chance(1, 4)) {
    const auto user = static_cast<OpIndex>(random->Between(0, ops - 2));
    problem.shared.push_back({random->Between(0, 20), {user, ops - 1}});
  }
  if (ops >= 2 && random->Chance(1, 4)) problem.precedences.emplace_back(0, ops - 1);
  if (random->Chance(1, 5)) {
    for (int i = 0; i < 6; ++i) {
      std::vector<OpIndex> stage;
      for (OpIndex op = 0; op < ops; ++op) {
        if (random->Chance(1, 2)) stage.push_back(op);
      }
      problem.forbidden.push_back(std::move(stage));
    }
  }
  if (groups && ops >= 2) {
    const auto first = static_cast<OpIndex>(random->Between(0, ops - 2));
    const auto second = static_cast<OpIndex>(random->Between(first + 1, ops - 1));
    problem.together.push_back({first, second});
  }
  return problem;
}

// The cheapest of all assignments, by counting through them; nullopt: none is allowed.
inline std::optional<Assignment> BruteForce(const Problem& problem) {
  std::optional<Assignment> best;
  Assignment trial;
  trial.stage_of.assign(static_cast<std::size_t>(problem.num_ops), 0);
  while (true) {
    trial.bottleneck = Evaluate(problem, trial.stage_of).bottleneck;
    if ((!best || trial.bottleneck < best->bottleneck) && !FindViolation(problem, trial)) {
      best = trial;
    }
    std::size_t at = 0;
    while (at < trial.stage_of.size() && ++trial.stage_of[at] == problem.num_stages) {
      trial.stage_of[at++] = 0;
    }
    if (at == trial.stage_of.size()) return best;
  }
}

}  // namespace neap::partition
