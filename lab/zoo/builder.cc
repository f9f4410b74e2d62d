// SPDX-License-Identifier: Apache-2.0
//
// Bookkeeping, weights, windows and normalisations; the other operators are in builder_ops.cc.
#include "lab/zoo/builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "lab/zoo/builder_constant.h"
#include "neap/base/check.h"

namespace neap::zoo {

using graph::ElementType;
using graph::Shape;
using graph::TensorId;

namespace {

// Bits of a drawn weight: a float represents such an integer exactly.
constexpr int kWeightBits = 24;
constexpr double kHalfRange = 1 << (kWeightBits - 1);
// Biases in place of trained shifts: small beside activations of unit size.
constexpr double kBiasMeanSquare = 0.01;
// Of rectified values: the square of their mean as a share of their mean square. Averages keep it,
// while values with a sign cancel out.
constexpr double kSquareOfMean = 0.32;
// How much larger the outputs of a classifier are than unit size, squared: the more classes, the
// more the likely one has to exceed the others. About 2 ln(classes), where unit normal values would
// have their maximum, in whole numbers.
double ClassifierGrowth(std::int64_t classes) {
  return 1.5 * static_cast<double>(std::bit_width(static_cast<std::uint64_t>(classes)));
}
// Rough growth of the mean square by taking a maximum over a window of values around zero.
constexpr double kMaxPoolGrowth = 2;

// One dimension of a window over one dimension of its input.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  Padding padding = Padding::kHalf;
};
struct Slid {
  std::int64_t size = 0;  // of the output
  std::int64_t before = 0;
  std::int64_t after = 0;
};
Slid Slide(const std::string& name, std::int64_t size, const Window& window) {
  const std::int64_t extent = window.dilation * (window.kernel - 1) + 1;
  Slid slid;
  if (window.padding == Padding::kHalf) {
    NEAP_CHECK(extent % 2 == 1, name + ": no half of an even window");
    slid.before = extent / 2;
    slid.after = extent / 2;
  } else if (window.padding == Padding::kSame) {
    const std::int64_t outputs = (size - 1) / window.stride + 1;
    const std::int64_t total =
        std::max<std::int64_t>((outputs - 1) * window.stride + extent - size, 0);
    slid.before = total / 2;
    slid.after = total - slid.before;
  }
  const std::int64_t room = size + slid.before + slid.after - extent;
  NEAP_CHECK(room >= 0, name + ": the window is larger than its input");
  slid.size = room / window.stride + 1;
  return slid;
}

using Pair = std::vector<std::int64_t>;

}  // namespace

Builder::Builder(std::string name, std::uint64_t weight_seed, bool weights)
    : random_(weight_seed), weights_(weights) {
  subgraph_.name = std::move(name);
}

const Shape& Builder::ShapeOf(TensorId tensor) const { return *subgraph_.tensors[tensor].shape; }

TensorId Builder::AddTensor(const std::string& name, ElementType type, Shape shape,
                            const Trail& trail) {
  NEAP_CHECK(names_.insert(name).second, "two tensors are called " + name);
  graph::Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = std::move(shape);
  trail_.push_back(trail);
  return subgraph_.tensors.push_back(std::move(tensor));
}

template <typename F>
TensorId Builder::Learned(const std::string& name, Shape shape, const F& next) {
  const std::int64_t count = Elements(shape);
  facts_.parameters += count;
  facts_.published_parameters += count;
  if (!weights_) {
    const TensorId id = AddTensor(name, ElementType::kFloat32, std::move(shape), {});
    subgraph_.tensors[id].constant = true;
    return id;
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(next());
  return Constant(name, ElementType::kFloat32, std::move(shape), std::move(values));
}

// Uniform in [-bound, bound) with the given mean square, bound^2 / 3.
TensorId Builder::Weights(const std::string& name, Shape shape, double mean_square) {
  const double step = std::sqrt(3 * mean_square) / kHalfRange;
  return Learned(name, std::move(shape), [&] {
    const auto draw = static_cast<double>(random_.Next() >> (64 - kWeightBits));
    return (draw - kHalfRange) * step;
  });
}

TensorId Builder::Filled(const std::string& name, Shape shape, double value) {
  return Learned(name, std::move(shape), [value] { return value; });
}

TensorId Builder::Parameter(const std::string& name, Shape shape) {
  const TensorId id = Weights(name, std::move(shape), 1);
  trail_[id].mean_square = 1;
  return id;
}

TensorId Builder::Gate(const std::string& name, TensorId input) {
  const std::uint64_t draw = 1 + random_.Below((std::uint64_t{1} << kWeightBits) - 1);
  ++facts_.parameters;
  ++facts_.published_parameters;
  return Scale(name, input, static_cast<float>(static_cast<double>(draw) / (2 * kHalfRange)));
}

TensorId Builder::AddOp(const std::string& type, const std::string& name,
                        std::vector<TensorId> inputs, Made made) {
  Trail trail{made.mean_square, made.positive, 0};
  std::int64_t degree = 0;
  for (const TensorId input : inputs) {
    if (subgraph_.tensors[input].constant) continue;
    ++degree;
    trail.depth = std::max(trail.depth, trail_[input].depth);
  }
  trail.depth += made.layers;
  facts_.body.layers += made.layers;
  facts_.body.degree = std::max(facts_.body.degree, degree);
  const TensorId output = AddTensor(name, ElementType::kFloat32, std::move(made.shape), trail);
  graph::Op op;
  op.type = type;
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs = {output};
  op.attributes = std::move(made.attributes);
  Record(type, name, op, made);
  subgraph_.ops.push_back(std::move(op));
  return output;
}

void Builder::Record(const std::string& type, const std::string& name, const graph::Op& op,
                     const Made& made) {
  RecordedLayers layers;
  layers.type = type;
  layers.name = name;
  layers.output = op.outputs[0];
  for (const TensorId input : op.inputs) {
    if (!subgraph_.tensors[input].constant) layers.inputs.push_back(input);
  }
  layers.shape = ShapeOf(op.outputs[0]);
  layers.layers = made.layers;
  if (made.layers > 1 + (made.normalised ? 1 : 0)) layers.padded = made.padded;
  layers.normalised = made.normalised && made.layers > 1;
  layers.norm_parameters = layers.normalised ? made.norm_parameters : 0;
  layers.parameters = facts_.KerasParameters() - recorded_parameters_;
  layers.multiply_accumulates = facts_.multiply_accumulates - recorded_macs_;
  recorded_parameters_ = facts_.KerasParameters();
  recorded_macs_ = facts_.multiply_accumulates;
  layers_.Add(layers);
}

TensorId Builder::Input(const std::string& name, Shape shape) {
  const TensorId input = AddTensor(name, ElementType::kFloat32, std::move(shape), {1, 0, 1});
  subgraph_.inputs.push_back(input);
  layers_.AddInput(input, name, ShapeOf(input));
  ++facts_.body.layers;
  return input;
}

TensorId Builder::Convolve(const std::string& name, TensorId input, const ConvSpec& spec,
                           std::int64_t channels, std::int64_t groups) {
  const Shape in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4 && in[1] % groups == 0, name);
  const std::int64_t width = spec.kernel_width == 0 ? spec.kernel : spec.kernel_width;
  const Slid rows = Slide(name, in[2], {spec.kernel, spec.stride, spec.dilation, spec.padding});
  const Slid columns = Slide(name, in[3], {width, spec.stride, spec.dilation, spec.padding});
  const Shape out = {in[0], channels, rows.size, columns.size};
  const std::int64_t fan_in = in[1] / groups * spec.kernel * width;
  const double growth = spec.classifier ? ClassifierGrowth(channels) : 1;
  const double mean_square = growth / (static_cast<double>(fan_in) * MeanSquare(input));
  std::vector<TensorId> inputs = {input};
  inputs.push_back(
      Weights(name + "/weight", {channels, in[1] / groups, spec.kernel, width}, mean_square));
  if (spec.batch_norm || spec.bias) {
    inputs.push_back(Weights(name + "/bias", {channels}, kBiasMeanSquare));
  }
  if (spec.batch_norm) {
    facts_.published_parameters += channels * ((spec.unscaled ? 0 : 1) + (spec.bias ? 1 : 0));
    facts_.statistics += 2 * channels;
  }
  facts_.multiply_accumulates += Elements(out) * fan_in;
  const std::int64_t norm_parameters = channels * (spec.unscaled ? 3 : 4);
  return AddOp(
      "Conv", name, std::move(inputs),
      {.shape = out,
       .mean_square = growth,
       .attributes = {{"dilations", Pair{spec.dilation, spec.dilation}},
                      {"group", groups},
                      {"kernel_shape", Pair{spec.kernel, width}},
                      {"pads", Pair{rows.before, columns.before, rows.after, columns.after}},
                      {"strides", Pair{spec.stride, spec.stride}}},
       .layers = 1 + (spec.batch_norm ? 1 : 0) + spec.extra_layers,
       .padded = {in[0], in[1], in[2] + rows.before + rows.after,
                  in[3] + columns.before + columns.after},
       .normalised = spec.batch_norm,
       .norm_parameters = norm_parameters});
}

TensorId Builder::Conv(const std::string& name, TensorId input, const ConvSpec& spec) {
  return Convolve(name, input, spec, spec.channels, 1);
}

TensorId Builder::DepthwiseConv(const std::string& name, TensorId input, const ConvSpec& spec) {
  const std::int64_t channels = Channels(input);
  return Convolve(name, input, spec, channels, channels);
}

TensorId Builder::UpConv(const std::string& name, TensorId input, std::int64_t channels) {
  const Shape in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4, name);
  // Windows of 2 with stride 2 do not overlap: every output is a sum over the input's channels.
  const double mean_square = 1 / (static_cast<double>(in[1]) * MeanSquare(input));
  const TensorId weight = Weights(name + "/weight", {in[1], channels, 2, 2}, mean_square);
  const TensorId bias = Weights(name + "/bias", {channels}, kBiasMeanSquare);
  facts_.multiply_accumulates += Elements(in) * channels * 4;
  return AddOp("ConvTranspose", name, {input, weight, bias},
               {.shape = {in[0], channels, 2 * in[2], 2 * in[3]},
                .mean_square = 1,
                .attributes = {{"kernel_shape", Pair{2, 2}}, {"strides", Pair{2, 2}}}});
}

TensorId Builder::Pool(const std::string& type, const std::string& name, TensorId input,
                       const PoolSpec& spec, Made made) {
  const Shape& in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4, name);
  const Window window = {spec.kernel, spec.stride, 1, spec.padding};
  const Slid rows = Slide(name, in[2], window);
  const Slid columns = Slide(name, in[3], window);
  made.shape = {in[0], in[1], rows.size, columns.size};
  made.attributes["kernel_shape"] = Pair{spec.kernel, spec.kernel};
  made.attributes["pads"] = Pair{rows.before, columns.before, rows.after, columns.after};
  made.attributes["strides"] = Pair{spec.stride, spec.stride};
  made.layers += spec.extra_layers;
  made.padded = {in[0], in[1], in[2] + rows.before + rows.after,
                 in[3] + columns.before + columns.after};
  made.positive =
      MeanSquare(input) == 0 ? 0 : made.mean_square * Positive(input) / MeanSquare(input);
  return AddOp(type, name, {input}, std::move(made));
}

TensorId Builder::MaxPool(const std::string& name, TensorId input, const PoolSpec& spec) {
  const double growth = spec.kernel == 1 ? 1 : kMaxPoolGrowth;
  return Pool("MaxPool", name, input, spec,
              {.shape = {}, .mean_square = MeanSquare(input) * growth});
}

TensorId Builder::AveragePool(const std::string& name, TensorId input, const PoolSpec& spec) {
  return Pool("AveragePool", name, input, spec,
              {.shape = {},
               .mean_square = MeanSquare(input),
               .attributes = {{"count_include_pad", std::int64_t{0}}}});
}

TensorId Builder::GlobalAveragePool(const std::string& name, TensorId input) {
  const Shape& in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4, name);
  const double mean = kSquareOfMean * Positive(input);
  const double noise = (MeanSquare(input) - Positive(input)) / static_cast<double>(in[2] * in[3]);
  return AddOp("GlobalAveragePool", name, {input},
               {.shape = {in[0], in[1], 1, 1}, .mean_square = mean + noise, .positive = mean});
}

TensorId Builder::BatchNorm(const std::string& name, TensorId input) {
  const Shape shape = ShapeOf(input);
  NEAP_CHECK(shape.size() == 4, name);
  const std::int64_t channels = shape[1];
  const std::int64_t published = facts_.published_parameters + 2 * channels;
  const TensorId weight = Filled(name + "/weight", {channels}, 1);
  const TensorId bias = Weights(name + "/bias", {channels}, kBiasMeanSquare);
  const TensorId mean = Weights(name + "/mean", {channels}, kBiasMeanSquare * MeanSquare(input));
  const TensorId variance = Filled(name + "/variance", {channels}, MeanSquare(input));
  facts_.published_parameters = published;
  facts_.statistics += 2 * channels;
  return AddOp("BatchNormalization", name, {input, weight, bias, mean, variance},
               {.shape = shape, .mean_square = 1});
}

TensorId Builder::LayerNorm(const std::string& name, TensorId input) {
  const Shape shape = ShapeOf(input);
  const TensorId weight = Filled(name + "/weight", {shape.back()}, 1);
  const TensorId bias = Weights(name + "/bias", {shape.back()}, kBiasMeanSquare);
  return AddOp("LayerNormalization", name, {input, weight, bias},
               {.shape = shape,
                .mean_square = 1,
                .attributes = {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5}}});
}

TensorId Builder::Gemm(const std::string& name, TensorId input, std::int64_t features) {
  const Shape in = ShapeOf(input);
  NEAP_CHECK(in.size() == 2, name);
  const double growth = ClassifierGrowth(features);
  const double mean_square = growth / (static_cast<double>(in[1]) * MeanSquare(input));
  const TensorId weight = Weights(name + "/weight", {features, in[1]}, mean_square);
  const TensorId bias = Weights(name + "/bias", {features}, kBiasMeanSquare);
  facts_.multiply_accumulates += in[0] * in[1] * features;
  return AddOp("Gemm", name, {input, weight, bias},
               {.shape = {in[0], features},
                .mean_square = growth,
                .attributes = {{"transB", std::int64_t{1}}}});
}

TensorId Builder::Linear(const std::string& name, TensorId input, std::int64_t features) {
  Shape shape = ShapeOf(input);
  const std::int64_t fan_in = shape.back();
  shape.back() = features;
  const double mean_square = 1 / (static_cast<double>(fan_in) * MeanSquare(input));
  const TensorId weight = Weights(name + "/weight", {fan_in, features}, mean_square);
  const TensorId bias = Weights(name + "/bias", {features}, kBiasMeanSquare);
  facts_.multiply_accumulates += Elements(shape) * fan_in;
  const TensorId product =
      AddOp("MatMul", name + "/matmul", {input, weight}, {.shape = shape, .mean_square = 1});
  return AddOp("Add", name, {product, bias},
               {.shape = shape, .mean_square = 1, .attributes = {}, .layers = 0});
}

void Builder::EndBody(TensorId features) {
  facts_.body.depth = trail_[features].depth;
  facts_.body.parameters = facts_.KerasParameters();
  facts_.body.multiply_accumulates = facts_.multiply_accumulates;
  body_ = facts_.body;
  layers_.End(features);
}

void Builder::Output(TensorId tensor) { subgraph_.outputs.push_back(tensor); }

Network Builder::Finish() {
  Network network;
  network.graph.subgraphs.push_back(std::move(subgraph_));
  network.facts = facts_;
  network.facts.body = body_;
  network.layers = layers_.Take();
  subgraph_ = {};
  trail_ = {};
  names_.clear();
  facts_ = {};
  body_ = {};
  recorded_parameters_ = 0;
  recorded_macs_ = 0;
  return network;
}

}  // namespace neap::zoo
