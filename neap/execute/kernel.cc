// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/kernel.h"

#include <cstring>
#include <utility>

#include "neap/execute/families.h"

namespace neap::execute {
namespace {

template <typename T>
std::int64_t Wide(T value) {
  return static_cast<std::int64_t>(value);  // NOLINT(bugprone-signed-char-misuse): int8 is a number
}

template <typename T>
std::vector<std::int64_t> Widen(std::span<const std::byte> bytes) {
  const Cell<T>* const cells = CellsOf<T>(bytes);
  std::vector<std::int64_t> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = Wide(cells[i].value);
  }
  return values;
}

template <typename T>
const T* AttributeOf(const graph::Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

const KernelEntry* FindIn(std::span<const KernelEntry> entries, std::string_view type) {
  for (const KernelEntry& entry : entries) {
    if (entry.type == type) return &entry;
  }
  return nullptr;
}

bool IsOnnxDomain(std::string_view domain) {
  return domain != "tflite" && domain != "custom" && domain != "json";
}

}  // namespace

PrepareKernel FindKernel(std::string_view domain, std::string_view type) {
  if (domain == "neap") {
    const KernelEntry* entry = FindIn(NeapKernels(), type);
    return entry == nullptr ? nullptr : entry->prepare;
  }
  if (domain == "custom") {
    const KernelEntry* entry = FindIn(tflite::CustomKernels(), type);
    return entry == nullptr ? nullptr : entry->prepare;
  }
  const std::span<const KernelFamily> families = domain == "tflite" ? TfliteFamilies()
                                                 : IsOnnxDomain(domain)
                                                     ? OnnxFamilies()
                                                     : std::span<const KernelFamily>();
  for (const KernelFamily family : families) {
    if (const KernelEntry* entry = FindIn(family(), type)) return entry->prepare;
  }
  return nullptr;
}

Status Require(bool ok, std::string_view message) {
  if (ok) return {};
  return Fail(BadInput(std::string(message)));
}

std::string Describe(const Operand& operand) {
  std::string text(graph::NameOf(operand.type));
  text += '[';
  for (std::size_t i = 0; i < operand.shape.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(operand.shape[i]);
  }
  return text + ']';
}

Status RequireOperands(const Node& node, std::size_t min_inputs, std::size_t max_inputs,
                       std::size_t outputs) {
  bool ok = node.inputs.size() >= min_inputs && node.inputs.size() <= max_inputs &&
            node.outputs.size() == outputs;
  for (std::size_t i = 0; ok && i < min_inputs; ++i) ok = node.inputs[i].present;
  for (std::size_t i = 0; ok && i < outputs; ++i) ok = node.outputs[i].present;
  if (ok) return {};
  return Fail(BadInput(
      "has " + std::to_string(node.inputs.size()) + " inputs and " +
      std::to_string(node.outputs.size()) + " outputs (some may be left out): expected at least " +
      std::to_string(min_inputs) + " inputs and " + std::to_string(outputs) + " outputs"));
}

Status RequireType(const Operand& operand, graph::ElementType type) {
  if (operand.type == type) return {};
  return Fail(BadInput("an operand is " + Describe(operand) + ", expected " +
                       std::string(graph::NameOf(type))));
}

Status RequireShape(const Operand& operand, const graph::Shape& shape) {
  if (operand.shape == shape) return {};
  Operand expected = operand;
  expected.shape = shape;
  return Fail(BadInput("an operand is " + Describe(operand) + ", expected " + Describe(expected)));
}

Result<RunKernel> UnsupportedType(const Node& node) {
  std::string text = "has no kernel for";
  for (const Operand& input : node.inputs) {
    text += ' ';
    text += input.present ? Describe(input) : "-";
  }
  text += " ->";
  for (const Operand& output : node.outputs) {
    text += ' ';
    text += output.present ? Describe(output) : "-";
  }
  return Fail(BadInput(std::move(text)));
}

std::int64_t IntOr(const graph::Op& op, const char* name, std::int64_t value) {
  const auto* found = AttributeOf<std::int64_t>(op, name);
  return found == nullptr ? value : *found;
}

double RealOr(const graph::Op& op, const char* name, double value) {
  const auto* found = AttributeOf<double>(op, name);
  return found == nullptr ? value : *found;
}

std::string TextOr(const graph::Op& op, const char* name, const std::string& value) {
  const auto* found = AttributeOf<std::string>(op, name);
  return found == nullptr ? value : *found;
}

std::vector<std::int64_t> IntsOr(const graph::Op& op, const char* name,
                                 const std::vector<std::int64_t>& value) {
  const auto* found = AttributeOf<std::vector<std::int64_t>>(op, name);
  return found == nullptr ? value : *found;
}

bool HasAttribute(const graph::Op& op, const char* name) { return op.attributes.contains(name); }

std::vector<std::int64_t> ReadIntegers(graph::ElementType type, std::span<const std::byte> bytes) {
  using enum graph::ElementType;
  switch (type) {
    case kBool:
    case kUint8:
      return Widen<std::uint8_t>(bytes);
    case kInt8:
      return Widen<std::int8_t>(bytes);
    case kInt16:
      return Widen<std::int16_t>(bytes);
    case kUint16:
      return Widen<std::uint16_t>(bytes);
    case kInt32:
      return Widen<std::int32_t>(bytes);
    case kUint32:
      return Widen<std::uint32_t>(bytes);
    case kInt64:
    case kUint64:
      return Widen<std::int64_t>(bytes);
    default:
      return {};
  }
}

Result<std::size_t> NormalAxis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return Fail(
        BadInput("axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank)));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

}  // namespace neap::execute
