// SPDX-License-Identifier: Apache-2.0
#include "neap/zoo/builder.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "neap/base/check.h"

namespace neap::zoo {
namespace {

using graph::ElementType;
using graph::Shape;
using graph::TensorId;

static_assert(std::endian::native == std::endian::little,
              "constants are little-endian and are stored as they lie in memory");

// Bits of a drawn weight: a float holds such an integer exactly.
constexpr int kWeightBits = 24;
constexpr double kHalfRange = 1 << (kWeightBits - 1);
// What is left of a trained shift: small beside activations of unit size.
constexpr double kBiasMeanSquare = 0.01;
// Rough growth of the mean square by taking a maximum over a window of values around zero.
constexpr double kMaxPoolGrowth = 2;

std::int64_t Elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dimension : shape) elements *= dimension;
  return elements;
}

// Of a window that is padded by half of its odd extent on both sides.
std::int64_t WindowedSize(std::int64_t size, std::int64_t stride) {
  return (size - 1) / stride + 1;
}

std::vector<std::int64_t> Fourfold(std::int64_t value) { return {value, value, value, value}; }

}  // namespace

Builder::Builder(std::string name, std::uint64_t weight_seed) : random_(weight_seed) {
  subgraph_.name = std::move(name);
}

const Shape& Builder::ShapeOf(TensorId tensor) const { return *subgraph_.tensors[tensor].shape; }

TensorId Builder::AddTensor(const std::string& name, ElementType type, Shape shape,
                            double mean_square) {
  NEAP_CHECK(names_.insert(name).second, "two tensors are called " + name);
  graph::Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = std::move(shape);
  mean_square_.push_back(mean_square);
  return subgraph_.tensors.push_back(std::move(tensor));
}

template <typename T>
TensorId Builder::Constant(const std::string& name, ElementType type, Shape shape,
                           std::vector<T> values) {
  NEAP_CHECK(static_cast<std::int64_t>(values.size()) == Elements(shape), name);
  const TensorId id = AddTensor(name, type, std::move(shape), 0);
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  graph::Tensor& tensor = subgraph_.tensors[id];
  tensor.constant = true;
  tensor.data = graph::ConstantData{owner, std::as_bytes(std::span<const T>(*owner))};
  return id;
}

// Uniform in [-bound, bound) with the given mean square, bound^2 / 3.
TensorId Builder::Weights(const std::string& name, Shape shape, double mean_square) {
  const double step = std::sqrt(3 * mean_square) / kHalfRange;
  std::vector<float> values(static_cast<std::size_t>(Elements(shape)));
  for (float& value : values) {
    const auto draw = static_cast<double>(random_.Next() >> (64 - kWeightBits));
    value = static_cast<float>((draw - kHalfRange) * step);
  }
  facts_.parameters += static_cast<std::int64_t>(values.size());
  facts_.published_parameters += static_cast<std::int64_t>(values.size());
  return Constant(name, ElementType::kFloat32, std::move(shape), std::move(values));
}

TensorId Builder::AddOp(const std::string& type, const std::string& name,
                        std::vector<TensorId> inputs, Shape shape, double mean_square,
                        Attributes attributes) {
  const TensorId output = AddTensor(name, ElementType::kFloat32, std::move(shape), mean_square);
  graph::Op op;
  op.type = type;
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs = {output};
  op.attributes = std::move(attributes);
  subgraph_.ops.push_back(std::move(op));
  return output;
}

TensorId Builder::Input(const std::string& name, Shape shape) {
  const TensorId input = AddTensor(name, ElementType::kFloat32, std::move(shape), 1);
  subgraph_.inputs.push_back(input);
  return input;
}

TensorId Builder::Convolve(const std::string& name, TensorId input, const ConvSpec& spec,
                           std::int64_t channels, std::int64_t groups) {
  const Shape in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4 && spec.kernel % 2 == 1 && in[1] % groups == 0, name);
  const Shape out = {in[0], channels, WindowedSize(in[2], spec.stride),
                     WindowedSize(in[3], spec.stride)};
  const std::int64_t fan_in = in[1] / groups * spec.kernel * spec.kernel;
  const double mean_square = 1 / (static_cast<double>(fan_in) * mean_square_[input]);
  std::vector<TensorId> inputs = {input};
  inputs.push_back(
      Weights(name + "/weight", {channels, in[1] / groups, spec.kernel, spec.kernel}, mean_square));
  if (spec.batch_norm) {
    inputs.push_back(Weights(name + "/bias", {channels}, kBiasMeanSquare));
    facts_.published_parameters += channels;
  }
  facts_.multiply_accumulates += Elements(out) * fan_in;
  return AddOp("Conv", name, std::move(inputs), out, 1,
               {{"dilations", std::vector<std::int64_t>{spec.dilation, spec.dilation}},
                {"group", groups},
                {"kernel_shape", std::vector<std::int64_t>{spec.kernel, spec.kernel}},
                {"pads", Fourfold(spec.dilation * (spec.kernel - 1) / 2)},
                {"strides", std::vector<std::int64_t>{spec.stride, spec.stride}}});
}

TensorId Builder::Conv(const std::string& name, TensorId input, const ConvSpec& spec) {
  return Convolve(name, input, spec, spec.channels, 1);
}

TensorId Builder::DepthwiseConv(const std::string& name, TensorId input, const ConvSpec& spec) {
  const std::int64_t channels = Channels(input);
  return Convolve(name, input, spec, channels, channels);
}

TensorId Builder::Relu(const std::string& name, TensorId input) {
  return AddOp("Relu", name, {input}, ShapeOf(input), mean_square_[input] / 2, {});
}

TensorId Builder::Add(const std::string& name, TensorId a, TensorId b) {
  NEAP_CHECK(ShapeOf(a) == ShapeOf(b), name);
  return AddOp("Add", name, {a, b}, ShapeOf(a), mean_square_[a] + mean_square_[b], {});
}

TensorId Builder::Sum(const std::string& name, const std::vector<TensorId>& inputs) {
  NEAP_CHECK(inputs.size() >= 2, name);
  double mean_square = 0;
  for (const TensorId input : inputs) {
    NEAP_CHECK(ShapeOf(input) == ShapeOf(inputs.front()), name);
    mean_square += mean_square_[input];
  }
  return AddOp("Sum", name, inputs, ShapeOf(inputs.front()), mean_square, {});
}

TensorId Builder::Scale(const std::string& name, TensorId input, float factor) {
  const TensorId constant = Constant<float>(name + "/factor", ElementType::kFloat32, {1}, {factor});
  return AddOp("Mul", name, {input, constant}, ShapeOf(input),
               mean_square_[input] * factor * factor, {});
}

TensorId Builder::Gate(const std::string& name, TensorId input) {
  const std::uint64_t draw = 1 + random_.Below((std::uint64_t{1} << kWeightBits) - 1);
  ++facts_.parameters;
  ++facts_.published_parameters;
  return Scale(name, input, static_cast<float>(static_cast<double>(draw) / (2 * kHalfRange)));
}

TensorId Builder::Concat(const std::string& name, const std::vector<TensorId>& inputs) {
  NEAP_CHECK(!inputs.empty(), name);
  Shape shape = ShapeOf(inputs.front());
  shape[1] = 0;
  double weighted = 0;
  for (const TensorId input : inputs) {
    const Shape& part = ShapeOf(input);
    NEAP_CHECK(part.size() == 4 && part[2] == shape[2] && part[3] == shape[3], name);
    shape[1] += part[1];
    weighted += mean_square_[input] * static_cast<double>(part[1]);
  }
  const double mean_square = weighted / static_cast<double>(shape[1]);
  return AddOp("Concat", name, inputs, shape, mean_square, {{"axis", std::int64_t{1}}});
}

TensorId Builder::Crop(const std::string& name, TensorId input, std::int64_t rows) {
  Shape shape = ShapeOf(input);
  NEAP_CHECK(shape.size() == 4 && rows < shape[2] && rows < shape[3], name);
  const auto list = [&](const char* what, std::int64_t height, std::int64_t width) {
    return Constant<std::int64_t>(name + what, ElementType::kInt64, {2}, {height, width});
  };
  const TensorId starts = list("/starts", rows, rows);
  const TensorId ends = list("/ends", shape[2], shape[3]);
  const TensorId axes = list("/axes", 2, 3);
  shape[2] -= rows;
  shape[3] -= rows;
  return AddOp("Slice", name, {input, starts, ends, axes}, shape, mean_square_[input], {});
}

TensorId Builder::Pool(const std::string& type, const std::string& name, TensorId input,
                       const PoolSpec& spec, double growth, Attributes attributes) {
  const Shape& in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4 && spec.kernel % 2 == 1, name);
  const Shape out = {in[0], in[1], WindowedSize(in[2], spec.stride),
                     WindowedSize(in[3], spec.stride)};
  attributes["kernel_shape"] = std::vector<std::int64_t>{spec.kernel, spec.kernel};
  attributes["pads"] = Fourfold((spec.kernel - 1) / 2);
  attributes["strides"] = std::vector<std::int64_t>{spec.stride, spec.stride};
  return AddOp(type, name, {input}, out, mean_square_[input] * growth, std::move(attributes));
}

TensorId Builder::MaxPool(const std::string& name, TensorId input, const PoolSpec& spec) {
  return Pool("MaxPool", name, input, spec, kMaxPoolGrowth, {});
}

TensorId Builder::AveragePool(const std::string& name, TensorId input, const PoolSpec& spec) {
  return Pool("AveragePool", name, input, spec, 1, {{"count_include_pad", std::int64_t{0}}});
}

TensorId Builder::GlobalAveragePool(const std::string& name, TensorId input) {
  const Shape& in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4, name);
  return AddOp("GlobalAveragePool", name, {input}, {in[0], in[1], 1, 1}, mean_square_[input], {});
}

TensorId Builder::Flatten(const std::string& name, TensorId input) {
  const Shape& in = ShapeOf(input);
  return AddOp("Flatten", name, {input}, {in[0], Elements(in) / in[0]}, mean_square_[input],
               {{"axis", std::int64_t{1}}});
}

TensorId Builder::Gemm(const std::string& name, TensorId input, std::int64_t features) {
  const Shape in = ShapeOf(input);
  NEAP_CHECK(in.size() == 2, name);
  const double mean_square = 1 / (static_cast<double>(in[1]) * mean_square_[input]);
  const TensorId weight = Weights(name + "/weight", {features, in[1]}, mean_square);
  const TensorId bias = Weights(name + "/bias", {features}, kBiasMeanSquare);
  facts_.multiply_accumulates += in[0] * in[1] * features;
  return AddOp("Gemm", name, {input, weight, bias}, {in[0], features}, 1,
               {{"transB", std::int64_t{1}}});
}

TensorId Builder::Softmax(const std::string& name, TensorId input) {
  return AddOp("Softmax", name, {input}, ShapeOf(input), mean_square_[input],
               {{"axis", std::int64_t{1}}});
}

void Builder::Output(TensorId tensor) { subgraph_.outputs.push_back(tensor); }

Network Builder::Finish() {
  Network network;
  network.graph.subgraphs.push_back(std::move(subgraph_));
  network.facts = facts_;
  subgraph_ = {};
  mean_square_ = {};
  names_.clear();
  facts_ = {};
  return network;
}

}  // namespace neap::zoo
