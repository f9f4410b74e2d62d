// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_POOL_2D, MAX_POOL_2D, MEAN, SUM.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "neap/emit/lowering.h"
#include "neap/emit/quantization.h"
#include "neap/execute/fixed_point.h"
#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::emit {
namespace {

using graph::Op;
using graph::Tensor;

// For a mean, TensorFlow Lite divides the factor of the scales by the number of places.
execute::FixedFactor MeanFactor(execute::FixedFactor factor, std::int64_t places) {
  const std::int32_t room = std::min(63 - std::countl_zero(static_cast<std::uint64_t>(places)),
                                     std::min(32, 31 + factor.shift));
  factor.fraction = static_cast<std::int32_t>((std::int64_t{factor.fraction} << room) / places);
  factor.shift -= room;
  return factor;
}

// Output pixel (y, x) is the mean of the `height` x `width` pixels of the input from
// (y * height, x * width) on.
struct MeanShape {
  std::int64_t rows = 1;  // of the output
  std::int64_t columns = 1;
  std::int64_t height = 1;  // of the window
  std::int64_t width = 1;
  std::int64_t channels = 1;

  std::int64_t places() const { return height * width; }
};

// Neighbouring dimensions that are all reduced or all kept count as one. From the innermost on,
// they are channels, then alternately reduced and kept.
Result<MeanShape> MeanOfStretches(const graph::Shape& shape, const std::vector<bool>& reduced) {
  std::vector<std::int64_t> stretches = {1};
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (reduced[d] != (stretches.size() % 2 == 0)) stretches.push_back(1);
    stretches.back() *= shape[d];
  }
  constexpr std::size_t kMaxStretches = 5;
  NEAP_CHECK_OK(Require(stretches.size() <= kMaxStretches,
                        "is a mean over more than two separate stretches"));
  stretches.resize(kMaxStretches, 1);
  if (stretches[3] == 1) return MeanShape{stretches[2], 1, 1, stretches[1], stretches[0]};
  return MeanShape{stretches[4], stretches[2], stretches[3], stretches[1], stretches[0]};
}

// Over rows, columns or both of one image, as plans see it; otherwise by stretches.
Result<MeanShape> MeanShapeOf(const graph::Shape& shape, const std::vector<bool>& reduced) {
  const bool image = shape.size() == 4 && shape[0] == 1 && !reduced[3];
  if (!image) return MeanOfStretches(shape, reduced);
  return MeanShape{reduced[1] ? 1 : shape[1], reduced[2] ? 1 : shape[2], reduced[1] ? shape[1] : 1,
                   reduced[2] ? shape[2] : 1, shape[3]};
}

// All places for AVERAGE_POOL_2D, of which the caller knows it.
Result<std::vector<bool>> ReducedDimensions(const Lowering& lowering, const Op& op) {
  const std::size_t rank = InputOf(lowering, op, 0).shape->size();
  if (ops::Is(op, ops::OpKind::kAveragePool2d)) return std::vector<bool>{false, true, true, false};
  NEAP_CHECK_OK(Require(HasInput(op, 1), "lacks axes"));
  const auto axes = Int32sOf(InputOf(lowering, op, 1));
  NEAP_CHECK_OK(Require(axes.has_value(), "has axes that are not constants"));
  std::vector<bool> reduced(rank, false);
  for (std::int64_t axis : *axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    NEAP_CHECK_OK(Require(axis >= 0 && axis < static_cast<std::int64_t>(rank),
                          "has an axis that its input does not have"));
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  return reduced;
}

// The tensor as an image of this size: as the plan has it, if that is the same.
Result<View> ImageOfSize(Lowering& lowering, graph::TensorId tensor, std::int64_t height,
                         std::int64_t width, std::int64_t channels) {
  NEAP_TRY(View view, lowering.ImageOf(tensor));
  if (view.height == height && view.width == width && view.pixel_bytes == channels) return view;
  return lowering.FormOf(tensor, {height, width, channels});
}

Result<Mean> MeanOf(const Lowering& lowering, const Op& op, std::int64_t places) {
  const Tensor& in = InputOf(lowering, op, 0);
  const Tensor& out = OutputOf(lowering, op);
  NEAP_TRY(const Quant in_quant, QuantOf(in));
  NEAP_TRY(const Quant out_quant, QuantOf(out));
  // Sums have 32 bits.
  constexpr std::int64_t kMaxPlaces = 1 << 22;
  NEAP_CHECK_OK(Require(places >= 1 && places <= kMaxPlaces, "is a mean of nothing or too many"));
  Mean mean;
  mean.places = places;
  Range range = IsUint8(out) ? Range{0, 255} : Range{-128, 127};
  if (ops::Is(op, ops::OpKind::kAveragePool2d)) {
    NEAP_TRY(range, OutputRange(op, out));
  } else {
    execute::FixedFactor factor = execute::MakeFixedFactor(static_cast<double>(in_quant.scale) /
                                                           static_cast<double>(out_quant.scale));
    if (!ops::Is(op, ops::OpKind::kSum)) factor = MeanFactor(factor, places);
    NEAP_CHECK_OK(Require(factor.fraction > 0, "has scales whose ratio is out of range"));
    mean.fraction = factor.fraction;
    mean.shift = factor.shift;
  }
  mean.in_zero = in_quant.zero - (IsUint8(in) ? 128 : 0);
  mean.out_zero = out_quant.zero;
  mean.low = range.low;
  mean.high = range.high;
  mean.flips = IsUint8(in);
  return mean;
}

Result<std::vector<Call>> LowerMean(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  const Tensor& in = InputOf(lowering, op, 0);
  NEAP_CHECK_OK(Require(IsByte(in) && in.type == OutputOf(lowering, op).type, "is not of 8 bits"));
  NEAP_TRY(const auto reduced, ReducedDimensions(lowering, op));
  NEAP_TRY(const MeanShape shape, MeanShapeOf(*in.shape, reduced));
  Call call;
  call.driver = "neap_drive_mean";
  call.kernel = "neap_finish_mean";
  NEAP_TRY(call.mean, MeanOf(lowering, op, shape.places()));
  NEAP_TRY(const View from, ImageOfSize(lowering, op.inputs[0], shape.rows * shape.height,
                                        shape.columns * shape.width, shape.channels));
  NEAP_TRY(const View to,
           ImageOfSize(lowering, op.outputs[0], shape.rows, shape.columns, shape.channels));
  call.views = {to, from};
  call.window = Window{.padding = "NULL",  // the window is inside of the input
                       .height = shape.height,
                       .width = shape.width,
                       .stride_y = shape.height,
                       .stride_x = shape.width};
  return std::vector<Call>{call};
}

Result<std::vector<Call>> LowerPool(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  const bool average = ops::Is(op, ops::OpKind::kAveragePool2d);
  if (average && ops::IsMeanOfPlaces(lowering.subgraph(), op)) return LowerMean(lowering, subject);
  const auto window = ops::WindowOf(lowering.subgraph(), op);
  NEAP_CHECK_OK(Require(window.has_value(), "has shapes or attributes that do not fit together"));
  const Tensor& out = OutputOf(lowering, op);
  NEAP_CHECK_OK(
      Require(IsByte(out) && InputOf(lowering, op, 0).type == out.type, "is not of 8 bits"));
  NEAP_TRY(const Range range, OutputRange(op, out));
  std::vector<Call> calls;
  for (std::int64_t batch = 0; batch < window->batches; ++batch) {
    Call call;
    call.driver = "neap_drive_window";
    call.kernel = KernelFor(average ? "neap_average_pool" : "neap_max_pool", out);
    call.taps = window->kernel_height * window->kernel_width;
    call.params = Params{"neap_pool",
                         InitialiserOf({Number(call.taps), Number(range.low), Number(range.high)})};
    call.window = Window{lowering.Filled(0, 1),
                         window->kernel_height,
                         window->kernel_width,
                         window->stride_height,
                         window->stride_width,
                         1,
                         1,
                         window->pad_top,
                         window->pad_left};
    if (window->batches == 1) {
      NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
      NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
      call.views = {to, from};
    } else {
      const std::int64_t channels = window->in_channels;
      const std::int64_t in_bytes = window->in_height * window->in_width * channels;
      const std::int64_t out_bytes = window->out_height * window->out_width * channels;
      NEAP_TRY(const View from, lowering.FormOf(op.inputs[0], {window->in_height, window->in_width,
                                                               channels, batch * in_bytes}));
      NEAP_TRY(const View to, lowering.FormOf(op.outputs[0], {window->out_height, window->out_width,
                                                              channels, batch * out_bytes}));
      call.views = {to, from};
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

constexpr LowerRow kPoolRows[] = {
    {ops::OpKind::kAveragePool2d, LowerPool},
    {ops::OpKind::kMaxPool2d, LowerPool},
    {ops::OpKind::kMean, LowerMean},
    {ops::OpKind::kSum, LowerMean},
};

}  // namespace

std::span<const LowerRow> PoolRows() { return kPoolRows; }

}  // namespace neap::emit
