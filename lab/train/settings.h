// SPDX-License-Identifier: Apache-2.0
//
// The settings of a training run: every number that decides its result.
#pragma once

#include <cstdint>
#include <string>

#include "neap/base/result.h"
#include "neap/learn/labels.h"
#include "neap/learn/model.h"
#include "neap/learn/sampler.h"

namespace neap::train {

enum class LabelKind : std::uint8_t { kAsap, kAlap, kExact };
enum class Reward : std::uint8_t {
  kCosine,  // equation 3 of the document
  kDirect,  // optimum / achieved, after repair (and cut)
};

struct Settings {
  learn::ModelConfig model;
  LabelKind labels = LabelKind::kAsap;
  Reward reward = Reward::kCosine;
  learn::SamplerOptions sampler;  // of the training graphs
  std::int64_t graphs = 4096;     // training graphs, used again and again
  learn::SamplerOptions test_sampler;
  std::int64_t test_graphs = 256;
  std::int64_t step_cap = learn::kStepCap;  // memory of a step of ASAP and ALAP labels, thousandths
  // Files of labelled graphs (learn/dataset.h) in place of drawn ones; "": drawn. Their labels are
  // imitated, regardless of their origin.
  std::string dataset;
  std::string test_dataset;
  std::int64_t stages = 4;  // of the exact labels and the direct reward of Task::kStages
  std::int64_t batch = 64;
  std::int64_t supervised_steps = 0;  // first
  std::int64_t policy_steps = 0;      // then
  double supervised_rate = 1e-3;
  double policy_rate = 1e-4;
  std::int64_t epoch_steps = 100;  // the baseline is compared so often
  std::uint64_t seed = 1;
  std::int64_t test_every = 50;
  std::int64_t save_every = 50;
  std::string checkpoint;  // "": none
  std::string weights;     // "": none
  std::string curves;      // "": none; .json or else CSV
  std::string initial;     // file of weights to go on from; "": drawn from the seed

  // Everything that decides the result but the contents of datasets, in one line: a checkpoint of
  // other settings is refused.
  std::string Fingerprint() const;
};

// The seed of a draw: a stream of numbers for every purpose (1 training graphs, 2 test graphs,
// 3 shuffles, 4 orders) and step.
std::uint64_t SeedOf(std::uint64_t seed, std::uint64_t stream, std::uint64_t step);

}  // namespace neap::train
