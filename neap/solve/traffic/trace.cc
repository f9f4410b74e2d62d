// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/trace.h"

#include <cstddef>

namespace neap::traffic {

Trace::Trace(const Problem& problem)
    : problem_(problem), begin_(static_cast<std::size_t>(problem.num_steps) + 1, 0) {
  std::vector<std::vector<TensorIndex>> reads(static_cast<std::size_t>(problem.num_steps));
  std::vector<std::vector<TensorIndex>> writes(static_cast<std::size_t>(problem.num_steps));
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const auto tensor = static_cast<TensorIndex>(i);
    for (const Step step : problem.tensors[i].accesses) {
      auto& list = IsWrite(tensor, step) ? writes : reads;
      list[static_cast<std::size_t>(step)].push_back(tensor);
    }
  }
  for (std::size_t step = 0; step < reads.size(); ++step) {
    begin_[step] = accessed_.size();
    accessed_.insert(accessed_.end(), reads[step].begin(), reads[step].end());
    accessed_.insert(accessed_.end(), writes[step].begin(), writes[step].end());
  }
  begin_.back() = accessed_.size();
}

}  // namespace neap::traffic
