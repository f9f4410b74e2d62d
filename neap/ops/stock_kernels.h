// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of stock runtimes accept: element types, ranks and numbers of inputs. Measured
// with models of one operator (tests/conformance/measure_kernels.py) on the wheels tflite-micro
// 0.dev20261023182759 and ai-edge-litert 2.3.0 (kernels without delegates).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "neap/graph/graph.h"
#include "neap/ops/op_kind.h"

namespace neap::ops {

enum class StockRuntime : std::uint8_t { kNone, kTflm, kLitert, kOnnxRuntime };

enum class Support : std::uint8_t { kAccepts, kRefuses, kUnknown };

// The kernel of a .tflite operator on the element types, ranks and number of its inputs and
// outputs. kUnknown: not measured (custom operators, recurrent ones, types beyond the usual ones);
// always for kNone and kOnnxRuntime. `why`, if given and the answer is kRefuses, gets the reason:
// "there is no kernel for uint8". O(1).
Support KernelSupport(const graph::Subgraph& subgraph, const graph::Op& op, StockRuntime runtime,
                      std::string* why = nullptr);

// Whether an operator that Neap adds to a .tflite runs: `kind` on tensors of this element type and
// rank, CONCATENATION of at most as many tensors as its kernel joins. Of operators of which nothing
// was measured only true for kNone and kOnnxRuntime.
bool MayInsert(OpKind kind, graph::ElementType element, std::size_t rank, StockRuntime runtime);

// How many tensors CONCATENATION joins at once.
std::size_t MaxConcatInputs(StockRuntime runtime);

// ---- operators that Neap adds to .onnx files

// The version of the default operator set of a file, from its operators; 0: none of them is of that
// set.
std::int32_t DefaultOpset(const graph::Subgraph& subgraph);

// Whether version `opset` has `kind` (Slice, Concat, Add) for this element type.
bool MayInsertOnnx(OpKind kind, graph::ElementType element, std::int32_t opset);

// The first version whose Slice takes its ranges as inputs.
inline constexpr std::int32_t kSliceWithInputs = 10;

// "" if a Slice, Concat or Add is in the form of its version and of a type that it has there, else
// what is not. "" for every other operator.
std::string WrongOnnxForm(const graph::Subgraph& subgraph, const graph::Op& op);

}  // namespace neap::ops
