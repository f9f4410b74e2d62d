// SPDX-License-Identifier: Apache-2.0
//
// The bound checker's model of a subgraph: precedences, and the tensors that each operator touches.
// Private to neap/check.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"
#include "neap/plan/profile.h"

namespace neap::check {

// Operators keep their index in the subgraph; folded ones take no part.
struct BoundModel {
  struct Value {
    std::int64_t bytes = 0;  // rounded as the profile does
    std::vector<std::int32_t> users;
    bool at_start = false;
    bool at_end = false;
  };
  BoundModel(const graph::Subgraph& subgraph, const plan::Profile& profile);

  bool Runs(std::int32_t op) const { return runs[static_cast<std::size_t>(op)] != 0; }
  // `before` is a direct predecessor of `after`.
  bool IsDirect(std::int32_t before, std::int32_t after) const;

  std::int32_t num_ops = 0;
  std::vector<char> runs;
  std::vector<Value> values;                            // by tensor id; no users: takes no part
  std::vector<std::vector<std::int32_t>> values_of;     // by operator
  std::vector<std::vector<std::int32_t>> predecessors;  // sorted, unique
  std::vector<std::vector<std::int32_t>> successors;
  std::vector<std::int64_t> scratch;
  bool any_bodies = false;
  // In-place candidates: the first input and the output of an operator, or -1.
  std::vector<std::pair<std::int32_t, std::int32_t>> in_place;
  // By operator: the bytes that output 0 may share with inputs freed there; empty unless
  // GrantOverlaps() was called.
  struct Savings {
    std::vector<std::pair<std::int32_t, std::int64_t>> inputs;  // values and bytes
    std::int64_t most = 0;                                      // of all of them together
  };
  std::vector<Savings> savings;
};

// Turns a model of live bytes into one of bytes in use under every order and every placement: each
// overlap that `kernels` or the profile allow is granted, at its best. Values that a kernel may
// hold in its output end there. O(reads of all kernels x log(bytes)).
void GrantOverlaps(const graph::Subgraph& subgraph, const plan::Profile& profile,
                   ops::KernelLibrary kernels, BoundModel* model);

}  // namespace neap::check
