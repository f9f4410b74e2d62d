// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "neap/base/bit_cast.h"
#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

std::size_t BytesOf(ElementType type) { return static_cast<std::size_t>(graph::BitsOf(type)) / 8; }

bool IsSigned(ElementType type) {
  return type == ElementType::kInt8 || type == ElementType::kInt16 || type == ElementType::kInt32 ||
         type == ElementType::kInt64;
}

// The low `size` bytes of `raw`, sign-extended where the type is signed.
std::int64_t Wrap(std::uint64_t raw, ElementType type) {
  const std::size_t bits = BytesOf(type) * 8;
  if (bits < 64) {
    raw &= (std::uint64_t{1} << bits) - 1;
    if (IsSigned(type) && (raw >> (bits - 1U)) != 0) raw |= ~std::uint64_t{0} << bits;
  }
  return static_cast<std::int64_t>(raw);
}

std::uint64_t LoadLittleEndian(const std::byte* from, std::size_t size) {
  std::uint64_t raw = 0;
  for (std::size_t i = 0; i < size; ++i) raw |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return raw;
}

Number DecodeOne(const std::byte* from, ElementType type) {
  const std::uint64_t raw = LoadLittleEndian(from, BytesOf(type));
  if (type == ElementType::kFloat64) return Real(BitCast<double>(raw));
  if (type == ElementType::kFloat32) {
    return Real(static_cast<double>(BitCast<float>(static_cast<std::uint32_t>(raw))));
  }
  return Whole(Wrap(raw, type));
}

std::uint64_t RawOf(const Number& value, ElementType type) {
  if (type == ElementType::kFloat64) return BitCast<std::uint64_t>(value.real);
  if (type == ElementType::kFloat32) {
    return BitCast<std::uint32_t>(static_cast<float>(value.real));
  }
  return static_cast<std::uint64_t>(value.whole);
}

}  // namespace

bool IsReal(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

bool IsWhole(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kInt16:
    case ElementType::kUint16:
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kInt64:
    case ElementType::kUint64:
      return true;
    default:
      return false;
  }
}

std::optional<Values> Decode(const graph::Tensor& tensor) {
  if (!tensor.data || (!IsReal(tensor.type) && !IsWhole(tensor.type))) return std::nullopt;
  const auto elements = FewElements(tensor.shape);
  const std::size_t size = BytesOf(tensor.type);
  if (!elements || tensor.data->bytes.size() != static_cast<std::size_t>(*elements) * size) {
    return std::nullopt;
  }
  Values values;
  values.reserve(static_cast<std::size_t>(*elements));
  for (std::size_t i = 0; i < static_cast<std::size_t>(*elements); ++i) {
    values.push_back(DecodeOne(tensor.data->bytes.data() + i * size, tensor.type));
  }
  return values;
}

std::optional<graph::ConstantData> Encode(ElementType type, const Values& values) {
  if (!IsReal(type) && !IsWhole(type)) return std::nullopt;
  const std::size_t size = BytesOf(type);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  bytes->reserve(values.size() * size);
  for (const Number& value : values) {
    if (!value.known) return std::nullopt;
    const std::uint64_t raw = RawOf(value, type);
    for (std::size_t i = 0; i < size; ++i) {
      bytes->push_back(static_cast<std::byte>((raw >> (8 * i)) & 0xffU));
    }
  }
  graph::ConstantData data;
  data.bytes = *bytes;
  data.owner = std::move(bytes);
  return data;
}

Number Convert(const Number& value, ElementType from, ElementType to) {
  if (!value.known) return {};
  if (IsReal(to)) {
    double real = value.real;
    if (!IsReal(from)) {
      // No shape arithmetic needs the upper half of uint64.
      if (from == ElementType::kUint64 && value.whole < 0) return {};
      real = static_cast<double>(value.whole);
    }
    if (to == ElementType::kFloat32) real = static_cast<double>(static_cast<float>(real));
    return Real(real);
  }
  if (!IsWhole(to)) return {};
  if (!IsReal(from)) {
    if (to == ElementType::kBool) return Whole(value.whole != 0 ? 1 : 0);
    return Whole(Wrap(static_cast<std::uint64_t>(value.whole), to));
  }
  if (to == ElementType::kBool) return Whole(value.real != 0 ? 1 : 0);
  // The format does not define values that do not fit: they are not tracked.
  if (!(std::fabs(value.real) < 0x1.0p62)) return {};
  const auto whole = static_cast<std::int64_t>(value.real);
  if (Wrap(static_cast<std::uint64_t>(whole), to) != whole) return {};
  return Whole(whole);
}

}  // namespace neap::ops::onnx
