// SPDX-License-Identifier: Apache-2.0
//
// The state of a training run, as a file: a run that was killed continues from it to the same
// weights as an uninterrupted one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/train/policy.h"
#include "neap/base/result.h"

namespace neap::train {

// A point of the curves: the greedy results of the network on the test graphs.
struct Point {
  std::int64_t step = 0;
  std::string phase;           // "supervised" or "policy"
  double train_loss = 0;       // mean since the last point
  double test_cost = 0;        // 1 - cosine reward
  double test_mismatch = 0;    // equation 7, mean per graph
  double test_violations = 0;  // nodes before a parent, mean per graph, before repair
  double test_ratio = 0;       // optimum / achieved after repair, mean; 0: not measured
};

struct Checkpoint {
  std::string fingerprint;  // of the settings
  std::int64_t step = 0;    // next step to do
  PolicyState policy;
  std::vector<float> baseline;  // weights of the greedy-rollout baseline; empty: none yet
  double loss_sum = 0;          // since the last point
  std::int64_t loss_count = 0;
  std::vector<Point> points;
};

// Replaces the file in one step, so that a kill leaves the old or the new one.
Status SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint);
// nullopt: there is none. Fails with kBadInput for a damaged one and for other settings.
Result<std::optional<Checkpoint>> LoadCheckpoint(const std::string& path,
                                                 const std::string& fingerprint,
                                                 std::size_t weights);

}  // namespace neap::train
