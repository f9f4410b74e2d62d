// SPDX-License-Identifier: Apache-2.0
#include "neap/graph/element_type.h"

namespace neap::graph {
namespace {

struct Facts {
  int bits;
  std::string_view name;
};

Facts FactsOf(ElementType type) {
  switch (type) {
    case ElementType::kUnknown:
      return {0, "unknown"};
    case ElementType::kBool:
      return {8, "bool"};
    case ElementType::kInt2:
      return {2, "int2"};
    case ElementType::kUint2:
      return {2, "uint2"};
    case ElementType::kInt4:
      return {4, "int4"};
    case ElementType::kUint4:
      return {4, "uint4"};
    case ElementType::kFloat4:
      return {4, "float4"};
    case ElementType::kInt8:
      return {8, "int8"};
    case ElementType::kUint8:
      return {8, "uint8"};
    case ElementType::kFloat8:
      return {8, "float8"};
    case ElementType::kInt16:
      return {16, "int16"};
    case ElementType::kUint16:
      return {16, "uint16"};
    case ElementType::kFloat16:
      return {16, "float16"};
    case ElementType::kBfloat16:
      return {16, "bfloat16"};
    case ElementType::kInt32:
      return {32, "int32"};
    case ElementType::kUint32:
      return {32, "uint32"};
    case ElementType::kFloat32:
      return {32, "float32"};
    case ElementType::kInt64:
      return {64, "int64"};
    case ElementType::kUint64:
      return {64, "uint64"};
    case ElementType::kFloat64:
      return {64, "float64"};
    case ElementType::kComplex64:
      return {64, "complex64"};
    case ElementType::kComplex128:
      return {128, "complex128"};
    case ElementType::kString:
      return {0, "string"};
    case ElementType::kResource:
      return {0, "resource"};
  }
  return {0, "unknown"};
}

}  // namespace

int BitsOf(ElementType type) { return FactsOf(type).bits; }
std::string_view NameOf(ElementType type) { return FactsOf(type).name; }

}  // namespace neap::graph
