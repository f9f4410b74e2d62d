// SPDX-License-Identifier: Apache-2.0
//
// Every operator of ONNX, and of the tools that extend it, that the executor has a kernel for.
#include <algorithm>
#include <utility>

#include "testing/random_network.h"

namespace neap::property {
namespace {

using enum ElementType;

void Unary(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Attributes attributes;
  if (c.type == "Gelu" && n.Coin()) attributes["approximate"] = std::string("tanh");
  if (c.type == "LRN") attributes["size"] = n.Draw(1, 3);
  if (c.type == "iSoftmax") {
    attributes = {{"coeffA", std::int64_t{2}},
                  {"coeffB", std::int64_t{5}},
                  {"coeffC", std::int64_t{9}},
                  {"log2", std::int64_t{3}}};
  }
  if (c.type == "iGELU") attributes = {{"b", std::int64_t{-4}}, {"one", std::int64_t{8}}};
  if (c.type == "iHardswish") {
    attributes = {
        {"three", std::int64_t{3}}, {"six", std::int64_t{6}}, {"one_over_six", std::int64_t{2}}};
  }
  if (c.type == "TrueIntegerDiv") attributes["y"] = std::int64_t{3};
  if (c.type == "TrueIntegerDiv") {
    attributes["Delta"] = std::int64_t{3};
    attributes["eta"] = std::int64_t{2};
    attributes["eps"] = std::int64_t{1};
  }
  n.Add("", c.type, {x}, {n.Out(type, n.ShapeOf(x))}, std::move(attributes));
}

void Channelled(Network& n, const OperatorCase& c, ElementType type) {
  const bool instance = c.type == "InstanceNormalization";
  const TensorId x = n.TakeRank(type, n.Coin() || instance ? 4 : 2);
  const Shape shape = n.ShapeOf(x);
  std::vector<TensorId> inputs = {x};
  for (int i = 0; i < (instance ? 2 : 3); ++i) {
    inputs.push_back(n.Coin() ? n.TakeShaped(type, {shape[1]}) : n.Constant(type, {shape[1]}));
  }
  if (!instance) {
    std::vector<float> variance(static_cast<std::size_t>(shape[1]), 0.5F);
    inputs.push_back(n.Floats(variance, {shape[1]}));
  }
  n.Add("", c.type, inputs, {n.Out(type, shape)});
}

void LayerNorm(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape shape = n.ShapeOf(x);
  const bool whole = c.type == "iLayerNorm";
  const bool root = c.type == "RMSNorm" || c.type == "iRMSNorm";
  const Shape row = {shape.back()};
  std::vector<TensorId> inputs = {x, n.Coin() ? n.TakeShaped(type, row) : n.Constant(type, row)};
  if (whole || (!root && n.Coin())) inputs.push_back(n.Constant(type, row));
  std::vector<TensorId> outputs = {n.Out(type, shape)};
  if (c.type == "LayerNormalization" && n.Rarely()) {
    Shape rows = shape;
    rows.back() = 1;
    outputs.push_back(n.Out(type, rows));
    outputs.push_back(n.Out(type, rows));
  }
  Attributes attributes;
  if (c.type.starts_with("i")) attributes["D"] = std::int64_t{2};
  n.Add("", c.type, inputs, outputs, std::move(attributes));
}

Shape Broadcast(const std::vector<Shape>& shapes) {
  std::size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape out(rank, 1);
  for (const Shape& shape : shapes) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& to = out[rank - shape.size() + d];
      to = std::max(to, shape[d]);
    }
  }
  return out;
}

// A tensor that broadcasts to the shape of x, as large or smaller.
TensorId Beside(Network& n, TensorId x, ElementType type) {
  if (n.Rarely() && n.TensorOf(x).type == type) return x;
  Shape shape = n.ShapeOf(x);
  if (n.Rarely()) {
    for (std::int64_t& d : shape) d = n.Coin() ? 1 : d;
    while (shape.size() > 1 && n.Coin()) shape.erase(shape.begin());
  }
  return n.Rarely() ? n.Constant(type, shape) : n.TakeShaped(type, shape);
}

void Variadic(Network& n, const OperatorCase& c, ElementType type) {
  const bool two = c.type == "Sub" || c.type == "Mul" || c.type == "Div" || c.type == "Add" ||
                   c.type == "Pow" || c.type == "And" || c.type == "Or" || c.type == "Xor" ||
                   c.type == "IntegerDiv";
  const TensorId x = n.TakeAny(type);
  std::vector<TensorId> inputs = {x};
  std::vector<Shape> shapes = {n.ShapeOf(x)};
  for (std::int64_t more = two ? 1 : n.Draw(0, 3); more > 0; --more) {
    inputs.push_back(Beside(n, x, type));
    shapes.push_back(n.ShapeOf(inputs.back()));
  }
  n.random().Shuffle(inputs);
  Attributes attributes;
  if (c.type == "IntegerDiv") {
    attributes = {{"Delta", std::int64_t{3}}, {"eta", std::int64_t{2}}, {"eps", std::int64_t{1}}};
  }
  n.Add("", c.type, inputs, {n.Out(type, Broadcast(shapes))}, std::move(attributes));
}

void PRelu(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  n.Add("", c.type, {x, Beside(n, x, type)}, {n.Out(type, n.ShapeOf(x))});
}

void Compare(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const TensorId y = Beside(n, x, type);
  const TensorId out = n.Out(kBool, n.ShapeOf(x));
  if (n.Coin()) return n.Add("", c.type, {y, x}, {out});
  n.Add("", c.type, {x, y}, {out});
}

void Where(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const TensorId condition = Beside(n, x, kBool);
  n.Add("", c.type, {condition, x, Beside(n, x, type)}, {n.Out(type, n.ShapeOf(x))});
}

void Clip(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  std::vector<TensorId> inputs = {x};
  if (n.Coin()) inputs.push_back(n.Coin() ? n.TakeShaped(type, {1}) : n.Constant(type, {1}));
  if (inputs.size() == 2 && n.Coin()) inputs.push_back(n.Constant(type, {1}));
  n.Add("", c.type, inputs, {n.Out(type, n.ShapeOf(x))});
}

void RequantShift(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  n.Add("", c.type, {x, Beside(n, x, type), Beside(n, x, type)}, {n.Out(type, n.ShapeOf(x))},
        {{"div", std::int64_t{4}}, {"n_levels_out", std::int64_t{256}}});
}

struct Window {
  Numbers kernel;
  Numbers strides;
  Numbers dilations;
  Numbers pads;
  Shape out;
};

Window RandomWindow(Network& n, const Shape& in, bool dilates) {
  Window w;
  Numbers before;
  Numbers after;
  for (std::size_t d = 2; d < 4; ++d) {
    const std::int64_t kernel = n.Draw(1, 3);
    const std::int64_t dilation = dilates && n.Rarely() ? 2 : 1;
    const std::int64_t span = (kernel - 1) * dilation + 1;
    const std::int64_t short_by = std::max<std::int64_t>(span - in[d], 0);
    before.push_back(std::max<std::int64_t>(n.Draw(0, kernel - 1), (short_by + 1) / 2));
    after.push_back(std::max<std::int64_t>(n.Draw(0, kernel - 1), (short_by + 1) / 2));
    w.kernel.push_back(kernel);
    w.strides.push_back(n.Draw(1, 2));
    w.dilations.push_back(dilation);
    w.out.push_back((in[d] + before.back() + after.back() - span) / w.strides.back() + 1);
  }
  w.pads = before;
  w.pads.insert(w.pads.end(), after.begin(), after.end());
  return w;
}

Attributes AttributesOf(const Window& w, bool dilates) {
  Attributes attributes = {{"strides", w.strides}, {"pads", w.pads}, {"kernel_shape", w.kernel}};
  if (dilates) attributes["dilations"] = w.dilations;
  return attributes;
}

TensorId One(Network& n, ElementType type, int value) { return n.Bytes(type, {value}, {}); }
TensorId Scale(Network& n, float scale) { return n.Floats({scale}, {}); }

void Conv(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  const Shape in = n.ShapeOf(x);
  const std::int64_t groups = in[1] % 2 == 0 && n.Coin() ? 2 : 1;
  const std::int64_t channels = groups * n.Draw(1, 2);
  const Window w = RandomWindow(n, in, true);
  Attributes attributes = AttributesOf(w, true);
  attributes["group"] = groups;
  const TensorId weights = n.Constant(type, {channels, in[1] / groups, w.kernel[0], w.kernel[1]});
  const Shape out = {in[0], channels, w.out[0], w.out[1]};
  if (c.type == "ConvInteger") {
    std::vector<TensorId> inputs = {x, weights};
    if (n.Coin()) inputs.push_back(One(n, type, 3));
    return n.Add("", c.type, inputs, {n.Out(kInt32, out)}, std::move(attributes));
  }
  if (c.type == "QLinearConv") {
    const TensorId zero = One(n, type, 2);
    return n.Add("", c.type,
                 {x, Scale(n, 0.05F), zero, weights, Scale(n, 0.01F), zero, Scale(n, 0.06F), zero},
                 {n.Out(type, out)}, std::move(attributes));
  }
  std::vector<TensorId> inputs = {x, weights};
  if (n.Coin()) inputs.push_back(n.Constant(type, {channels}));
  n.Add("", c.type, inputs, {n.Out(type, out)}, std::move(attributes));
}

void ConvTranspose(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  const Shape in = n.ShapeOf(x);
  const Numbers kernel = {n.Draw(1, 3), n.Draw(1, 3)};
  const Numbers strides = {n.Draw(1, 2), n.Draw(1, 2)};
  const std::int64_t channels = n.Draw(1, 3);
  Shape out = {in[0], channels};
  for (std::size_t d = 0; d < 2; ++d) out.push_back(strides[d] * (in[d + 2] - 1) + kernel[d]);
  n.Add("", c.type, {x, n.Constant(type, {in[1], channels, kernel[0], kernel[1]})},
        {n.Out(type, out)}, {{"strides", strides}, {"kernel_shape", kernel}});
}

void Pool(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  const Shape in = n.ShapeOf(x);
  if (c.type.starts_with("Global")) {
    return n.Add("", c.type, {x}, {n.Out(type, {in[0], in[1], 1, 1})});
  }
  const Window w = RandomWindow(n, in, false);
  Attributes attributes = AttributesOf(w, false);
  if (c.type == "AveragePool") attributes["count_include_pad"] = n.Draw(0, 1);
  n.Add("", c.type, {x}, {n.Out(type, {in[0], in[1], w.out[0], w.out[1]})}, std::move(attributes));
}

void MatMul(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId a = n.TakeRank(type, c.type == "Gemm" || n.Coin() ? 2 : 3);
  Shape out = n.ShapeOf(a);
  const bool gemm = c.type == "Gemm";
  const std::int64_t turn_a = gemm ? n.Draw(0, 1) : 0;
  const std::int64_t turn_b = gemm ? n.Draw(0, 1) : 0;
  const std::size_t last = out.size() - 1;
  const std::int64_t rows = out[turn_a == 1 ? last : last - 1];
  const std::int64_t depth = out[turn_a == 1 ? last - 1 : last];
  const std::int64_t columns = n.Draw(1, 4);
  const Shape other = turn_b == 1 ? Shape{columns, depth} : Shape{depth, columns};
  const TensorId b = n.Coin() ? n.TakeShaped(type, other) : n.Constant(type, other);
  out[last] = columns;
  out[last - 1] = rows;
  if (c.type == "MatMulInteger") {
    std::vector<TensorId> inputs = {a, b};
    if (n.Coin()) inputs.push_back(One(n, type, 3));
    return n.Add("", c.type, inputs, {n.Out(kInt32, out)});
  }
  if (c.type == "QLinearMatMul") {
    const TensorId zero = One(n, type, 2);
    return n.Add("", c.type,
                 {a, Scale(n, 0.05F), zero, b, Scale(n, 0.01F), zero, Scale(n, 0.06F), zero},
                 {n.Out(type, out)});
  }
  std::vector<TensorId> inputs = {a, b};
  Attributes attributes;
  if (gemm) attributes = {{"transA", turn_a}, {"transB", turn_b}};
  if (gemm && n.Coin()) inputs.push_back(n.TakeShaped(type, {n.Coin() ? rows : 1, columns}));
  n.Add("", c.type, inputs, {n.Out(type, out)}, std::move(attributes));
}

void Reduce(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  const bool keeps = n.Coin();
  Numbers axes;
  Shape out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool gone = n.Coin() || (d + 1 == in.size() && axes.empty());
    if (gone) axes.push_back(static_cast<std::int64_t>(d));
    if (!gone || keeps) out.push_back(gone ? 1 : in[d]);
  }
  Attributes attributes = {{"keepdims", std::int64_t{keeps}}};
  std::vector<TensorId> inputs = {x};
  if (n.Coin() && c.type != "IntegerMean") {
    inputs.push_back(n.Longs(axes));
  } else {
    attributes["axes"] = axes;
  }
  n.Add("", c.type, inputs, {n.Out(type, out)}, std::move(attributes));
}

void Quantise(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape shape = n.ShapeOf(x);
  if (c.type == "DynamicQuantizeLinear") {
    const TensorId y = n.Out(kUint8, shape);
    const TensorId scale = n.Out(kFloat32, {});
    return n.Add("", c.type, {x}, {y, scale, n.Out(kUint8, {})});
  }
  const bool back = c.type == "DequantizeLinear";
  const ElementType small = back ? type : n.Coin() ? kInt8 : kUint8;
  std::vector<TensorId> inputs = {x, Scale(n, 0.05F)};
  if (n.Coin()) inputs.push_back(One(n, small, 4));
  n.Add("", c.type, inputs, {n.Out(back ? kFloat32 : small, shape)});
}

void Resize(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 4);
  Shape out = n.ShapeOf(x);
  out[2] *= n.Draw(1, 2);
  out[3] *= n.Draw(1, 2);
  std::vector<float> scales;
  for (std::size_t d = 0; d < 4; ++d) {
    scales.push_back(static_cast<float>(out[d]) / static_cast<float>(n.ShapeOf(x)[d]));
  }
  const Attributes attributes = {{"mode", std::string(n.Coin() ? "nearest" : "linear")}};
  if (c.type == "Upsample") {
    return n.Add("", c.type, {x, n.Floats(scales, {4})}, {n.Out(type, out)}, attributes, 9);
  }
  n.Add("", c.type, {x, TensorId(), n.Floats(scales, {4})}, {n.Out(type, out)}, attributes);
}

void Recurrent(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeRank(type, 3);
  const Shape in = n.ShapeOf(x);
  const bool lstm = c.type == "LSTM";
  const std::int64_t hidden = n.Draw(1, 3);
  const std::int64_t directions = n.Draw(1, 2);
  const std::int64_t rows = (lstm ? 4 : c.type == "GRU" ? 3 : 1) * hidden;
  const Shape state = {directions, in[1], hidden};
  std::vector<TensorId> inputs = {x, n.Constant(type, {directions, rows, in[2]}),
                                  n.Constant(type, {directions, rows, hidden})};
  if (n.Coin()) {
    inputs.push_back(n.Constant(type, {directions, 2 * rows}));
    inputs.push_back(TensorId());
    inputs.push_back(n.TakeShaped(type, state));
    if (lstm && n.Coin()) inputs.push_back(n.TakeShaped(type, state));
  }
  std::vector<TensorId> outputs = {n.Out(type, {in[0], directions, in[1], hidden})};
  if (n.Coin()) outputs.push_back(n.Out(type, state));
  if (lstm && outputs.size() == 2 && n.Coin()) outputs.push_back(n.Out(type, state));
  n.Add("", c.type, inputs, outputs,
        {{"hidden_size", hidden},
         {"direction", std::string(directions == 2 ? "bidirectional" : "forward")}});
}

}  // namespace

const std::vector<OperatorCase>& OnnxCases() {
  using Types = std::vector<ElementType>;
  static const std::vector<OperatorCase> cases = [] {
    std::vector<OperatorCase> all;
    const auto add = [&](auto function, const Types& types, const std::vector<std::string>& names) {
      for (const std::string& name : names) all.push_back({"", name, function, types});
    };
    const Types floats = {kFloat32};
    const Types numbers = {kFloat32, kInt8, kUint8, kInt32, kInt64};
    const Types bytes = {kInt8, kUint8};
    add(Unary, floats,
        {"Sigmoid",     "Tanh",      "Exp",        "Log",           "Sqrt",       "Erf",
         "Floor",       "Ceil",      "Round",      "Reciprocal",    "Softplus",   "Softsign",
         "Sin",         "Cos",       "Atan",       "Mish",          "Elu",        "LeakyRelu",
         "HardSigmoid", "HardSwish", "Gelu",       "Softmax",       "LogSoftmax", "ITAMax",
         "iSoftmax",    "iGELU",     "iHardswish", "TrueIntegerDiv"});
    add(Unary, numbers, {"Relu", "Abs", "Neg", "Sign"});
    add(Unary, {kBool}, {"Not"});
    add(
        [](Network& n, const OperatorCase& c, ElementType type) {
          const TensorId x = n.TakeRank(type, 4);
          n.Add("", c.type, {x}, {n.Out(type, n.ShapeOf(x))}, {{"size", n.Draw(1, 3)}});
        },
        floats, {"LRN"});
    add(Channelled, floats, {"BatchNormalization", "InstanceNormalization"});
    add(LayerNorm, floats, {"LayerNormalization", "RMSNorm", "iLayerNorm", "iRMSNorm"});
    add(Variadic, numbers, {"Add", "Sub", "Mul", "Div", "Sum", "Mean", "Max", "Min"});
    add(Variadic, {kFloat32, kInt32, kInt64}, {"Pow"});
    add(Variadic, floats, {"IntegerDiv"});
    add(Variadic, {kBool}, {"And", "Or", "Xor"});
    add(PRelu, floats, {"PRelu"});
    add(Compare, numbers, {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"});
    add(Where, numbers, {"Where"});
    add(Clip, numbers, {"Clip"});
    add(RequantShift, floats, {"RequantShift"});
    add(Conv, floats, {"Conv"});
    add(Conv, bytes, {"ConvInteger", "QLinearConv"});
    add(ConvTranspose, floats, {"ConvTranspose"});
    add(Pool, {kFloat32, kInt8, kUint8}, {"MaxPool", "GlobalMaxPool"});
    add(Pool, floats, {"AveragePool", "GlobalAveragePool"});
    add(MatMul, {kFloat32, kInt32}, {"MatMul", "Gemm"});
    add(MatMul, bytes, {"MatMulInteger", "QLinearMatMul"});
    AddOnnxMoves(add);
    add(Reduce, {kFloat32, kInt8, kUint8, kInt32, kInt64},
        {"ReduceMean", "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"});
    add(Reduce, floats, {"IntegerMean"});
    add(Quantise, floats, {"QuantizeLinear", "DynamicQuantizeLinear"});
    add(Quantise, bytes, {"DequantizeLinear"});
    add(Resize, floats, {"Resize", "Upsample"});
    add(Recurrent, floats, {"LSTM", "GRU", "RNN"});
    return all;
  }();
  return cases;
}

}  // namespace neap::property
