// SPDX-License-Identifier: Apache-2.0
//
// Resize and Upsample: dimension by dimension, each place a weighted sum of a few indices.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

struct ResizeOptions {
  std::string mode;
  std::string place;    // coordinate_transformation_mode
  std::string nearest;  // nearest_mode
  double cubic = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolated = 0;
};

// The indices of the input that one place of the output mixes; none: the extrapolation value.
struct Mix {
  std::vector<std::int64_t> indices;
  std::vector<double> weights;
};

struct Dimension {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 1;
  double first = 0;  // of the region of interest
  double last = 1;
};

double PlaceOf(const ResizeOptions& options, const Dimension& d, std::int64_t at) {
  const auto x = static_cast<double>(at);
  const auto in = static_cast<double>(d.in);
  // The exact size follows from the scales; the real one is rounded down.
  const double exact = in * d.scale;
  if (options.place == "asymmetric") return x / d.scale;
  if (options.place == "align_corners") {
    return exact <= 1 || d.out == 1 ? 0 : x * (in - 1) / (exact - 1);
  }
  if (options.place == "pytorch_half_pixel") {
    return d.out > 1 ? (x + 0.5) / d.scale - 0.5 : -0.5;
  }
  if (options.place == "tf_crop_and_resize") {
    if (d.out > 1) {
      return d.first * (in - 1) +
             x * (d.last - d.first) * (in - 1) / (static_cast<double>(d.out) - 1);
    }
    return 0.5 * (d.first + d.last) * (in - 1);
  }
  if (options.place == "half_pixel_symmetric") {
    const double adjusted = static_cast<double>(d.out) / exact;
    return in / 2 * (1 - adjusted) + (x + 0.5) / d.scale - 0.5;
  }
  return (x + 0.5) / d.scale - 0.5;
}

std::int64_t NearestTo(const ResizeOptions& options, double place) {
  double rounded = 0;
  if (options.nearest == "floor") {
    rounded = std::floor(place);
  } else if (options.nearest == "ceil") {
    rounded = std::ceil(place);
  } else if (options.nearest == "round_prefer_ceil") {
    rounded = std::floor(place + 0.5);
  } else {
    rounded = std::ceil(place - 0.5);
  }
  return static_cast<std::int64_t>(rounded);
}

double CubicWeight(double a, double distance) {
  const double t = std::fabs(distance);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

// Weights around `place`; a wider window where the output is smaller and antialiased.
Mix InterpolationAt(const ResizeOptions& options, const Dimension& d, double place) {
  const bool cubic = options.mode == "cubic";
  const double narrow = options.antialias ? std::min(d.scale, 1.0) : 1.0;
  const double reach = (cubic ? 2.0 : 1.0) / narrow;
  Mix mix;
  double sum = 0;
  const auto begin = static_cast<std::int64_t>(std::floor(place - reach)) + 1;
  const auto end = static_cast<std::int64_t>(std::ceil(place + reach));
  const std::int64_t from = std::max<std::int64_t>(begin, -2 * d.in - 8);
  const std::int64_t to = std::min<std::int64_t>(end, 3 * d.in + 8);
  for (std::int64_t i = from; i < to; ++i) {
    const double distance = (place - static_cast<double>(i)) * narrow;
    double weight =
        cubic ? CubicWeight(options.cubic, distance) : std::max(1 - std::fabs(distance), 0.0);
    if (options.exclude_outside && (i < 0 || i >= d.in)) weight = 0;
    mix.indices.push_back(std::clamp<std::int64_t>(i, 0, d.in - 1));
    mix.weights.push_back(weight);
    sum += weight;
  }
  if (options.exclude_outside || options.antialias) {
    for (double& weight : mix.weights) weight = sum == 0 ? 0 : weight / sum;
  }
  return mix;
}

std::vector<Mix> MixesOf(const ResizeOptions& options, const Dimension& d) {
  std::vector<Mix> mixes;
  for (std::int64_t o = 0; o < d.out; ++o) {
    if (d.in == d.out && d.scale == 1 && options.place != "tf_crop_and_resize") {
      mixes.push_back({{o}, {1.0}});
      continue;
    }
    const double place = PlaceOf(options, d, o);
    if (options.place == "tf_crop_and_resize" &&
        (place < 0 || place > static_cast<double>(d.in - 1))) {
      mixes.push_back({});
    } else if (options.mode == "nearest") {
      mixes.push_back({{std::clamp<std::int64_t>(NearestTo(options, place), 0, d.in - 1)}, {1.0}});
    } else {
      mixes.push_back(InterpolationAt(options, d, place));
    }
  }
  return mixes;
}

// Sums over all combinations of one index a dimension.
double MixedValue(const Cell<float>* in, const std::vector<const Mix*>& mixes,
                  const Strides& strides, std::size_t d, std::int64_t at) {
  if (d == mixes.size()) return static_cast<double>(in[at].value);
  double sum = 0;
  for (std::size_t i = 0; i < mixes[d]->indices.size(); ++i) {
    if (mixes[d]->weights[i] == 0) continue;
    sum += mixes[d]->weights[i] *
           MixedValue(in, mixes, strides, d + 1, at + mixes[d]->indices[i] * strides[d]);
  }
  return sum;
}

struct Resizing {
  ResizeOptions options;
  graph::Shape in;
  graph::Shape out;
  std::vector<std::size_t> axes;  // that are resized
  std::string policy;             // keep_aspect_ratio_policy
};

Status ReadScales(const Resizing& plan, const std::vector<double>& scales,
                  const std::vector<std::int64_t>& sizes, const std::vector<double>& region,
                  std::vector<Dimension>* dimensions) {
  const std::size_t count = plan.axes.size();
  const bool by_size = sizes.size() == count && count > 0;
  NEAP_CHECK_OK(Require(by_size || scales.size() == count, "expected a scale for each axis"));
  const auto ratio = [&](std::size_t i) {
    return static_cast<double>(sizes[i]) / static_cast<double>((*dimensions)[plan.axes[i]].in);
  };
  for (std::size_t i = 0; i < count; ++i) {
    Dimension& d = (*dimensions)[plan.axes[i]];
    d.scale = by_size ? ratio(i) : scales[i];
    if (by_size && plan.policy != "stretch") {
      for (std::size_t j = 0; j < count; ++j) {
        d.scale =
            plan.policy == "not_larger" ? std::min(d.scale, ratio(j)) : std::max(d.scale, ratio(j));
      }
    }
    NEAP_CHECK_OK(Require(d.scale > 0 && d.scale < 1e6, "a scale is out of range"));
    if (region.size() == 2 * count) {
      d.first = region[i];
      d.last = region[count + i];
    }
  }
  return {};
}

// The places of a part of a dimension, in the part of the input.
void CutMixes(const Within::Range& out, const Within::Range& in, std::vector<Mix>* mixes) {
  std::vector<Mix> cut(mixes->begin() + out.first, mixes->begin() + out.last);
  for (Mix& mix : cut) {
    for (std::size_t i = 0; i < mix.indices.size(); ++i) {
      // What has no weight is not read.
      mix.indices[i] = mix.weights[i] == 0 ? 0 : mix.indices[i] - in.first;
    }
  }
  *mixes = std::move(cut);
}

Status RunResize(Resizing plan, const std::vector<Dimension>& dimensions,
                 const std::optional<Within>& within, const Arguments& arguments) {
  std::vector<std::vector<Mix>> mixes;
  mixes.reserve(dimensions.size());
  for (const Dimension& d : dimensions) mixes.push_back(MixesOf(plan.options, d));
  for (std::size_t i = 0; within && i < 2; ++i) {
    const std::size_t d = i + 2;
    CutMixes(within->out[i], within->in[i], &mixes[d]);
    plan.in[d] = within->in[i].size();
    plan.out[d] = within->out[i].size();
  }
  const Strides strides = DenseStrides(plan.in);
  const Strides dense = DenseStrides(plan.out);
  Odometer<1> at(plan.out, {&dense});
  std::vector<const Mix*> chosen(mixes.size());
  const std::int64_t elements = Elements(plan.out);
  for (std::int64_t o = 0; o < elements; ++o, at.Next()) {
    bool outside = false;
    for (std::size_t d = 0; d < mixes.size(); ++d) {
      chosen[d] = &mixes[d][static_cast<std::size_t>(at.index()[d])];
      outside = outside || chosen[d]->indices.empty();
    }
    const double value = outside ? plan.options.extrapolated
                                 : MixedValue(Input<float>(arguments, 0), chosen, strides, 0, 0);
    Output<float>(arguments)[o].value = static_cast<float>(value);
  }
  return {};
}

std::vector<double> Reals(const Node& node, const Arguments& arguments, std::size_t input) {
  std::vector<double> values;
  if (!node.Has(input)) return values;
  for (std::int64_t i = 0; i < node.In(input).elements; ++i) {
    values.push_back(LoadReal(node.In(input).type, arguments.inputs[input], i));
  }
  return values;
}

Result<Resizing> PlanResize(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 4));
  NEAP_CHECK_OK(RequireType(node.In(0), kFloat32));
  NEAP_CHECK_OK(RequireType(node.Out(), kFloat32));
  Resizing plan;
  plan.in = node.In(0).shape;
  plan.out = node.Out().shape;
  NEAP_CHECK_OK(
      Require(plan.in.size() == plan.out.size() &&
                  std::all_of(plan.in.begin(), plan.in.end(),
                              [](std::int64_t size) { return size > 0 && size < 1 << 24; }),
              "has no kernel for its shape"));
  return plan;
}

// Inputs: x, region of interest, scales, sizes.
Result<RunKernel> PrepareResize(const Node& node) {
  NEAP_TRY(Resizing plan, PlanResize(node));
  const bool old = node.inputs.size() == 2;  // version 10: x, scales
  plan.options.mode = TextOr(*node.op, "mode", "nearest");
  plan.options.place =
      TextOr(*node.op, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  plan.options.nearest = TextOr(*node.op, "nearest_mode", old ? "floor" : "round_prefer_floor");
  plan.options.cubic = RealOr(*node.op, "cubic_coeff_a", -0.75);
  plan.options.exclude_outside = IntOr(*node.op, "exclude_outside", 0) != 0;
  plan.options.antialias = IntOr(*node.op, "antialias", 0) != 0;
  plan.options.extrapolated = RealOr(*node.op, "extrapolation_value", 0);
  plan.policy = TextOr(*node.op, "keep_aspect_ratio_policy", "stretch");
  std::vector<std::int64_t> axes = IntsOr(*node.op, "axes", {});
  if (axes.empty()) {
    for (std::size_t d = 0; d < plan.in.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  }
  for (const std::int64_t axis : axes) {
    NEAP_TRY(const std::size_t d, NormalAxis(axis, plan.in.size()));
    plan.axes.push_back(d);
  }
  return RunKernel([plan, old, node](const Arguments& arguments) -> Status {
    std::vector<Dimension> dimensions;
    for (std::size_t d = 0; d < plan.in.size(); ++d) {
      dimensions.push_back({plan.in[d], plan.out[d]});
    }
    NEAP_CHECK_OK(ReadScales(plan, Reals(node, arguments, old ? 1 : 2),
                             Integers(node, arguments, 3),
                             old ? std::vector<double>() : Reals(node, arguments, 1), &dimensions));
    return RunResize(plan, dimensions, node.within, arguments);
  });
}

// Scales are an input, or an attribute before version 9.
Result<RunKernel> PrepareUpsample(const Node& node) {
  NEAP_TRY(Resizing plan, PlanResize(node));
  plan.options.mode = TextOr(*node.op, "mode", "nearest");
  plan.options.place = "asymmetric";
  plan.options.nearest = "floor";
  for (std::size_t d = 0; d < plan.in.size(); ++d) plan.axes.push_back(d);
  plan.policy = "stretch";
  return RunKernel([plan, node](const Arguments& arguments) -> Status {
    std::vector<Dimension> dimensions;
    for (std::size_t d = 0; d < plan.in.size(); ++d) {
      dimensions.push_back({plan.in[d], plan.out[d],
                            static_cast<double>(plan.out[d]) / static_cast<double>(plan.in[d])});
    }
    const std::vector<double> scales = Reals(node, arguments, 1);
    if (!scales.empty()) NEAP_CHECK_OK(ReadScales(plan, scales, {}, {}, &dimensions));
    return RunResize(plan, dimensions, node.within, arguments);
  });
}

constexpr KernelEntry kResizeKernels[] = {
    {"Resize", PrepareResize},
    {"Upsample", PrepareUpsample},
};

}  // namespace

std::span<const KernelEntry> ResizeKernels() { return kResizeKernels; }

}  // namespace neap::execute::onnx
