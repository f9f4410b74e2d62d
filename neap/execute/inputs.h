// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a run, and the names of its inputs and outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/npz.h"
#include "neap/execute/value.h"
#include "neap/graph/graph.h"

namespace neap::execute {

// As many values as the subgraph has inputs, of their types, shapes and sizes.
Status CheckInputs(const graph::Subgraph& subgraph, std::span<const Value> inputs);

// A value for each input, the same on every machine. Input i draws its elements in row-major order
// from neap::Random(seed + i * 2^32): integers of 8 and 16 bits (and less) are the low bits of a
// draw, booleans the lowest one; wider integers are draws below 4; floats of 32 and 64 bits are
// 2 * Unit() - 1. Fails for inputs of other types and when they need more than `max_bytes`.
Result<std::vector<Value>> RandomInputs(const graph::Subgraph& subgraph, std::uint64_t seed,
                                        std::int64_t max_bytes);

// A name for each of the tensors, all different: that of the tensor, or "tensor_<index>" where it
// has none or one that was there before.
std::vector<std::string> NamesOf(const graph::Subgraph& subgraph,
                                 const std::vector<graph::TensorId>& tensors);

// The value of each input by its name (NamesOf); where no array has the name of an input, the
// arrays in their order. Inputs of less than a byte are given as int8 or uint8. Fails when an input
// is missing or an array is left over.
Result<std::vector<Value>> MatchInputs(const graph::Subgraph& subgraph,
                                       std::vector<NamedValue> arrays);

}  // namespace neap::execute
