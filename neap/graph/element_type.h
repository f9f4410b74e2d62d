// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace neap::graph {

// Element types of both formats, sub-byte types included.
enum class ElementType : std::uint8_t {
  kUnknown,
  kBool,
  kInt2,
  kUint2,
  kInt4,
  kUint4,
  kFloat4,  // ONNX FLOAT4E2M1
  kInt8,
  kUint8,
  kFloat8,  // any of the five 8-bit floats; the format keeps the exact code
  kInt16,
  kUint16,
  kFloat16,
  kBfloat16,
  kInt32,
  kUint32,
  kFloat32,
  kInt64,
  kUint64,
  kFloat64,
  kComplex64,
  kComplex128,
  kString,    // bytes depend on the values
  kResource,  // a handle, a variant, a sequence, a map: bytes depend on the runtime
};

// Bits of one element; 0 where the type has no fixed size (kUnknown, kString, kResource).
int BitsOf(ElementType type);

// "int8", "float32", ...
std::string_view NameOf(ElementType type);

}  // namespace neap::graph
