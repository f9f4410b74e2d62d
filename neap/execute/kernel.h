// SPDX-License-Identifier: Apache-2.0
//
// The interface of kernels. An operator is prepared once: types, shapes and attributes are checked,
// and everything that does not depend on the data is computed. The result runs any number of times,
// on any thread, on bytes at any address: no alignment is required, and an output may overlap an
// input where the plan permits it. Private to neap/execute.
//
// The order of accesses is part of the interface, because overlaps of inputs and outputs depend on
// it: outputs are written in row-major order, each element once, and an element is written after
// all reads it needs. Kernels may read earlier (a row or a pixel at a time), never later.
// Exceptions are stated at their definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/value.h"
#include "neap/graph/graph.h"

namespace neap::execute {

// Rows and columns that a window reaches beyond its input; time steps are rows.
struct Padding {
  std::int64_t top = 0;
  std::int64_t bottom = 0;
  std::int64_t left = 0;
  std::int64_t right = 0;
};

// One input or output of an operator. All dimensions are known.
struct Operand {
  bool present = false;  // false: an optional one that is left out; all else is empty then
  graph::ElementType type = graph::ElementType::kUnknown;
  graph::Shape shape;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  const graph::Quantization* quantization = nullptr;  // nullptr: none
  bool constant = false;
  std::span<const std::byte> data;  // of a constant; `bytes` long
  // Of the first input, where the output is a part of the operator's: shapes are those of the part,
  // and the padding no longer follows from the attributes.
  std::optional<Padding> part_padding;

  std::size_t Rank() const { return shape.size(); }
};

// A part of an operator's output, and the part of its input that the kernel is given for it: rows
// and columns of images.
struct Within {
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t size() const { return last - first; }
  };
  Range out[2];
  Range in[2];
};

struct Node {
  const graph::Op* op = nullptr;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  // Quantisation of intermediate values (LSTM gates), from tensors without data; nullptr: none.
  std::vector<const graph::Quantization*> between;
  Kernels kernels = Kernels::kLitert;
  // Set: only this part is computed, though all shapes are those of the whole. Only for kernels
  // that place their elements by the size of the whole (BoxKernels).
  std::optional<Within> within;

  bool Has(std::size_t input) const { return input < inputs.size() && inputs[input].present; }
  const Operand& In(std::size_t input) const { return inputs[input]; }
  const Operand& Out(std::size_t output = 0) const { return outputs[output]; }
};

// The bytes of one run, with the lengths of the operands; empty for absent ones.
struct Arguments {
  std::span<const std::span<const std::byte>> inputs;
  std::span<const std::span<std::byte>> outputs;
};

// Fails when the data itself is wrong (an index out of range).
using RunKernel = std::function<Status(const Arguments&)>;
// Fails when the operator has other types, shapes or attributes than the kernel can do.
using PrepareKernel = Result<RunKernel> (*)(const Node&);

struct KernelEntry {
  std::string_view type;
  PrepareKernel prepare;
};

// nullptr: no kernel for operators of this type.
PrepareKernel FindKernel(std::string_view domain, std::string_view type);

// An element at any address. It may be read after an element of another type was written to the
// same bytes: overlaps do that.
template <typename T>
struct [[gnu::packed, gnu::may_alias]] Cell {
  T value;
};
template <typename T>
const Cell<T>* CellsOf(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Cell<T>*>(bytes.data());
}
template <typename T>
const Cell<T>* Input(const Arguments& arguments, std::size_t index) {
  return CellsOf<T>(arguments.inputs[index]);
}
template <typename T>
Cell<T>* Output(const Arguments& arguments, std::size_t index = 0) {
  return reinterpret_cast<Cell<T>*>(arguments.outputs[index].data());
}

// Ok, or BadInput(message).
Status Require(bool ok, std::string_view message);

// "float32[1,8,8,3]"
std::string Describe(const Operand& operand);

// The operator has `min_inputs` to `max_inputs` inputs, the first `min_inputs` of which are
// present, and `outputs` outputs, all present.
Status RequireOperands(const Node& node, std::size_t min_inputs, std::size_t max_inputs,
                       std::size_t outputs = 1);
Status RequireType(const Operand& operand, graph::ElementType type);
Status RequireShape(const Operand& operand, const graph::Shape& shape);
Result<RunKernel> UnsupportedType(const Node& node);

// Attributes; the default when the operator has none of this name, or one of another kind.
std::int64_t IntOr(const graph::Op& op, const char* name, std::int64_t value);
double RealOr(const graph::Op& op, const char* name, double value);
std::string TextOr(const graph::Op& op, const char* name, const std::string& value);
std::vector<std::int64_t> IntsOr(const graph::Op& op, const char* name,
                                 const std::vector<std::int64_t>& value);
bool HasAttribute(const graph::Op& op, const char* name);

// The values of an operand of integers (int32 or int64, or of any other width).
std::vector<std::int64_t> ReadIntegers(graph::ElementType type, std::span<const std::byte> bytes);

// axis in [-rank, rank) as an index.
Result<std::size_t> NormalAxis(std::int64_t axis, std::size_t rank);

template <typename T>
struct TypeTag {
  using Type = T;
};

// Calls f(TypeTag<T>()) with the C++ type of a numeric element type; false for all other types.
template <typename... Types>
struct TypeList {};
using FloatTypes = TypeList<float, double>;
using NumberTypes = TypeList<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                             std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
template <typename T>
constexpr graph::ElementType ElementTypeOf();
template <>
constexpr graph::ElementType ElementTypeOf<float>() {
  return graph::ElementType::kFloat32;
}
template <>
constexpr graph::ElementType ElementTypeOf<double>() {
  return graph::ElementType::kFloat64;
}
template <>
constexpr graph::ElementType ElementTypeOf<bool>() {
  return graph::ElementType::kBool;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::int8_t>() {
  return graph::ElementType::kInt8;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::uint8_t>() {
  return graph::ElementType::kUint8;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::int16_t>() {
  return graph::ElementType::kInt16;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::uint16_t>() {
  return graph::ElementType::kUint16;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::int32_t>() {
  return graph::ElementType::kInt32;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::uint32_t>() {
  return graph::ElementType::kUint32;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::int64_t>() {
  return graph::ElementType::kInt64;
}
template <>
constexpr graph::ElementType ElementTypeOf<std::uint64_t>() {
  return graph::ElementType::kUint64;
}

// The kernel that f(TypeTag<T>()) makes for the type `type` of the list; UnsupportedType otherwise.
template <typename... Types, typename F>
Result<RunKernel> ForType(TypeList<Types...> /*types*/, graph::ElementType type, const Node& node,
                          F f) {
  Result<RunKernel> kernel = RunKernel();
  const bool found =
      ((type == ElementTypeOf<Types>() && (kernel = f(TypeTag<Types>()), true)) || ...);
  return found ? std::move(kernel) : UnsupportedType(node);
}

}  // namespace neap::execute
