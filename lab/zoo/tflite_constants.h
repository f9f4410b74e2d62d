// SPDX-License-Identifier: Apache-2.0
//
// Constants of a graph that is being written down: made from values, read back as values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/check.h"
#include "neap/graph/graph.h"

namespace neap::zoo {

// The bytes of `values` as they are in memory (little-endian, see builder_constant.h).
template <typename T>
graph::ConstantData DataOf(std::vector<T> values) {
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  return {owner, std::as_bytes(std::span<const T>(*owner))};
}

// The values of a constant that has its data.
template <typename T>
std::vector<T> ValuesOf(const graph::Tensor& tensor) {
  NEAP_CHECK(tensor.data && tensor.data->bytes.size() % sizeof(T) == 0, tensor.name);
  std::vector<T> values(tensor.data->bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), tensor.data->bytes.data(), sizeof(T) * values.size());
  return values;
}

// `values` of a row-major tensor of rank 4, with dimension `order[i]` of it as dimension i.
template <typename T>
std::vector<T> Permuted(const std::vector<T>& values, const graph::Shape& shape,
                        const std::vector<std::size_t>& order) {
  NEAP_CHECK(shape.size() == 4 && order.size() == 4, "rank 4");
  std::vector<std::size_t> stride(4, 1);
  std::vector<std::size_t> size(4);
  for (std::size_t i = 3; i > 0; --i) {
    stride[i - 1] = stride[i] * static_cast<std::size_t>(shape[i]);
  }
  std::vector<std::size_t> step(4);
  for (std::size_t i = 0; i < 4; ++i) {
    size[i] = static_cast<std::size_t>(shape[order[i]]);
    step[i] = stride[order[i]];
  }
  std::vector<T> out;
  out.reserve(values.size());
  for (std::size_t a = 0; a < size[0]; ++a) {
    for (std::size_t b = 0; b < size[1]; ++b) {
      for (std::size_t c = 0; c < size[2]; ++c) {
        const std::size_t row = a * step[0] + b * step[1] + c * step[2];
        for (std::size_t d = 0; d < size[3]; ++d) out.push_back(values[row + d * step[3]]);
      }
    }
  }
  return out;
}

}  // namespace neap::zoo
