// SPDX-License-Identifier: Apache-2.0
//
// What random networks for tiles are made of: tensors, constants, and operators in a row, of which
// those that contribute to the last tensor stay. Private to testing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "testing/sketch.h"
#include "testing/tile_networks.h"

namespace neap::cascade {

class TileNetworkMaker {
 protected:
  using Attributes = std::map<std::string, graph::Attribute>;
  using ElementType = graph::ElementType;
  using Op = graph::Op;
  using OpId = graph::OpId;
  using Shape = graph::Shape;
  using Subgraph = graph::Subgraph;
  using SubgraphId = graph::SubgraphId;
  using Tensor = graph::Tensor;
  using TensorId = graph::TensorId;

  TileNetworkMaker(Random* random, bool quantized, bool onnx)
      : random_(*random), quantized_(quantized), onnx_(onnx) {
    network_.graph.subgraphs.push_back({});
  }

  Subgraph& Main() { return network_.graph.subgraphs[SubgraphId(0)]; }
  std::int64_t Draw(std::int64_t low, std::int64_t high) { return random_.Between(low, high); }
  bool Chance(std::uint64_t n, std::uint64_t of) { return random_.Chance(n, of); }
  TensorId Any() { return made_[random_.Below(made_.size())]; }
  const Shape& ShapeOf(TensorId id) { return *Main().tensors[id].shape; }

  TensorId Add(Tensor tensor) {
    tensor.name = "t" + std::to_string(Main().tensors.size());
    return Main().tensors.push_back(std::move(tensor));
  }
  TensorId Activation(const Shape& shape, float scale = 0.05F) {
    Tensor tensor;
    tensor.type = quantized_ ? ElementType::kInt8 : ElementType::kFloat32;
    tensor.shape = shape;
    if (quantized_) tensor.quantization = graph::Quantization{{scale}, {Draw(-100, 100)}, 0};
    return Add(std::move(tensor));
  }
  // Same numbers mean the same.
  TensorId Like(TensorId other, const Shape& shape) {
    Tensor tensor = Main().tensors[other];
    tensor.shape = shape;
    return Add(std::move(tensor));
  }
  template <typename T>
  TensorId Constant(ElementType type, const Shape& shape, const std::vector<T>& values) {
    return Add(graph::ConstantOf(type, shape, values));
  }
  TensorId Weights(const Shape& shape, std::size_t channel_axis) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    if (!quantized_) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<float>(2 * random_.Unit() - 1));
      }
      return Constant(ElementType::kFloat32, shape, values);
    }
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int8_t>(Draw(-127, 127)));
    }
    const TensorId id = Constant(ElementType::kInt8, shape, values);
    graph::Quantization quantization;
    quantization.axis = static_cast<std::int32_t>(channel_axis);
    for (std::int64_t c = 0; c < shape[channel_axis]; ++c) {
      quantization.scales.push_back(0.01F + 0.002F * static_cast<float>(c));
      quantization.zero_points.push_back(0);
    }
    Main().tensors[id].quantization = std::move(quantization);
    return id;
  }
  TensorId Bias(std::int64_t channels) {
    if (!quantized_) return Weights({channels}, 0);
    std::vector<std::int32_t> values;
    for (std::int64_t c = 0; c < channels; ++c) {
      values.push_back(static_cast<std::int32_t>(Draw(-2000, 2000)));
    }
    const TensorId id = Constant(ElementType::kInt32, {channels}, values);
    // A scale for each channel. Files exist whose biases name an axis that they do not have.
    const auto count = static_cast<std::size_t>(channels);
    Main().tensors[id].quantization =
        graph::Quantization{std::vector<float>(count, 0.0005F), std::vector<std::int64_t>(count, 0),
                            static_cast<std::int32_t>(channels % 4)};
    return id;
  }
  void Run(const std::string& type, std::vector<TensorId> inputs, TensorId output,
           Attributes attributes) {
    Op op;
    op.type = type;
    op.domain = onnx_ ? "" : "tflite";
    op.version = onnx_ ? 17 : 0;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.attributes = std::move(attributes);
    Main().ops.push_back(std::move(op));
    made_.push_back(output);
  }
  void RunSplit(const std::string& type, std::vector<TensorId> inputs,
                const std::vector<TensorId>& outputs, Attributes attributes) {
    Run(type, std::move(inputs), outputs[0], std::move(attributes));
    Main().ops[OpId(Main().ops.size() - 1)].outputs = outputs;
    made_.insert(made_.end(), outputs.begin() + 1, outputs.end());
  }
  static std::int64_t Slides(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                             std::int64_t dilation, bool same) {
    const std::int64_t span = (kernel - 1) * dilation + 1;
    if (same) return (in + stride - 1) / stride;
    return in < span ? 0 : (in - span) / stride + 1;
  }

  TensorId Integers(const std::vector<std::int64_t>& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    if (onnx_) return Constant(ElementType::kInt64, {size}, values);
    return Constant(ElementType::kInt32, {size},
                    std::vector<std::int32_t>(values.begin(), values.end()));
  }

  // The last other tensor of the shape, or the tensor itself.
  TensorId SameShape(TensorId from) {
    for (std::size_t i = made_.size(); i-- > 0;) {
      const bool same = ShapeOf(made_[i]) == ShapeOf(from) &&
                        Main().tensors[made_[i]].type == Main().tensors[from].type;
      if (made_[i] != from && same) return made_[i];
    }
    return from;
  }

  // The last tensor is the output; operators that do not contribute to it are removed.
  Network Finish() {
    Subgraph& main = Main();
    if (main.ops.empty()) {
      const TensorId from = made_[0];
      Run(onnx_ ? "Relu" : "RELU", {from}, Like(from, ShapeOf(from)), {});
    }
    main.outputs = {made_.back()};
    IdVector<TensorId, bool> wanted(main.tensors.size(), false);
    wanted[made_.back()] = true;
    std::vector<Op> kept;
    for (std::size_t k = main.ops.size(); k-- > 0;) {
      const Op& op = main.ops[OpId(k)];
      const bool any = std::any_of(op.outputs.begin(), op.outputs.end(),
                                   [&](TensorId output) { return wanted[output]; });
      if (!any) continue;
      for (const TensorId input : op.inputs) {
        if (input.valid()) wanted[input] = true;
      }
      kept.push_back(op);
    }
    std::reverse(kept.begin(), kept.end());
    main.ops = {};
    for (Op& op : kept) {
      const OpId id = main.ops.push_back(std::move(op));
      if (!main.ops[id].folded) network_.ops.push_back(id);
    }
    // Inputs that nothing needs are none.
    std::erase_if(main.inputs, [&](TensorId input) { return !wanted[input] && input != made_[0]; });
    return std::move(network_);
  }

  Random& random_;
  bool quantized_;  // what is made next
  const bool onnx_;
  Network network_;
  std::vector<TensorId> made_;
};

}  // namespace neap::cascade
