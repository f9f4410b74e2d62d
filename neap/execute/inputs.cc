// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/inputs.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "neap/base/random.h"

namespace neap::execute {
namespace {

using graph::ElementType;

template <typename T>
void Store(std::vector<std::byte>* bytes, std::size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof(T));
}

Result<Value> RandomValue(const graph::Tensor& tensor, std::int64_t bytes, Random random) {
  Value value{tensor.type, *tensor.shape, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
  const auto bits = static_cast<std::size_t>(graph::BitsOf(tensor.type));
  const auto size = std::max<std::size_t>(bits / 8, 1);
  for (std::size_t at = 0; at < value.bytes.size(); at += size) {
    switch (tensor.type) {
      case ElementType::kBool:
        value.bytes[at] = static_cast<std::byte>(random.Next() & 1U);
        break;
      case ElementType::kInt4:
      case ElementType::kUint4:
      case ElementType::kInt8:
      case ElementType::kUint8:
        value.bytes[at] = static_cast<std::byte>(random.Next() & 0xffU);
        break;
      case ElementType::kInt16:
      case ElementType::kUint16:
        Store(&value.bytes, at, static_cast<std::uint16_t>(random.Next() & 0xffffU));
        break;
      case ElementType::kInt32:
      case ElementType::kUint32:
        Store(&value.bytes, at, static_cast<std::uint32_t>(random.Below(4)));
        break;
      case ElementType::kInt64:
      case ElementType::kUint64:
        Store(&value.bytes, at, random.Below(4));
        break;
      case ElementType::kFloat32:
        Store(&value.bytes, at, static_cast<float>(2 * random.Unit() - 1));
        break;
      case ElementType::kFloat64:
        Store(&value.bytes, at, 2 * random.Unit() - 1);
        break;
      default:
        return Fail(BadInput("no random values for elements of type " +
                             std::string(graph::NameOf(tensor.type))));
    }
  }
  // The bits after the last element are zeros, as in every packed tensor.
  if (size * 8 > bits && Packed(Unpacked(value), value.type)) {
    value = *Packed(Unpacked(value), value.type);
  }
  return value;
}

std::string Described(ElementType type, const graph::Shape& shape) {
  std::string text(graph::NameOf(type));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "[" : ",") + std::to_string(shape[i]);
  }
  return shape.empty() ? text : text + "]";
}

}  // namespace

Status CheckInputs(const graph::Subgraph& subgraph, std::span<const Value> inputs) {
  if (inputs.size() != subgraph.inputs.size()) {
    return Fail(BadInput("got " + std::to_string(inputs.size()) + " inputs, the model has " +
                         std::to_string(subgraph.inputs.size())));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::TensorId id = subgraph.inputs[i];
    const graph::Tensor& tensor = subgraph.tensors[id];
    auto bytes = graph::TensorBytes(tensor);
    if (!bytes) return Fail(AtTensor(std::move(bytes).error(), id, tensor));
    if (inputs[i].type == tensor.type && inputs[i].shape == tensor.shape &&
        static_cast<std::int64_t>(inputs[i].bytes.size()) == *bytes) {
      continue;
    }
    return Fail(
        AtTensor(BadInput("found " + Described(inputs[i].type, inputs[i].shape) +
                          " for this input, expected " + Described(tensor.type, *tensor.shape)),
                 id, tensor));
  }
  return {};
}

Result<std::vector<Value>> RandomInputs(const graph::Subgraph& subgraph, std::uint64_t seed,
                                        std::int64_t max_bytes) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < subgraph.inputs.size(); ++i) {
    const graph::TensorId id = subgraph.inputs[i];
    const graph::Tensor& tensor = subgraph.tensors[id];
    auto bytes = graph::TensorBytes(tensor);
    if (!bytes) return Fail(AtTensor(std::move(bytes).error(), id, tensor));
    max_bytes -= *bytes;
    if (max_bytes < 0) {
      return Fail(AtTensor(BadInput("the inputs exceed the memory limit"), id, tensor));
    }
    auto value = RandomValue(tensor, *bytes, Random(seed + (static_cast<std::uint64_t>(i) << 32U)));
    if (!value) return Fail(AtTensor(std::move(value).error(), id, tensor));
    values.push_back(std::move(*value));
  }
  return values;
}

std::vector<std::string> NamesOf(const graph::Subgraph& subgraph,
                                 const std::vector<graph::TensorId>& tensors) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const graph::TensorId id : tensors) {
    std::string name = subgraph.tensors[id].name;
    if (name.empty() || seen.contains(name)) name = "tensor_" + std::to_string(id.value());
    while (seen.contains(name)) name += '_';
    seen.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<Value>> MatchInputs(const graph::Subgraph& subgraph,
                                       std::vector<NamedValue> arrays) {
  const std::vector<std::string> names = NamesOf(subgraph, subgraph.inputs);
  const auto is_input = [&](const NamedValue& array) {
    return std::find(names.begin(), names.end(), array.name) != names.end();
  };
  const bool by_order = std::none_of(arrays.begin(), arrays.end(), is_input);
  if (arrays.size() != names.size()) {
    return Fail(BadInput("has " + std::to_string(arrays.size()) + " arrays, the model has " +
                         std::to_string(names.size()) + " inputs"));
  }
  std::vector<Value> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = by_order ? arrays.begin() + static_cast<std::ptrdiff_t>(i)
                                : std::find_if(arrays.begin(), arrays.end(),
                                               [&](const auto& a) { return a.name == names[i]; });
    const graph::TensorId id = subgraph.inputs[i];
    const graph::Tensor& tensor = subgraph.tensors[id];
    if (found == arrays.end()) {
      return Fail(AtTensor(BadInput("there is no array with the name of this input"), id, tensor));
    }
    const int bits = graph::BitsOf(tensor.type);
    if (bits > 0 && bits < 8) {
      auto packed = Packed(found->value, tensor.type);
      if (!packed) return Fail(AtTensor(std::move(packed).error(), id, tensor));
      values.push_back(std::move(*packed));
    } else {
      values.push_back(std::move(found->value));
    }
  }
  return values;
}

}  // namespace neap::execute
