// SPDX-License-Identifier: Apache-2.0
//
// The values of channels of 8-bit operators, as the known kernels compute them. Private to
// neap/check.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::check {

struct Interval {
  std::int64_t low = -128;
  std::int64_t high = 127;
  bool operator==(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;  // by channel

// Kernel positions that are inside the input at some position of the output, row-major.
using Mask = std::vector<char>;

// A convolution, depthwise convolution or FULLY_CONNECTED of int8 with constant weights whose sums
// fit into 32 bits in any order.
struct Product {
  const graph::Subgraph* subgraph = nullptr;
  const graph::Op* op = nullptr;
  bool depthwise = false;
  std::int64_t multiplier = 1;  // of a depthwise convolution
  std::int64_t inputs = 0;      // channels
  std::int64_t outputs = 0;
  std::int64_t positions = 0;  // of the kernel
  std::vector<Mask> masks;     // each once

  const graph::Tensor& Operand(std::size_t index) const {
    return subgraph->tensors[op->inputs[index]];
  }
  bool HasBias() const { return op->inputs.size() > 2 && op->inputs[2].valid(); }
  std::int64_t Bias(std::int64_t output) const;
  // Of the input channel that a depthwise convolution reads: any `input`.
  std::int64_t Weight(std::int64_t output, std::int64_t position, std::int64_t input) const;
  std::int64_t InputZero() const { return Operand(0).quantization->zero_points.front(); }
};

// nullopt: another operator, or one of which this is not known.
std::optional<Product> ProductOf(const graph::Subgraph& subgraph, const graph::Op& op);

// The values of the outputs; `input` has those of the input channels.
Intervals ValuesOf(const Product& product, const Intervals& input);

// An operator that computes channel c from channel c of its inputs, equally for all: pooling, ADD,
// MEAN over other dimensions, PAD of other dimensions, RESHAPE that keeps the last dimension.
bool KeepsChannels(const graph::Subgraph& subgraph, const graph::Op& op);
Intervals ValuesOf(const graph::Subgraph& subgraph, const graph::Op& op,
                   const std::vector<const Intervals*>& inputs);

// int8 with one scale and sizes that are known.
bool IsInt8(const graph::Tensor& tensor);
std::vector<std::int64_t> IntegersOf(const graph::Tensor& tensor);  // of int32; else empty

}  // namespace neap::check
