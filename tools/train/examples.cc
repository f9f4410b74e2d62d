// SPDX-License-Identifier: Apache-2.0
#include "tools/train/examples.h"

#include <algorithm>
#include <numeric>

#include "neap/base/check.h"
#include "neap/base/random.h"
#include "neap/learn/peak.h"
#include "neap/learn/repair.h"
#include "neap/learn/stages.h"
#include "neap/pipeline/cut.h"
#include "neap/pipeline/pipeline.h"
#include "neap/schedule/check.h"
#include "neap/schedule/schedule.h"

namespace neap::train {
namespace {

using learn::Dag;
using learn::Labels;
using learn::Node;

// Enough for a proof on nearly every graph of 30 nodes, and a matter of milliseconds.
constexpr std::int64_t kExactStates = 20'000;

constexpr std::int64_t kExactStagePairs = 100'000;

// Fills in the problem, its optimum and the labels; for orders of little memory the place in the
// best order, for stages the best stage.
Labels Solve(const Settings& settings, const Dag& sampled, Random* random, Example* example) {
  Limits limits;
  if (settings.model.task == learn::Task::kPeak) {
    limits.max_states = kExactStates;
    const auto outcome = schedule::Solve(learn::ProblemOfDag(sampled), limits);
    example->optimum = outcome.peak_bytes;
    return learn::LabelsOfOrder(outcome.order);
  }
  limits.max_states = kExactStagePairs;
  example->stages =
      learn::StagesOfDag(sampled, static_cast<pipeline::Stage>(settings.stages), random);
  const auto outcome = pipeline::Solve(example->stages, limits);
  NEAP_CHECK(outcome.has_value(), "a problem without limits has an answer");
  example->optimum = outcome->best.bottleneck;
  Labels labels = outcome->best.stage_of;
  for (std::int32_t& label : labels) ++label;
  return labels;
}

// What the network sees, with the channels of the task.
Dag Seen(const Settings& settings, const Dag& sampled, const Example& example) {
  if (settings.model.task == learn::Task::kPeak) {
    return learn::DagOfProblem(learn::ProblemOfDag(sampled));
  }
  return example.stages.num_ops > 0 ? learn::DagOfStages(example.stages) : sampled;
}

}  // namespace

std::vector<Example> MakeExamples(const Settings& settings, const learn::SamplerOptions& sampler,
                                  std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Example> examples(static_cast<std::size_t>(count));
  const bool exact = settings.labels == LabelKind::kExact || settings.reward == Reward::kDirect;
  for (Example& example : examples) {
    const Dag sampled = learn::Sample(sampler, &random);
    if (exact) example.labels = Solve(settings, sampled, &random, &example);
    if (settings.labels == LabelKind::kAsap) {
      example.labels = learn::AsapLabels(sampled, learn::kStepCap);
    } else if (settings.labels == LabelKind::kAlap) {
      example.labels = learn::AlapLabels(sampled, learn::kStepCap);
    }
    example.dag = Seen(settings, sampled, example);
    example.rows = learn::Embed(example.dag, settings.model.embedding, settings.model.queue);
    // Of equal labels the first row comes first.
    example.target.resize(example.rows.size());
    std::iota(example.target.begin(), example.target.end(), std::size_t{0});
    const auto label_of = [&](std::size_t row) {
      return example.labels[static_cast<std::size_t>(example.rows.node_of[row])];
    };
    std::stable_sort(example.target.begin(), example.target.end(),
                     [&](std::size_t a, std::size_t b) { return label_of(a) < label_of(b); });
  }
  return examples;
}

std::int64_t Achieved(const Settings& settings, const Example& example,
                      const std::vector<Node>& order) {
  const std::vector<Node> repaired = learn::Repair(example.dag, order);
  if (settings.model.task == learn::Task::kStages) {
    const auto cut = pipeline::CutOrder(example.stages, repaired);
    NEAP_CHECK(cut.has_value(), "a problem without limits has an answer");
    return cut->bottleneck;
  }
  const auto replay = schedule::ReplayOrder(learn::ProblemOfDag(example.dag), repaired);
  NEAP_CHECK(replay.has_value(), "the repaired order is none");
  return replay->peak_bytes;
}

std::vector<Node> NodesOf(const learn::Rows& rows, const std::vector<std::size_t>& order) {
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (const std::size_t row : order) nodes.push_back(rows.node_of[row]);
  return nodes;
}

}  // namespace neap::train
