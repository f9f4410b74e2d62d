// SPDX-License-Identifier: Apache-2.0
//
// Every operator of TensorFlow Lite that the executor has a kernel for, and Neap's own.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/flex_map.h"
#include "testing/random_network.h"

namespace neap::property {
namespace {

using enum ElementType;

constexpr std::int64_t kSame = 0;
constexpr std::int64_t kValid = 1;

void Unary(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const bool keeps = c.type.starts_with("RELU") || c.type == "LEAKY_RELU";
  const TensorId y = n.Out(type, n.ShapeOf(x), keeps ? x : TensorId());
  const bool byte = type == kInt8 || type == kUint8;
  if ((c.type == "LOGISTIC" || c.type == "SOFTMAX") && byte) {
    n.Quantize(y, 1.0F / 256, type == kInt8 ? -128 : 0);
  }
  if (c.type == "TANH" && byte) n.Quantize(y, 1.0F / 128, type == kInt8 ? 0 : 128);
  Attributes attributes;
  if (c.type == "LEAKY_RELU") attributes["alpha"] = 0.25;
  if (c.type == "SOFTMAX") attributes["beta"] = 1.0;
  if (c.type == "GELU") attributes["approximate"] = n.Draw(0, 1);
  n.Add("tflite", c.type, {x}, {y}, std::move(attributes));
}

// Two operands that broadcast to one shape; either may be the smaller one, a constant, or both the
// same tensor.
std::pair<TensorId, TensorId> Operands(Network& n, ElementType type, bool one_scale) {
  const TensorId a = n.TakeAny(type);
  if (n.Rarely()) return {a, a};
  Shape shape = n.ShapeOf(a);
  const bool broadcasts = n.Rarely();
  if (broadcasts) {
    for (std::int64_t& d : shape) d = n.Coin() ? 1 : d;
    while (shape.size() > 1 && n.Coin()) shape.erase(shape.begin());
    const bool ones = std::all_of(shape.begin(), shape.end(), [](auto d) { return d == 1; });
    if (ones && n.Coin()) shape.insert(shape.begin(), 1);
  }
  const TensorId like = one_scale ? a : TensorId();
  const bool fixed = n.Rarely() && !one_scale;
  const TensorId b = fixed ? n.Constant(type, shape) : n.TakeShaped(type, shape, like);
  if (n.Coin()) return {b, a};
  return {a, b};
}

Shape Broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (const Shape* shape : {&a, &b}) {
    for (std::size_t d = 0; d < shape->size(); ++d) {
      std::int64_t& to = out[out.size() - shape->size() + d];
      to = std::max(to, (*shape)[d]);
    }
  }
  return out;
}

void Binary(Network& n, const OperatorCase& c, ElementType type) {
  const bool selects = c.type == "MAXIMUM" || c.type == "MINIMUM";
  const auto [a, b] = Operands(n, type, selects);
  const TensorId y = n.Out(type, Broadcast(n.ShapeOf(a), n.ShapeOf(b)), selects ? a : TensorId());
  Attributes attributes;
  const bool fuses = c.type == "ADD" || c.type == "SUB" || c.type == "MUL" || c.type == "DIV";
  if (fuses && type != kInt32 && type != kInt64) {
    attributes["fused_activation_function"] = n.Draw(0, 1);
  }
  n.Add("tflite", c.type, {a, b}, {y}, std::move(attributes));
}

void Compare(Network& n, const OperatorCase& c, ElementType type) {
  const auto [a, b] = Operands(n, type, true);
  n.Add("tflite", c.type, {a, b}, {n.Out(kBool, Broadcast(n.ShapeOf(a), n.ShapeOf(b)))});
}

void AddN(Network& n, const OperatorCase& c, ElementType type) {
  std::vector<TensorId> inputs = {n.TakeAny(type)};
  for (std::int64_t more = n.Draw(0, 3); more > 0; --more) {
    inputs.push_back(n.TakeShaped(type, n.ShapeOf(inputs[0])));
  }
  n.Add("tflite", c.type, inputs, {n.Out(type, n.ShapeOf(inputs[0]))});
}

void Select(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const TensorId y = n.TakeShaped(type, n.ShapeOf(x), x);
  const TensorId condition = n.TakeShaped(kBool, n.ShapeOf(x));
  n.Add("tflite", c.type, {condition, x, y}, {n.Out(type, n.ShapeOf(x), x)});
}

struct Window {
  std::int64_t kernel[2];
  std::int64_t stride[2];
  std::int64_t dilation[2];
  std::int64_t padding = kSame;
  std::int64_t out[2];
};

Window RandomWindow(Network& n, const Shape& in, bool dilates) {
  Window w{};
  for (std::size_t d = 0; d < 2; ++d) {
    w.kernel[d] = n.Draw(1, 3);
    w.stride[d] = n.Draw(1, 2);
    w.dilation[d] = dilates && n.Rarely() ? 2 : 1;
  }
  const auto span = [&](std::size_t d) { return (w.kernel[d] - 1) * w.dilation[d] + 1; };
  w.padding = n.Coin() && span(0) <= in[1] && span(1) <= in[2] ? kValid : kSame;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t size = in[d + 1];
    w.out[d] = w.padding == kSame ? (size + w.stride[d] - 1) / w.stride[d]
                                  : (size - span(d)) / w.stride[d] + 1;
  }
  return w;
}

Attributes AttributesOf(Network& n, const Window& w, bool dilates) {
  Attributes attributes = {{"padding", w.padding},
                           {"stride_h", w.stride[0]},
                           {"stride_w", w.stride[1]},
                           {"fused_activation_function", n.Draw(0, 1)}};
  if (dilates) {
    attributes["dilation_h_factor"] = w.dilation[0];
    attributes["dilation_w_factor"] = w.dilation[1];
  }
  return attributes;
}

void Conv(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  const Shape in = n.ShapeOf(x);
  const Window w = RandomWindow(n, in, true);
  const bool depthwise = c.type == "DEPTHWISE_CONV_2D";
  const std::int64_t out = depthwise ? in[3] * n.Draw(1, 2) : n.Draw(1, 4);
  const Shape filter = depthwise ? Shape{1, w.kernel[0], w.kernel[1], out}
                                 : Shape{out, w.kernel[0], w.kernel[1], in[3]};
  // Hybrid: floats with weights of 8 bits, by the range of the whole tensor.
  const bool hybrid = type == kFloat32 && !depthwise && n.random().Chance(1, 8);
  const TensorId weights = n.Weights(hybrid ? kInt8 : type, filter, depthwise ? 3 : 0);
  std::vector<TensorId> inputs = {x, weights};
  if (n.Coin()) inputs.push_back(n.Bias(type, out));
  Attributes attributes = AttributesOf(n, w, true);
  if (depthwise) attributes["depth_multiplier"] = out / in[3];
  n.Add("tflite", c.type, inputs, {n.Out(type, {in[0], w.out[0], w.out[1], out})},
        std::move(attributes));
}

void Pool(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  const Shape in = n.ShapeOf(x);
  const Window w = RandomWindow(n, in, false);
  Attributes attributes = AttributesOf(n, w, false);
  attributes["filter_height"] = w.kernel[0];
  attributes["filter_width"] = w.kernel[1];
  n.Add("tflite", c.type, {x}, {n.Out(type, {in[0], w.out[0], w.out[1], in[3]}, x)},
        std::move(attributes));
}

void TransposeConv(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  const Shape in = n.ShapeOf(x);
  const std::int64_t stride = n.Draw(1, 2);
  const std::int64_t kernel = n.Draw(1, 3);
  const bool same = n.Coin();
  const auto size = [&](std::int64_t d) { return same ? d * stride : (d - 1) * stride + kernel; };
  const Shape out = {in[0], size(in[1]), size(in[2]), n.Draw(1, 3)};
  std::vector<TensorId> inputs = {n.Ints(out), n.Weights(type, {out[3], kernel, kernel, in[3]}, 0),
                                  x};
  if (n.Coin()) inputs.push_back(n.Bias(type, out[3]));
  n.Add("tflite", c.type, inputs, {n.Out(type, out)},
        {{"padding", same ? kSame : kValid}, {"stride_h", stride}, {"stride_w", stride}});
}

void FullyConnected(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  const std::int64_t units = n.Draw(1, 6);
  std::vector<TensorId> inputs = {x, n.Weights(type, {units, in.back()}, -1)};
  if (n.Coin()) inputs.push_back(n.Bias(type, units));
  Shape out = {ElementsOf(in) / in.back(), units};
  if (n.Coin()) {
    out = in;
    out.back() = units;
  }
  n.Add("tflite", c.type, inputs, {n.Out(type, out)},
        {{"fused_activation_function", n.Draw(0, 1)}});
}

void BatchMatmul(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId a = n.TakeRank(type, n.Coin() ? 2 : 3);
  Shape shape = n.ShapeOf(a);
  const std::int64_t turn_a = n.Draw(0, 1);
  const std::int64_t turn_b = n.Draw(0, 1);
  const std::size_t last = shape.size() - 1;
  const std::int64_t rows = shape[turn_a == 1 ? last : last - 1];
  const std::int64_t depth = shape[turn_a == 1 ? last - 1 : last];
  const std::int64_t columns = n.Draw(1, 4);
  Shape other = shape;
  other[last] = turn_b == 1 ? depth : columns;
  other[last - 1] = turn_b == 1 ? columns : depth;
  const TensorId b = n.TakeShaped(type, other);
  shape[last] = columns;
  shape[last - 1] = rows;
  n.Add("tflite", c.type, {a, b}, {n.Out(type, shape)}, {{"adj_x", turn_a}, {"adj_y", turn_b}});
}

void Reduce(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  const bool keeps = n.Coin();
  const bool spatial = in.size() == 4 && n.Coin();
  Numbers axes;
  Shape out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool last = d + 1 == in.size() && axes.empty();
    const bool gone = spatial ? d == 1 || d == 2 : n.Coin() || last;
    if (gone) axes.push_back(static_cast<std::int64_t>(d));
    if (!gone || keeps) out.push_back(gone ? 1 : in[d]);
  }
  const TensorId y = n.Out(type, out, n.Coin() ? x : TensorId());
  n.Add("tflite", c.type, {x, n.Ints(axes)}, {y}, {{"keep_dims", std::int64_t{keeps}}});
}

void Resize(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  Shape out = n.ShapeOf(x);
  out[1] = n.Draw(1, 7);
  out[2] = n.Draw(1, 7);
  const std::int64_t corners = n.Draw(0, 1);
  n.Add("tflite", c.type, {x, n.Ints({out[1], out[2]})}, {n.Out(type, out, x)},
        {{"align_corners", corners}, {"half_pixel_centers", corners == 1 ? 0 : n.Draw(0, 1)}});
}

void Requantize(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const ElementType to = c.type == "DEQUANTIZE" ? kFloat32 : n.Coin() ? kInt8 : kUint8;
  n.Add("tflite", c.type, {x}, {n.Out(to, n.ShapeOf(x))});
}

void Lstm(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 3);
  const Shape in = n.ShapeOf(x);
  const std::int64_t time_major = n.Draw(0, 1);
  const std::int64_t batches = in[time_major == 1 ? 1 : 0];
  const std::int64_t cells = n.Draw(1, 3);
  std::vector<TensorId> inputs(24);
  inputs[0] = x;
  const bool floats = type == kFloat32;
  const bool coupled = n.Rarely();
  const auto weights = [&](const Shape& shape) {
    const TensorId id = n.Constant(type, shape);
    if (!floats) n.Quantize(id, 0.001F * static_cast<float>(n.Draw(2, 40)), 0);
    return id;
  };
  for (std::size_t gate = coupled ? 1 : 0; gate < 4; ++gate) {
    inputs[1 + gate] = weights({cells, in[2]});
    inputs[5 + gate] = weights({cells, cells});
    inputs[12 + gate] = n.Bias(type, cells);
  }
  inputs[18] = n.Variable(type, {batches, cells});
  inputs[19] = n.Variable(floats ? type : kInt16, {batches, cells});
  Shape out = in;
  out[2] = cells;
  Attributes attributes = {{"time_major", time_major},
                           {"fused_activation_function", std::int64_t{4}},
                           {"cell_clip", 0.0},
                           {"proj_clip", 0.0}};
  if (!floats) {
    n.Quantize(inputs[18], 0.0078F, n.Draw(-9, 9));
    n.Quantize(inputs[19], std::ldexp(1.0F, static_cast<int>(n.Draw(-15, -9))), 0);
    if (n.Coin()) attributes["cell_clip"] = 0.25 * static_cast<double>(n.Draw(1, 8));
    // LiteRT takes the scale of hidden values from there.
    const TensorId hidden = n.Out(type, {0}, inputs[18]);
    attributes["intermediates"] = Numbers(5, hidden.value());
  }
  n.Add("tflite", c.type, inputs, {n.Out(type, out)}, std::move(attributes));
}

void Svdf(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 2);
  const Shape in = n.ShapeOf(x);
  const std::int64_t rank = n.Draw(1, 2);
  const std::int64_t units = n.Draw(1, 3);
  const std::int64_t memory = n.Draw(1, 4);
  const std::int64_t filters = rank * units;
  const bool floats = type == kFloat32;
  const TensorId features = n.Constant(floats ? kFloat32 : kInt8, {filters, in[1]});
  const TensorId times = n.Constant(floats ? kFloat32 : kInt16, {filters, memory});
  const TensorId state = n.Variable(floats ? kFloat32 : kInt16, {in[0], filters * memory});
  if (!floats) {
    n.Quantize(features, 0.01F, 0);
    n.Quantize(state, 0.001F, 0);
  }
  const TensorId bias = n.Coin() ? n.Bias(type, units) : TensorId();
  n.Add("tflite", c.type, {x, features, times, bias, state}, {n.Out(type, {in[0], units})},
        {{"rank", rank}, {"fused_activation_function", std::int64_t{floats ? 0 : 1}}});
}

// A part of a convolution that adds to an accumulator; the last one computes the result.
void Accumulate(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  const Shape in = n.ShapeOf(x);
  const Window w = RandomWindow(n, in, true);
  const std::int64_t channels = n.Draw(1, 4);
  const Shape out = {in[0], w.out[0], w.out[1], channels};
  const bool floats = type == kFloat32;
  const bool last = floats && n.Coin();
  const TensorId weights = n.Weights(type, {channels, w.kernel[0], w.kernel[1], in[3]}, -1);
  const ElementType sums = floats ? kFloat32 : kInt32;
  const TensorId before = n.Coin() ? n.TakeShaped(sums, out) : TensorId();
  Attributes attributes = AttributesOf(n, w, true);
  attributes["layout"] = std::string("channels last");
  attributes["last"] = std::int64_t{last};
  n.Add("neap", c.type, {before, x, weights, last ? n.Bias(type, channels) : TensorId()},
        {n.Out(sums, out)}, std::move(attributes));
}

void EndSums(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(kInt32, 4);
  const std::int64_t channels = n.ShapeOf(x)[3];
  std::vector<TensorId> inputs = {x, n.Weights(kInt8, {channels, 1, 1, 2}, 0)};
  if (n.Coin()) inputs.push_back(n.Bias(kInt8, channels));
  n.Add("neap", c.type, inputs, {n.Out(type, n.ShapeOf(x))},
        {{"input_scale", 0.05}, {"fused_activation_function", n.Draw(0, 1)}});
}

void DetectionPostprocess(Network& n, const OperatorCase& c, ElementType type) {
  const std::int64_t boxes = n.Draw(1, 6);
  const std::int64_t classes = n.Draw(1, 4);
  const std::int64_t most = n.Draw(1, 5);
  const std::int64_t each = n.Draw(1, classes);
  const bool regular = n.Coin();
  const TensorId encodings = n.TakeShaped(type, {1, boxes, 4 + n.Draw(0, 1)});
  const TensorId scores = n.TakeShaped(type, {1, boxes, classes + n.Draw(0, 1)});
  std::vector<float> anchors;
  for (std::int64_t i = 0; i < boxes; ++i) {
    const auto at = 0.1F * static_cast<float>(i);
    anchors.insert(anchors.end(), {at, 0.5F, 0.3F, 0.2F});
  }
  const std::int64_t places = most * (regular ? 1 : each);
  const auto bytes = std::make_shared<std::vector<std::byte>>(
      FlexMap({{"detections_per_class", static_cast<int>(n.Draw(1, 5))},
               {"h_scale", 5.0F},
               {"max_classes_per_detection", static_cast<int>(each)},
               {"max_detections", static_cast<int>(most)},
               {"nms_iou_threshold", 0.4F},
               {"nms_score_threshold", -0.5F},
               {"num_classes", static_cast<int>(classes)},
               {"use_regular_nms", regular ? 1 : 0},
               {"w_scale", 5.0F},
               {"x_scale", 10.0F},
               {"y_scale", 10.0F}}));
  const TensorId anchors_of_boxes =
      type == kFloat32 ? n.Floats(anchors, {boxes, 4}) : n.Constant(type, {boxes, 4});
  n.Add(c.domain, c.type, {encodings, scores, anchors_of_boxes},
        {n.Out(kFloat32, {1, places, 4}), n.Out(kFloat32, {1, places}),
         n.Out(kFloat32, {1, places}), n.Out(kFloat32, {1})},
        {{"custom_options", graph::ConstantData{bytes, *bytes}}});
}

}  // namespace

const std::vector<OperatorCase>& TfliteCases() {
  using Types = std::vector<ElementType>;
  static const std::vector<OperatorCase> cases = [] {
    std::vector<OperatorCase> all;
    const auto add = [&](auto function, const Types& types, const std::vector<std::string>& names) {
      for (const std::string& name : names) all.push_back({"tflite", name, function, types});
    };
    const Types floats = {kFloat32};
    const Types bytes = {kFloat32, kInt8, kUint8};
    AddTfliteMoves(add);
    add(Unary, bytes,
        {"LOGISTIC", "TANH", "RELU", "RELU6", "RELU_N1_TO_1", "HARD_SWISH", "LEAKY_RELU",
         "SOFTMAX"});
    add(Unary, floats,
        {"RELU_0_TO_1", "ELU", "GELU", "EXP", "LOG", "SQRT", "RSQRT", "SIN", "COS", "ABS", "NEG",
         "SQUARE", "FLOOR", "CEIL", "ROUND", "LOG_SOFTMAX", "L2_NORMALIZATION"});
    add(Binary, {kFloat32, kInt8, kUint8, kInt32, kInt64}, {"ADD", "SUB", "MUL"});
    add(Binary, {kFloat32, kInt32, kInt64}, {"DIV", "SQUARED_DIFFERENCE"});
    add(Binary, floats, {"POW", "PRELU"});
    add(Binary, {kFloat32, kInt8, kUint8, kInt32, kInt64}, {"MAXIMUM", "MINIMUM"});
    add(Compare, {kFloat32, kInt8, kUint8, kInt32, kInt64},
        {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"});
    add(AddN, floats, {"ADD_N"});
    add(Select, {kFloat32, kInt8, kUint8, kInt32, kInt64}, {"SELECT_V2"});
    add(Conv, bytes, {"CONV_2D", "DEPTHWISE_CONV_2D"});
    add(Pool, bytes, {"AVERAGE_POOL_2D", "MAX_POOL_2D"});
    add(TransposeConv, bytes, {"TRANSPOSE_CONV"});
    add(FullyConnected, bytes, {"FULLY_CONNECTED"});
    add(BatchMatmul, floats, {"BATCH_MATMUL"});
    add(Reduce, bytes, {"MEAN", "SUM"});
    add(Reduce, floats, {"REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"});
    add(Resize, bytes, {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"});
    add(Requantize, bytes, {"QUANTIZE"});
    add(Requantize, {kInt8, kUint8}, {"DEQUANTIZE"});
    add(Lstm, {kFloat32, kInt8}, {"UNIDIRECTIONAL_SEQUENCE_LSTM"});
    add(Svdf, {kFloat32, kInt8}, {"SVDF"});
    all.push_back({"custom", "TFLite_Detection_PostProcess", DetectionPostprocess, bytes});
    all.push_back({"neap", "ACCUMULATE", Accumulate, bytes});
    all.push_back({"neap", "REQUANTIZE", EndSums, {kInt8, kUint8}});
    return all;
  }();
  return cases;
}

}  // namespace neap::property
