// SPDX-License-Identifier: Apache-2.0
//
// Parts of tensors and of operators along one axis, for the check of attention over blocks of keys.
// Private to neap/check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::check {

struct Range {
  std::size_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

bool IsSameTensor(const graph::Tensor& a, const graph::Tensor& b);
bool HaveSameAttributes(const graph::Op& a, const graph::Op& b);
std::int64_t IntegerOf(const graph::Op& op, const char* name, std::int64_t otherwise);

// The range of a SLICE or Slice that cuts one axis alone, with steps of 1.
std::optional<Range> RangeOfSlice(const graph::Subgraph& subgraph, const graph::Op& op);
// The axis along which `part` is the indices [begin, end) of `whole`, byte for byte.
std::optional<std::size_t> AxisOfConstant(const graph::Tensor& whole, const graph::Tensor& part,
                                          std::int64_t begin, std::int64_t end);
// The only axis in which the shapes differ, where `part` has `size` indices.
std::optional<std::size_t> CutAxis(const graph::Tensor& whole, const graph::Tensor& part,
                                   std::int64_t size);
// A reduction over the last axis, which keeps the size 1.
bool ReducesLastAxis(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t rank);
// The shape that a RESHAPE is given is that of its output.
bool StatesItsShape(const graph::Subgraph& subgraph, const graph::Op& op);
// Of every row of the last dimension, with a factor of 1.
bool IsSoftmaxOfRows(const graph::Op& softmax, std::size_t rank);
// Constants of the operators from the scores upwards to the product of queries and keys are finite,
// and nothing but constants is combined with it.
bool HasFiniteMasks(const graph::Subgraph& subgraph, graph::TensorId scores);

// Whether the operator, on indices [b, e) of its inputs along `axes` (nullopt: on the whole input),
// computes the indices [b, e) of its output along `axis`.
bool IsPartOfOutput(const graph::Subgraph& subgraph, const graph::Op& op,
                    const std::vector<std::optional<std::size_t>>& axes, std::size_t axis);

}  // namespace neap::check
