// SPDX-License-Identifier: Apache-2.0
//
// Builder::Constant, which both files of the builder instantiate.
#pragma once

#include <bit>
#include <memory>
#include <utility>

#include "lab/zoo/builder.h"
#include "neap/base/check.h"

namespace neap::zoo {

static_assert(std::endian::native == std::endian::little,
              "constants are little-endian and are stored as they are in memory");

inline std::int64_t Elements(const graph::Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dimension : shape) elements *= dimension;
  return elements;
}

template <typename T>
graph::TensorId Builder::Constant(const std::string& name, graph::ElementType type,
                                  graph::Shape shape, std::vector<T> values) {
  NEAP_CHECK(static_cast<std::int64_t>(values.size()) == Elements(shape), name);
  const graph::TensorId id = AddTensor(name, type, std::move(shape), {});
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  graph::Tensor& tensor = subgraph_.tensors[id];
  tensor.constant = true;
  tensor.data = graph::ConstantData{owner, std::as_bytes(std::span<const T>(*owner))};
  return id;
}

}  // namespace neap::zoo
