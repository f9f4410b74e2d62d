// SPDX-License-Identifier: Apache-2.0
//
// Random int8 networks with planted channels that are constant, or that only weights of 0 read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"
#include "testing/sketch.h"

namespace neap::graph {

// A network that is being written down, one layer behind the other.
class Int8Layers {
 public:
  using Attributes = std::map<std::string, Attribute>;

  explicit Int8Layers(Random* random) : random_(random) {}

  TensorId Input(Shape shape) {
    const TensorId id = sketch_.Input(ElementType::kInt8, std::move(shape));
    Quantize(id, kScale, static_cast<std::int32_t>(random_->Between(-128, 127)));
    return id;
  }

  struct Window {
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    bool same = true;
    std::int64_t activation = 1;
  };

  // Channel c has the bias `bias[c]`; `zero` is the zero point of the output.
  TensorId Conv(TensorId in, const std::vector<std::int32_t>& bias,
                std::vector<std::int8_t> weights, const Window& w, std::int32_t zero) {
    const auto out = static_cast<std::int64_t>(bias.size());
    const TensorId result = Behind(in, w, out, zero);
    const TensorId filter =
        Filter({out, w.kernel, w.kernel, ShapeOf(in).back()}, std::move(weights), out, 0);
    Op("CONV_2D", {in, filter, Bias(bias)}, {result}, Of(w));
    return result;
  }
  TensorId Depthwise(TensorId in, const std::vector<std::int32_t>& bias,
                     std::vector<std::int8_t> weights, const Window& w, std::int32_t zero) {
    const auto out = static_cast<std::int64_t>(bias.size());
    const TensorId result = Behind(in, w, out, zero);
    const TensorId filter = Filter({1, w.kernel, w.kernel, out}, std::move(weights), out, 3);
    Attributes attributes = Of(w);
    attributes["depth_multiplier"] = out / ShapeOf(in).back();
    Op("DEPTHWISE_CONV_2D", {in, filter, Bias(bias)}, {result}, std::move(attributes));
    return result;
  }
  TensorId Matrix(TensorId in, const std::vector<std::int32_t>& bias,
                  std::vector<std::int8_t> weights, std::int64_t activation, std::int32_t zero) {
    const auto out = static_cast<std::int64_t>(bias.size());
    Shape shape = ShapeOf(in);
    shape = {shape.front(), out};
    const TensorId result = sketch_.Tensor(ElementType::kInt8, shape);
    Quantize(result, kScale, zero);
    const TensorId filter = Filter({out, ShapeOf(in).back()}, std::move(weights), 1, 0);
    Op("FULLY_CONNECTED", {in, filter, Bias(bias)}, {result},
       {{"fused_activation_function", activation},
        {"weights_format", std::int64_t{0}},
        {"keep_num_dims", std::int64_t{0}}});
    return result;
  }
  TensorId Pool(TensorId in, bool average, const Window& w) {
    const TensorId result = Behind(in, w, ShapeOf(in).back(), 0);
    Main().tensors[result].quantization = Main().tensors[in].quantization;
    Attributes attributes = Of(w);
    attributes["filter_height"] = attributes["filter_width"] = w.kernel;
    Op(average ? "AVERAGE_POOL_2D" : "MAX_POOL_2D", {in}, {result}, std::move(attributes));
    return result;
  }
  TensorId Add(TensorId a, TensorId b, std::int64_t activation, std::int32_t zero) {
    const TensorId result = sketch_.Tensor(ElementType::kInt8, ShapeOf(a));
    Quantize(result, kScale, zero);
    Op("ADD", {a, b}, {result}, {{"fused_activation_function", activation}});
    return result;
  }
  TensorId Pad(TensorId in) {
    Shape shape = ShapeOf(in);
    shape[1] += 1;
    shape[2] += 2;
    const TensorId result = Like(in, std::move(shape));
    const TensorId sizes = sketch_.Constant(ElementType::kInt32, {4, 2},
                                            std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 0, 0});
    Op("PAD", {in, sizes}, {result});
    return result;
  }
  TensorId Mean(TensorId in) {
    const TensorId result = Like(in, {ShapeOf(in).front(), ShapeOf(in).back()});
    const TensorId axes =
        sketch_.Constant(ElementType::kInt32, {2}, std::vector<std::int32_t>{1, 2});
    Op("MEAN", {in, axes}, {result}, {{"keep_dims", std::int64_t{0}}});
    return result;
  }
  TensorId Flatten(TensorId in, bool computed_last) {
    const Shape given = ShapeOf(in);
    const std::int64_t rows = given[0] * given[1] * given[2];
    const TensorId result = Like(in, {rows, given.back()});
    const auto last = static_cast<std::int32_t>(computed_last ? -1 : given.back());
    const TensorId sizes = sketch_.Constant(
        ElementType::kInt32, {2}, std::vector<std::int32_t>{static_cast<std::int32_t>(rows), last});
    Op("RESHAPE", {in, sizes}, {result}, {{"new_shape", std::vector<std::int64_t>{rows, last}}});
    return result;
  }

  void Output(TensorId id) { sketch_.Output(id); }
  Subgraph& Main() { return sketch_.Main(); }
  const Shape& ShapeOf(TensorId id) { return *Main().tensors[id].shape; }
  Graph Take() { return std::move(sketch_.graph()); }

  std::vector<std::int8_t> RandomWeights(std::int64_t count, std::int64_t most) {
    std::vector<std::int8_t> weights(static_cast<std::size_t>(count));
    for (std::int8_t& weight : weights) {
      weight = static_cast<std::int8_t>(random_->Between(-most, most));
    }
    return weights;
  }

 private:
  static constexpr float kScale = 0.25F;
  static constexpr float kWeightScale = 0.03125F;

  void Quantize(TensorId id, float scale, std::int32_t zero) {
    Main().tensors[id].quantization = Quantization{{scale}, {zero}, 0};
  }
  TensorId Like(TensorId in, Shape shape) {
    const TensorId id = sketch_.Tensor(ElementType::kInt8, std::move(shape));
    Main().tensors[id].quantization = Main().tensors[in].quantization;
    return id;
  }
  TensorId Behind(TensorId in, const Window& w, std::int64_t channels, std::int32_t zero) {
    const Shape from = ShapeOf(in);
    const auto size = [&](std::int64_t given) {
      return w.same ? (given + w.stride - 1) / w.stride : (given - w.kernel) / w.stride + 1;
    };
    const TensorId id =
        sketch_.Tensor(ElementType::kInt8, {from[0], size(from[1]), size(from[2]), channels});
    Quantize(id, kScale, zero);
    return id;
  }
  TensorId Filter(Shape shape, std::vector<std::int8_t> weights, std::int64_t scales,
                  std::int32_t axis) {
    const TensorId id = sketch_.Constant(ElementType::kInt8, std::move(shape), weights);
    Quantization q;
    q.axis = axis;
    for (std::int64_t i = 0; i < scales; ++i) {
      q.scales.push_back(kWeightScale * static_cast<float>(random_->Between(1, 8)));
      q.zero_points.push_back(0);
    }
    Main().tensors[id].quantization = std::move(q);
    return id;
  }
  TensorId Bias(const std::vector<std::int32_t>& bias) {
    return sketch_.Constant(ElementType::kInt32, {static_cast<std::int64_t>(bias.size())}, bias);
  }
  static Attributes Of(const Window& w) {
    return {{"padding", w.same ? std::int64_t{0} : std::int64_t{1}},
            {"stride_h", w.stride},
            {"stride_w", w.stride},
            {"dilation_h_factor", std::int64_t{1}},
            {"dilation_w_factor", std::int64_t{1}},
            {"fused_activation_function", w.activation}};
  }
  void Op(std::string type, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
          Attributes attributes = {}) {
    sketch_.Op("tflite", std::move(type), std::move(inputs), std::move(outputs),
               std::move(attributes));
  }

  Random* random_;
  Sketch sketch_;
};

// Three to eight layers; about a third of the channels are planted.
inline Graph RandomDeadNetwork(Random* random) {
  Int8Layers net(random);
  TensorId at = net.Input(
      {random->Between(1, 2), random->Between(3, 6), random->Between(3, 6), random->Between(1, 4)});
  const auto window = [&](std::int64_t size) {
    Int8Layers::Window w;
    w.kernel = std::min<std::int64_t>(random->Between(1, 3), size);
    w.stride = random->Between(1, 2);
    w.same = random->Below(2) == 0;
    constexpr std::int64_t kActivations[] = {0, 1, 1, 3};
    w.activation = kActivations[random->Below(4)];
    return w;
  };
  const auto zero = [&] {
    return random->Below(3) == 0 ? static_cast<std::int32_t>(random->Between(-60, 60)) : -128;
  };
  // Far from 0: saturated by the largest inputs, too.
  const auto biases = [&](std::int64_t channels) {
    std::vector<std::int32_t> bias;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::uint64_t kind = random->Below(6);
      const std::int64_t far = random->Between(20'000, 2'000'000);
      bias.push_back(static_cast<std::int32_t>(kind == 0   ? far
                                               : kind <= 2 ? -far
                                                           : random->Between(-2000, 2000)));
    }
    return bias;
  };
  // Weights of some output and some input channels are 0.
  const auto weights = [&](std::int64_t outs, std::int64_t taps, std::int64_t ins) {
    auto list = net.RandomWeights(outs * taps * ins, 20);
    for (std::int64_t o = 0; o < outs; ++o) {
      if (random->Below(6) != 0) continue;
      std::fill_n(list.begin() + o * taps * ins, taps * ins, std::int8_t{0});
    }
    for (std::int64_t i = 0; i < ins; ++i) {
      if (random->Below(6) != 0) continue;
      for (std::int64_t j = i; j < outs * taps * ins; j += ins)
        list[static_cast<std::size_t>(j)] = 0;
    }
    return list;
  };
  const std::int64_t layers = random->Between(3, 8);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Shape shape = net.ShapeOf(at);
    const Int8Layers::Window w = window(std::min(shape[1], shape[2]));
    const std::int64_t channels = shape.back();
    switch (random->Below(8)) {
      case 0:
      case 1:
      case 2: {
        const std::int64_t outs = random->Between(1, 6);
        at = net.Conv(at, biases(outs), weights(outs, w.kernel * w.kernel, channels), w, zero());
        break;
      }
      case 3:
      case 4: {
        const std::int64_t outs = channels * (random->Below(5) == 0 ? 2 : 1);
        at = net.Depthwise(at, biases(outs), weights(1, w.kernel * w.kernel, outs), w, zero());
        break;
      }
      case 5:
        at = net.Pool(at, random->Below(2) == 0, w);
        break;
      case 6: {
        Int8Layers::Window one;
        const TensorId other =
            net.Conv(at, biases(channels), weights(channels, 1, channels), one, zero());
        at = net.Add(at, other, random->Below(2) == 0 ? 1 : 0, zero());
        break;
      }
      default:
        at = net.Pad(at);
    }
    if (random->Below(12) == 0) net.Output(at);
  }
  if (random->Below(2) == 0) {
    at = random->Below(2) == 0 ? net.Mean(at) : net.Flatten(at, random->Below(2) == 0);
    const std::int64_t outs = random->Between(1, 4);
    at = net.Matrix(at, biases(outs), weights(outs, 1, net.ShapeOf(at).back()), 1, zero());
    const std::int64_t last = random->Between(1, 3);
    at = net.Matrix(at, biases(last), weights(last, 1, outs), 0, 0);
  } else {
    Int8Layers::Window one;
    one.activation = 0;
    const std::int64_t outs = random->Between(1, 4);
    at = net.Conv(at, biases(outs), weights(outs, 1, net.ShapeOf(at).back()), one, 0);
  }
  net.Output(at);
  return net.Take();
}

}  // namespace neap::graph
