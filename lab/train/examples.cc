// SPDX-License-Identifier: Apache-2.0
#include "lab/train/examples.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/random.h"
#include "neap/io/file.h"
#include "neap/learn/peak.h"
#include "neap/learn/repair.h"
#include "neap/learn/stages.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/partition.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::train {
namespace {

using learn::Dag;
using learn::Node;

// Enough for a proof on nearly every graph of 30 nodes, and a matter of milliseconds.
constexpr std::int64_t kExactStates = 20'000;

constexpr std::int64_t kExactStagePairs = 100'000;

bool NeedsOptimum(const Settings& settings) {
  return settings.labels == LabelKind::kExact || settings.reward == Reward::kDirect;
}

// Fills in the optimum and the labels; for orders of little memory the place in the best order, for
// stages the best stage.
void Solve(const Settings& settings, Random* random, learn::LabelledDag* graph) {
  Limits limits;
  if (settings.model.task == learn::Task::kPeak) {
    limits.max_states = kExactStates;
    const auto outcome = schedule::Solve(learn::ProblemOfDag(graph->dag), limits);
    graph->optimum = outcome.peak_bytes;
    graph->labels = learn::LabelsOfOrder(outcome.order);
    return;
  }
  limits.max_states = kExactStagePairs;
  auto stages =
      learn::StagesOfDag(graph->dag, static_cast<partition::Stage>(settings.stages), random);
  // 0 means no problem (LabelledDag).
  stages.machine.cache_bytes = std::max<std::int64_t>(stages.machine.cache_bytes, 1);
  const auto outcome = partition::Solve(stages, limits);
  NEAP_CHECK(outcome.has_value(), "a problem without limits has an answer");
  graph->optimum = outcome->best.bottleneck;
  graph->cache_bytes = stages.machine.cache_bytes;
  graph->labels = outcome->best.stage_of;
  for (std::int32_t& label : graph->labels) ++label;
}

// The stage problem of a graph, whose cache was drawn when the graph was.
partition::Problem StagesOf(const Settings& settings, const learn::LabelledDag& graph) {
  Random unused(0);
  auto problem =
      learn::StagesOfDag(graph.dag, static_cast<partition::Stage>(settings.stages), &unused);
  problem.machine.cache_bytes = graph.cache_bytes;
  return problem;
}

// The network's features, with the channels of the task.
Dag Seen(const Settings& settings, const Dag& sampled, const Example& example) {
  if (settings.model.task == learn::Task::kPeak) {
    return learn::DagOfProblem(learn::ProblemOfDag(sampled));
  }
  return example.stages.num_ops > 0 ? learn::DagOfStages(example.stages) : sampled;
}

Diagnostic Unfit(const std::string& path, std::string what) {
  Diagnostic diagnostic = BadInput(std::move(what));
  diagnostic.file = path;
  return diagnostic;
}

Result<std::vector<learn::LabelledDag>> ReadGraphs(const Settings& settings,
                                                   const std::string& path) {
  NEAP_TRY(const auto bytes, io::ReadFile(path));
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  auto graphs = learn::ParseDataset(text);
  if (!graphs) {
    Diagnostic diagnostic = std::move(graphs).error();
    diagnostic.file = path;
    return Fail(std::move(diagnostic));
  }
  if (graphs->empty()) return Fail(Unfit(path, "the dataset has no graph"));
  const bool stages = settings.model.task == learn::Task::kStages;
  for (const learn::LabelledDag& graph : *graphs) {
    // A batch is one tensor.
    if (graph.dag.NumNodes() != graphs->front().dag.NumNodes()) {
      return Fail(Unfit(path, "the dataset has graphs of different sizes, expected one size"));
    }
    if (settings.reward != Reward::kDirect) continue;
    if (graph.optimum == 0 || (stages && graph.cache_bytes == 0)) {
      return Fail(Unfit(path,
                        "the dataset has no optima of this task, which the direct reward divides "
                        "by: it was written without exact labels and without the direct reward"));
    }
  }
  return graphs;
}

}  // namespace

std::vector<learn::LabelledDag> DrawGraphs(const Settings& settings,
                                           const learn::SamplerOptions& sampler, std::int64_t count,
                                           std::uint64_t seed) {
  Random random(seed);
  std::vector<learn::LabelledDag> graphs(static_cast<std::size_t>(count));
  for (learn::LabelledDag& graph : graphs) {
    graph.dag = learn::Sample(sampler, &random);
    if (NeedsOptimum(settings)) Solve(settings, &random, &graph);
    if (settings.labels == LabelKind::kAsap) {
      graph.labels = learn::AsapLabels(graph.dag, settings.step_cap);
    } else if (settings.labels == LabelKind::kAlap) {
      graph.labels = learn::AlapLabels(graph.dag, settings.step_cap);
    }
  }
  return graphs;
}

Result<std::vector<learn::LabelledDag>> GraphsOf(const Settings& settings, bool test) {
  const std::string& path = test ? settings.test_dataset : settings.dataset;
  if (!path.empty()) return ReadGraphs(settings, path);
  if (test) {
    return DrawGraphs(settings, settings.test_sampler, settings.test_graphs,
                      SeedOf(settings.seed, 2, 0));
  }
  return DrawGraphs(settings, settings.sampler, settings.graphs, SeedOf(settings.seed, 1, 0));
}

std::vector<Example> MakeExamples(const Settings& settings,
                                  const std::vector<learn::LabelledDag>& graphs) {
  std::vector<Example> examples(graphs.size());
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    Example& example = examples[i];
    example.labels = graphs[i].labels;
    example.optimum = graphs[i].optimum;
    if (settings.model.task == learn::Task::kStages && graphs[i].cache_bytes > 0) {
      example.stages = StagesOf(settings, graphs[i]);
    }
    example.dag = Seen(settings, graphs[i].dag, example);
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
    const auto cut = partition::CutOrder(example.stages, repaired);
    NEAP_CHECK(cut.has_value(), "a problem without limits has an answer");
    return cut->bottleneck;
  }
  const auto replay = schedule::ReplayOrder(learn::ProblemOfDag(example.dag), repaired);
  NEAP_CHECK(replay.has_value(), "the repaired order is not valid");
  return replay->peak_bytes;
}

std::vector<Node> NodesOf(const learn::Rows& rows, const std::vector<std::size_t>& order) {
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (const std::size_t row : order) nodes.push_back(rows.node_of[row]);
  return nodes;
}

}  // namespace neap::train
