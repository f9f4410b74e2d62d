// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/stages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/check.h"
#include "neap/learn/peak.h"
#include "neap/learn/repair.h"
#include "neap/solve/partition/check.h"
#include "neap/solve/partition/cut.h"

namespace neap::learn {

Dag DagOfStages(const partition::Problem& problem) {
  Dag dag;
  dag.parents = partition::Relations(problem).before;
  dag.weights[0] = problem.parameter_bytes;
  dag.weights[1] = problem.compute_cost;
  dag.weights[2].assign(dag.parents.size(), 0);
  for (const partition::SharedParameters& shared : problem.shared) {
    if (shared.users.empty()) continue;
    dag.weights[0][static_cast<std::size_t>(shared.users.front())] += shared.bytes;
  }
  for (const partition::Tensor& tensor : problem.tensors) {
    if (tensor.producer == partition::kOutside) continue;
    dag.weights[2][static_cast<std::size_t>(tensor.producer)] += tensor.bytes;
  }
  return dag;
}

partition::Problem StagesOfDag(const Dag& dag, partition::Stage stages, Random* random) {
  partition::Problem problem;
  problem.num_ops = dag.NumNodes();
  problem.num_stages = stages;
  problem.compute_cost = dag.weights[1];
  const auto children = ChildrenOf(dag);
  std::int64_t parameters = 0;
  for (std::size_t node = 0; node < dag.parents.size(); ++node) {
    problem.parameter_bytes.push_back(dag.weights[0][node] * dag.weights[0][node] / 1'000);
    parameters += problem.parameter_bytes.back();
    partition::Tensor tensor;
    tensor.bytes = dag.weights[2][node] * dag.weights[2][node] / 8'000;
    tensor.producer = static_cast<Node>(node);
    tensor.consumers = children[node];
    tensor.output = children[node].empty();
    problem.tensors.push_back(std::move(tensor));
  }
  problem.machine.cache_bytes = parameters * random->Between(100, 400) / 1'000;
  problem.machine.stream_cost_per_byte = 2;
  problem.machine.link_cost_per_byte = 2;
  problem.machine.fixed_cost = 1'000;
  return problem;
}

namespace {

std::optional<partition::Assignment> DocumentStages(const partition::Problem& problem,
                                                    const std::vector<Node>& order) {
  if (problem.together.empty()) return partition::CutOrder(problem, order);
  partition::Problem alone = problem;
  alone.together.clear();
  const auto predicted = partition::CutOrder(alone, order);
  if (!predicted) return std::nullopt;
  partition::Assignment repaired = partition::RepairStages(problem, predicted->stage_of);
  // The rules look neither at the limit of parameters nor at forbidden stages.
  if (partition::FindViolation(problem, repaired)) return std::nullopt;
  return repaired;
}

}  // namespace

LearnedStages AssignStages(const Network& network, const partition::Problem& problem) {
  NEAP_CHECK(problem.num_ops <= kMaxLearnedNodes, "too many operators for the network");
  const Dag dag = DagOfStages(problem);
  const auto sequence = GreedyNodes(network, dag);
  LearnedStages found;
  found.violations = Violations(dag, sequence);
  const auto order = Repair(dag, sequence);
  found.document = DocumentStages(problem, order);
  found.grouped = problem.together.empty() ? found.document : partition::CutOrder(problem, order);
  found.best = found.document;
  if (!found.best || (found.grouped && found.grouped->bottleneck < found.best->bottleneck)) {
    found.best = found.grouped;
  }
  return found;
}

}  // namespace neap::learn
