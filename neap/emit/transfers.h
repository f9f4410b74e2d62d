// SPDX-License-Identifier: Apache-2.0
//
// Copies between the two memories of a plan (plan::SlowMemory) as calls of neap_drive_transfer.
// Private to neap/emit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/emit/lowering.h"
#include "neap/emit/program.h"
#include "neap/graph/graph.h"
#include "neap/plan/stream.h"

namespace neap::emit {

// The slow memory is this one of a program.
inline constexpr std::int32_t kSlowMemory = 1;

// The value of a neap_transfers: functions of the caller.
std::string HooksOf(const std::string& prefix);

// Of a plan with one memory, all tensors are fast and nothing is added. Functions use the places of
// tensors that `lowering` has when they are called, and fail where a tensor has none.
class Transfers {
 public:
  // Both outlive it.
  Transfers(const plan::Stream& stream, Lowering* lowering);

  bool IsSlow(graph::TensorId tensor) const { return offsets_.contains(tensor); }
  // The box of `step.fed`, to its area: behind the calls.
  Status Load(const plan::StreamOp& step, std::vector<Call>* calls) const;
  // What the operator of `step` has just written, if its home is slow memory: behind the calls.
  Status StoreOf(const plan::StreamOp& step, std::vector<Call>* calls) const;
  // Of an operator that runs as a whole: all slow inputs before its calls, all slow outputs behind
  // them.
  Status AroundWhole(const plan::StreamOp& step, std::vector<Call>* calls) const;
  // Behind the calls.
  void LoadWeights(const graph::Op& op, graph::OpId id, const WeightCopy& copy,
                   std::vector<Call>* calls) const;

  // A wait for a copy of weights that has begun before: behind the calls.
  void WaitForWeights(const WeightCopy& copy, std::vector<Call>* calls) const;

 private:
  Status Add(graph::TensorId tensor, bool loads, std::vector<Call>* calls) const;
  Params Hooks() const;

  Lowering& lowering_;
  std::map<graph::TensorId, std::int64_t> offsets_;
};

// Adds a wait behind each copy that no other copy in the same direction follows, in the steps that
// have one of these copies. Copies that are begun ahead are waited for at the end of their block.
void AddWaits(Segment* segment);

}  // namespace neap::emit
