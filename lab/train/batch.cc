// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "lab/train/policy.h"

namespace neap::train {

void Batch::Add(const learn::Rows& rows_of_graph, const std::vector<std::size_t>& order_of_graph,
                learn::Mask mask) {
  constexpr float kForbidden = -1e9F;
  const std::size_t size = rows_of_graph.size();
  ++graphs;
  rows = static_cast<std::int64_t>(size);
  features = static_cast<std::int64_t>(rows_of_graph.features);
  values.insert(values.end(), rows_of_graph.values.begin(), rows_of_graph.values.end());
  std::vector<std::size_t> missing(size, 0);
  if (mask == learn::Mask::kReady) {
    for (std::size_t row = 0; row < size; ++row) missing[row] = rows_of_graph.parents[row].size();
  }
  std::vector<char> taken(size, 0);
  for (const std::size_t chosen : order_of_graph) {
    order.push_back(static_cast<std::int64_t>(chosen));
    for (std::size_t row = 0; row < size; ++row) {
      forbidden.push_back(taken[row] != 0 || missing[row] > 0 ? kForbidden : 0.0F);
    }
    taken[chosen] = 1;
    if (mask != learn::Mask::kReady) continue;
    for (std::size_t row = 0; row < size; ++row) {
      for (const std::size_t parent : rows_of_graph.parents[row]) missing[row] -= parent == chosen;
    }
  }
}

}  // namespace neap::train
