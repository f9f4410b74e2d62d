// SPDX-License-Identifier: Apache-2.0
//
// ADD, SUB, MUL, MAXIMUM, MINIMUM, SOFTMAX, and functions of one byte by a table.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "neap/emit/floats.h"
#include "neap/emit/linear.h"
#include "neap/emit/lowering.h"
#include "neap/emit/quantization.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/fixed_functions.h"
#include "neap/execute/fixed_point.h"
#include "neap/ops/op_table.h"

namespace neap::emit {
namespace {

using graph::Op;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;

constexpr std::size_t kRank = 4;

Result<std::array<std::int64_t, kRank>> FourDimensions(const Shape& shape) {
  std::array<std::int64_t, kRank> four = {1, 1, 1, 1};
  NEAP_CHECK_OK(Require(shape.size() <= kRank, "has a tensor of more than four dimensions"));
  std::copy(shape.begin(), shape.end(), four.end() - static_cast<std::ptrdiff_t>(shape.size()));
  return four;
}

struct Operand {
  View view;
  std::int64_t pixel = 0;  // bytes from pixel to pixel
  std::int64_t channel = 1;
};

std::string StrideOf(const Operand& operand) {
  return InitialiserOf({Number(operand.pixel), Number(operand.channel)});
}

// One operand of an element-wise operator beside the view of its output. Dimensions of 1 repeat.
Result<Operand> OperandOf(Lowering& lowering, TensorId tensor, TensorId out_tensor,
                          const View& out) {
  const Shape& shape = *lowering.Tensor(tensor).shape;
  const std::int64_t bytes = *graph::TensorBytes(lowering.Tensor(tensor));
  Operand operand;
  if (bytes == out.bytes()) {
    NEAP_TRY(operand.view, lowering.ImageOf(tensor));
    if (operand.view.height != out.height || operand.view.width != out.width) {
      NEAP_TRY(operand.view, lowering.FormOf(tensor, {out.height, out.width, out.pixel_bytes}));
    }
    operand.pixel = out.pixel_bytes;
    return operand;
  }
  if (bytes == 1) {
    NEAP_TRY(operand.view, lowering.FormOf(tensor, {1, 1, 1}));
    operand.channel = 0;
    return operand;
  }
  NEAP_TRY(const auto own, FourDimensions(shape));
  NEAP_TRY(const auto whole, FourDimensions(*lowering.Tensor(out_tensor).shape));
  NEAP_CHECK_OK(Require(whole[0] == 1 && whole[1] == out.height && whole[2] == out.width,
                        "repeats an operand in a way that has no kernel"));
  NEAP_TRY(operand.view, lowering.ImageOf(tensor));
  if (operand.view.height != own[1] || operand.view.width != own[2]) {
    NEAP_TRY(operand.view, lowering.FormOf(tensor, {own[1], own[2], own[3]}));
  }
  operand.channel = own[3] == 1 && whole[3] > 1 ? 0 : 1;
  operand.pixel = own[2] == 1 && whole[2] > 1 ? 0 : own[3];
  return operand;
}

// The output as the plan sees it, unless an operand repeats along a dimension that this hides.
Result<View> OutputView(Lowering& lowering, const Op& op, bool boxed) {
  NEAP_TRY(View out, lowering.ImageOf(op.outputs[0]));
  bool repeats = false;
  for (const TensorId tensor : op.inputs) {
    const std::int64_t bytes = tensor.valid() ? *graph::TensorBytes(lowering.Tensor(tensor)) : 1;
    repeats = repeats || (bytes != 1 && bytes != out.bytes());
  }
  const Shape& shape = *OutputOf(lowering, op).shape;
  if (!repeats || boxed || shape.size() > kRank) return out;
  NEAP_TRY(const auto four, FourDimensions(shape));
  if (four[0] != 1 || (four[1] == out.height && four[2] == out.width)) return out;
  return lowering.FormOf(op.outputs[0], {four[1], four[2], four[3]});
}

// An operator of two operands, beside its output.
struct Binary {
  Call call;  // without parameters
  std::array<Quant, 2> in;
  Quant out;
  Range range;
  std::string strides;
  std::string zeros;
};

Result<Binary> BinaryOf(Lowering& lowering, const Subject& subject, const char* kernel) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(Require(op.inputs.size() == 2 && HasInput(op, 1), "expected two inputs"));
  const Tensor& out = OutputOf(lowering, op);
  NEAP_CHECK_OK(Require(
      InputOf(lowering, op, 0).type == out.type && InputOf(lowering, op, 1).type == out.type,
      "has operands of several types"));
  Binary binary;
  NEAP_TRY(binary.in[0], QuantOf(InputOf(lowering, op, 0)));
  NEAP_TRY(binary.in[1], QuantOf(InputOf(lowering, op, 1)));
  NEAP_TRY(binary.out, QuantOf(out));
  NEAP_TRY(binary.range, OutputRange(op, out));
  NEAP_TRY(const View to, OutputView(lowering, op, subject.boxed));
  NEAP_TRY(const Operand first, OperandOf(lowering, op.inputs[0], op.outputs[0], to));
  NEAP_TRY(const Operand second, OperandOf(lowering, op.inputs[1], op.outputs[0], to));
  binary.call.driver = "neap_drive_pixels";
  binary.call.kernel = KernelFor(kernel, out);
  binary.call.views = {to, first.view, second.view};
  binary.call.taps = 2;
  binary.strides = InitialiserOf({StrideOf(first), StrideOf(second)});
  binary.zeros = InitialiserOf({Number(binary.in[0].zero), Number(binary.in[1].zero)});
  return binary;
}

// ADD and SUB of int8 as the kernels of TFLM compute them.
struct AddFactors {
  execute::FixedFactor a;
  execute::FixedFactor b;
  execute::FixedFactor out;
  int sign = 1;  // of the second operand
};
constexpr int kUnitBits = 20;  // operands have 20 more bits

std::optional<Linear> LinearOf(const Binary& binary, const AddFactors& factors) {
  const auto& a = binary.in[0];  // not a structured binding: clang 14 cannot capture one
  const auto& b = binary.in[1];
  const auto scaled = [](int value, std::int32_t zero, const execute::FixedFactor& factor) {
    return execute::Scale((value - zero) * (1 << kUnitBits), factor);
  };
  const auto function = [&](int first, int second) {
    const std::int32_t sum = execute::WrapAdd(scaled(first, a.zero, factors.a),
                                              factors.sign * scaled(second, b.zero, factors.b));
    const std::int32_t value = execute::WrapAdd(execute::Scale(sum, factors.out), binary.out.zero);
    return std::clamp(value, binary.range.low, binary.range.high);
  };
  return FindLinear(
      function,
      {static_cast<double>(a.scale) / static_cast<double>(binary.out.scale),
       factors.sign * static_cast<double>(b.scale) / static_cast<double>(binary.out.scale)},
      binary.range);
}

Result<std::vector<Call>> LowerAdd(Lowering& lowering, const Subject& subject) {
  NEAP_TRY(Binary binary, BinaryOf(lowering, subject, "neap_add"));
  const auto& a = binary.in[0];  // not a structured binding: clang 14 cannot capture one
  const auto& b = binary.in[1];
  const double twice = 2 * static_cast<double>(std::max(a.scale, b.scale));
  AddFactors factors;
  factors.a = execute::MakeFixedFactor(static_cast<double>(a.scale) / twice);
  factors.b = execute::MakeFixedFactor(static_cast<double>(b.scale) / twice);
  constexpr double kUnit = 1 << kUnitBits;
  factors.out = execute::MakeFixedFactor(twice / (kUnit * static_cast<double>(binary.out.scale)));
  factors.sign = ops::Is(subject.op, ops::OpKind::kSub) ? -1 : 1;
  const bool is_int8 = !IsUint8(OutputOf(lowering, subject.op));
  const bool has_vectors = lowering.kernels() == KernelSet::kMve && is_int8 && factors.sign > 0 &&
                           factors.a.shift <= 0 && factors.b.shift <= 0 && factors.out.shift < 0;
  if (has_vectors) binary.call.kernel = "neap_add_mve_s8";
  const auto linear = is_int8 && !has_vectors ? LinearOf(binary, factors) : std::nullopt;
  if (linear) {
    binary.call.kernel = "neap_add_linear_s8";
    binary.call.params = Params{
        "neap_linear",
        InitialiserOf({binary.strides,
                       InitialiserOf({Number(linear->factors[0]), Number(linear->factors[1])}),
                       Number(linear->offset), Number(linear->shift), Number(binary.range.low),
                       Number(binary.range.high)})};
    return std::vector<Call>{std::move(binary.call)};
  }
  binary.call.params =
      Params{"neap_add",
             InitialiserOf({binary.strides, binary.zeros,
                            InitialiserOf({Number(factors.a.fraction), Number(factors.b.fraction)}),
                            InitialiserOf({Number(factors.a.shift), Number(factors.b.shift)}),
                            Number(factors.sign), Number(factors.out.fraction),
                            Number(factors.out.shift), Number(binary.out.zero),
                            Number(binary.range.low), Number(binary.range.high)})};
  return std::vector<Call>{std::move(binary.call)};
}

Result<std::vector<Call>> LowerMul(Lowering& lowering, const Subject& subject) {
  NEAP_TRY(Binary binary, BinaryOf(lowering, subject, "neap_mul"));
  const auto& a = binary.in[0];  // not a structured binding: clang 14 cannot capture one
  const auto& b = binary.in[1];
  // LiteRT, the reference of uint8, computes the factor in single precision.
  const double real = IsUint8(OutputOf(lowering, subject.op))
                          ? static_cast<double>(a.scale * b.scale / binary.out.scale)
                          : static_cast<double>(a.scale) * static_cast<double>(b.scale) /
                                static_cast<double>(binary.out.scale);
  const auto factor = execute::MakeFixedFactor(real);
  binary.call.params =
      Params{"neap_mul", InitialiserOf({binary.strides, binary.zeros, Number(factor.fraction),
                                        Number(factor.shift), Number(binary.out.zero),
                                        Number(binary.range.low), Number(binary.range.high)})};
  return std::vector<Call>{std::move(binary.call)};
}

// Kernels compare integers, regardless of the scales.
Result<std::vector<Call>> LowerSelect(Lowering& lowering, const Subject& subject) {
  NEAP_TRY(Binary binary, BinaryOf(lowering, subject, "neap_select"));
  binary.call.params = Params{
      "neap_select",
      InitialiserOf({binary.strides, ops::Is(subject.op, ops::OpKind::kMaximum) ? "1" : "0"})};
  return std::vector<Call>{std::move(binary.call)};
}

}  // namespace

Result<std::vector<std::int64_t>> TableOf(const Lowering& lowering, const Op& op, TensorId input) {
  graph::Graph graph;
  graph::Subgraph one;
  constexpr std::int64_t kBytes = 256;
  for (const TensorId tensor : {input, op.outputs[0]}) {
    Tensor copy = lowering.Tensor(tensor);
    copy.shape = Shape{kBytes};
    copy.constant = false;
    copy.data.reset();
    one.tensors.push_back(std::move(copy));
  }
  Op copy = op;
  if (ops::Is(op, ops::OpKind::kConcatenation)) copy.attributes["axis"] = std::int64_t{0};
  copy.inputs = {TensorId(0)};
  copy.outputs = {TensorId(1)};
  one.ops.push_back(std::move(copy));
  one.inputs = {TensorId(0)};
  one.outputs = {TensorId(1)};
  const graph::ElementType type = one.tensors[TensorId(0)].type;
  graph.subgraphs.push_back(std::move(one));
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < kBytes; ++i) bytes.push_back(static_cast<std::byte>(i));
  execute::EvaluateOptions options;
  options.kernels =
      type == graph::ElementType::kUint8 ? execute::Kernels::kLitert : execute::Kernels::kTflm;
  const std::vector<execute::Value> inputs = {{type, Shape{kBytes}, std::move(bytes)}};
  NEAP_TRY(const auto outputs, execute::Evaluate(graph, graph::SubgraphId(0), inputs, options));
  std::vector<std::int64_t> table;
  for (const std::byte byte : outputs[0].bytes) table.push_back(SignedByte(byte));
  return table;
}

namespace {

Result<std::vector<Call>> LowerTable(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(Require(IsByte(InputOf(lowering, op, 0)) && IsByte(OutputOf(lowering, op)),
                        "is not of 8 bits"));
  auto table = TableOf(lowering, op, op.inputs[0]);
  if (!table) {
    // The error would name an operator of a graph that the user does not know.
    return Fail(BadInput(table.error().message));
  }
  Call call;
  call.driver = "neap_drive_pixels";
  call.kernel = "neap_lookup";
  NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
  NEAP_TRY(const Operand from, OperandOf(lowering, op.inputs[0], op.outputs[0], to));
  call.views = {to, from.view};
  call.taps = 1;
  const std::string name = "op" + std::to_string(subject.id.value()) + "_table";
  call.params =
      Params{"neap_table",
             InitialiserOf({lowering.Add(name, "int8_t", std::move(*table)), StrideOf(from)})};
  return std::vector<Call>{call};
}

constexpr std::int32_t kIntegerBits = 5;  // of arguments of exponentials

// What a difference of elements is as an argument, and for which differences exponentials count.
struct Differences {
  execute::FixedFactor factor;
  std::int64_t count = 0;
};
Result<Differences> DifferencesOf(const Op& op, const Quant& in) {
  const auto found = op.attributes.find("beta");
  const double* const given =
      found == op.attributes.end() ? nullptr : std::get_if<double>(&found->second);
  const double beta = given == nullptr ? 1.0 : *given;
  const double real = std::min(beta * static_cast<double>(in.scale) * (1 << (31 - kIntegerBits)),
                               static_cast<double>((std::int64_t{1} << 31) - 1));
  const execute::FixedFactor factor = execute::MakeFixedFactor(real);
  NEAP_CHECK_OK(Require(factor.shift >= 0, "has an input of too fine a scale"));
  const auto last = static_cast<std::int64_t>(
      std::floor(static_cast<double>((1 << kIntegerBits) - 1) *
                 static_cast<double>(1 << (31 - kIntegerBits)) / std::ldexp(1.0, factor.shift)));
  return Differences{factor, std::min<std::int64_t>(last, 255) + 1};
}

// e^-difference for the differences that count: as fractions of 2^31.
std::vector<std::int64_t> Exponentials(const Differences& differences) {
  const execute::FixedFactor& factor = differences.factor;
  std::vector<std::int64_t> values;
  for (std::int64_t difference = 0; difference < differences.count; ++difference) {
    const std::int32_t scaled = execute::HighProduct(
        execute::ShiftLeft(static_cast<std::int32_t>(-difference), factor.shift), factor.fraction);
    values.push_back(execute::FixedExp(scaled, kIntegerBits));
  }
  return values;
}

Result<std::vector<Call>> LowerSoftmax(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  if (IsOfFloats(lowering, op)) return LowerFloatSoftmax(lowering, subject);
  const Tensor& in = InputOf(lowering, op, 0);
  const Tensor& out = OutputOf(lowering, op);
  NEAP_CHECK_OK(
      Require(IsByte(in) && in.type == out.type && !in.shape->empty(), "is not of 8 bits"));
  NEAP_TRY(const Quant quant, QuantOf(in));
  NEAP_TRY(const Differences differences, DifferencesOf(op, quant));
  Call call;
  call.driver = "neap_drive_pixels";
  call.kernel = KernelFor("neap_softmax", out);
  NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
  NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
  call.views = {to, from};
  call.taps = 1;
  const std::int64_t length = in.shape->back();
  NEAP_CHECK_OK(Require(length > 0 && to.pixel_bytes % length == 0, "is empty"));
  const std::string count = Number(differences.count);
  const std::string rows = Number(to.pixel_bytes / length);
  if (lowering.is_small() && !IsUint8(out)) {
    call.kernel = "neap_softmax_small_s8";
    call.params = Params{"neap_small_softmax", InitialiserOf({Number(differences.factor.fraction),
                                                              Number(differences.factor.shift),
                                                              count, rows, Number(length)})};
    return std::vector<Call>{call};
  }
  const std::string name = "op" + std::to_string(subject.id.value()) + "_exponentials";
  call.params = Params{"neap_softmax",
                       InitialiserOf({lowering.Add(name, "int32_t", Exponentials(differences)),
                                      count, rows, Number(length)})};
  return std::vector<Call>{call};
}

constexpr LowerRow kElementwiseRows[] = {
    {ops::OpKind::kAdd, LowerAdd},         {ops::OpKind::kSub, LowerAdd},
    {ops::OpKind::kMul, LowerMul},         {ops::OpKind::kSoftmax, LowerSoftmax},
    {ops::OpKind::kMaximum, LowerSelect},  {ops::OpKind::kMinimum, LowerSelect},
    {ops::OpKind::kLogistic, LowerTable},  {ops::OpKind::kTanh, LowerTable},
    {ops::OpKind::kHardSwish, LowerTable}, {ops::OpKind::kRelu, LowerTable},
    {ops::OpKind::kRelu6, LowerTable},     {ops::OpKind::kReluN1To1, LowerTable},
    {ops::OpKind::kLeakyRelu, LowerTable}, {ops::OpKind::kQuantize, LowerTable},
};

}  // namespace

std::span<const LowerRow> ElementwiseRows() { return kElementwiseRows; }

}  // namespace neap::emit
