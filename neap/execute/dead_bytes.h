// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of a tensor no later step of a plan reads. Private to neap/execute.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "neap/execute/program.h"
#include "neap/plan/plan.h"

namespace neap::execute {

class DeadBytes {
 public:
  DeadBytes(const Program& program, const plan::EntryPlan& entry);

  // The first bytes of the tensor that no step from `slot` on reads; 0 where some step reads all of
  // it, where it is an output of the subgraph, and where no step reads it at all.
  std::int64_t Of(graph::TensorId tensor, std::int32_t slot) const;

 private:
  // (slot, first byte that it reads), by slot.
  IdVector<graph::TensorId, std::vector<std::pair<std::int32_t, std::int64_t>>> reads_;
};

}  // namespace neap::execute
