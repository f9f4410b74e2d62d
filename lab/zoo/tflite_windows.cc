// SPDX-License-Identifier: Apache-2.0
//
// Convolutions, pools and padding.
#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "lab/zoo/tflite_constants.h"
#include "lab/zoo/tflite_converter.h"
#include "neap/base/check.h"

namespace neap::zoo::tflite {
namespace {

// The padding SAME of the format: ceil(size / stride) outputs, an odd padding at the end.
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

// Of a window over `input`: the format's name of its padding, if it has one.
std::optional<Padding> PaddingOf(const Windows& w, const Shape& input) {
  if (IsSame(w.rows, input[1]) && IsSame(w.columns, input[2])) return kPaddingSame;
  const bool none =
      w.rows.before == 0 && w.rows.after == 0 && w.columns.before == 0 && w.columns.after == 0;
  return none ? std::optional<Padding>(kPaddingValid) : std::nullopt;
}

}  // namespace

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
  if (op.inputs.size() > 2) {
    inputs.push_back(Operand(op.inputs[2]));
  } else {
    // LiteRT has no convolution without a bias.
    const auto count = static_cast<std::size_t>(weight[0]);
    inputs.push_back(Floats(op.name + "/bias", {weight[0]}, std::vector<float>(count, 0)));
  }
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
  constexpr double kEpsilon = 1e-5;  // of the operator, where it has none
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

}  // namespace neap::zoo::tflite
