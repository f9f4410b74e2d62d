// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/onnx/parts.h"

#include <variant>
#include <vector>

namespace neap::formats::onnx {
namespace {

using graph::ElementType;
using pb::AttributeProto;

// Codes of AttributeProto.type.
enum AttributeCode : std::int32_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
};

}  // namespace

std::optional<std::int32_t> TypeCodeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return 1;
    case ElementType::kUint8:
      return 2;
    case ElementType::kInt8:
      return 3;
    case ElementType::kUint16:
      return 4;
    case ElementType::kInt16:
      return 5;
    case ElementType::kInt32:
      return 6;
    case ElementType::kInt64:
      return 7;
    case ElementType::kBool:
      return 9;
    case ElementType::kFloat16:
      return 10;
    case ElementType::kFloat64:
      return 11;
    case ElementType::kUint32:
      return 12;
    case ElementType::kUint64:
      return 13;
    case ElementType::kComplex64:
      return 14;
    case ElementType::kComplex128:
      return 15;
    case ElementType::kBfloat16:
      return 16;
    default:
      return std::nullopt;
  }
}

bool FillValueInfo(const graph::Tensor& tensor, const std::string& name, pb::ValueInfoProto* info) {
  const auto code = TypeCodeOf(tensor.type);
  if (!code) return false;
  info->name = name;
  pb::TensorTypeProto& type = info->type.Make().tensor_type.Make();
  type.elem_type = *code;
  if (!tensor.shape) return true;
  pb::TensorShapeProto& shape = type.shape.Make();
  for (std::size_t i = 0; i < tensor.shape->size(); ++i) {
    pb::Dimension& dimension = shape.dim.emplace_back();
    if ((*tensor.shape)[i] >= 0) {
      dimension.dim_value = (*tensor.shape)[i];
    } else if (i < tensor.symbols.size() && !tensor.symbols[i].empty()) {
      dimension.dim_param = tensor.symbols[i];
    }
  }
  return true;
}

Status FillInitializer(const graph::Tensor& tensor, const std::string& name,
                       pb::TensorProto* initializer) {
  NEAP_TRY(const std::int64_t bytes, graph::TensorBytes(tensor));
  if (!tensor.data) return Fail(BadInput("is a constant without its data"));
  const auto& data = tensor.data->bytes;
  if (static_cast<std::int64_t>(data.size()) != bytes) {
    return Fail(BadInput("has " + std::to_string(data.size()) + " bytes, expected " +
                         std::to_string(bytes)));
  }
  const auto code = TypeCodeOf(tensor.type);
  if (!code) return Fail(BadInput("has an element type that the format does not have"));
  initializer->name = name;
  initializer->data_type = *code;
  initializer->dims = *tensor.shape;
  initializer->raw_data = std::string(reinterpret_cast<const char*>(data.data()), data.size());
  return {};
}

bool SetAttribute(const graph::Attribute& value, AttributeProto* out) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    out->type = kInt;
    out->i = *i;
  } else if (const auto* f = std::get_if<double>(&value)) {
    out->type = kFloat;
    out->f = static_cast<float>(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    out->type = kString;
    out->s = *s;
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
    out->type = kInts;
    out->ints = *ints;
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    out->type = kFloats;
    for (const double item : *floats) out->floats.push_back(static_cast<float>(item));
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    out->type = kStrings;
    for (const std::string& item : *strings) out->strings.emplace_back(item);
  } else {
    return false;
  }
  return true;
}

}  // namespace neap::formats::onnx
