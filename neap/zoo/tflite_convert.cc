// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "neap/base/check.h"
#include "neap/zoo/tflite.h"
#include "neap/zoo/tflite_constants.h"

namespace neap::zoo {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using Attributes = std::map<std::string, graph::Attribute>;
using Integers = std::vector<std::int64_t>;

// Numbers of the format's enumerations.
enum Padding : std::int64_t { kPaddingSame = 0, kPaddingValid = 1 };
enum Fused : std::int64_t { kFusedNone = 0, kFusedRelu = 1, kFusedRelu6 = 3 };
// What the concatenation of TensorFlow Lite Micro takes at most.
constexpr std::size_t kMostConcatInputs = 10;

// NCHW to NHWC: where the dimensions of the result come from, and where those of the source go.
const std::vector<std::size_t> kChannelsLast = {0, 2, 3, 1};
constexpr std::array<std::int64_t, 4> kAxisOf = {0, 3, 1, 2};

Shape Moved(const Shape& shape) {
  return shape.size() == 4 ? Shape{shape[0], shape[2], shape[3], shape[1]} : shape;
}

// One dimension of a window over one dimension of its input.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;
};

// The padding SAME of the format: what makes ceil(size / stride) outputs, the odd one behind.
bool IsSame(const Window& w, std::int64_t size) {
  const std::int64_t extent = w.dilation * (w.kernel - 1) + 1;
  const std::int64_t outputs = (size + w.stride - 1) / w.stride;
  const std::int64_t total = std::max<std::int64_t>((outputs - 1) * w.stride + extent - size, 0);
  return w.before == total / 2 && w.after == total - total / 2;
}

// How many elements of the input each window covers.
std::vector<std::int64_t> Covered(const Window& w, std::int64_t size) {
  std::vector<std::int64_t> counts;
  for (std::int64_t at = -w.before; at + w.kernel <= size + w.after; at += w.stride) {
    counts.push_back(std::min(at + w.kernel, size) - std::max<std::int64_t>(at, 0));
  }
  return counts;
}

struct Windows {
  Window rows;
  Window columns;
};

class Converter {
 public:
  explicit Converter(const Subgraph& source)
      : source_(source),
        producer_(graph::Producers(source)),
        reader_(source.tensors.size()),
        readers_(source.tensors.size(), 0),
        made_(source.tensors.size()),
        fused_(source.ops.size(), 0) {}

  Result<Subgraph> Run();

 private:
  using Handler = Status (Converter::*)(const Op& op);
  static const std::map<std::string_view, Handler>& Handlers();

  Status Conv(const Op& op);
  Status ConvTranspose(const Op& op);
  Status MaxPool(const Op& op);
  Status AveragePool(const Op& op);
  Status GlobalAveragePool(const Op& op);
  Status BatchNormalization(const Op& op);
  Status Gemm(const Op& op);
  Status MatMul(const Op& op);
  Status Rectifier(const Op& op);
  Status HardSwish(const Op& op);
  Status HardSigmoid(const Op& op);
  Status Sigmoid(const Op& op);
  Status Add(const Op& op);
  Status Sum(const Op& op);
  Status Mul(const Op& op);
  Status Softmax(const Op& op);
  Status Concat(const Op& op);
  Status Slice(const Op& op);
  Status Split(const Op& op);
  Status Pad(const Op& op);
  Status Flatten(const Op& op);

  static Diagnostic Refusal(const Op& op, const std::string& why);
  void CountReaders();
  std::optional<Fused> RectifierOf(const Op& op) const;
  // The rectifier that can be part of the operator, and the tensor that it leaves.
  std::pair<Fused, TensorId> Fuse(const Op& op);

  const Tensor& Source(TensorId id) const { return source_.tensors[id]; }
  const Shape& SourceShape(TensorId id) const { return *source_.tensors[id].shape; }
  const Shape& ShapeOf(TensorId made) const { return *out_.tensors[made].shape; }
  Integers SourceIntegers(const Op& op, std::size_t input) const {
    return ValuesOf<std::int64_t>(Source(op.inputs[input]));
  }
  // What stands for a tensor of the source; a constant is moved over as it is, at its first use.
  TensorId Operand(TensorId source);
  TensorId Constant(const std::string& name, ElementType type, Shape shape,
                    std::optional<graph::ConstantData> data);
  TensorId Indices(const std::string& name, const std::vector<std::int32_t>& values);
  TensorId Floats(const std::string& name, Shape shape, std::vector<float> values);
  // Weights with their dimensions in a new order.
  TensorId Weights(TensorId source, const std::vector<std::size_t>& order);
  TensorId AddTensor(const std::string& name, ElementType type, Shape shape);
  void Emit(const std::string& type, const std::string& name, std::vector<TensorId> inputs,
            TensorId output, Attributes attributes);
  // The tensor of the source that the next operator makes, in its new layout.
  TensorId Make(TensorId source);
  void EmitPad(const char* type, const std::string& name, TensorId input, const Windows& w,
               TensorId output, std::optional<float> value);
  TensorId Padded(const Op& op, TensorId input, const Windows& w, std::optional<float> value);
  Windows WindowsOf(const Op& op) const;
  static Attributes PoolAttributes(const Windows& w, Padding padding);
  void EmitChain(const Op& op, const std::string& type);

  const Subgraph& source_;
  IdVector<TensorId, OpId> producer_;
  IdVector<TensorId, OpId> reader_;  // the last one
  IdVector<TensorId, int> readers_;  // graph outputs are read, too
  IdVector<TensorId, TensorId> made_;
  IdVector<OpId, char> fused_;
  Subgraph out_;
};

Diagnostic Converter::Refusal(const Op& op, const std::string& why) {
  Diagnostic refusal = UsageError(why);
  refusal.op = "'" + op.type + "' (" + op.name + ")";
  refusal.hint = "write it as .onnx";
  return refusal;
}

void Converter::CountReaders() {
  for (const OpId id : source_.ops.Ids()) {
    for (const TensorId input : source_.ops[id].inputs) {
      if (!input.valid()) continue;
      ++readers_[input];
      reader_[input] = id;
    }
  }
  for (const TensorId output : source_.outputs) ++readers_[output];
}

std::optional<Fused> Converter::RectifierOf(const Op& op) const {
  if (op.type == "Relu") return kFusedRelu;
  if (op.type != "Clip") return std::nullopt;
  const bool is_relu6 = ValuesOf<float>(Source(op.inputs[1])) == std::vector<float>{0} &&
                        ValuesOf<float>(Source(op.inputs[2])) == std::vector<float>{6};
  return is_relu6 ? std::optional<Fused>(kFusedRelu6) : std::nullopt;
}

std::pair<Fused, TensorId> Converter::Fuse(const Op& op) {
  const TensorId output = op.outputs[0];
  if (readers_[output] != 1 || !reader_[output].valid()) return {kFusedNone, output};
  const Op& next = source_.ops[reader_[output]];
  const auto rectifier = RectifierOf(next);
  if (!rectifier) return {kFusedNone, output};
  fused_[reader_[output]] = 1;
  return {*rectifier, next.outputs[0]};
}

TensorId Converter::AddTensor(const std::string& name, ElementType type, Shape shape) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = std::move(shape);
  return out_.tensors.push_back(std::move(tensor));
}

TensorId Converter::Constant(const std::string& name, ElementType type, Shape shape,
                             std::optional<graph::ConstantData> data) {
  const TensorId id = AddTensor(name, type, std::move(shape));
  out_.tensors[id].constant = true;
  out_.tensors[id].data = std::move(data);
  return id;
}

TensorId Converter::Indices(const std::string& name, const std::vector<std::int32_t>& values) {
  return Constant(name, ElementType::kInt32, {static_cast<std::int64_t>(values.size())},
                  DataOf(values));
}

TensorId Converter::Floats(const std::string& name, Shape shape, std::vector<float> values) {
  return Constant(name, ElementType::kFloat32, std::move(shape), DataOf(std::move(values)));
}

TensorId Converter::Weights(TensorId source, const std::vector<std::size_t>& order) {
  const Tensor& tensor = Source(source);
  Shape shape;
  for (const std::size_t axis : order) shape.push_back((*tensor.shape)[axis]);
  std::optional<graph::ConstantData> data;
  if (tensor.data) data = DataOf(Permuted(ValuesOf<float>(tensor), *tensor.shape, order));
  return Constant(tensor.name, tensor.type, std::move(shape), std::move(data));
}

TensorId Converter::Operand(TensorId source) {
  if (!made_[source].valid()) {
    const Tensor& tensor = Source(source);
    NEAP_CHECK(tensor.constant && tensor.shape->size() != 4, tensor.name);
    made_[source] = Constant(tensor.name, tensor.type, *tensor.shape, tensor.data);
  }
  return made_[source];
}

TensorId Converter::Make(TensorId source) {
  made_[source] = AddTensor(Source(source).name, Source(source).type, Moved(SourceShape(source)));
  return made_[source];
}

void Converter::Emit(const std::string& type, const std::string& name, std::vector<TensorId> inputs,
                     TensorId output, Attributes attributes) {
  Op op;
  op.type = type;
  op.domain = "tflite";
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs = {output};
  op.attributes = std::move(attributes);
  out_.ops.push_back(std::move(op));
}

Windows Converter::WindowsOf(const Op& op) const {
  const auto list = [&](const char* name, std::size_t index, std::int64_t absent) {
    const auto found = op.attributes.find(name);
    return found == op.attributes.end() ? absent : std::get<Integers>(found->second)[index];
  };
  const auto window = [&](std::size_t i) {
    return Window{list("kernel_shape", i, 1), list("strides", i, 1), list("dilations", i, 1),
                  list("pads", i, 0), list("pads", i + 2, 0)};
  };
  return {window(0), window(1)};
}

// Zeros around height and width, or `value`.
void Converter::EmitPad(const char* type, const std::string& name, TensorId input, const Windows& w,
                        TensorId output, std::optional<float> value) {
  const auto amount = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
  const TensorId amounts = Constant(
      name + "/pads", ElementType::kInt32, {4, 2},
      DataOf(std::vector<std::int32_t>{0, 0, amount(w.rows.before), amount(w.rows.after),
                                       amount(w.columns.before), amount(w.columns.after), 0, 0}));
  std::vector<TensorId> inputs = {input, amounts};
  if (value) inputs.push_back(Floats(name + "/value", {1}, {*value}));
  Emit(type, name, std::move(inputs), output, {});
}

TensorId Converter::Padded(const Op& op, TensorId input, const Windows& w,
                           std::optional<float> value) {
  Shape shape = ShapeOf(input);
  shape[1] += w.rows.before + w.rows.after;
  shape[2] += w.columns.before + w.columns.after;
  const std::string name = op.name + "/pad";
  const TensorId padded = AddTensor(name, ElementType::kFloat32, std::move(shape));
  EmitPad(value ? "PADV2" : "PAD", name, input, w, padded, value);
  return padded;
}

// Of a window over `input`: what the format calls its padding, if it has a name for it.
std::optional<Padding> PaddingOf(const Windows& w, const Shape& input) {
  if (IsSame(w.rows, input[1]) && IsSame(w.columns, input[2])) return kPaddingSame;
  const bool none =
      w.rows.before == 0 && w.rows.after == 0 && w.columns.before == 0 && w.columns.after == 0;
  return none ? std::optional<Padding>(kPaddingValid) : std::nullopt;
}

Status Converter::Conv(const Op& op) {
  const Windows w = WindowsOf(op);
  const Shape& weight = SourceShape(op.inputs[1]);
  const std::int64_t groups = std::get<std::int64_t>(op.attributes.at("group"));
  const std::int64_t channels = SourceShape(op.inputs[0])[1];
  const bool depthwise = groups != 1 && groups == channels && weight[1] == 1;
  if (groups != 1 && !depthwise) return Fail(Refusal(op, "has groups that are not channels"));
  TensorId input = Operand(op.inputs[0]);
  const auto padding = PaddingOf(w, ShapeOf(input));
  if (!padding) input = Padded(op, input, w, std::nullopt);
  const std::vector<std::size_t> order =
      depthwise ? std::vector<std::size_t>{1, 2, 3, 0} : kChannelsLast;
  std::vector<TensorId> inputs = {input, Weights(op.inputs[1], order)};
  if (op.inputs.size() > 2) inputs.push_back(Operand(op.inputs[2]));
  const auto [fused, output] = Fuse(op);
  Attributes attributes = {{"padding", std::int64_t{padding.value_or(kPaddingValid)}},
                           {"stride_w", w.columns.stride},
                           {"stride_h", w.rows.stride},
                           {"fused_activation_function", std::int64_t{fused}},
                           {"dilation_w_factor", w.columns.dilation},
                           {"dilation_h_factor", w.rows.dilation}};
  if (depthwise) attributes["depth_multiplier"] = weight[0] / channels;
  Emit(depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D", op.name, std::move(inputs), Make(output),
       std::move(attributes));
  return {};
}

Status Converter::ConvTranspose(const Op& op) {
  const Windows w = WindowsOf(op);
  const TensorId input = Operand(op.inputs[0]);
  const Shape shape = Moved(SourceShape(op.outputs[0]));
  std::vector<std::int32_t> sizes;
  for (const std::int64_t size : shape) sizes.push_back(static_cast<std::int32_t>(size));
  const TensorId target = Indices(op.name + "/shape", sizes);
  const TensorId weights = Weights(op.inputs[1], {1, 2, 3, 0});
  const TensorId bias = Operand(op.inputs[2]);
  Emit("TRANSPOSE_CONV", op.name, {target, weights, input, bias}, Make(op.outputs[0]),
       {{"padding", std::int64_t{kPaddingValid}},
        {"stride_w", w.columns.stride},
        {"stride_h", w.rows.stride}});
  return {};
}

Attributes Converter::PoolAttributes(const Windows& w, Padding padding) {
  return {{"padding", std::int64_t{padding}}, {"stride_w", w.columns.stride},
          {"stride_h", w.rows.stride},        {"filter_width", w.columns.kernel},
          {"filter_height", w.rows.kernel},   {"fused_activation_function", std::int64_t{0}}};
}

Status Converter::MaxPool(const Op& op) {
  const Windows w = WindowsOf(op);
  TensorId input = Operand(op.inputs[0]);
  const auto padding = PaddingOf(w, ShapeOf(input));
  if (!padding) input = Padded(op, input, w, std::numeric_limits<float>::lowest());
  Emit("MAX_POOL_2D", op.name, {input}, Make(op.outputs[0]),
       PoolAttributes(w, padding.value_or(kPaddingValid)));
  return {};
}

Status Converter::AveragePool(const Op& op) {
  const Windows w = WindowsOf(op);
  const TensorId input = Operand(op.inputs[0]);
  if (const auto padding = PaddingOf(w, ShapeOf(input))) {
    Emit("AVERAGE_POOL_2D", op.name, {input}, Make(op.outputs[0]), PoolAttributes(w, *padding));
    return {};
  }
  const auto rows = Covered(w.rows, ShapeOf(input)[1]);
  const auto columns = Covered(w.columns, ShapeOf(input)[2]);
  const TensorId padded = Padded(op, input, w, std::nullopt);
  const Shape shape = Moved(SourceShape(op.outputs[0]));
  const TensorId mean = AddTensor(op.name + "/mean", ElementType::kFloat32, shape);
  Emit("AVERAGE_POOL_2D", op.name + "/mean", {padded}, mean, PoolAttributes(w, kPaddingValid));
  std::vector<float> factors;
  const auto window = static_cast<double>(w.rows.kernel * w.columns.kernel);
  for (const std::int64_t row : rows) {
    for (const std::int64_t column : columns) {
      factors.push_back(static_cast<float>(window / static_cast<double>(row * column)));
    }
  }
  const TensorId factor = Floats(op.name + "/factor", {1, shape[1], shape[2], 1}, factors);
  Emit("MUL", op.name, {mean, factor}, Make(op.outputs[0]), {});
  return {};
}

Status Converter::GlobalAveragePool(const Op& op) {
  const TensorId input = Operand(op.inputs[0]);
  const TensorId axes = Indices(op.name + "/axes", {1, 2});
  Emit("MEAN", op.name, {input, axes}, Make(op.outputs[0]), {{"keep_dims", std::int64_t{1}}});
  return {};
}

// (x - mean) / sqrt(variance + epsilon) * weight + bias, a factor and a shift for each channel.
Status Converter::BatchNormalization(const Op& op) {
  constexpr double kEpsilon = 1e-5;  // of the operator, where it does not say
  const TensorId input = Operand(op.inputs[0]);
  const std::int64_t channels = ShapeOf(input)[3];
  std::optional<graph::ConstantData> factors;
  std::optional<graph::ConstantData> shifts;
  if (Source(op.inputs[1]).data) {
    std::array<std::vector<float>, 4> learned;
    for (std::size_t i = 0; i < 4; ++i) learned[i] = ValuesOf<float>(Source(op.inputs[i + 1]));
    const auto& [weight, bias, mean, variance] = learned;
    std::vector<float> factor;
    std::vector<float> shift;
    for (std::size_t c = 0; c < weight.size(); ++c) {
      const double scale = weight[c] / std::sqrt(variance[c] + kEpsilon);
      factor.push_back(static_cast<float>(scale));
      shift.push_back(static_cast<float>(bias[c] - mean[c] * scale));
    }
    factors = DataOf(std::move(factor));
    shifts = DataOf(std::move(shift));
  }
  const TensorId weights =
      Constant(op.name + "/weight", ElementType::kFloat32, {1, 1, 1, channels}, factors);
  const TensorId bias = Constant(op.name + "/bias", ElementType::kFloat32, {channels}, shifts);
  const auto [fused, output] = Fuse(op);
  Emit("DEPTHWISE_CONV_2D", op.name, {input, weights, bias}, Make(output),
       {{"padding", std::int64_t{kPaddingValid}},
        {"stride_w", std::int64_t{1}},
        {"stride_h", std::int64_t{1}},
        {"depth_multiplier", std::int64_t{1}},
        {"fused_activation_function", std::int64_t{fused}}});
  return {};
}

Status Converter::Gemm(const Op& op) {
  NEAP_CHECK(std::get<std::int64_t>(op.attributes.at("transB")) == 1, op.name);
  const TensorId input = Operand(op.inputs[0]);
  const TensorId weights = Operand(op.inputs[1]);
  const TensorId bias = Operand(op.inputs[2]);
  const auto [fused, output] = Fuse(op);
  Emit("FULLY_CONNECTED", op.name, {input, weights, bias}, Make(output),
       {{"fused_activation_function", std::int64_t{fused}}});
  return {};
}

// A product of rows with learned weights, [inputs, outputs] in the source.
Status Converter::MatMul(const Op& op) {
  const Tensor& weight = Source(op.inputs[1]);
  if (!weight.constant || weight.shape->size() != 2 || SourceShape(op.inputs[0]).size() != 2) {
    return Fail(Refusal(op, "is no product of rows with weights"));
  }
  const Shape& shape = *weight.shape;
  std::optional<graph::ConstantData> data;
  if (weight.data) {
    data = DataOf(Permuted(ValuesOf<float>(weight), {1, 1, shape[0], shape[1]}, {0, 1, 3, 2}));
  }
  std::vector<TensorId> inputs = {Operand(op.inputs[0])};
  inputs.push_back(
      Constant(weight.name, ElementType::kFloat32, {shape[1], shape[0]}, std::move(data)));
  // The sum with a bias behind it is part of the operator here.
  TensorId output = op.outputs[0];
  const OpId next = readers_[output] == 1 ? reader_[output] : OpId();
  if (next.valid() && source_.ops[next].type == "Add") {
    const Op& sum = source_.ops[next];
    const TensorId bias = sum.inputs[sum.inputs[0] == output ? 1 : 0];
    if (Source(bias).constant && SourceShape(bias) == Shape{shape[1]}) {
      inputs.push_back(Operand(bias));
      fused_[next] = 1;
      output = sum.outputs[0];
    }
  }
  Emit("FULLY_CONNECTED", op.name, std::move(inputs), Make(output), {});
  return {};
}

Status Converter::Rectifier(const Op& op) {
  const auto rectifier = RectifierOf(op);
  if (!rectifier) return Fail(Refusal(op, "clips to other limits than 0 and 6"));
  const TensorId input = Operand(op.inputs[0]);
  Emit(*rectifier == kFusedRelu ? "RELU" : "RELU6", op.name, {input}, Make(op.outputs[0]), {});
  return {};
}

Status Converter::HardSwish(const Op& op) {
  const TensorId input = Operand(op.inputs[0]);
  Emit("HARD_SWISH", op.name, {input}, Make(op.outputs[0]), {});
  return {};
}

// min(max(x + 3, 0), 6) / 6
Status Converter::HardSigmoid(const Op& op) {
  const TensorId input = Operand(op.inputs[0]);
  const TensorId three = Floats(op.name + "/three", {1}, {3});
  const TensorId clipped = AddTensor(op.name + "/clipped", ElementType::kFloat32, ShapeOf(input));
  Emit("ADD", op.name + "/clipped", {input, three}, clipped,
       {{"fused_activation_function", std::int64_t{kFusedRelu6}}});
  const TensorId sixth = Floats(op.name + "/sixth", {1}, {1.0F / 6});
  Emit("MUL", op.name, {clipped, sixth}, Make(op.outputs[0]), {});
  return {};
}

Status Converter::Sigmoid(const Op& op) {
  const TensorId input = Operand(op.inputs[0]);
  Emit("LOGISTIC", op.name, {input}, Make(op.outputs[0]), {});
  return {};
}

// The operands joined from left to right.
void Converter::EmitChain(const Op& op, const std::string& type) {
  TensorId left = Operand(op.inputs[0]);
  for (std::size_t i = 1; i + 1 < op.inputs.size(); ++i) {
    const std::string name = op.name + "/part" + std::to_string(i);
    const TensorId right = Operand(op.inputs[i]);
    const TensorId part = AddTensor(name, ElementType::kFloat32, ShapeOf(left));
    Emit(type, name, {left, right}, part, {});
    left = part;
  }
  const TensorId right = Operand(op.inputs.back());
  const auto [fused, output] = Fuse(op);
  Emit(type, op.name, {left, right}, Make(output),
       {{"fused_activation_function", std::int64_t{fused}}});
}

Status Converter::Add(const Op& op) {
  EmitChain(op, "ADD");
  return {};
}
Status Converter::Sum(const Op& op) {
  EmitChain(op, "ADD");
  return {};
}
Status Converter::Mul(const Op& op) {
  EmitChain(op, "MUL");
  return {};
}

Status Converter::Softmax(const Op& op) {
  const TensorId input = Operand(op.inputs[0]);
  if (SourceShape(op.inputs[0]).size() != 2) {
    return Fail(Refusal(op, "is no softmax over the classes of a row"));
  }
  Emit("SOFTMAX", op.name, {input}, Make(op.outputs[0]), {{"beta", 1.0}});
  return {};
}

std::int64_t MovedAxis(const Op& op, std::size_t rank) {
  const std::int64_t axis = std::get<std::int64_t>(op.attributes.at("axis"));
  return rank == 4 ? kAxisOf[static_cast<std::size_t>(axis)] : axis;
}

Status Converter::Concat(const Op& op) {
  if (op.inputs.size() > kMostConcatInputs) {
    return Fail(Refusal(op, "joins " + std::to_string(op.inputs.size()) +
                                " tensors, TensorFlow Lite Micro at most " +
                                std::to_string(kMostConcatInputs)));
  }
  std::vector<TensorId> inputs;
  for (const TensorId input : op.inputs) inputs.push_back(Operand(input));
  const std::int64_t axis = MovedAxis(op, SourceShape(op.outputs[0]).size());
  Emit("CONCATENATION", op.name, std::move(inputs), Make(op.outputs[0]), {{"axis", axis}});
  return {};
}

Status Converter::Slice(const Op& op) {
  const TensorId input = Operand(op.inputs[0]);
  const Integers starts = SourceIntegers(op, 1);
  const Integers axes = SourceIntegers(op, 3);
  const Shape shape = Moved(SourceShape(op.outputs[0]));
  std::vector<std::int32_t> begin(shape.size(), 0);
  std::vector<std::int32_t> size;
  for (const std::int64_t extent : shape) size.push_back(static_cast<std::int32_t>(extent));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::size_t moved = shape.size() == 4 ? static_cast<std::size_t>(kAxisOf[axis]) : axis;
    begin[moved] = static_cast<std::int32_t>(starts[i]);
  }
  const TensorId from = Indices(op.name + "/begin", begin);
  const TensorId extent = Indices(op.name + "/size", size);
  Emit("SLICE", op.name, {input, from, extent}, Make(op.outputs[0]), {});
  return {};
}

Status Converter::Split(const Op& op) {
  NEAP_CHECK(op.outputs.size() == 1, op.name);
  const TensorId input = Operand(op.inputs[0]);
  const auto axis = static_cast<std::int32_t>(MovedAxis(op, SourceShape(op.inputs[0]).size()));
  const TensorId dimension =
      Constant(op.name + "/axis", ElementType::kInt32, {}, DataOf(std::vector<std::int32_t>{axis}));
  Emit("SPLIT", op.name, {dimension, input}, Make(op.outputs[0]),
       {{"num_splits", std::int64_t{1}}});
  return {};
}

Status Converter::Pad(const Op& op) {
  const Integers pads = SourceIntegers(op, 1);
  NEAP_CHECK(pads.size() == 8 && op.inputs.size() == 2, op.name);
  Windows w;
  w.rows.before = pads[2];
  w.columns.before = pads[3];
  w.rows.after = pads[6];
  w.columns.after = pads[7];
  const TensorId input = Operand(op.inputs[0]);
  EmitPad("PAD", op.name, input, w, Make(op.outputs[0]), std::nullopt);
  return {};
}

// Rows and columns come before channels here: where there are several, they have to change places.
Status Converter::Flatten(const Op& op) {
  TensorId input = Operand(op.inputs[0]);
  const Shape shape = ShapeOf(input);
  if (shape.size() == 4 && (shape[1] != 1 || shape[2] != 1)) {
    const std::string name = op.name + "/channels_first";
    const TensorId order = Indices(name + "/order", {0, 3, 1, 2});
    const TensorId moved =
        AddTensor(name, ElementType::kFloat32, {shape[0], shape[3], shape[1], shape[2]});
    Emit("TRANSPOSE", name, {input, order}, moved, {});
    input = moved;
  }
  const Shape& flat = SourceShape(op.outputs[0]);
  const TensorId target = Indices(
      op.name + "/shape", {static_cast<std::int32_t>(flat[0]), static_cast<std::int32_t>(flat[1])});
  Emit("RESHAPE", op.name, {input, target}, Make(op.outputs[0]), {{"new_shape", flat}});
  return {};
}

const std::map<std::string_view, Converter::Handler>& Converter::Handlers() {
  static const std::map<std::string_view, Handler> kHandlers = {
      {"Add", &Converter::Add},
      {"AveragePool", &Converter::AveragePool},
      {"BatchNormalization", &Converter::BatchNormalization},
      {"Clip", &Converter::Rectifier},
      {"Concat", &Converter::Concat},
      {"Conv", &Converter::Conv},
      {"ConvTranspose", &Converter::ConvTranspose},
      {"Flatten", &Converter::Flatten},
      {"Gemm", &Converter::Gemm},
      {"GlobalAveragePool", &Converter::GlobalAveragePool},
      {"HardSigmoid", &Converter::HardSigmoid},
      {"HardSwish", &Converter::HardSwish},
      {"MatMul", &Converter::MatMul},
      {"MaxPool", &Converter::MaxPool},
      {"Mul", &Converter::Mul},
      {"Pad", &Converter::Pad},
      {"Relu", &Converter::Rectifier},
      {"Sigmoid", &Converter::Sigmoid},
      {"Slice", &Converter::Slice},
      {"Softmax", &Converter::Softmax},
      {"Split", &Converter::Split},
      {"Sum", &Converter::Sum},
  };
  return kHandlers;
}

Result<Subgraph> Converter::Run() {
  out_.name = source_.name;
  CountReaders();
  for (const TensorId input : source_.inputs) out_.inputs.push_back(Make(input));
  for (const OpId id : source_.ops.Ids()) {
    if (fused_[id] != 0) continue;
    const Op& op = source_.ops[id];
    const auto handler = Handlers().find(op.type);
    if (handler == Handlers().end()) {
      return Fail(Refusal(op, "TensorFlow Lite Micro has no operator for it"));
    }
    NEAP_CHECK_OK((this->*handler->second)(op));
  }
  for (const TensorId output : source_.outputs) out_.outputs.push_back(made_[output]);
  return std::move(out_);
}

}  // namespace

Result<graph::Graph> ConvertToTflite(const graph::Graph& network) {
  graph::Graph converted;
  NEAP_TRY(Subgraph main, Converter(network.subgraphs[SubgraphId(0)]).Run());
  converted.subgraphs.push_back(std::move(main));
  converted.signatures.push_back({"serving_default", SubgraphId(0)});
  return converted;
}

}  // namespace neap::zoo
