// SPDX-License-Identifier: Apache-2.0
//
// Small constants of operators, read and made. Private to neap/cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"

namespace neap::cascade {

// The integers (32 or 64 bits) of a constant input; nullopt: no such input, or not known.
std::optional<std::vector<std::int64_t>> IntegersOf(const graph::Subgraph& subgraph,
                                                    const graph::Op& op, std::size_t input);

// A constant of integers of 32 or of 64 bits; of the shape {values} or {values / 2, 2}.
graph::Tensor IntegerConstant(std::string name, const std::vector<std::int64_t>& values, bool wide,
                              bool pairs);

// The constant `true` as a condition: one element of a boolean tensor.
graph::Tensor TrueConstant(std::string name);

// Of a constant of ONNX that a DequantizeLinear of constants computes: that operator. nullptr: it
// is in the file, or another operator computes it. O(operators).
const graph::Op* DequantizerOf(const graph::Subgraph& subgraph, graph::TensorId constant);

// Whether a tile may have a part of this constant of an operator, a product or an element-wise one:
// its data is known, in whole bytes, or that of its DequantizerOf().
bool MayCut(const graph::Subgraph& subgraph, const graph::Op& op, graph::TensorId constant);
// A part of such a constant, with the scales of its indices.
graph::Tensor PartOfConstant(const graph::Tensor& whole, const ops::Box& box, std::string name);

}  // namespace neap::cascade
