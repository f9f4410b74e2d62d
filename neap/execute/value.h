// SPDX-License-Identifier: Apache-2.0
//
// The inputs and outputs of a run of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "neap/graph/element_type.h"
#include "neap/graph/graph.h"

namespace neap::execute {

// One tensor with its bytes: row-major, little-endian, sub-byte elements packed low bits first, as
// graph::ConstantData. Owns them.
struct Value {
  graph::ElementType type = graph::ElementType::kUnknown;
  graph::Shape shape;
  std::vector<std::byte> bytes;
};

// Whose arithmetic counts where stock kernels disagree in a byte: docs/reference/execute.md lists
// where.
enum class Kernels : std::uint8_t { kTflm, kLitert, kOnnx };

// Called once for every tensor of the entry subgraph that is computed or given, in the order in
// which they come to be: inputs first, then the outputs of each operator after it has run. The
// bytes are valid during the call. Constants are not shown.
using TensorObserver = std::function<void(graph::TensorId, std::span<const std::byte>)>;

}  // namespace neap::execute
