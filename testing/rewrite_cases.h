// SPDX-License-Identifier: Apache-2.0
//
// Random instances of single rules, for the tests: shapes, windows, strides, dilations, paddings,
// groups, scales per channel. They contain everything that a stock runtime requires of a file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"
#include "testing/rewrite_networks.h"

namespace neap::rewrite {

struct RuleCase {
  graph::Graph graph;
  std::int64_t products = 0;  // that one number of the output is the sum of, at most; 0: no sum
};

inline constexpr std::array<std::string_view, 7> kCaseRules = {
    "no-op", "concat", "slice", "kernel-wise", "channel-wise", "sum", "split-conv"};

class CaseMaker {
 public:
  CaseMaker(Flavour flavour, Random* random)
      : f_(flavour),
        random_(random),
        height_(random->Between(1, 8)),
        width_(random->Between(1, 8)) {}

  // Whether the operator set and the type have what the rule wants.
  static bool Has(std::string_view rule, Flavour flavour) {
    return rule != "sum" || flavour.type == ElementType::kFloat32;
  }

  RuleCase Make(std::string_view rule) {
    RuleCase made;
    if (rule == "no-op") NoOp();
    if (rule == "concat") Nested();
    if (rule == "slice") Slice();
    if (rule == "kernel-wise") KernelWise();
    if (rule == "channel-wise") made.products = ChannelWise();
    if (rule == "sum") made.products = Sum();
    if (rule == "split-conv") made.products = SplitConv();
    made.graph = std::move(maker_.graph());
    return made;
  }

 private:
  using Attributes = std::map<std::string, graph::Attribute>;
  using Integers = std::vector<std::int64_t>;
  static constexpr float kScale = 0.05F;

  bool floats() const { return f_.type == ElementType::kFloat32; }
  std::string Name(const char* tflite, const char* onnx) const { return f_.tflite ? tflite : onnx; }
  graph::Shape Shape(std::int64_t height, std::int64_t width, std::int64_t channels) const {
    if (f_.tflite) return {1, height, width, channels};
    return {1, channels, height, width};
  }
  std::int64_t axis() const { return f_.tflite ? 3 : 1; }
  std::int64_t ChannelsOf(TensorId id) {
    return (*maker_.Main().tensors[id].shape)[static_cast<std::size_t>(axis())];
  }

  void Settle(TensorId id) {
    if (!floats()) maker_.Quantize(id, kScale, f_.type == ElementType::kUint8 ? 120 : -4);
  }
  TensorId Image(std::int64_t height, std::int64_t width, std::int64_t channels) {
    const TensorId id = maker_.Tensor(f_.type, Shape(height, width, channels));
    Settle(id);
    return id;
  }
  TensorId Same(std::int64_t channels) { return Image(height_, width_, channels); }
  TensorId Input(std::int64_t channels) {
    const TensorId id = maker_.Input(f_.type, Shape(height_, width_, channels));
    Settle(id);
    return id;
  }
  void Op(const std::string& type, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
          Attributes attributes = {}) {
    maker_.Op(f_.tflite ? "tflite" : "", type, std::move(inputs), std::move(outputs),
              std::move(attributes));
  }
  // Every rule needs a consumer after the changed operators, whose output the graph returns.
  void ReadAndReturn(TensorId id) {
    const TensorId out = maker_.Tensor(f_.type, *maker_.Main().tensors[id].shape);
    Settle(out);
    Op(Name("RELU", "Relu"), {id}, {out});
    maker_.Output(out);
  }
  TensorId Indices(const Integers& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    if (!f_.tflite) return maker_.Constant(ElementType::kInt64, {count}, values);
    return maker_.Constant(ElementType::kInt32, {count},
                           std::vector<std::int32_t>(values.begin(), values.end()));
  }

  std::vector<TensorId> Parts(std::int64_t fewest, std::int64_t most, std::int64_t multiple = 1) {
    std::vector<TensorId> parts;
    const std::int64_t count = random_->Between(fewest, most);
    for (std::int64_t i = 0; i < count; ++i) {
      parts.push_back(Input(multiple * random_->Between(1, 6)));
    }
    return parts;
  }
  TensorId Concat(const std::vector<TensorId>& parts) {
    std::int64_t channels = 0;
    for (const TensorId part : parts) channels += ChannelsOf(part);
    const TensorId out = Same(channels);
    Attributes attributes = {{"axis", random_->Below(2) == 0 ? axis() : axis() - 4}};
    if (f_.tflite) attributes["fused_activation_function"] = std::int64_t{0};
    Op(Name("CONCATENATION", "Concat"), parts, {out}, std::move(attributes));
    return out;
  }

  // ---- the rules

  void NoOp() {
    const std::int64_t channels = random_->Between(1, 6);
    const TensorId in = Input(channels);
    const TensorId out = Same(channels);
    const graph::Shape shape = Shape(height_, width_, channels);
    switch (random_->Below(f_.tflite ? 7 : 6)) {
      case 0:
        f_.tflite ? Op("SPLIT", {TensorId(), in}, {out}, {{"num_splits", std::int64_t{1}}})
                  : Op("Identity", {in}, {out});
        if (f_.tflite) ScalarAxis(random_->Between(0, 3));
        break;
      case 1:
        Op(Name("RESHAPE", "Reshape"), {in, Indices(shape)}, {out});
        break;
      case 2:
        Turn(in, {0, 1, 2, 3}, out);
        break;
      case 3:
        ThereAndBack(in, shape, out);
        break;
      case 4:
        f_.tflite ? Op("SLICE", {in, Indices({0, 0, 0, 0}), Indices(shape)}, {out})
                  : Op("Slice", {in, Indices({0}), Indices({channels}), Indices({1})}, {out});
        break;
      case 5: {
        const TensorId flat = maker_.Tensor(f_.type, {height_ * width_ * channels});
        Settle(flat);
        Op(Name("RESHAPE", "Reshape"), {in, Indices({height_ * width_ * channels})}, {flat});
        Op(Name("RESHAPE", "Reshape"), {flat, Indices(shape)}, {out});
        break;
      }
      default: {
        const TensorId none = maker_.Constant(ElementType::kInt32, {4, 2},
                                              std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 0});
        Op("PAD", {in, none}, {out});
      }
    }
    ReadAndReturn(out);
  }
  // The axis of SPLIT is a scalar: the constant that was made last.
  void ScalarAxis(std::int64_t value) {
    graph::Op& op = maker_.Main().ops[graph::OpId(maker_.Main().ops.size() - 1)];
    op.inputs[0] = maker_.Constant(ElementType::kInt32, {},
                                   std::vector<std::int32_t>{static_cast<std::int32_t>(value)});
  }
  void Turn(TensorId in, const Integers& order, TensorId out) {
    f_.tflite ? Op("TRANSPOSE", {in, Indices(order)}, {out})
              : Op("Transpose", {in}, {out}, {{"perm", order}});
  }
  void ThereAndBack(TensorId in, const graph::Shape& shape, TensorId out) {
    Integers order = {0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[random_->Below(i + 1)]);
    Integers back(4);
    graph::Shape turned(4);
    for (std::size_t i = 0; i < 4; ++i) {
      turned[i] = shape[static_cast<std::size_t>(order[i])];
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    const TensorId middle = maker_.Tensor(f_.type, turned);
    Settle(middle);
    Turn(in, order, middle);
    Turn(middle, back, out);
  }

  void Nested() {
    const TensorId inner = Concat(Parts(2, 4));
    std::vector<TensorId> outer = Parts(1, 3);
    outer.insert(outer.begin() + static_cast<std::ptrdiff_t>(random_->Below(outer.size() + 1)),
                 inner);
    ReadAndReturn(Concat(outer));
    if (random_->Below(2) == 0) maker_.Output(inner);
  }

  void Slice() {
    const bool split = random_->Below(2) == 0;
    std::vector<TensorId> parts = Parts(2, 5);
    if (split) {
      for (TensorId& part : parts) {
        if (ChannelsOf(part) != ChannelsOf(parts.front())) part = parts.front();
      }
    }
    const TensorId whole = Concat(parts);
    if (split) return Split(whole, parts);
    const std::size_t first = random_->Below(parts.size());
    const std::size_t count = 1 + random_->Below(parts.size() - first);
    std::int64_t begin = 0;
    std::int64_t size = 0;
    for (std::size_t i = 0; i < first + count; ++i) {
      (i < first ? begin : size) += ChannelsOf(parts[i]);
    }
    const TensorId out = Same(size);
    f_.tflite
        ? Op("SLICE", {whole, Indices({0, 0, 0, begin}), Indices({1, height_, width_, size})},
             {out})
        : Op("Slice", {whole, Indices({begin}), Indices({begin + size}), Indices({1})}, {out});
    ReadAndReturn(out);
  }
  void Split(TensorId whole, const std::vector<TensorId>& parts) {
    std::vector<TensorId> outs;
    Integers sizes;
    for (const TensorId part : parts) {
      outs.push_back(Same(ChannelsOf(part)));
      sizes.push_back(ChannelsOf(part));
    }
    const auto count = static_cast<std::int64_t>(outs.size());
    if (!f_.tflite) {
      Op("Split", {whole, Indices(sizes)}, outs, {{"axis", axis()}});
    } else if (random_->Below(2) == 0) {
      Op("SPLIT", {TensorId(), whole}, outs, {{"num_splits", count}});
      ScalarAxis(3);
    } else {
      const TensorId along = maker_.Constant(ElementType::kInt32, {}, std::vector<std::int32_t>{3});
      Op("SPLIT_V", {whole, Indices(sizes), along}, outs, {{"num_splits", count}});
    }
    for (const TensorId out : outs) ReadAndReturn(out);
  }

  struct Window {
    std::int64_t height = 1, width = 1;  // of the kernel
    std::int64_t stride_h = 1, stride_w = 1;
    std::int64_t dilation = 1;
    bool same = true;                                       // padding of .tflite
    std::int64_t top = 0, left = 0, bottom = 0, right = 0;  // of .onnx
    std::int64_t out_h = 1, out_w = 1;
  };
  Window AnyWindow(bool may_dilate, bool may_pad = true) {
    for (;;) {
      Window w;
      w.height = random_->Between(1, 3);
      w.width = random_->Between(1, 3);
      w.stride_h = w.stride_w = random_->Between(1, 3);
      if (random_->Below(3) == 0) w.stride_w = random_->Between(1, 3);
      if (may_dilate && w.stride_h == 1 && w.stride_w == 1) w.dilation = random_->Between(1, 2);
      w.same = random_->Below(2) == 0;
      const std::int64_t reach_h = (w.height - 1) * w.dilation + 1;
      const std::int64_t reach_w = (w.width - 1) * w.dilation + 1;
      if (f_.tflite && w.same) {
        w.out_h = (height_ + w.stride_h - 1) / w.stride_h;
        w.out_w = (width_ + w.stride_w - 1) / w.stride_w;
        return w;
      }
      if (!f_.tflite && may_pad) {
        for (std::int64_t* side : {&w.top, &w.bottom}) *side = random_->Between(0, w.height - 1);
        for (std::int64_t* side : {&w.left, &w.right}) *side = random_->Between(0, w.width - 1);
      }
      const std::int64_t high = height_ + w.top + w.bottom;
      const std::int64_t wide = width_ + w.left + w.right;
      if (high < reach_h || wide < reach_w) continue;
      w.out_h = (high - reach_h) / w.stride_h + 1;
      w.out_w = (wide - reach_w) / w.stride_w + 1;
      return w;
    }
  }
  Attributes AttributesOf(const Window& w, bool conv) {
    if (!f_.tflite) {
      Attributes attributes = {{"strides", Integers{w.stride_h, w.stride_w}},
                               {"pads", Integers{w.top, w.left, w.bottom, w.right}},
                               {"kernel_shape", Integers{w.height, w.width}}};
      if (conv) attributes["dilations"] = Integers{w.dilation, w.dilation};
      return attributes;
    }
    Attributes attributes = {{"padding", std::int64_t{w.same ? 0 : 1}},
                             {"stride_h", w.stride_h},
                             {"stride_w", w.stride_w},
                             {"fused_activation_function", conv ? Activation() : 0}};
    if (conv) {
      attributes["dilation_h_factor"] = w.dilation;
      attributes["dilation_w_factor"] = w.dilation;
    } else {
      attributes["filter_height"] = w.height;
      attributes["filter_width"] = w.width;
    }
    return attributes;
  }
  std::int64_t Activation() { return std::array<std::int64_t, 4>{0, 0, 1, 3}[random_->Below(4)]; }

  // Weights with a scale for each index of `channel_axis` or one for all, and the bias to them.
  struct Weights {
    TensorId weights;
    TensorId bias;
  };
  Weights AnyWeights(const graph::Shape& shape, std::size_t channel_axis) {
    const std::int64_t channels = shape[channel_axis];
    if (floats()) {
      const TensorId weights = maker_.RandomFloats(shape, random_);
      return {weights, maker_.RandomFloats({channels}, random_)};
    }
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int8_t>(random_->Between(-127, 127)));
    }
    std::vector<std::int32_t> offsets;
    for (std::int64_t i = 0; i < channels; ++i) {
      offsets.push_back(static_cast<std::int32_t>(random_->Between(-3000, 3000)));
    }
    graph::Quantization q;
    q.axis = static_cast<std::int32_t>(channel_axis);
    graph::Quantization bias;
    const bool per_channel = f_.type == ElementType::kInt8 && random_->Below(3) != 0;
    for (std::int64_t i = 0; i < (per_channel ? channels : 1); ++i) {
      q.scales.push_back(static_cast<float>(0.001 + 0.004 * random_->Unit()));
      q.zero_points.push_back(f_.type == ElementType::kUint8 ? random_->Between(100, 140) : 0);
      bias.scales.push_back(kScale * q.scales.back());
      bias.zero_points.push_back(0);
    }
    Weights made{maker_.Constant(f_.type, shape, values),
                 maker_.Constant(ElementType::kInt32, {channels}, offsets)};
    maker_.Main().tensors[made.weights].quantization = q;
    maker_.Main().tensors[made.bias].quantization = bias;
    return made;
  }

  TensorId Conv(TensorId in, std::int64_t outputs, const Window& w) {
    const std::int64_t inputs = ChannelsOf(in);
    const Weights made = AnyWeights(f_.tflite ? graph::Shape{outputs, w.height, w.width, inputs}
                                              : graph::Shape{outputs, inputs, w.height, w.width},
                                    0);
    const TensorId out = Image(w.out_h, w.out_w, outputs);
    std::vector<TensorId> reads = {in, made.weights};
    if (f_.tflite || random_->Below(2) == 0) reads.push_back(made.bias);
    Op(Name("CONV_2D", "Conv"), reads, {out}, AttributesOf(w, true));
    return out;
  }

  TensorId Depthwise(TensorId in, const Window& w) {
    const std::int64_t inputs = ChannelsOf(in);
    const std::int64_t multiplier = random_->Between(1, 2);
    const std::int64_t outputs = inputs * multiplier;
    const TensorId out = Image(w.out_h, w.out_w, outputs);
    Attributes attributes = AttributesOf(w, true);
    if (f_.tflite) {
      const Weights made = AnyWeights({1, w.height, w.width, outputs}, 3);
      attributes["depth_multiplier"] = multiplier;
      Op("DEPTHWISE_CONV_2D", {in, made.weights, made.bias}, {out}, std::move(attributes));
      return out;
    }
    // Groups of two where the pieces allow it.
    const std::int64_t of_group = grouped_ ? 2 : 1;
    const Weights made = AnyWeights({outputs, of_group, w.height, w.width}, 0);
    attributes["group"] = inputs / of_group;
    Op("Conv", {in, made.weights, made.bias}, {out}, std::move(attributes));
    return out;
  }

  TensorId Pool(TensorId in, const Window& w, bool most) {
    const TensorId out = Image(w.out_h, w.out_w, ChannelsOf(in));
    Op(most ? Name("MAX_POOL_2D", "MaxPool") : Name("AVERAGE_POOL_2D", "AveragePool"), {in}, {out},
       AttributesOf(w, false));
    return out;
  }

  TensorId Padded(TensorId in) {
    const std::int64_t top = random_->Between(0, 2);
    const std::int64_t left = random_->Between(0, 2);
    const TensorId out = Image(height_ + top + 1, width_ + left, ChannelsOf(in));
    if (f_.tflite) {
      const TensorId amounts =
          maker_.Constant(ElementType::kInt32, {4, 2},
                          std::vector<std::int32_t>{0, 0, static_cast<std::int32_t>(top), 1,
                                                    static_cast<std::int32_t>(left), 0, 0, 0});
      Op("PAD", {in, amounts}, {out});
    } else {
      Op("Pad", {in, Indices({0, 0, top, left, 0, 0, 1, 0})}, {out});
    }
    return out;
  }

  TensorId PerElement(TensorId in) {
    const std::int64_t channels = ChannelsOf(in);
    const TensorId out = Same(channels);
    if (random_->Below(2) == 0) {
      constexpr const char* kTypes[][2] = {
          {"RELU", "Relu"}, {"ABS", "Abs"}, {"NEG", "Neg"}, {"LEAKY_RELU", "LeakyRelu"}};
      const std::uint64_t which = floats() ? random_->Below(4) : 0;
      Attributes attributes;
      if (which == 3) attributes["alpha"] = 0.25;
      Op(Name(kTypes[which][0], kTypes[which][1]), {in}, {out}, std::move(attributes));
      return out;
    }
    const graph::Shape shape = f_.tflite ? graph::Shape{channels} : graph::Shape{channels, 1, 1};
    const TensorId constant = AnyWeights(shape, 0).weights;
    if (!floats()) maker_.Quantize(constant, 0.01F, f_.type == ElementType::kUint8 ? 128 : 0);
    Attributes attributes;
    if (f_.tflite) attributes["fused_activation_function"] = Activation();
    const bool sum = random_->Below(2) == 0;
    Op(sum ? Name("ADD", "Add") : Name("MUL", "Mul"), {in, constant}, {out}, std::move(attributes));
    return out;
  }

  TensorId Normalised(TensorId in) {
    const std::int64_t channels = ChannelsOf(in);
    std::vector<float> positive;
    for (std::int64_t i = 0; i < channels; ++i) {
      positive.push_back(static_cast<float>(0.5 + random_->Unit()));
    }
    const TensorId variance = maker_.Constant(ElementType::kFloat32, {channels}, positive);
    const TensorId any = maker_.RandomFloats({channels}, random_);
    const TensorId out = Same(channels);
    Op("BatchNormalization", {in, any, any, any, variance}, {out}, {{"epsilon", 1e-3}});
    return out;
  }

  void KernelWise() {
    const std::uint64_t kind = random_->Below(f_.tflite ? 5 : 6);
    grouped_ = !f_.tflite && kind == 0 && random_->Below(2) == 0;
    const TensorId whole = Concat(Parts(2, 4, grouped_ ? 2 : 1));
    TensorId out;
    switch (kind) {
      case 0:
      case 1:
        out = Depthwise(whole, AnyWindow(true));
        break;
      case 2:
        out = Pool(whole, AnyWindow(false), random_->Below(2) == 0);
        break;
      case 3:
        out = Padded(whole);
        break;
      case 4:
        out = PerElement(whole);
        break;
      default:
        out = Normalised(whole);
    }
    maker_.Output(out);
  }

  std::int64_t ChannelWise() {
    const TensorId whole = Concat(Parts(2, 5));
    const Window w = AnyWindow(true);
    maker_.Output(Conv(whole, random_->Between(1, 8), w));
    return w.height * w.width * ChannelsOf(whole) + 1;
  }

  std::int64_t Sum() {
    const std::int64_t channels = random_->Between(1, 8);
    const std::int64_t count = random_->Between(3, 7);
    std::vector<TensorId> terms;
    for (std::int64_t i = 0; i < count; ++i) terms.push_back(Input(channels));
    const TensorId out = Same(channels);
    Op(Name("ADD_N", "Sum"), terms, {out});
    maker_.Output(out);
    return count;
  }

  // Behind it operators that do not make errors larger, so that the bound stays what it is.
  std::int64_t SplitConv() {
    const TensorId in = Input(random_->Between(1, 6));
    const Window w = AnyWindow(true);
    const TensorId wide = Conv(in, random_->Below(2) == 0 ? 16 : 32, w);
    height_ = w.out_h;
    width_ = w.out_w;
    if (!floats() && random_->Below(2) == 0) {
      maker_.Output(Depthwise(wide, AnyWindow(true)));
    } else if (random_->Below(2) == 0) {
      maker_.Output(Pool(wide, AnyWindow(false, false), true));
    } else {
      ReadAndReturn(wide);
    }
    return w.height * w.width * ChannelsOf(in) + 1;
  }

  Flavour f_;
  Random* random_;
  std::int64_t height_;
  std::int64_t width_;
  bool grouped_ = false;
  Sketch maker_;
};

}  // namespace neap::rewrite
