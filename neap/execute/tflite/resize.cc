// SPDX-License-Identifier: Apache-2.0
//
// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
#include <algorithm>
#include <cmath>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/take.h"
#include "neap/execute/tflite/common.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

Status RequireImages(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  const graph::Shape& in = node.In(0).shape;
  const graph::Shape& out = node.Out().shape;
  return Require(in.size() == 4 && out.size() == 4 && in[0] == out[0] && in[3] == out[3] &&
                     in[1] > 0 && in[2] > 0 && std::max({in[1], in[2], out[1], out[2]}) < 1 << 20,
                 "expected images of the same batch and depth");
}

Result<RunKernel> PrepareNearest(const Node& node) {
  NEAP_CHECK_OK(RequireImages(node));
  const bool corners = IntOr(*node.op, "align_corners", 0) != 0;
  const float offset = IntOr(*node.op, "half_pixel_centers", 0) != 0 ? 0.5F : 0.0F;
  std::vector<IndexMap> maps;
  for (std::size_t d = 0; d < 4; ++d) {
    const std::int64_t in = node.In(0).shape[d];
    const std::int64_t out = node.Out().shape[d];
    IndexMap map = Identity(out);
    if (d == 1 || d == 2) {
      const float scale = corners && out > 1
                              ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                              : static_cast<float>(in) / static_cast<float>(out);
      for (std::int64_t& at : map) {
        const float place = (static_cast<float>(at) + offset) * scale;
        const float rounded = corners ? std::round(place) : std::floor(place);
        at = std::clamp<std::int64_t>(static_cast<std::int64_t>(rounded), 0, in - 1);
      }
    }
    maps.push_back(std::move(map));
  }
  return TakeKernel(node, std::move(maps));
}

// The two indices around a place, and its distance from the lower one.
template <typename Number>
struct Between {
  std::int64_t lower;
  std::int64_t upper;
  Number part;
};

std::vector<Between<float>> FloatPlaces(std::int64_t in, std::int64_t out, bool corners,
                                        bool centers) {
  const float scale = corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                         : static_cast<float>(in) / static_cast<float>(out);
  std::vector<Between<float>> places;
  for (std::int64_t o = 0; o < out; ++o) {
    const float place =
        centers ? (static_cast<float>(o) + 0.5F) * scale - 0.5F : static_cast<float>(o) * scale;
    const auto lower = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0);
    const auto upper = std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(place)), in - 1);
    places.push_back({std::min(lower, in - 1), std::max<std::int64_t>(upper, 0),
                      place - static_cast<float>(lower)});
  }
  return places;
}

// In units of 1/1024.
std::vector<Between<std::int64_t>> WholePlaces(std::int64_t in, std::int64_t out, bool corners,
                                               bool centers) {
  constexpr std::int64_t kUnit = 1 << 10;
  const std::int64_t scale = corners && out > 1
                                 ? (kUnit * (in - 1) + (out - 1) / 2) / (out - 1)
                                 : (kUnit * in + out / 2) / std::max<std::int64_t>(out, 1);
  std::vector<Between<std::int64_t>> places;
  for (std::int64_t o = 0; o < out; ++o) {
    const std::int64_t place = centers ? o * scale + scale / 2 - kUnit / 2 : o * scale;
    const std::int64_t lower = std::max<std::int64_t>(place / kUnit, 0);
    const std::int64_t upper = std::min((place + kUnit - 1) / kUnit, in - 1);
    places.push_back(
        {std::min(lower, in - 1), std::max<std::int64_t>(upper, 0), place - kUnit * lower});
  }
  return places;
}

// The places of a part of an axis, in the part of the input.
template <typename Number>
void CutPlaces(const Within& within, std::size_t axis, std::vector<Between<Number>>* places) {
  const Within::Range& out = within.out[axis];
  std::vector<Between<Number>> cut(places->begin() + out.first, places->begin() + out.last);
  for (Between<Number>& place : cut) {
    place.lower -= within.in[axis].first;
    place.upper -= within.in[axis].first;
  }
  *places = std::move(cut);
}

template <typename T, typename Number, typename Mix>
Result<RunKernel> BilinearKernel(const Node& node, std::vector<Between<Number>> rows,
                                 std::vector<Between<Number>> columns, Mix mix) {
  std::int64_t height = node.In(0).shape[1];
  std::int64_t width = node.In(0).shape[2];
  if (node.within) {
    CutPlaces(*node.within, 0, &rows);
    CutPlaces(*node.within, 1, &columns);
    height = node.within->in[0].size();
    width = node.within->in[1].size();
  }
  const std::int64_t depth = node.In(0).shape[3];
  const std::int64_t batches = node.In(0).shape[0];
  const std::int64_t image = height * width * depth;
  return RunKernel([=](const Arguments& arguments) -> Status {
    auto* to = Output<T>(arguments);
    for (std::int64_t n = 0; n < batches; ++n) {
      const auto* const from = Input<T>(arguments, 0) + n * image;
      for (const Between<Number>& y : rows) {
        for (const Between<Number>& x : columns) {
          const auto at = [&](std::int64_t row, std::int64_t column) {
            return from + (row * width + column) * depth;
          };
          const auto* const a = at(y.lower, x.lower);
          const auto* const b = at(y.upper, x.lower);
          const auto* const c = at(y.lower, x.upper);
          const auto* const d = at(y.upper, x.upper);
          for (std::int64_t i = 0; i < depth; ++i) {
            (to++)->value = mix(a[i].value, b[i].value, c[i].value, d[i].value, y.part, x.part);
          }
        }
      }
    }
    return {};
  });
}

template <typename T>
Result<RunKernel> FloatBilinear(const Node& node, bool corners, bool centers) {
  const graph::Shape& in = node.In(0).shape;
  const graph::Shape& out = node.Out().shape;
  constexpr float kRounding = std::is_integral_v<T> ? 0.5F : 0.0F;
  return BilinearKernel<T>(
      node, FloatPlaces(in[1], out[1], corners, centers),
      FloatPlaces(in[2], out[2], corners, centers), [](T a, T b, T c, T d, float y, float x) {
        const float sum = static_cast<float>(a) * (1 - y) * (1 - x) +
                          static_cast<float>(b) * y * (1 - x) +
                          static_cast<float>(c) * (1 - y) * x + static_cast<float>(d) * y * x;
        return static_cast<T>(sum + kRounding);
      });
}

template <typename T>
Result<RunKernel> WholeBilinear(const Node& node, bool corners, bool centers) {
  const graph::Shape& in = node.In(0).shape;
  const graph::Shape& out = node.Out().shape;
  return BilinearKernel<T>(
      node, WholePlaces(in[1], out[1], corners, centers),
      WholePlaces(in[2], out[2], corners, centers),
      [](T a, T b, T c, T d, std::int64_t y, std::int64_t x) {
        constexpr std::int64_t kUnit = 1 << 10;
        const std::int64_t sum =
            a * (kUnit - y) * (kUnit - x) + b * y * (kUnit - x) + c * (kUnit - y) * x + d * y * x;
        return static_cast<T>((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
      });
}

Result<RunKernel> PrepareBilinear(const Node& node) {
  NEAP_CHECK_OK(RequireImages(node));
  const bool corners = IntOr(*node.op, "align_corners", 0) != 0;
  const bool centers = IntOr(*node.op, "half_pixel_centers", 0) != 0;
  switch (node.In(0).type) {
    case kFloat32:
      return FloatBilinear<float>(node, corners, centers);
    case kUint8:
      return FloatBilinear<std::uint8_t>(node, corners, centers);
    case kInt8:
      return WholeBilinear<std::int8_t>(node, corners, centers);
    case kInt16:
      return WholeBilinear<std::int16_t>(node, corners, centers);
    default:
      return UnsupportedType(node);
  }
}

constexpr KernelEntry kResizeKernels[] = {
    {"RESIZE_BILINEAR", PrepareBilinear},
    {"RESIZE_NEAREST_NEIGHBOR", PrepareNearest},
};

}  // namespace

std::span<const KernelEntry> ResizeKernels() { return kResizeKernels; }

}  // namespace neap::execute::tflite
