// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/check.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/index.h"

namespace neap::partition {
namespace {

// The stages in which something is used, each once.
std::vector<Stage> StagesOf(std::span<const OpIndex> ops, std::span<const Stage> stage_of) {
  std::vector<Stage> stages;
  for (const OpIndex op : ops) stages.push_back(stage_of[At(op)]);
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  return stages;
}

}  // namespace

Evaluation Evaluate(const Problem& problem, std::span<const Stage> stage_of) {
  Evaluation evaluation;
  evaluation.stages.resize(At(problem.num_stages));
  for (std::size_t op = 0; op < stage_of.size(); ++op) {
    StageCost& stage = evaluation.stages[At(stage_of[op])];
    ++stage.operators;
    stage.compute += problem.compute_cost[op];
    stage.parameter_bytes += problem.parameter_bytes[op];
  }
  for (const SharedParameters& shared : problem.shared) {
    for (const Stage stage : StagesOf(shared.users, stage_of)) {
      evaluation.stages[At(stage)].parameter_bytes += shared.bytes;
    }
  }
  for (const Tensor& tensor : problem.tensors) {
    const Stage made = tensor.producer == kOutside ? Stage{-1} : stage_of[At(tensor.producer)];
    bool leaves = tensor.output;
    for (const Stage stage : StagesOf(tensor.consumers, stage_of)) {
      if (stage == made) continue;
      evaluation.stages[At(stage)].in_bytes += tensor.bytes;
      leaves = true;
    }
    if (leaves && made >= 0) evaluation.stages[At(made)].out_bytes += tensor.bytes;
  }
  const Machine& machine = problem.machine;
  for (StageCost& stage : evaluation.stages) {
    if (stage.operators == 0) continue;
    stage.link_cost = machine.link_cost_per_byte * (stage.in_bytes + stage.out_bytes);
    if (stage.parameter_bytes > machine.cache_bytes) {
      stage.link_cost +=
          machine.stream_cost_per_byte * (stage.parameter_bytes - machine.cache_bytes);
    }
    stage.cost = machine.fixed_cost + stage.compute + stage.link_cost;
    evaluation.slowest = std::max(evaluation.slowest, stage.cost);
    // Only a shared link adds up: of separate ones the sum may be beyond all numbers.
    if (machine.shared_link) evaluation.link_cost += stage.link_cost;
  }
  evaluation.bottleneck = std::max(evaluation.slowest, evaluation.link_cost);
  return evaluation;
}

bool HasForbiddenStage(const Problem& problem, std::span<const Stage> stage_of) {
  if (problem.forbidden.empty()) return false;
  std::vector<std::vector<OpIndex>> stages(At(problem.num_stages));
  for (std::size_t op = 0; op < stage_of.size(); ++op) {
    stages[At(stage_of[op])].push_back(static_cast<OpIndex>(op));
  }
  return std::any_of(problem.forbidden.begin(), problem.forbidden.end(), [&](const auto& set) {
    return !set.empty() && std::find(stages.begin(), stages.end(), set) != stages.end();
  });
}

std::optional<std::string> FindViolation(const Problem& problem, const Assignment& assignment) {
  const std::vector<Stage>& stage_of = assignment.stage_of;
  if (stage_of.size() != At(problem.num_ops)) return "not every operator has a stage";
  for (const Stage stage : stage_of) {
    if (stage < 0 || stage >= problem.num_stages) return "a stage is out of range";
  }
  const auto wrong = [&](OpIndex before, OpIndex after) {
    return stage_of[At(before)] > stage_of[At(after)];
  };
  const auto message = [](OpIndex before, OpIndex after) {
    return "operator " + std::to_string(after) + " is in an earlier stage than operator " +
           std::to_string(before) + " before it";
  };
  for (const auto& [before, after] : problem.precedences) {
    if (wrong(before, after)) return message(before, after);
  }
  for (const Tensor& tensor : problem.tensors) {
    if (tensor.producer == kOutside) continue;
    for (const OpIndex consumer : tensor.consumers) {
      if (wrong(tensor.producer, consumer)) return message(tensor.producer, consumer);
    }
  }
  for (const auto& group : problem.together) {
    for (const OpIndex op : group) {
      if (stage_of[At(op)] != stage_of[At(group.front())]) {
        return "operators " + std::to_string(group.front()) + " and " + std::to_string(op) +
               " must be in one stage";
      }
    }
  }
  const Evaluation evaluation = Evaluate(problem, stage_of);
  const std::int64_t limit = problem.machine.parameter_limit_bytes;
  for (const StageCost& stage : evaluation.stages) {
    if (limit >= 0 && stage.parameter_bytes > limit) {
      return "a stage has " + std::to_string(stage.parameter_bytes) +
             " bytes of parameters, at most " + std::to_string(limit) + " are allowed";
    }
  }
  if (HasForbiddenStage(problem, stage_of))
    return "a stage consists of operators that must not form a stage";
  if (evaluation.bottleneck != assignment.bottleneck) {
    return "the bottleneck is " + std::to_string(evaluation.bottleneck) + ", not " +
           std::to_string(assignment.bottleneck);
  }
  return std::nullopt;
}

}  // namespace neap::partition
