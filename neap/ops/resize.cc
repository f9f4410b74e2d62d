// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/resize.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::ops {
namespace {

// Products of two sizes, doubled, are exact in single precision.
constexpr std::int64_t kMaxInSinglePrecision = 2048;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 20;

std::vector<std::int64_t> LowestInUnits(const Resize& resize, std::int64_t in, std::int64_t out) {
  constexpr std::int64_t kUnit = 1 << 10;
  const std::int64_t scale = resize.align_corners && out > 1
                                 ? (kUnit * (in - 1) + (out - 1) / 2) / (out - 1)
                                 : (kUnit * in + out / 2) / out;
  std::vector<std::int64_t> lowest;
  for (std::int64_t o = 0; o < out; ++o) {
    const std::int64_t place =
        resize.half_pixel_centers ? o * scale + scale / 2 - kUnit / 2 : o * scale;
    lowest.push_back(std::clamp<std::int64_t>(place / kUnit, 0, in - 1));
  }
  return lowest;
}

}  // namespace

std::optional<Resize> ResizeOf(const graph::Subgraph& subgraph, const graph::Op& op) {
  Resize resize;
  const OpKind kind = KindOf(op);
  resize.nearest = kind == OpKind::kResizeNearestNeighbor;
  if (!resize.nearest && kind != OpKind::kResizeBilinear) return std::nullopt;
  if (op.inputs.empty() || op.outputs.empty()) return std::nullopt;
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
  if (!in.shape || !out.shape || in.shape->size() != 4 || out.shape->size() != 4 ||
      in.type != out.type || in.shape->front() != out.shape->front() ||
      in.shape->back() != out.shape->back()) {
    return std::nullopt;
  }
  resize.whole_numbers = !resize.nearest && (in.type == graph::ElementType::kInt8 ||
                                             in.type == graph::ElementType::kInt16);
  const std::int64_t most = resize.whole_numbers ? kMaxSize : kMaxInSinglePrecision;
  for (const graph::Shape* shape : {&*in.shape, &*out.shape}) {
    for (const std::size_t d : {1U, 2U}) {
      if ((*shape)[d] < 1 || (*shape)[d] > most) return std::nullopt;
    }
  }
  resize.align_corners = IntegerAttribute(op, "align_corners", 0) != 0;
  resize.half_pixel_centers = IntegerAttribute(op, "half_pixel_centers", 0) != 0;
  return resize;
}

namespace {

// The place of index o is (o + h) n / d - h', h and h' being 0 or 1/2; nearest rounds it down or,
// with corners aligned, to the nearest.
std::vector<std::int64_t> ResizedIndices(const Resize& resize, std::int64_t in, std::int64_t out,
                                         bool latest) {
  if (resize.whole_numbers) return LowestInUnits(resize, in, out);
  std::int64_t n = in;
  std::int64_t d = out;
  if (resize.align_corners && out > 1) {
    n = in - 1;
    d = out - 1;
  }
  // A scale that is a power of two below a whole number, and every place, are exact.
  const auto reduced = static_cast<std::uint64_t>(d / std::gcd(n, d));
  const bool exact = n == 0 || std::has_single_bit(reduced);
  std::int64_t shift = 0;  // in units of 1 / 2d
  if (!resize.nearest && resize.half_pixel_centers) shift = -d;
  if (resize.nearest && resize.align_corners) shift = d;
  std::vector<std::int64_t> lowest;
  for (std::int64_t o = 0; o < out; ++o) {
    constexpr std::int64_t kMargin = 1024;
    const std::int64_t above =
        (resize.half_pixel_centers ? 2 * o + 1 : 2 * o) * n + shift;  // of the place times 2d
    std::int64_t index = above < 0 ? -1 : above / (2 * d);
    const std::int64_t part = above < 0 ? above + 2 * d : above % (2 * d);
    if (!exact && !latest && above >= 0 && part * kMargin < 2 * d) --index;
    if (!exact && latest && part * kMargin > 2 * d * (kMargin - 1)) ++index;
    lowest.push_back(std::clamp<std::int64_t>(index, 0, in - 1));
  }
  return lowest;
}

}  // namespace

std::vector<std::int64_t> LowestIndices(const Resize& resize, std::int64_t in, std::int64_t out) {
  return ResizedIndices(resize, in, out, false);
}

std::vector<std::int64_t> LatestIndices(const Resize& resize, std::int64_t in, std::int64_t out) {
  return ResizedIndices(resize, in, out, true);
}

}  // namespace neap::ops
