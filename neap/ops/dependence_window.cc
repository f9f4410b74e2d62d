// SPDX-License-Identifier: Apache-2.0
//
// Dependence of convolution, pooling and resampling.
#include <algorithm>

#include "neap/ops/dependence_rules.h"
#include "neap/ops/onnx_rules.h"
#include "neap/ops/window.h"

namespace neap::ops::dependence {
namespace {

// `b` is positive.
std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

using graph::Shape;

// A window that slides along one axis.
struct Slide {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  // padding in front of the input
};

constexpr std::int64_t kMaxParameter = std::int64_t{1} << 24;

bool InRange(const Slide& slide) {
  for (const std::int64_t value : {slide.kernel, slide.stride, slide.dilation}) {
    if (value < 1 || value > kMaxParameter) return false;
  }
  return slide.before >= -kMaxParameter && slide.before <= kMaxIndex;
}

Interval Reach(const Slide& slide, const Interval& out) {
  return {out.begin * slide.stride - slide.before,
          (out.end - 1) * slide.stride - slide.before + (slide.kernel - 1) * slide.dilation + 1};
}

// Input channels of the groups that the output channels belong to.
Interval ChannelsOf(const Interval& out, std::int64_t out_channels, std::int64_t in_channels,
                    std::int64_t groups) {
  const std::int64_t out_per = std::max<std::int64_t>(out_channels / groups, 1);
  const std::int64_t in_per = std::max<std::int64_t>(in_channels / groups, 1);
  return {out.begin / out_per * in_per, ((out.end - 1) / out_per + 1) * in_per};
}

// Weights and bias, as far as output channels choose among them: those of dimension `axis`.
MaybeNeed Parameters(const Subject& s, std::size_t axis, const Interval& channels) {
  Need need = Whole(s.in);
  if (axis >= s.in.size()) return need;
  if (s.in[axis] < channels.end) return std::nullopt;
  need.box[axis] = channels;
  return need;
}

// Attributes of an ONNX window; nullopt where they contradict shapes.
std::optional<std::vector<Slide>> OnnxSlides(const Subject& s, const Integers& kernel) {
  const std::size_t spatial = s.in.size() - 2;
  const auto list = [&](const char* name, std::size_t count, std::int64_t otherwise) {
    auto values = s.Ints(name).value_or(Integers());
    if (values.empty()) values.assign(count, otherwise);
    return values;
  };
  const Integers strides = list("strides", spatial, 1);
  const Integers dilations = list("dilations", spatial, 1);
  const Integers pads = list("pads", 2 * spatial, 0);
  if (kernel.size() != spatial || strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial) {
    return std::nullopt;
  }
  const std::string_view auto_pad = s.Text("auto_pad", "NOTSET");
  std::vector<Slide> slides;
  for (std::size_t d = 0; d < spatial; ++d) {
    Slide slide = {kernel[d], strides[d], dilations[d], pads[d]};
    if (auto_pad == "VALID") slide.before = 0;
    if (!InRange(slide)) return std::nullopt;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const std::int64_t span = (slide.kernel - 1) * slide.dilation + 1;
      const std::int64_t total =
          std::max<std::int64_t>((s.out[2 + d] - 1) * slide.stride + span - s.in[2 + d], 0);
      slide.before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    slides.push_back(slide);
  }
  return slides;
}

MaybeNeed OnnxWindow(const Subject& s, const Integers& kernel, std::int64_t groups) {
  if (s.in.size() < 3 || s.out.size() != s.in.size() || groups < 1 || s.in[1] % groups != 0 ||
      s.out[1] % groups != 0) {
    return std::nullopt;
  }
  const auto slides = OnnxSlides(s, kernel);
  if (!slides) return std::nullopt;
  Box wanted = {s.box[0], ChannelsOf(s.box[1], s.out[1], s.in[1], groups)};
  for (std::size_t d = 0; d < slides->size(); ++d) {
    wanted.push_back(Reach((*slides)[d], s.box[2 + d]));
  }
  return Clipped(s.in, wanted);
}

// out = in * stride + tap * dilation - before: which inputs reach into an interval of outputs.
Interval SpreadFrom(const Slide& slide, const Interval& out) {
  const std::int64_t last_tap = (slide.kernel - 1) * slide.dilation;
  return {FloorDivide(out.begin + slide.before - last_tap + slide.stride - 1, slide.stride),
          FloorDivide(out.end - 1 + slide.before, slide.stride) + 1};
}

// The places around a resampled index, in exact fractions; where a place is whole, floats may be on
// either side of it, so both neighbours are included. `reach`: further indices on either side that
// a wider filter reads.
Interval Resampled(std::int64_t in, std::int64_t out, bool corners, bool centers,
                   const Interval& box) {
  // place(o) = numerator(o) / denominator.
  std::int64_t denominator = 2 * out;
  const auto numerator = [&](std::int64_t o) {
    if (corners && out > 1) return 2 * o * (in - 1);
    return centers ? (2 * o + 1) * in - out : 2 * o * in;
  };
  if (corners && out > 1) denominator = 2 * (out - 1);
  const std::int64_t low = FloorDivide(numerator(box.begin) - 1, denominator);
  const std::int64_t high = FloorDivide(numerator(box.end - 1) + denominator, denominator);
  return {std::clamp<std::int64_t>(low, 0, in - 1), std::clamp<std::int64_t>(high, 0, in - 1) + 1};
}

}  // namespace

MaybeNeed TfliteWindow(const Subject& s) {
  const auto window = WindowOf(s.subgraph, s.op);
  if (!window) return std::nullopt;
  const Interval& channels = s.box[3];
  if (s.input > 0) {
    const bool depthwise = s.kind == OpKind::kDepthwiseConv2d;
    return Parameters(s, s.input == 1 && depthwise ? 3 : 0, channels);
  }
  std::int64_t groups = window->in_channels;
  if (!window->per_channel) {
    const Shape* filter = s.ShapeOf(1);
    if (filter == nullptr || filter->size() != 4 || (*filter)[3] < 1) return std::nullopt;
    groups = window->in_channels / (*filter)[3];
  }
  const Slide rows = {window->kernel_height, window->stride_height, window->dilation_height,
                      window->pad_top};
  const Slide columns = {window->kernel_width, window->stride_width, window->dilation_width,
                         window->pad_left};
  return Clipped(s.in, {s.box[0], Reach(rows, s.box[1]), Reach(columns, s.box[2]),
                        ChannelsOf(channels, window->out_channels, window->in_channels, groups)});
}

// Whether Resize or Upsample scales every dimension exactly by the ratio of its sizes.
bool ScalesByRatio(const Subject& s) {
  const bool upsample = s.kind == OpKind::kOnnxUpsample;
  const bool old = upsample || s.op.inputs.size() == 2;
  if (s.Text("keep_aspect_ratio_policy", "stretch") != "stretch") return false;
  if (!old && s.Has(3)) {
    const Shape* const sizes = s.ShapeOf(3);
    if (sizes != nullptr && sizes->size() == 1 && (*sizes)[0] > 0) return true;
  }
  const std::size_t at = old ? 1 : 2;
  if (!s.Has(at)) return upsample;
  const graph::Tensor& tensor = s.subgraph.tensors[s.op.inputs[at]];
  const auto scales =
      tensor.constant && onnx::IsReal(tensor.type) ? onnx::Decode(tensor) : std::nullopt;
  if (!scales) return false;
  Integers axes = s.Ints("axes").value_or(Integers());
  for (std::size_t d = 0; axes.empty() && d < s.rank(); ++d) {
    for (std::size_t all = 0; all < s.rank(); ++all) axes.push_back(static_cast<std::int64_t>(all));
  }
  if (axes.size() != scales->size()) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = Subject::Axis(axes[i], s.rank());
    // Exact: a float of single precision times a whole number.
    if (!d || (*scales)[i].real * static_cast<double>(s.in[*d]) != static_cast<double>(s.out[*d])) {
      return false;
    }
  }
  return true;
}

// Conv(x, w, b), ConvInteger(x, w, zero points), QLinearConv(x, scale, zero, w, scale, zero, scale,
// zero, b).
MaybeNeed OnnxConv(const Subject& s) {
  const bool linear = s.kind == OpKind::kOnnxQLinearConv;
  const std::size_t weights = linear ? 3 : 1;
  if (s.input > 0) {
    const bool scalar = s.in.empty() || (s.in.size() == 1 && s.in[0] == 1);
    const bool by_channel = s.input == weights || (!scalar && s.out.size() > 1);
    return by_channel && s.out.size() > 1 ? Parameters(s, 0, s.box[1]) : Whole(s.in);
  }
  const Shape* shape = s.ShapeOf(weights);
  if (shape == nullptr || shape->size() != s.in.size()) return std::nullopt;
  return OnnxWindow(s, Integers(shape->begin() + 2, shape->end()), s.Int("group", 1));
}

// FusedConv(x, w, b, z): z is added to the result.
MaybeNeed OnnxFusedConv(const Subject& s) { return s.input == 3 ? Elementwise(s) : OnnxConv(s); }

MaybeNeed OnnxPool(const Subject& s) {
  const auto kernel = s.Ints("kernel_shape");
  if (!kernel || s.in.size() < 3 || s.in[1] != s.out[1]) return std::nullopt;
  return OnnxWindow(s, *kernel, s.in[1]);
}

// TRANSPOSE_CONV(output shape, weights OHWI, x, bias).
MaybeNeed TfliteTransposeConv(const Subject& s) {
  const Shape* weights = s.ShapeOf(1);
  const Shape* x = s.ShapeOf(2);
  if (weights == nullptr || x == nullptr || weights->size() != 4 || x->size() != 4 ||
      s.out.size() != 4) {
    return std::nullopt;
  }
  if (s.input == 0) return Whole(s.in);
  if (s.input != 2) return Parameters(s, 0, s.box[3]);
  Box wanted = {s.box[0], {}, {}, {0, s.in[3]}};
  for (std::size_t d = 1; d <= 2; ++d) {
    Slide slide = {(*weights)[d], s.Int(d == 1 ? "stride_h" : "stride_w", 1), 1, 0};
    if (!InRange(slide)) return std::nullopt;
    if (s.Int("padding", 0) == 0) {  // SAME
      const std::int64_t total = (s.in[d] - 1) * slide.stride + slide.kernel - s.out[d];
      slide.before = std::max<std::int64_t>(total, 0) / 2;
    }
    wanted[d] = SpreadFrom(slide, s.box[d]);
  }
  Need need = Clipped(s.in, wanted);
  need.padding.assign(s.in.size(), {});
  return need;
}

MaybeNeed OnnxTransposeConv(const Subject& s) {
  const Shape* weights = s.ShapeOf(1);
  const std::int64_t groups = s.Int("group", 1);
  if (weights == nullptr || s.out.size() < 3 || weights->size() != s.out.size() || groups < 1) {
    return std::nullopt;
  }
  const std::string_view auto_pad = s.Text("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  if (s.Ints("output_shape")) return std::nullopt;
  if (s.input > 0) return Whole(s.in);
  if (s.in.size() != s.out.size() || s.in[1] % groups != 0) return std::nullopt;
  const auto slides = OnnxSlides(s, Integers(weights->begin() + 2, weights->end()));
  if (!slides) return std::nullopt;
  Box wanted = {s.box[0], ChannelsOf(s.box[1], s.out[1], s.in[1], groups)};
  for (std::size_t d = 0; d < slides->size(); ++d) {
    wanted.push_back(SpreadFrom((*slides)[d], s.box[2 + d]));
  }
  Need need = Clipped(s.in, wanted);
  need.padding.assign(s.in.size(), {});
  return need;
}

// Resize(x, region, scales, sizes), before version 11 Resize(x, scales), Upsample(x, scales).
// Crops, cubic and antialiased filters are not known.
MaybeNeed OnnxResize(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  const bool old = s.kind == OpKind::kOnnxUpsample || s.op.inputs.size() == 2;
  const std::string_view mode = s.Text("mode", "nearest");
  const std::string_view place =
      s.kind == OpKind::kOnnxUpsample
          ? "asymmetric"
          : s.Text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  const bool nearest = mode == "nearest";
  const bool centers = place.find("half_pixel") != std::string_view::npos;
  const bool corners = place == "align_corners";
  const bool known = (nearest || mode == "linear" || mode == "bilinear") &&
                     (centers || corners || place == "asymmetric") && s.Int("antialias", 0) == 0 &&
                     s.out.size() == s.rank() && ScalesByRatio(s);
  if (!known) return std::nullopt;
  Box wanted = s.box;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    if (s.in[d] < 1 || s.in[d] > kMaxParameter || s.out[d] > kMaxParameter) return std::nullopt;
    if (s.in[d] == s.out[d]) continue;
    if (s.out[d] == 1) {
      wanted[d] = {0, s.in[d]};
      continue;
    }
    wanted[d] = Resampled(s.in[d], s.out[d], corners, centers, s.box[d]);
    if (!nearest) continue;
    wanted[d].begin = std::max<std::int64_t>(wanted[d].begin - 1, 0);
    wanted[d].end = std::min(wanted[d].end + 1, s.in[d]);
  }
  return Clipped(s.in, wanted);
}

// The places that RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR reads where `factor` is a power of
// two: no kernel rounds them.
Interval ExactlyResampled(const Interval& box, std::int64_t in, std::int64_t factor, bool nearest,
                          bool centers) {
  if (nearest) return {box.begin / factor, (box.end - 1) / factor + 1};
  // place(o) = (2 * o + shift) / (2 * factor); the first at or below it, the first at or above it.
  const std::int64_t shift = centers ? 1 - factor : 0;
  const std::int64_t low = FloorDivide(2 * box.begin + shift, 2 * factor);
  const std::int64_t high = FloorDivide(2 * (box.end - 1) + shift + 2 * factor - 1, 2 * factor);
  return {std::clamp<std::int64_t>(low, 0, in - 1), std::clamp<std::int64_t>(high, 0, in - 1) + 1};
}

MaybeNeed TfliteResize(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  if (s.in.size() != 4 || s.out.size() != 4) return std::nullopt;
  const bool corners = s.Int("align_corners", 0) != 0;
  const bool centers = s.Int("half_pixel_centers", 0) != 0;
  Box wanted = s.box;
  for (std::size_t d = 1; d <= 2; ++d) {
    if (s.in[d] < 1 || s.in[d] > kMaxParameter || s.out[d] > kMaxParameter) return std::nullopt;
    if (const auto factor = ResizeFactor(s.subgraph, s.op, d)) {
      wanted[d] = ExactlyResampled(s.box[d], s.in[d], *factor,
                                   s.kind == OpKind::kResizeNearestNeighbor, centers);
      continue;
    }
    Interval place = Resampled(s.in[d], s.out[d], corners, centers, s.box[d]);
    // Whole units of 1/1024 instead of fractions, in kernels of integers: a place may drift by
    // out / 1024 indices.
    const bool whole = s.kind == OpKind::kResizeBilinear &&
                       s.subgraph.tensors[s.op.inputs[0]].type != graph::ElementType::kFloat32;
    const std::int64_t drift = whole ? s.out[d] / 1024 + 1 : 1;
    if (s.kind == OpKind::kResizeNearestNeighbor || whole) {
      place.begin = std::max<std::int64_t>(place.begin - drift, 0);
      place.end = std::min(place.end + drift, s.in[d]);
    }
    wanted[d] = place;
  }
  return Clipped(s.in, wanted);
}

}  // namespace neap::ops::dependence
