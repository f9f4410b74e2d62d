// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "neap/base/bit_cast.h"
#include "neap/execute/half.h"
#include "neap/execute/npz.h"

namespace neap::execute {
namespace {

using graph::ElementType;

template <typename T>
T ElementAt(const std::vector<std::byte>& bytes, std::size_t index) {
  T element;
  std::memcpy(&element, bytes.data() + index * sizeof(T), sizeof(T));
  return element;
}

// Elements of one value as numbers. Integers of 64 bits lose their last bits, never their sign.
class ElementNumbers {
 public:
  ElementNumbers(const Value& value, std::int64_t zero_point)
      : value_(value), zero_point_(static_cast<double>(zero_point)) {}

  std::optional<double> operator[](std::size_t i) const {
    const std::vector<std::byte>& bytes = value_.bytes;
    switch (value_.type) {
      case ElementType::kBool:
        return ElementAt<std::uint8_t>(bytes, i);
      case ElementType::kInt8:
        return ElementAt<std::int8_t>(bytes, i) - zero_point_;
      case ElementType::kUint8:
        return ElementAt<std::uint8_t>(bytes, i) - zero_point_;
      case ElementType::kInt16:
        return ElementAt<std::int16_t>(bytes, i) - zero_point_;
      case ElementType::kUint16:
        return ElementAt<std::uint16_t>(bytes, i) - zero_point_;
      case ElementType::kInt32:
        return ElementAt<std::int32_t>(bytes, i) - zero_point_;
      case ElementType::kUint32:
        return ElementAt<std::uint32_t>(bytes, i) - zero_point_;
      case ElementType::kInt64:
        return static_cast<double>(ElementAt<std::int64_t>(bytes, i)) - zero_point_;
      case ElementType::kUint64:
        return static_cast<double>(ElementAt<std::uint64_t>(bytes, i)) - zero_point_;
      case ElementType::kFloat16:
        return FloatOfHalf(ElementAt<std::uint16_t>(bytes, i));
      case ElementType::kBfloat16:
        return BitCast<float>(std::uint32_t{ElementAt<std::uint16_t>(bytes, i)} << 16U);
      case ElementType::kFloat32:
        return ElementAt<float>(bytes, i);
      case ElementType::kFloat64:
        return ElementAt<double>(bytes, i);
      default:
        return std::nullopt;
    }
  }

 private:
  const Value& value_;
  double zero_point_;
};

bool IsPacked(ElementType type) {
  return type == ElementType::kInt2 || type == ElementType::kUint2 || type == ElementType::kInt4 ||
         type == ElementType::kUint4;
}

std::size_t ElementsOf(const Value& value) {
  std::size_t elements = 1;
  for (const std::int64_t size : value.shape) elements *= static_cast<std::size_t>(size);
  return elements;
}

}  // namespace

std::optional<double> Difference::Relative() const {
  if (!same_shape || !max_difference) return std::nullopt;
  if (*max_difference == 0) return 0.0;
  if (magnitude == 0) return std::nullopt;
  return *max_difference / magnitude;
}

Difference Compare(const Value& expected, const Value& found, std::int64_t zero_point) {
  Difference out;
  out.same_shape = expected.type == found.type && expected.shape == found.shape &&
                   expected.bytes.size() == found.bytes.size();
  out.elements = static_cast<std::int64_t>(ElementsOf(expected));
  if (!out.same_shape) {
    out.max_difference = std::nullopt;
    return out;
  }
  if (IsPacked(expected.type)) return Compare(Unpacked(expected), Unpacked(found), zero_point);
  const std::size_t elements = ElementsOf(expected);
  const std::size_t width = elements == 0 ? 0 : expected.bytes.size() / elements;
  if (width * elements != expected.bytes.size()) {  // strings; 4-bit floats: bytes are all there is
    if (expected.bytes == found.bytes) return out;
    out.differing = out.elements;
    out.max_difference = std::nullopt;
    return out;
  }
  const ElementNumbers numbers(expected, zero_point);
  const ElementNumbers others(found, zero_point);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::optional<double> number = numbers[i];
    if (number && std::isfinite(*number)) {
      out.magnitude = std::max(out.magnitude, std::abs(*number));
    }
    const std::size_t at = i * width;
    if (std::memcmp(expected.bytes.data() + at, found.bytes.data() + at, width) == 0) continue;
    ++out.differing;
    const std::optional<double> other = others[i];
    const bool known = number && other && std::isfinite(*number) && std::isfinite(*other);
    if (!known) {
      out.max_difference = std::nullopt;
    } else if (out.max_difference) {
      out.max_difference = std::max(*out.max_difference, std::abs(*number - *other));
    }
  }
  return out;
}

}  // namespace neap::execute
