// SPDX-License-Identifier: Apache-2.0
//
// Training graphs, with their labels and the reward of an order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lab/train/settings.h"
#include "neap/base/result.h"
#include "neap/learn/dag.h"
#include "neap/learn/dataset.h"
#include "neap/learn/embedding.h"
#include "neap/learn/labels.h"
#include "neap/solve/partition/problem.h"

namespace neap::train {

struct Example {
  learn::Dag dag;
  learn::Rows rows;
  learn::Labels labels;             // per node
  std::vector<std::size_t> target;  // rows in the order of the labels
  std::int64_t optimum = 0;         // of the task, proven or the best known; 0: not requested
  partition::Problem stages;        // of Task::kStages, where the optimum is requested
};

// `count` graphs of the sampler, labelled. The same for the same seed.
std::vector<learn::LabelledDag> DrawGraphs(const Settings& settings,
                                           const learn::SamplerOptions& sampler, std::int64_t count,
                                           std::uint64_t seed);

// The training graphs (`test` false) or the test graphs of a run: drawn, or read from the dataset
// that the settings name. Fails with kBadInput for a dataset that does not have what the settings
// require: at least one graph, graphs of one size, optima for the direct reward, and stage problems
// for the direct reward of Task::kStages.
Result<std::vector<learn::LabelledDag>> GraphsOf(const Settings& settings, bool test);

// The training set: drawn graphs and the same graphs read from a file give the same set.
std::vector<Example> MakeExamples(const Settings& settings,
                                  const std::vector<learn::LabelledDag>& graphs);

// The task's objective after repair (and cut): bytes of the peak, or time of the slowest stage.
std::int64_t Achieved(const Settings& settings, const Example& example,
                      const std::vector<learn::Node>& order);

std::vector<learn::Node> NodesOf(const learn::Rows& rows, const std::vector<std::size_t>& order);

}  // namespace neap::train
