// SPDX-License-Identifier: Apache-2.0
//
// The only place that turns a graph into an ordering problem: which bytes count is decided here,
// per profile (docs/reference/memory-model.md). Private to neap/compile.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/plan/profile.h"
#include "neap/solve/schedule/problem.h"

namespace neap::compile {

// Bytes of every tensor of a subgraph as the profile counts them (rounded up to its alignment); 0
// for constants and variables, which no plan counts.
struct TensorSizes {
  IdVector<graph::TensorId, std::int64_t> exact;
  IdVector<graph::TensorId, std::int64_t> counted;
};

// Sizes of the tensors that operators, inputs or outputs of the subgraph touch. Fails with
// kMissingSize or kBadInput, naming the tensor and the operator that writes or reads it first.
Result<TensorSizes> SizesOf(const graph::Subgraph& subgraph, const plan::Profile& profile);

// True for tensors that take part in planning: neither constant nor variable.
bool IsPlanned(const graph::Tensor& tensor);

// The ordering problem of one subgraph.
struct Lowered {
  schedule::Problem problem;
  std::vector<graph::OpId> ops;          // problem index -> operator; folded operators are left out
  std::vector<graph::TensorId> tensors;  // buffer index -> tensor
  // In-place candidates: parallel to problem.in_place.
};

// `scratch_bytes[op]`: bytes used inside the operator: its own scratch and its bodies.
Lowered LowerOrder(const graph::Subgraph& subgraph, const TensorSizes& sizes,
                   const IdVector<graph::OpId, std::int64_t>& scratch_bytes,
                   const plan::Profile& profile);

// (before, after) pairs between operators that are not folded; may repeat.
std::vector<std::pair<graph::OpId, graph::OpId>> PrecedencesOf(const graph::Subgraph& subgraph);

// True if every operator of `order` depends directly on the one before it: there is no other order.
bool IsOnlyOrder(const graph::Subgraph& subgraph, const std::vector<graph::OpId>& order);

// A valid order that keeps the file's order wherever that is topological: by Kahn, least file
// position first. Folded operators are left out.
std::vector<graph::OpId> FileOrderOf(const graph::Subgraph& subgraph);

}  // namespace neap::compile
