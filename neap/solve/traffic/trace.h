// SPDX-License-Identifier: Apache-2.0
//
// The accesses of every step of a traffic problem. Private to neap/solve/traffic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/solve/traffic/problem.h"

namespace neap::traffic {

class Trace {
 public:
  explicit Trace(const Problem& problem);  // which outlives this

  // The tensors that the step reads, by index, then those that it writes.
  std::span<const TensorIndex> AccessedIn(Step step) const {
    const auto at = static_cast<std::size_t>(step);
    return std::span(accessed_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
  }
  bool IsWrite(TensorIndex tensor, Step step) const {
    const Tensor& of = problem_.tensors[static_cast<std::size_t>(tensor)];
    return of.begin == Begin::kWritten && of.accesses.front() == step;
  }
  std::int64_t ScratchOf(Step step) const {
    return problem_.scratch_bytes.empty() ? 0
                                          : problem_.scratch_bytes[static_cast<std::size_t>(step)];
  }

 private:
  const Problem& problem_;
  std::vector<std::size_t> begin_;  // per step, and one more
  std::vector<TensorIndex> accessed_;
};

}  // namespace neap::traffic
