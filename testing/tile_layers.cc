// SPDX-License-Identifier: Apache-2.0
#include "testing/tile_layers.h"

#include <map>
#include <utility>
#include <vector>

#include "testing/sketch.h"

namespace neap::cascade {
namespace {

using graph::ConstantOf;
using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;

std::int64_t Slides(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                    std::int64_t dilation, bool same) {
  return same ? (in + stride - 1) / stride : (in - (kernel - 1) * dilation - 1) / stride + 1;
}

}  // namespace

TensorId Layers::Activation(const Shape& shape) {
  Tensor tensor;
  tensor.name = "t" + std::to_string(Main().tensors.size());
  tensor.type = ElementType::kInt8;
  tensor.shape = shape;
  tensor.quantization = graph::Quantization{{0.1F}, {3}, 0};
  return Main().tensors.push_back(std::move(tensor));
}

TensorId Layers::Weights(const Shape& shape, std::size_t channel_axis) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  std::vector<std::int8_t> values;
  for (std::int64_t i = 0; i < count; ++i) {
    drawn_ = (drawn_ * 75 + 74) % 65537;
    values.push_back(static_cast<std::int8_t>(drawn_ % 255 - 127));
  }
  Tensor tensor = ConstantOf(ElementType::kInt8, shape, values);
  tensor.name = "w" + std::to_string(Main().tensors.size());
  graph::Quantization quantization;
  quantization.axis = static_cast<std::int32_t>(channel_axis);
  quantization.scales.assign(static_cast<std::size_t>(shape[channel_axis]), 0.01F);
  quantization.zero_points.assign(quantization.scales.size(), 0);
  tensor.quantization = std::move(quantization);
  return Main().tensors.push_back(std::move(tensor));
}

TensorId Layers::Bias(std::int64_t channels) {
  std::vector<std::int32_t> values;
  for (std::int64_t c = 0; c < channels; ++c) values.push_back(static_cast<std::int32_t>(31 * c));
  Tensor tensor = ConstantOf(ElementType::kInt32, {channels}, values);
  tensor.name = "b" + std::to_string(Main().tensors.size());
  tensor.quantization = graph::Quantization{{0.001F}, {0}, 0};
  return Main().tensors.push_back(std::move(tensor));
}

TensorId Layers::Run(const std::string& type, std::vector<TensorId> inputs, const Shape& shape,
                     std::map<std::string, graph::Attribute> with) {
  Op op;
  op.type = type;
  op.domain = "tflite";
  op.inputs = std::move(inputs);
  op.outputs = {Activation(shape)};
  op.attributes = std::move(with);
  const TensorId output = op.outputs[0];
  Main().ops.push_back(std::move(op));
  return output;
}

TensorId Layers::Window(const std::string& type, std::vector<TensorId> inputs,
                        std::int64_t channels, const LayerShape& s) {
  const Shape in = *Main().tensors[inputs[0]].shape;
  const Shape out = {
      in[0], Slides(in[1], s.kernel.height, s.stride.height, s.dilation.height, s.same),
      Slides(in[2], s.kernel.width, s.stride.width, s.dilation.width, s.same), channels};
  std::map<std::string, graph::Attribute> with = {{"padding", std::int64_t{s.same ? 0 : 1}},
                                                  {"stride_h", s.stride.height},
                                                  {"stride_w", s.stride.width},
                                                  {"fused_activation_function", std::int64_t{0}}};
  if (type == "MAX_POOL_2D") {
    with["filter_height"] = s.kernel.height;
    with["filter_width"] = s.kernel.width;
  } else {
    with["dilation_h_factor"] = s.dilation.height;
    with["dilation_w_factor"] = s.dilation.width;
  }
  if (type == "DEPTHWISE_CONV_2D") with["depth_multiplier"] = std::int64_t{1};
  return Run(type, std::move(inputs), out, std::move(with));
}

TensorId Layers::Input(const Shape& shape) {
  Main().inputs.push_back(Activation(shape));
  return Main().inputs.back();
}

TensorId Layers::Conv(TensorId from, std::int64_t channels, const LayerShape& s) {
  const std::int64_t depth = (*Main().tensors[from].shape)[3];
  const TensorId weights = Weights({channels, s.kernel.height, s.kernel.width, depth}, 0);
  return Window("CONV_2D", {from, weights, Bias(channels)}, channels, s);
}

TensorId Layers::ConvWith(TensorId from, OpId weights_of, const LayerShape& s) {
  const std::vector<TensorId> inputs = Main().ops[weights_of].inputs;
  const std::int64_t channels = (*Main().tensors[inputs[1]].shape)[0];
  return Window("CONV_2D", {from, inputs[1], inputs[2]}, channels, s);
}

TensorId Layers::Depthwise(TensorId from, const LayerShape& s) {
  const std::int64_t channels = (*Main().tensors[from].shape)[3];
  const TensorId weights = Weights({1, s.kernel.height, s.kernel.width, channels}, 3);
  return Window("DEPTHWISE_CONV_2D", {from, weights, Bias(channels)}, channels, s);
}

TensorId Layers::MaxPool(TensorId from, const LayerShape& s) {
  return Window("MAX_POOL_2D", {from}, (*Main().tensors[from].shape)[3], s);
}

TensorId Layers::Add(TensorId a, TensorId b) {
  return Run("ADD", {a, b}, *Main().tensors[a].shape,
             {{"fused_activation_function", std::int64_t{0}}});
}

TensorId Layers::Relu(TensorId from) {
  return Run("RELU", {from}, *Main().tensors[from].shape, {});
}

TensorId Layers::Reshape(TensorId from, const Shape& shape) {
  const std::vector<std::int32_t> sizes(shape.begin(), shape.end());
  const TensorId constant = Main().tensors.push_back(
      ConstantOf(ElementType::kInt32, {static_cast<std::int64_t>(sizes.size())}, sizes));
  const TensorId out = Run("RESHAPE", {from, constant}, shape, {{"new_shape", shape}});
  Main().tensors[out].quantization = Main().tensors[from].quantization;
  return out;
}

std::vector<TensorId> Layers::Split(TensorId from, std::int64_t parts) {
  Shape shape = *Main().tensors[from].shape;
  const auto axis = static_cast<std::int32_t>(shape.size()) - 1;
  shape.back() /= parts;
  const TensorId constant = Main().tensors.push_back(
      ConstantOf(ElementType::kInt32, Shape{}, std::vector<std::int32_t>{axis}));
  return RunSplit("SPLIT", {constant, from}, shape, parts, {{"num_splits", parts}});
}

std::vector<TensorId> Layers::Unpack(TensorId from) {
  Shape shape = *Main().tensors[from].shape;
  const std::int64_t parts = shape.front();
  shape.erase(shape.begin());
  return RunSplit("UNPACK", {from}, shape, parts, {{"num", parts}, {"axis", std::int64_t{0}}});
}

std::vector<TensorId> Layers::RunSplit(const std::string& type, std::vector<TensorId> inputs,
                                       const Shape& shape, std::int64_t parts,
                                       std::map<std::string, graph::Attribute> with) {
  const graph::Tensor from = Main().tensors[inputs.back()];
  std::vector<TensorId> outputs = {Run(type, std::move(inputs), shape, std::move(with))};
  const graph::OpId id(Main().ops.size() - 1);
  for (std::int64_t i = 1; i < parts; ++i) outputs.push_back(Activation(shape));
  for (const TensorId output : outputs) Main().tensors[output].quantization = from.quantization;
  Main().ops[id].outputs = outputs;
  return outputs;
}

TensorId Layers::Mean(TensorId from, bool keeps) {
  const Shape& in = *Main().tensors[from].shape;
  const Shape out = keeps ? Shape{in[0], 1, 1, in[3]} : Shape{in[0], in[3]};
  const TensorId axes = Main().tensors.push_back(
      ConstantOf(ElementType::kInt32, {2}, std::vector<std::int32_t>{1, 2}));
  return Run("MEAN", {from, axes}, out, {{"keep_dims", std::int64_t{keeps ? 1 : 0}}});
}

TensorId Layers::Softmax(TensorId from) {
  return Run("SOFTMAX", {from}, *Main().tensors[from].shape, {{"beta", 1.0}});
}

std::vector<OpId> Layers::Ops() {
  std::vector<OpId> ops;
  for (const OpId id : Main().ops.Ids()) ops.push_back(id);
  return ops;
}

std::int64_t Layers::BytesOf(TensorId id) {
  return graph::TensorBytes(Main().tensors[id]).value_or(0);
}

}  // namespace neap::cascade
