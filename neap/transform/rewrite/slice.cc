// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/slice.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace neap::rewrite {
namespace {

struct Strides {
  std::size_t outer = 1;  // how many runs
  std::size_t run = 1;    // bytes of one index of the axis
};

Strides StridesOf(const graph::Tensor& tensor, std::size_t axis) {
  Strides strides;
  strides.run = static_cast<std::size_t>(graph::BitsOf(tensor.type) / 8);
  for (std::size_t d = 0; d < tensor.shape->size(); ++d) {
    const auto size = static_cast<std::size_t>((*tensor.shape)[d]);
    if (d < axis) strides.outer *= size;
    if (d > axis) strides.run *= size;
  }
  return strides;
}

}  // namespace

bool CanSlice(const graph::Tensor& constant, std::size_t axis) {
  if (!constant.constant || !constant.shape || axis >= constant.shape->size()) return false;
  const int bits = graph::BitsOf(constant.type);
  const auto bytes = graph::TensorBytes(constant);
  if (bits <= 0 || bits % 8 != 0 || !bytes) return false;
  return !constant.data || static_cast<std::int64_t>(constant.data->bytes.size()) == *bytes;
}

graph::Tensor SliceOf(const graph::Tensor& constant, std::size_t axis, std::int64_t begin,
                      std::int64_t size, bool data) {
  graph::Tensor out = constant;
  out.data.reset();
  out.symbols.clear();
  const auto whole = static_cast<std::size_t>((*constant.shape)[axis]);
  (*out.shape)[axis] = size;
  if (out.quantization && out.quantization->scales.size() > 1 &&
      static_cast<std::size_t>(out.quantization->axis) == axis &&
      out.quantization->scales.size() == whole) {
    graph::Quantization& q = *out.quantization;
    q.scales = {q.scales.begin() + begin, q.scales.begin() + begin + size};
    q.zero_points = {q.zero_points.begin() + begin, q.zero_points.begin() + begin + size};
  }
  if (!data || !constant.data) return out;
  const Strides strides = StridesOf(constant, axis);
  const std::size_t bytes = strides.run * static_cast<std::size_t>(size);
  auto owner = std::make_shared<std::vector<std::byte>>(strides.outer * bytes);
  for (std::size_t i = 0; i < strides.outer && bytes > 0; ++i) {
    std::memcpy(
        owner->data() + i * bytes,
        constant.data->bytes.data() + (i * whole + static_cast<std::size_t>(begin)) * strides.run,
        bytes);
  }
  const std::span<const std::byte> view(*owner);
  out.data = graph::ConstantData{std::move(owner), view};
  return out;
}

}  // namespace neap::rewrite
