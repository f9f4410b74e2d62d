// SPDX-License-Identifier: Apache-2.0
//
// The affine matrices of operators.
#include <algorithm>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "testing/stripes.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::Shape;
using graph::Subgraph;
using ops::Is;
using ops::OpKind;

// Rows are set one by one; rows that are not set are constant: the whole axis.
class Matrix {
 public:
  Matrix(const Shape& in, std::size_t out_rank) {
    for (const std::int64_t size : in) {
      rows_.emplace_back(out_rank + 1);
      rows_.back().back() = {size, 1};
    }
    rows_.emplace_back(out_rank + 1);
    rows_.back().back() = {1, 1};
    offset_.assign(in.size(), 0);
  }
  // size(in axis) = scale * size(out axis) + constant.
  void Follow(std::size_t in_axis, std::size_t out_axis, Fraction scale, std::int64_t constant,
              std::int64_t offset = 0) {
    rows_[in_axis].assign(rows_[in_axis].size(), Fraction{});
    rows_[in_axis][out_axis] = scale;
    rows_[in_axis].back() = {constant, 1};
    offset_[in_axis] = offset;
  }
  Propagator Take() { return {std::move(rows_), std::move(offset_)}; }

 private:
  std::vector<std::vector<Fraction>> rows_;
  std::vector<std::int64_t> offset_;
};

struct Slide {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
};

void FollowWindow(Matrix* matrix, std::size_t axis, const Slide& slide) {
  const std::int64_t span = (slide.kernel - 1) * slide.dilation + 1;
  matrix->Follow(axis, axis, {slide.stride, 1}, span - slide.stride, -slide.before);
}

std::optional<Propagator> WindowPropagator(const Subgraph& subgraph, const Op& op,
                                           std::size_t input, const Shape& in, const Shape& out) {
  const auto window = ops::WindowOf(subgraph, op);
  if (!window) return std::nullopt;
  Matrix matrix(in, out.size());
  if (input > 0) {
    // Weights and biases have an axis for the channels of the output.
    const bool depthwise = Is(op, OpKind::kDepthwiseConv2d) && input == 1;
    matrix.Follow(depthwise ? in.size() - 1 : 0, 3, {1, 1}, 0);
    return matrix.Take();
  }
  matrix.Follow(0, 0, {1, 1}, 0);
  FollowWindow(
      &matrix, 1,
      {window->kernel_height, window->stride_height, window->dilation_height, window->pad_top});
  FollowWindow(
      &matrix, 2,
      {window->kernel_width, window->stride_width, window->dilation_width, window->pad_left});
  if (window->per_channel) {
    const auto scale = MakeFraction(window->in_channels, window->out_channels);
    matrix.Follow(3, 3, scale.value_or(Fraction{1, 1}), 0);
  }
  return matrix.Take();
}

// ONNX windows: kernel, stride and padding follow from the needs of one output and of the next.
std::optional<Propagator> MeasuredPropagator(const Subgraph& subgraph, const Op& op,
                                             std::size_t input, const Shape& in, const Shape& out) {
  Matrix matrix(in, out.size());
  ops::Box middle;
  for (const std::int64_t size : out) middle.push_back({size / 2, size / 2 + 1});
  const auto reach = [&](const ops::Box& box, std::size_t axis) -> std::optional<ops::Interval> {
    const auto need = ops::NeedOf(subgraph, op, input, box);
    if (!need || need->box.size() != in.size()) return std::nullopt;
    return ops::Interval{need->box[axis].begin - need->padding[axis].before,
                         need->box[axis].end + need->padding[axis].after};
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t o = 0; o < out.size(); ++o) {
      if (out[o] < 2) continue;
      ops::Box first = middle;
      ops::Box second = middle;
      first[o] = {0, 1};
      second[o] = {0, 2};
      const auto one = reach(first, i);
      const auto two = reach(second, i);
      if (!one || !two) return std::nullopt;
      const std::int64_t stride = two->size() - one->size();
      if (stride > 0) matrix.Follow(i, o, {stride, 1}, one->size() - stride, one->begin);
    }
  }
  return matrix.Take();
}

bool IsWindow(const Op& op) {
  return Is(op, OpKind::kOnnxAveragePool, OpKind::kOnnxConv, OpKind::kOnnxConvInteger,
            OpKind::kOnnxLpPool, OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv);
}

// Numpy's broadcasting.
Propagator Broadcast(const Shape& in, const Shape& out) {
  Matrix matrix(in, out.size());
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (out.size() + d < in.size()) continue;
    const std::size_t axis = out.size() + d - in.size();
    if (in[d] == out[axis] && in[d] != 1) matrix.Follow(d, axis, {1, 1}, 0);
  }
  return matrix.Take();
}

Propagator Resized(const Shape& in, const Shape& out) {
  Matrix matrix(in, out.size());
  for (std::size_t d = 0; d < in.size(); ++d) {
    const auto scale = MakeFraction(in[d], std::max<std::int64_t>(out[d], 1));
    if (scale) matrix.Follow(d, d, *scale, 0);
  }
  return matrix.Take();
}

}  // namespace

std::optional<Propagator> PropagatorOf(const Subgraph& subgraph, const Op& op, std::size_t input) {
  const auto known = [&](const std::vector<graph::TensorId>& list, std::size_t at) -> const Shape* {
    if (at >= list.size() || !list[at].valid()) return nullptr;
    const auto& shape = subgraph.tensors[list[at]].shape;
    const bool sizes = shape && std::all_of(shape->begin(), shape->end(), [](auto d) {
                         return d >= 0 && d <= (std::int64_t{1} << 31);
                       });
    return sizes ? &*shape : nullptr;
  };
  const Shape* in = known(op.inputs, input);
  const Shape* out = known(op.outputs, 0);
  if (in == nullptr || out == nullptr) return std::nullopt;
  if (ops::IsHybrid(subgraph, op)) return Matrix(*in, out->size()).Take();
  if (auto window = WindowPropagator(subgraph, op, input, *in, *out)) return window;
  if (IsWindow(op)) {
    if (auto measured = MeasuredPropagator(subgraph, op, input, *in, *out)) return measured;
  }
  if (ops::IsElementwise(op)) return Broadcast(*in, *out);
  const bool nearest = Is(op, OpKind::kResizeNearestNeighbor) && input == 0;
  if (nearest && in->size() == out->size()) return Resized(*in, *out);
  return Matrix(*in, out->size()).Take();
}

}  // namespace neap::cascade
