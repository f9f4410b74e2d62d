// SPDX-License-Identifier: Apache-2.0
//
// Random networks with many matches of the rules, for the tests of this module.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "testing/sketch.h"

namespace neap::rewrite {

using graph::ElementType;
using graph::Sketch;
using graph::TensorId;

// One operator set and element type.
struct Flavour {
  bool tflite = true;
  ElementType type = ElementType::kFloat32;
};

class NetworkMaker {
 public:
  NetworkMaker(Flavour flavour, Random* random) : f_(flavour), random_(random) {}

  graph::Graph Make() {
    const std::int64_t inputs = random_->Between(1, 3);
    for (std::int64_t i = 0; i < inputs; ++i) {
      const std::int64_t channels = random_->Between(1, 6);
      const TensorId id = maker_.Input(f_.type, Shape(channels));
      Settle(id);
      images_.push_back(id);
    }
    const std::int64_t operators = random_->Between(3, 14);
    for (std::int64_t i = 0; i < operators; ++i) AddOne();
    std::vector<TensorId> unread = images_;
    for (const graph::Op& op : maker_.Main().ops) {
      for (const TensorId input : op.inputs) std::erase(unread, input);
    }
    for (const TensorId input : maker_.Main().inputs) std::erase(unread, input);
    for (const TensorId id : unread) maker_.Output(id);
    if (maker_.Main().outputs.empty()) maker_.Output(images_.back());
    return maker_.graph();
  }

 private:
  static constexpr std::int64_t kHeight = 5;
  static constexpr std::int64_t kWidth = 4;

  bool floats() const { return f_.type == ElementType::kFloat32; }
  std::size_t axis() const { return f_.tflite ? 3 : 1; }
  graph::Shape Shape(std::int64_t channels) const {
    if (f_.tflite) return {1, kHeight, kWidth, channels};
    return {1, channels, kHeight, kWidth};
  }
  std::int64_t Channels(TensorId id) { return (*maker_.Main().tensors[id].shape)[axis()]; }

  // All images have one scale, so that none is rescaled.
  void Settle(TensorId id) {
    if (!floats()) maker_.Quantize(id, 0.05F, f_.type == ElementType::kUint8 ? 120 : -4);
  }
  TensorId Image(std::int64_t channels) {
    const TensorId id = maker_.Tensor(f_.type, Shape(channels));
    Settle(id);
    return id;
  }
  TensorId Any() { return images_[random_->Below(images_.size())]; }
  // More likely one of the last: deep networks.
  TensorId Recent() {
    return random_->Below(3) == 0
               ? Any()
               : images_[images_.size() - 1 -
                         random_->Below(std::min<std::uint64_t>(images_.size(), 2))];
  }

  void Add(const std::string& type, std::vector<TensorId> inputs, TensorId output,
           std::map<std::string, graph::Attribute> attributes = {}) {
    maker_.Op(f_.tflite ? "tflite" : "", type, std::move(inputs), {output}, std::move(attributes));
    images_.push_back(output);
  }

  // Weights of `shape` with a scale for each index of `channel_axis`.
  TensorId Weights(const graph::Shape& shape, std::size_t channel_axis) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    if (floats()) {
      return maker_.RandomFloats(shape, random_);
    }
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int8_t>(random_->Between(-127, 127)));
    }
    const TensorId id = maker_.Constant(f_.type, shape, values);
    graph::Quantization q;
    q.axis = static_cast<std::int32_t>(channel_axis);
    const bool per_channel = f_.type == ElementType::kInt8 && random_->Below(2) == 0;
    const std::int64_t scales = per_channel ? shape[channel_axis] : 1;
    for (std::int64_t i = 0; i < scales; ++i) {
      q.scales.push_back(static_cast<float>(0.001 + 0.004 * random_->Unit()));
      q.zero_points.push_back(f_.type == ElementType::kUint8 ? random_->Between(100, 140) : 0);
    }
    maker_.Main().tensors[id].quantization = q;
    return id;
  }
  TensorId Bias(std::int64_t channels) {
    if (floats()) {
      return maker_.RandomFloats({channels}, random_);
    }
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < channels; ++i) {
      values.push_back(static_cast<std::int32_t>(random_->Between(-3000, 3000)));
    }
    return maker_.Constant(ElementType::kInt32, {channels}, values);
  }
  TensorId Integers(const std::vector<std::int64_t>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    if (!f_.tflite) return maker_.Constant(ElementType::kInt64, {count}, values);
    return maker_.Constant(ElementType::kInt32, {count},
                           std::vector<std::int32_t>(values.begin(), values.end()));
  }

  std::int64_t Activation() {
    constexpr std::int64_t kKinds[] = {0, 1, 3};
    return kKinds[random_->Below(3)];
  }

  void AddOne() {
    switch (random_->Below(12)) {
      case 0:
      case 1:
      case 2:
        return Concat();
      case 3:
      case 4:
        return Conv();
      case 5:
        return Depthwise();
      case 6:
        return Unary();
      case 7:
        return Pool();
      case 8:
        return Binary();
      case 9:
        return Cut();
      case 10:
        return Nothing();
      default:
        return Other();
    }
  }

  void Concat() {
    std::vector<TensorId> parts;
    std::int64_t channels = 0;
    const std::int64_t count = random_->Between(2, 4);
    for (std::int64_t i = 0; i < count; ++i) {
      const TensorId part = Any();
      if (channels + Channels(part) > 24) continue;
      parts.push_back(part);
      channels += Channels(part);
    }
    if (parts.size() < 2) return;
    Add(f_.tflite ? "CONCATENATION" : "Concat", parts, Image(channels),
        {{"axis", static_cast<std::int64_t>(random_->Below(2) == 0 ? axis() : axis() - 4)}});
    if (f_.tflite) {
      graph::Op& op = maker_.Main().ops[graph::OpId(maker_.Main().ops.size() - 1)];
      op.attributes["fused_activation_function"] = std::int64_t{0};
    }
  }

  void Conv() {
    const TensorId in = Recent();
    const std::int64_t outputs = random_->Below(3) == 0 ? 16 : random_->Between(1, 8);
    const std::int64_t size = random_->Below(2) == 0 ? 1 : 3;
    const std::int64_t dilation = random_->Between(1, 2);
    const TensorId out = Image(outputs);
    if (f_.tflite) {
      const TensorId w = Weights({outputs, size, size, Channels(in)}, 0);
      Add("CONV_2D", {in, w, Bias(outputs)}, out,
          {{"padding", std::int64_t{0}},
           {"stride_w", std::int64_t{1}},
           {"stride_h", std::int64_t{1}},
           {"dilation_w_factor", dilation},
           {"dilation_h_factor", dilation},
           {"fused_activation_function", Activation()}});
      return;
    }
    const TensorId w = Weights({outputs, Channels(in), size, size}, 0);
    std::vector<TensorId> inputs = {in, w};
    if (random_->Below(2) == 0) inputs.push_back(Bias(outputs));
    const std::int64_t pad = size / 2 * dilation;
    Add("Conv", inputs, out,
        {{"dilations", std::vector<std::int64_t>{dilation, dilation}},
         {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
  }

  void Depthwise() {
    const TensorId in = Recent();
    const std::int64_t multiplier = random_->Between(1, 2);
    const std::int64_t outputs = Channels(in) * multiplier;
    if (outputs > 24) return;
    if (f_.tflite) {
      const TensorId w = Weights({1, 3, 3, outputs}, 3);
      Add("DEPTHWISE_CONV_2D", {in, w, Bias(outputs)}, Image(outputs),
          {{"padding", std::int64_t{0}},
           {"stride_w", std::int64_t{1}},
           {"stride_h", std::int64_t{1}},
           {"depth_multiplier", multiplier},
           {"fused_activation_function", Activation()}});
      return;
    }
    Add("Conv", {in, Weights({outputs, 1, 3, 3}, 0), Bias(outputs)}, Image(outputs),
        {{"group", Channels(in)}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  }

  void Unary() {
    const TensorId in = Recent();
    const std::vector<std::string> types =
        f_.tflite ? (floats() ? std::vector<std::string>{"RELU", "RELU6", "ABS", "NEG"}
                              : std::vector<std::string>{"RELU"})
                  : std::vector<std::string>{"Relu", "Abs", "Neg", "LeakyRelu"};
    Add(types[random_->Below(types.size())], {in}, Image(Channels(in)));
  }

  void Pool() {
    const TensorId in = Recent();
    const bool most = random_->Below(2) == 0;
    if (f_.tflite) {
      Add(most ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", {in}, Image(Channels(in)),
          {{"padding", std::int64_t{0}},
           {"stride_w", std::int64_t{1}},
           {"stride_h", std::int64_t{1}},
           {"filter_width", std::int64_t{3}},
           {"filter_height", std::int64_t{3}},
           {"fused_activation_function", std::int64_t{0}}});
      return;
    }
    Add(most ? "MaxPool" : "AveragePool", {in}, Image(Channels(in)),
        {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
         {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  }

  void Binary() {
    const TensorId a = Recent();
    std::map<std::string, graph::Attribute> attributes;
    if (f_.tflite) attributes["fused_activation_function"] = Activation();
    for (int tries = 0; tries < 4; ++tries) {
      const TensorId b = Any();
      if (Channels(a) != Channels(b)) continue;
      return Add(f_.tflite ? "ADD" : "Add", {a, b}, Image(Channels(a)), attributes);
    }
    const graph::Shape shape =
        f_.tflite ? graph::Shape{Channels(a)} : graph::Shape{Channels(a), 1, 1};
    const TensorId constant = Weights(shape, 0);
    if (!floats()) maker_.Quantize(constant, 0.01F, f_.type == ElementType::kUint8 ? 128 : 0);
    Add(f_.tflite ? "MUL" : "Mul", {a, constant}, Image(Channels(a)), attributes);
  }

  // Along a seam or across one.
  void Cut() {
    const TensorId in = Recent();
    const std::int64_t channels = Channels(in);
    if (channels < 2) return;
    std::int64_t begin = random_->Between(0, channels - 1);
    std::int64_t size = random_->Between(1, channels - begin);
    for (const graph::Op& op : maker_.Main().ops) {
      if (op.outputs.front() != in || op.type.find("ONCAT") == std::string::npos) {
        if (op.outputs.front() != in || op.type != "Concat") continue;
      }
      const std::size_t part = random_->Below(op.inputs.size());
      begin = 0;
      for (std::size_t i = 0; i < part; ++i) begin += Channels(op.inputs[i]);
      size = Channels(op.inputs[part]);
    }
    const TensorId out = Image(size);
    if (f_.tflite) {
      Add("SLICE", {in, Integers({0, 0, 0, begin}), Integers({1, kHeight, kWidth, size})}, out);
      return;
    }
    Add("Slice", {in, Integers({begin}), Integers({begin + size}), Integers({1})}, out);
  }

  void Nothing() {
    const TensorId in = Recent();
    const std::int64_t channels = Channels(in);
    const TensorId out = Image(channels);
    switch (random_->Below(3)) {
      case 0:
        if (f_.tflite) {
          return Add("SPLIT",
                     {maker_.Constant(ElementType::kInt32, {}, std::vector<std::int32_t>{3}), in},
                     out, {{"num_splits", std::int64_t{1}}});
        }
        return Add("Identity", {in}, out);
      case 1:
        return Add(f_.tflite ? "RESHAPE" : "Reshape", {in, Integers(Shape(channels))}, out);
      default: {
        // There and back again.
        const graph::Shape from = Shape(channels);
        const TensorId turned = maker_.Tensor(f_.type, {from[0], from[2], from[3], from[1]});
        Settle(turned);
        const std::vector<std::int64_t> there = {0, 2, 3, 1};
        const std::vector<std::int64_t> back = {0, 3, 1, 2};
        if (f_.tflite) {
          maker_.Op("tflite", "TRANSPOSE", {in, Integers(there)}, {turned});
          return Add("TRANSPOSE", {turned, Integers(back)}, out);
        }
        maker_.Op("", "Transpose", {in}, {turned}, {{"perm", there}});
        return Add("Transpose", {turned}, out, {{"perm", back}});
      }
    }
  }

  void Other() {
    const TensorId in = Recent();
    const std::int64_t channels = Channels(in);
    if (f_.tflite) {
      // Padded by hand, then a window that takes the padding away again.
      graph::Shape padded = Shape(channels);
      padded[1] += 2;
      padded[2] += 2;
      const TensorId wide = maker_.Tensor(f_.type, padded);
      Settle(wide);
      const TensorId amounts = maker_.Constant(ElementType::kInt32, {4, 2},
                                               std::vector<std::int32_t>{0, 0, 1, 1, 1, 1, 0, 0});
      maker_.Op("tflite", "PAD", {in, amounts}, {wide});
      return Add("MAX_POOL_2D", {wide}, Image(channels),
                 {{"padding", std::int64_t{1}},
                  {"stride_w", std::int64_t{1}},
                  {"stride_h", std::int64_t{1}},
                  {"filter_width", std::int64_t{3}},
                  {"filter_height", std::int64_t{3}},
                  {"fused_activation_function", std::int64_t{0}}});
    }
    if (random_->Below(2) == 0) {
      std::vector<float> positive;
      for (std::int64_t i = 0; i < channels; ++i) {
        positive.push_back(static_cast<float>(0.5 + random_->Unit()));
      }
      const TensorId variance = maker_.Constant(ElementType::kFloat32, {channels}, positive);
      return Add("BatchNormalization",
                 {in, Bias(channels), Bias(channels), Bias(channels), variance}, Image(channels),
                 {{"epsilon", 1e-3}});
    }
    std::vector<TensorId> terms;
    for (const TensorId id : images_) {
      if (Channels(id) == channels && terms.size() < 4) terms.push_back(id);
    }
    while (terms.size() < 3) terms.push_back(terms[random_->Below(terms.size())]);
    if (terms.size() >= 3) Add("Sum", terms, Image(channels));
  }

  Flavour f_;
  Random* random_;
  Sketch maker_;
  std::vector<TensorId> images_;
};

}  // namespace neap::rewrite
