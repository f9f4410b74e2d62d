// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <variant>

#include "lab/zoo/tflite_constants.h"
#include "lab/zoo/tflite_converter.h"
#include "neap/base/check.h"

namespace neap::zoo {
namespace tflite {
namespace {

// The maximum number of inputs of TensorFlow Lite Micro's concatenation.
constexpr std::size_t kMaxConcatInputs = 10;

std::int64_t MovedAxis(const Op& op, std::size_t rank) {
  const std::int64_t axis = std::get<std::int64_t>(op.attributes.at("axis"));
  return rank == 4 ? kAxisOf[static_cast<std::size_t>(axis)] : axis;
}

}  // namespace

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

Status Converter::Concat(const Op& op) {
  if (op.inputs.size() > kMaxConcatInputs) {
    return Fail(Refusal(op, "joins " + std::to_string(op.inputs.size()) +
                                " tensors, TensorFlow Lite Micro at most " +
                                std::to_string(kMaxConcatInputs)));
  }
  std::vector<TensorId> inputs;
  inputs.reserve(op.inputs.size());
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

Status Converter::EmitReshape(const Op& op, TensorId input) {
  const Shape& shape = SourceShape(op.outputs[0]);
  std::vector<std::int32_t> extents;
  for (const std::int64_t extent : shape) extents.push_back(static_cast<std::int32_t>(extent));
  const TensorId target = Indices(op.name + "/shape", extents);
  Emit("RESHAPE", op.name, {input, target}, Make(op.outputs[0]), {{"new_shape", shape}});
  return {};
}

// Channels are last here. A transposition that puts them there, for a reshape to rows, does
// nothing.
Status Converter::Transpose(const Op& op) {
  const TensorId output = op.outputs[0];
  const bool to_channels_last =
      std::get<Integers>(op.attributes.at("perm")) == Integers{0, 2, 3, 1};
  const OpId reader = readers_[output] == 1 ? reader_[output] : OpId();
  const bool to_rows = reader.valid() && source_.ops[reader].type == "Reshape" &&
                       SourceShape(source_.ops[reader].outputs[0]).size() != 4;
  if (!to_channels_last || !to_rows) {
    return Fail(Refusal(op, "moves other axes than the channels in front of a reshape to rows"));
  }
  fused_[reader] = 1;
  return EmitReshape(source_.ops[reader], Operand(op.inputs[0]));
}

Status Converter::Reshape(const Op& op) {
  if (SourceShape(op.inputs[0]).size() == 4 || SourceShape(op.outputs[0]).size() == 4) {
    return Fail(Refusal(op, "reshapes images, whose channels are elsewhere here"));
  }
  return EmitReshape(op, Operand(op.inputs[0]));
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
      {"Reshape", &Converter::Reshape},
      {"Sigmoid", &Converter::Sigmoid},
      {"Slice", &Converter::Slice},
      {"Softmax", &Converter::Softmax},
      {"Split", &Converter::Split},
      {"Sum", &Converter::Sum},
      {"Transpose", &Converter::Transpose},
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

}  // namespace tflite

Result<graph::Graph> ConvertToTflite(const graph::Graph& network) {
  graph::Graph converted;
  const graph::SubgraphId main(0);
  NEAP_TRY(graph::Subgraph subgraph, tflite::Converter(network.subgraphs[main]).Run());
  converted.subgraphs.push_back(std::move(subgraph));
  converted.signatures.push_back({"serving_default", main});
  return converted;
}

}  // namespace neap::zoo
