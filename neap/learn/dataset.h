// SPDX-License-Identifier: Apache-2.0
//
// Labelled graphs as a text file, so that a dataset can be kept, compared and used by other
// programs, and labels of any scheduler can be imitated.
//
//   neap-dataset 1 GRAPHS
//   graph NODES OPTIMUM CACHE                 once per graph
//   LABEL WEIGHT0 WEIGHT1 WEIGHT2 PARENT...   once per node, in the order of the numbers
//
// Numbers are decimal integers separated by single spaces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/learn/dag.h"
#include "neap/learn/labels.h"

namespace neap::learn {

struct LabelledDag {
  Dag dag;                       // all channels have a weight for every node
  Labels labels;                 // one per node, at least 1
  std::int64_t optimum = 0;      // of the task, proven or the best known; 0: not computed
  std::int64_t cache_bytes = 0;  // of the stage problem made of the graph; 0: none was made

  friend bool operator==(const LabelledDag& a, const LabelledDag& b) {
    return a.dag.parents == b.dag.parents && a.dag.weights == b.dag.weights &&
           a.labels == b.labels && a.optimum == b.optimum && a.cache_bytes == b.cache_bytes;
  }
};

std::string SerializeDataset(std::span<const LabelledDag> graphs);

// Fails with kBadInput, naming the line, on a text that SerializeDataset() does not produce: other
// words, numbers out of range, parents that are not strictly increasing, a cycle, missing lines.
// O(text).
Result<std::vector<LabelledDag>> ParseDataset(std::string_view text);

}  // namespace neap::learn
