// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/element_types.h"

namespace neap::formats::tflite {

using graph::ElementType;

ElementType ElementTypeOf(schema::TensorType type) {
  using T = schema::TensorType;
  switch (type) {
    case T::FLOAT32:
      return ElementType::kFloat32;
    case T::FLOAT16:
      return ElementType::kFloat16;
    case T::INT32:
      return ElementType::kInt32;
    case T::UINT8:
      return ElementType::kUint8;
    case T::INT64:
      return ElementType::kInt64;
    case T::STRING:
      return ElementType::kString;
    case T::BOOL:
      return ElementType::kBool;
    case T::INT16:
      return ElementType::kInt16;
    case T::COMPLEX64:
      return ElementType::kComplex64;
    case T::INT8:
      return ElementType::kInt8;
    case T::FLOAT64:
      return ElementType::kFloat64;
    case T::COMPLEX128:
      return ElementType::kComplex128;
    case T::UINT64:
      return ElementType::kUint64;
    // A handle to a variable or a table. In this format it has a size: both stock runtimes keep it
    // as one 32-bit index, and its contents are outside the activations. the reader has the
    // exception.
    case T::RESOURCE:
      return ElementType::kInt32;
    case T::VARIANT:
      return ElementType::kResource;
    case T::UINT32:
      return ElementType::kUint32;
    case T::UINT16:
      return ElementType::kUint16;
    case T::INT4:
      return ElementType::kInt4;
    case T::BFLOAT16:
      return ElementType::kBfloat16;
    case T::INT2:
      return ElementType::kInt2;
    case T::UINT4:
      return ElementType::kUint4;
    case T::FLOAT8_E4M3FN:
      return ElementType::kFloat8;
    case T::FLOAT8_E5M2:
      return ElementType::kFloat8;
  }
  return ElementType::kUnknown;
}

std::optional<schema::TensorType> TensorTypeOf(ElementType type) {
  using T = schema::TensorType;
  switch (type) {
    case ElementType::kFloat32:
      return T::FLOAT32;
    case ElementType::kFloat16:
      return T::FLOAT16;
    case ElementType::kInt32:
      return T::INT32;
    case ElementType::kUint8:
      return T::UINT8;
    case ElementType::kInt64:
      return T::INT64;
    case ElementType::kString:
      return T::STRING;
    case ElementType::kBool:
      return T::BOOL;
    case ElementType::kInt16:
      return T::INT16;
    case ElementType::kComplex64:
      return T::COMPLEX64;
    case ElementType::kInt8:
      return T::INT8;
    case ElementType::kFloat64:
      return T::FLOAT64;
    case ElementType::kComplex128:
      return T::COMPLEX128;
    case ElementType::kUint64:
      return T::UINT64;
    case ElementType::kResource:
      return T::VARIANT;
    case ElementType::kUint32:
      return T::UINT32;
    case ElementType::kUint16:
      return T::UINT16;
    case ElementType::kInt4:
      return T::INT4;
    case ElementType::kBfloat16:
      return T::BFLOAT16;
    case ElementType::kInt2:
      return T::INT2;
    case ElementType::kUint4:
      return T::UINT4;
    default:
      return std::nullopt;
  }
}

}  // namespace neap::formats::tflite
