// SPDX-License-Identifier: Apache-2.0
//
// Convolution and pooling: operators that slide a window over spatial dimensions.
#include <algorithm>
#include <array>

#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

using Dims = std::vector<std::int64_t>;

// The window attributes, completed with their defaults; nullopt when they contradict each other.
struct Window {
  Dims kernel;  // -1 where not known
  Dims strides;
  Dims dilations;
  Dims pads;  // begins, then ends
  std::string auto_pad;
  bool ceil = false;
};

bool AllWithin(const Dims& dims, std::int64_t least) {
  return std::all_of(dims.begin(), dims.end(), [least](std::int64_t dim) {
    return dim >= least && dim <= (std::int64_t{1} << 40);
  });
}

std::optional<Window> ReadWindow(const OpView& op, Dims kernel) {
  const std::size_t rank = kernel.size();
  Window window;
  window.strides = op.Ints("strides").value_or(Dims(rank, 1));
  window.dilations = op.Ints("dilations").value_or(Dims(rank, 1));
  window.pads = op.Ints("pads").value_or(Dims(2 * rank, 0));
  if (window.strides.empty()) window.strides.assign(rank, 1);
  if (window.dilations.empty()) window.dilations.assign(rank, 1);
  if (window.pads.empty()) window.pads.assign(2 * rank, 0);
  window.auto_pad = op.Text("auto_pad", "NOTSET");
  window.ceil = op.Int("ceil_mode", 0) != 0;
  const bool fits = window.strides.size() == rank && window.dilations.size() == rank &&
                    window.pads.size() == 2 * rank && AllWithin(window.strides, 1) &&
                    AllWithin(window.dilations, 1) &&
                    AllWithin(window.pads, -(std::int64_t{1} << 40));
  if (!fits) return std::nullopt;
  window.kernel = std::move(kernel);
  if (!AllWithin(window.kernel, -1)) return std::nullopt;
  return window;
}

bool IsSame(const Window& window) {
  return window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER";
}

// Positions of the window along one spatial dimension; -1: not known or none fits.
std::int64_t SlideOver(std::int64_t in, const Window& window, std::size_t i) {
  const std::int64_t stride = window.strides[i];
  if (in < 0 || in > (std::int64_t{1} << 40)) return -1;
  if (IsSame(window)) return (in + stride - 1) / stride;
  if (window.kernel[i] < 1) return -1;
  const std::int64_t span = DimMul(window.kernel[i] - 1, window.dilations[i]);
  if (span < 0 || span > (std::int64_t{1} << 60)) return -1;
  const bool padded = window.auto_pad != "VALID";
  const std::int64_t begin = padded ? window.pads[i] : 0;
  const std::int64_t end = padded ? window.pads[window.strides.size() + i] : 0;
  const std::int64_t room = in + begin + end - (span + 1);
  if (room < 0) return -1;
  if (!window.ceil) return room / stride + 1;
  std::int64_t out = (room + stride - 1) / stride + 1;
  // A last window that starts in the padding at the end is left out.
  if ((out - 1) * stride >= in + begin) --out;
  return out;
}

// Spatial dimensions of the output from those of `input`, which start at `first`.
std::optional<Dims> Slide(const Shape& input, std::size_t first, const Window& window) {
  Dims out;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    out.push_back(SlideOver(input[first + i], window, i));
  }
  return out;
}

// kernel_shape, or the weights' spatial dimensions.
std::optional<Dims> Kernel(const OpView& op, std::size_t weights, std::size_t spatial) {
  auto kernel = op.Ints("kernel_shape");
  if (kernel && !kernel->empty()) {
    return kernel->size() == spatial ? kernel : std::nullopt;
  }
  Dims dims;
  for (std::size_t i = 0; i < spatial; ++i) dims.push_back(op.DimOf(weights, 2 + i));
  return dims;
}

MaybeShape ConvShape(const OpView& op, std::size_t weights) {
  const MaybeShape& input = op.ShapeOf(0);
  const MaybeShape& weight = op.ShapeOf(weights);
  if (!input || input->size() < 2 || (weight && weight->size() != input->size())) {
    return std::nullopt;
  }
  const std::size_t spatial = input->size() - 2;
  Shape out = {(*input)[0], op.DimOf(weights, 0)};
  const auto kernel = Kernel(op, weights, spatial);
  const auto window = kernel ? ReadWindow(op, *kernel) : std::nullopt;
  const auto slid = window ? Slide(*input, 2, *window) : std::nullopt;
  for (std::size_t i = 0; i < spatial; ++i) out.push_back(slid ? (*slid)[i] : -1);
  return out;
}

void InferConv(OpView& op) { op.Set(0, op.TypeOf(0), ConvShape(op, 1)); }
void InferConvInteger(OpView& op) { op.Set(0, ElementType::kInt32, ConvShape(op, 1)); }
void InferQLinearConv(OpView& op) {
  op.Set(0, op.Has(7) ? op.TypeOf(7) : op.TypeOf(0), ConvShape(op, 3));
}

std::int64_t TransposedDim(std::int64_t in, const Window& window, std::size_t i,
                           std::int64_t output_padding) {
  const std::int64_t stride = window.strides[i];
  if (IsSame(window)) return DimMul(in, stride);
  if (in < 1 || window.kernel[i] < 1) return -1;
  const bool padded = window.auto_pad != "VALID";
  const std::int64_t pads = padded ? window.pads[i] + window.pads[window.strides.size() + i] : 0;
  std::int64_t out = DimMul(in - 1, stride);
  out = DimAdd(out, DimMul(window.kernel[i] - 1, window.dilations[i]));
  out = DimAdd(out, DimAdd(1, output_padding));
  if (out < 0 || out > (std::int64_t{1} << 60)) return -1;
  return std::max<std::int64_t>(out - pads, -1);
}

void InferConvTranspose(OpView& op) {
  const MaybeShape& input = op.ShapeOf(0);
  op.Set(0, op.TypeOf(0), std::nullopt);
  if (!input || input->size() < 2) return;
  const std::size_t spatial = input->size() - 2;
  Shape out = {(*input)[0], DimMul(op.DimOf(1, 1), op.Int("group", 1))};
  const auto given = op.Ints("output_shape");
  const auto kernel = Kernel(op, 1, spatial);
  const auto window = kernel ? ReadWindow(op, *kernel) : std::nullopt;
  const Dims padding = op.Ints("output_padding").value_or(Dims(spatial, 0));
  for (std::size_t i = 0; i < spatial; ++i) {
    std::int64_t dim = -1;
    if (given && given->size() >= spatial) {
      // Older files give the whole shape, batch and channels included.
      dim = std::max<std::int64_t>((*given)[given->size() - spatial + i], -1);
    } else if (window && padding.size() == spatial) {
      dim = TransposedDim((*input)[2 + i], *window, i, padding[i]);
    }
    out.push_back(dim);
  }
  op.Set(0, op.TypeOf(0), out);
}

MaybeShape PoolShape(const OpView& op) {
  const MaybeShape& input = op.ShapeOf(0);
  const auto kernel = op.Ints("kernel_shape");
  if (!input || !kernel || input->size() != kernel->size() + 2) return std::nullopt;
  const auto window = ReadWindow(op, *kernel);
  if (!window) return std::nullopt;
  const bool last = op.Int("channels_last", 0) != 0;
  const auto slid = Slide(*input, last ? 1 : 2, *window);
  if (!slid) return std::nullopt;
  Shape out = {(*input)[0]};
  if (!last) out.push_back((*input)[1]);
  out.insert(out.end(), slid->begin(), slid->end());
  if (last) out.push_back(input->back());
  return out;
}

void InferPool(OpView& op) {
  const MaybeShape shape = PoolShape(op);
  op.Set(0, op.TypeOf(0), shape);
  op.Set(1, ElementType::kInt64, shape);  // MaxPool's indices
}

void InferGlobalPool(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  if (shape && shape->size() >= 2) {
    const bool last = op.Int("channels_last", 0) != 0;
    const std::size_t first = last ? 1 : 2;
    const std::size_t end = last ? shape->size() - 1 : shape->size();
    for (std::size_t i = first; i < end; ++i) (*shape)[i] = 1;
  }
  op.Set(0, op.TypeOf(0), shape);
}

void InferMaxUnpool(OpView& op) {
  const MaybeShape& input = op.ShapeOf(0);
  op.Set(0, op.TypeOf(0), std::nullopt);
  if (const auto given = op.WholesOf(2); given && AllWithin(*given, 0)) {
    op.Set(0, op.TypeOf(0), *given);
    return;
  }
  const auto kernel = op.Ints("kernel_shape");
  if (op.Has(2) || !input || !kernel || input->size() != kernel->size() + 2) return;
  const auto window = ReadWindow(op, *kernel);
  if (!window) return;
  Shape out = {(*input)[0], (*input)[1]};
  for (std::size_t i = 0; i < kernel->size(); ++i) {
    out.push_back(TransposedDim((*input)[2 + i], *window, i, 0));
  }
  op.Set(0, op.TypeOf(0), out);
}

void InferRoiAlign(OpView& op) {
  op.Set(
      0, op.TypeOf(0),
      Shape{op.DimOf(1, 0), op.DimOf(0, 1), op.Int("output_height", 1), op.Int("output_width", 1)});
}

void InferGridSample(OpView& op) {
  const MaybeShape& input = op.ShapeOf(0);
  const MaybeShape& grid = op.ShapeOf(1);
  op.Set(0, op.TypeOf(0), std::nullopt);
  if (!input || !grid || input->size() < 3 || grid->size() != input->size()) return;
  Shape out = {(*input)[0], (*input)[1]};
  out.insert(out.end(), grid->begin() + 1, grid->end() - 1);
  op.Set(0, op.TypeOf(0), out);
}

constexpr auto kConvRules = std::to_array<Rule>({
    {"", "Conv", InferConv},
    {"", "ConvInteger", InferConvInteger},
    {"", "QLinearConv", InferQLinearConv},
    {"", "ConvTranspose", InferConvTranspose},
    {"", "AveragePool", InferPool},
    {"", "MaxPool", InferPool},
    {"", "LpPool", InferPool},
    {"", "GlobalAveragePool", InferGlobalPool},
    {"", "GlobalMaxPool", InferGlobalPool},
    {"", "GlobalLpPool", InferGlobalPool},
    {"", "MaxUnpool", InferMaxUnpool},
    {"", "RoiAlign", InferRoiAlign},
    {"", "GridSample", InferGridSample},
    {"com.microsoft", "FusedConv", InferConv},
    {"com.microsoft", "QLinearAveragePool", InferPool},
    {"com.microsoft", "QLinearGlobalAveragePool", InferGlobalPool},
});

}  // namespace

std::span<const Rule> ConvolutionRules() { return kConvRules; }

}  // namespace neap::ops::onnx
