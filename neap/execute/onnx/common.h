// SPDX-License-Identifier: Apache-2.0
//
// Functions that the ONNX kernels share. Private to neap/execute.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/kernel.h"
#include "neap/execute/loops/conv.h"

namespace neap::execute::onnx {

// The version of the operator's domain in the file; a recent one where it is not known.
std::int64_t VersionOf(const graph::Op& op);

// Strides, dilations, pads and auto_pad over the spatial dimensions of [batch, channels, ...] of
// rank 3 to 5; unused dimensions come first. `kernel` has one size for each. Fails when the output
// size does not follow from these, whichever way it is rounded. `pad_end` gets the padding behind.
Result<Window> MakeWindow(const graph::Op& op, const Operand& input, const Operand& output,
                          const std::vector<std::int64_t>& kernel, Space* pad_end);

// The geometry of a convolution of this input by this filter to output 0.
Result<ConvPlan> PlanConv(const Node& node, const Operand& input, const Operand& filter);

// The integers of an input in a run; empty where it is absent.
std::vector<std::int64_t> Integers(const Node& node, const Arguments& arguments, std::size_t input);

// The axes of a reduction or of the squeezing: an attribute before, an input later; known only in a
// run then. All dimensions in [0, rank), each once, ascending.
Result<std::vector<std::size_t>> NormalAxes(const std::vector<std::int64_t>& axes,
                                            std::size_t rank);

// A copy of a node that may outlive the graph, for kernels that need it in their runs.
struct Shapes {
  graph::Shape in;
  graph::Shape out;
  std::size_t element_bytes = 0;
};
Result<Shapes> MoveShapes(const Node& node);

// A scale or zero point broadcast along `axis`, or in blocks of it.
struct QuantLayout {
  std::int64_t outer = 1;
  std::int64_t channels = 1;  // of the scale
  std::int64_t inner = 1;     // elements that follow each other with one scale
  std::int64_t axis_size = 1;
  std::int64_t block = 1;  // indices of the axis that share a scale
  // The scale of element `i`.
  std::int64_t ScaleOf(std::int64_t i) const {
    if (channels == 1 && outer == 1) return 0;
    const std::int64_t rest = i % inner;
    const std::int64_t at = i / inner % axis_size / block;
    return blocked ? (i / inner / axis_size * channels + at) * inner + rest : at;
  }
  bool blocked = false;
};
Result<QuantLayout> MakeQuantLayout(const Node& node, const Operand& value, const Operand& scale);

// Reads and writes elements of every numeric type as numbers, sub-byte ones included: for kernels
// in which speed is nothing.
std::int64_t LoadInteger(graph::ElementType type, std::span<const std::byte> bytes,
                         std::int64_t index);
void StoreInteger(graph::ElementType type, std::span<std::byte> bytes, std::int64_t index,
                  std::int64_t value);
double LoadReal(graph::ElementType type, std::span<const std::byte> bytes, std::int64_t index);
void StoreReal(graph::ElementType type, std::span<std::byte> bytes, std::int64_t index,
               double value);
bool IsRealType(graph::ElementType type);
bool IsIntegerType(graph::ElementType type);
// Of an integer type.
void RangeOf(graph::ElementType type, std::int64_t* low, std::int64_t* high);

// Nearest integer, ties to even.
double RoundEven(double value);

}  // namespace neap::execute::onnx
