// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/constants.h"

#include <cstring>
#include <memory>
#include <utility>

namespace neap::cascade {

std::optional<std::vector<std::int64_t>> IntegersOf(const graph::Subgraph& subgraph,
                                                    const graph::Op& op, std::size_t input) {
  if (input >= op.inputs.size() || !op.inputs[input].valid()) return std::nullopt;
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[input]];
  if (!tensor.constant || !tensor.data) return std::nullopt;
  const bool wide = tensor.type == graph::ElementType::kInt64;
  if (!wide && tensor.type != graph::ElementType::kInt32) return std::nullopt;
  const std::size_t size = wide ? 8 : 4;
  const auto bytes = tensor.data->bytes;
  constexpr std::size_t kMax = 1024;
  if (bytes.size() % size != 0 || bytes.size() / size > kMax) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    if (wide) {
      std::int64_t value = 0;
      std::memcpy(&value, bytes.data() + at, size);
      values.push_back(value);
    } else {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + at, size);
      values.push_back(value);
    }
  }
  return values;
}

graph::Tensor IntegerConstant(std::string name, const std::vector<std::int64_t>& values, bool wide,
                              bool pairs) {
  const std::size_t size = wide ? 8 : 4;
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<std::int32_t>(values[i]);
    const void* const from = wide ? static_cast<const void*>(&values[i]) : &narrow;
    std::memcpy(bytes->data() + i * size, from, size);
  }
  graph::Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = wide ? graph::ElementType::kInt64 : graph::ElementType::kInt32;
  const auto count = static_cast<std::int64_t>(values.size());
  tensor.shape = pairs ? graph::Shape{count / 2, 2} : graph::Shape{count};
  tensor.constant = true;
  tensor.data = graph::ConstantData{bytes, *bytes};
  return tensor;
}

graph::Tensor TrueConstant(std::string name) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(1, std::byte{1});
  graph::Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = graph::ElementType::kBool;
  tensor.shape = graph::Shape{1};
  tensor.constant = true;
  tensor.data = graph::ConstantData{bytes, *bytes};
  return tensor;
}

}  // namespace neap::cascade
