// SPDX-License-Identifier: Apache-2.0
//
// Queries about operators that several rules share. Private to neap/transform/rewrite.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/draft.h"
#include "neap/transform/rewrite/rule.h"

namespace neap::rewrite {

inline bool IsTflite(const graph::Op& op) { return op.domain == "tflite"; }
inline bool IsOnnx(const graph::Op& op) { return op.domain.empty(); }
// One of `kinds`, in the domains whose meaning is standard.
template <typename... Kinds>
bool IsType(const graph::Op& op, Kinds... kinds) {
  return (IsTflite(op) || IsOnnx(op)) && ops::Is(op, kinds...);
}

std::int64_t IntOr(const graph::Op& op, const char* name, std::int64_t value);
std::vector<std::int64_t> IntsOr(const graph::Op& op, const char* name);

// The input or output, if it exists.
graph::TensorId InputOf(const graph::Op& op, std::size_t index);
const graph::Shape* ShapeOf(const Draft& draft, graph::TensorId id);

// The integers of a constant of int32 or int64 whose data is known.
std::optional<std::vector<std::int64_t>> IntegersOf(const graph::Tensor& tensor);

// Same element type and the same meaning of its integers: one's bytes are the other's.
bool SameNumbers(const graph::Tensor& a, const graph::Tensor& b);
// Not quantised, or by one scale for the whole tensor.
bool HasOneScale(const graph::Tensor& tensor);

// An axis attribute as an index below `rank`.
std::optional<std::size_t> AxisOf(std::int64_t axis, std::size_t rank);

// The sum of the sizes of pieces.
std::int64_t SizeOf(const Pieces& pieces);

// The shape of a tensor with another size along an axis.
void Resize(graph::Tensor* tensor, std::size_t axis, std::int64_t size);

// Whether the runtime has a kernel for an operator like this on such a tensor: CONCATENATION or
// Concat, ADD or Add.
bool MayAdd(const Draft& draft, ops::OpKind tflite, ops::OpKind onnx, graph::TensorId tensor);

// For Relax() of a rule: an operator of its own reads each of `read`, in any order, and `out`
// exists after all of them. Nothing else is counted.
void RelaxReads(Draft* draft, const std::vector<graph::TensorId>& read, graph::TensorId out);

}  // namespace neap::rewrite
