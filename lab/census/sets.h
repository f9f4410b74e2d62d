// SPDX-License-Identifier: Apache-2.0
//
// Sets of executed operators, and the cost of one more operator. Private to lab/census.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "neap/solve/schedule/problem.h"

namespace neap::census {

using OpSet = std::vector<std::uint64_t>;  // a bit for each operator

class Sets {
 public:
  explicit Sets(const schedule::Problem& problem);

  OpSet Empty() const { return OpSet(words_, 0); }
  std::int64_t LiveAtStart() const { return live_at_start_; }
  // Not in `set`, with all predecessors in it.
  bool IsReady(const OpSet& set, schedule::OpIndex op) const;

  struct StepCost {
    std::int64_t hill_bytes = 0;
    std::int64_t live_after_bytes = 0;
  };
  // Of running `op` after `set`, with `live_bytes` live before.
  StepCost CostOf(const OpSet& set, std::int64_t live_bytes, schedule::OpIndex op) const;

  static void Add(OpSet* set, schedule::OpIndex op) {
    (*set)[static_cast<std::size_t>(op) / 64] |= std::uint64_t{1}
                                                 << (static_cast<unsigned>(op) % 64);
  }
  static void Remove(OpSet* set, schedule::OpIndex op) {
    (*set)[static_cast<std::size_t>(op) / 64] &=
        ~(std::uint64_t{1} << (static_cast<unsigned>(op) % 64));
  }
  static bool Has(const OpSet& set, schedule::OpIndex op) {
    return ((set[static_cast<std::size_t>(op) / 64] >> (static_cast<unsigned>(op) % 64)) & 1U) != 0;
  }

 private:
  const schedule::Problem& problem_;
  std::size_t words_ = 0;
  std::int64_t live_at_start_ = 0;
  std::vector<OpSet> predecessors_;                          // direct
  std::vector<OpSet> users_;                                 // per buffer
  std::vector<std::vector<schedule::BufferIndex>> buffers_;  // per operator
  std::vector<std::int32_t> in_place_;                       // per operator: index or -1
};

}  // namespace neap::census
