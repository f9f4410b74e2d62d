// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/constants.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"

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

namespace {

// The axis that has a scale for each index. Files exist whose biases name an axis that they do not
// have; runtimes do not read it, so where there is one axis, it is that.
std::optional<std::size_t> AxisOfScales(const graph::Tensor& constant) {
  const auto scales = static_cast<std::int64_t>(constant.quantization->scales.size());
  const graph::Shape& shape = *constant.shape;
  const auto named = static_cast<std::size_t>(constant.quantization->axis);
  const std::size_t axis = shape.size() == 1 ? 0 : named;
  if (axis >= shape.size() || shape[axis] != scales) return std::nullopt;
  return axis;
}

bool HasScalesByIndex(const graph::Tensor& constant) {
  return constant.quantization && constant.quantization->scales.size() > 1;
}

}  // namespace

const graph::Op* DequantizerOf(const graph::Subgraph& subgraph, graph::TensorId constant) {
  if (!subgraph.tensors[constant].constant) return nullptr;
  for (const graph::Op& op : subgraph.ops) {
    if (op.folded && op.outputs.size() == 1 && op.outputs[0] == constant) {
      return ops::Is(op, ops::OpKind::kOnnxDequantizeLinear) ? &op : nullptr;
    }
  }
  return nullptr;
}

bool MayCut(const graph::Subgraph& subgraph, const graph::Op& op, graph::TensorId constant) {
  using Kind = ops::OpKind;
  const graph::Tensor& tensor = subgraph.tensors[constant];
  const bool plain = ops::IntegerAttribute(op, "weights_format", 0) == 0 &&
                     ops::IntegerAttribute(op, "block_size", 0) == 0;
  const bool cuts = plain && (ops::IsElementwise(op) ||
                              ops::Is(op, Kind::kBatchMatmul, Kind::kConv2d, Kind::kDepthwiseConv2d,
                                      Kind::kFullyConnected, Kind::kOnnxConv, Kind::kOnnxFusedConv,
                                      Kind::kOnnxGemm, Kind::kOnnxMatMul, Kind::kOnnxQLinearConv,
                                      Kind::kOnnxQLinearMatMul));
  if (!cuts || !tensor.constant || tensor.compressed) return false;
  if (const graph::Op* const from = DequantizerOf(subgraph, constant)) {
    return std::all_of(from->inputs.begin(), from->inputs.end(), [&](graph::TensorId input) {
      const bool known = !input.valid() || subgraph.tensors[input].data.has_value();
      return known && (!input.valid() || MayCut(subgraph, *from, input));
    });
  }
  const int bits = graph::BitsOf(tensor.type);
  const auto bytes = graph::TensorBytes(tensor);
  return tensor.data && bits > 0 && bits % 8 == 0 && bytes &&
         static_cast<std::size_t>(*bytes) == tensor.data->bytes.size() &&
         (!HasScalesByIndex(tensor) || AxisOfScales(tensor));
}

graph::Tensor PartOfConstant(const graph::Tensor& whole, const ops::Box& box, std::string name) {
  const auto element = static_cast<std::size_t>(graph::BitsOf(whole.type) / 8);
  graph::Tensor part = whole;
  part.name = std::move(name);
  part.shape = graph::Shape();
  for (const ops::Interval& along : box) part.shape->push_back(along.size());
  // Runs of the last axis, in the order of their indices.
  auto bytes = std::make_shared<std::vector<std::byte>>();
  std::vector<std::int64_t> at;
  for (const ops::Interval& along : box) at.push_back(along.begin);
  for (bool more = !ops::IsEmpty(box); more;) {
    std::size_t from = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      from = from * static_cast<std::size_t>((*whole.shape)[d]) + static_cast<std::size_t>(at[d]);
    }
    const std::size_t run = at.empty() ? 1 : static_cast<std::size_t>(box.back().size());
    const auto source = whole.data->bytes.subspan(from * element, run * element);
    bytes->insert(bytes->end(), source.begin(), source.end());
    std::size_t d = at.empty() ? 0 : at.size() - 1;
    while (d-- > 0 && ++at[d] == box[d].end) at[d] = box[d].begin;
    more = d != static_cast<std::size_t>(-1);
  }
  part.data = graph::ConstantData{bytes, *bytes};
  if (HasScalesByIndex(part)) {
    const ops::Interval& along = box[*AxisOfScales(whole)];
    const auto keep = [&](auto* list) {
      *list = {list->begin() + along.begin, list->begin() + along.end};
    };
    keep(&part.quantization->scales);
    keep(&part.quantization->zero_points);
  }
  return part;
}

}  // namespace neap::cascade
