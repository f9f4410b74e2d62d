// SPDX-License-Identifier: Apache-2.0
//
// A problem whose groups have become operators. Private to neap/pipeline.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "neap/solve/partition/check.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/problem.h"

namespace neap::partition {

class Grouped {
 public:
  // `problem` outlives this.
  explicit Grouped(const Problem& problem)
      : original_(problem),
        classes_(ClassesOf(problem)),
        merged_(Merged(problem, classes_.class_of, classes_.count)) {}

  // Groups in place of operators, in a topological order.
  const Problem& problem() const { return merged_; }
  // Every group at the place of its first member, and later where something before it is.
  std::vector<OpIndex> OrderOf(std::span<const OpIndex> order) const {
    std::vector<OpIndex> sequence;
    std::vector<bool> seen(static_cast<std::size_t>(classes_.count), false);
    for (const OpIndex op : order) {
      const OpIndex number = classes_.class_of[static_cast<std::size_t>(op)];
      if (!seen[static_cast<std::size_t>(number)]) sequence.push_back(number);
      seen[static_cast<std::size_t>(number)] = true;
    }
    return RepairOrder(merged_, sequence);
  }
  // Of a stage for every operator, the least of every group.
  std::vector<Stage> StagesOf(std::span<const Stage> stage_of) const {
    std::vector<Stage> stages(static_cast<std::size_t>(classes_.count), original_.num_stages - 1);
    for (std::size_t op = 0; op < stage_of.size(); ++op) {
      Stage& stage = stages[static_cast<std::size_t>(classes_.class_of[op])];
      stage = std::min(stage, stage_of[op]);
    }
    return stages;
  }
  // The assignment of the operators.
  Assignment Expand(std::span<const Stage> stages) const {
    Assignment assignment;
    for (const OpIndex number : classes_.class_of) {
      assignment.stage_of.push_back(stages[static_cast<std::size_t>(number)]);
    }
    assignment.bottleneck = Evaluate(original_, assignment.stage_of).bottleneck;
    return assignment;
  }

 private:
  const Problem& original_;
  Classes classes_;
  Problem merged_;
};

}  // namespace neap::partition
