// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_POOL_2D, MAX_POOL_2D, MEAN over all places.
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

// TensorFlow Lite divides the factor of the scales by the number of places first.
execute::FixedFactor MeanFactor(const Quant& in, const Quant& out, std::int64_t places) {
  execute::FixedFactor factor =
      execute::MakeFixedFactor(static_cast<double>(in.scale) / static_cast<double>(out.scale));
  const std::int32_t room = std::min(63 - std::countl_zero(static_cast<std::uint64_t>(places)),
                                     std::min(32, 31 + factor.shift));
  factor.fraction = static_cast<std::int32_t>((std::int64_t{factor.fraction} << room) / places);
  factor.shift -= room;
  return factor;
}

Result<std::vector<Call>> LowerMean(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(Require(ops::IsMeanOfPlaces(lowering.subgraph(), op),
                        "is a mean, but not of 8 bits over all rows and columns of one image"));
  const Tensor& in = InputOf(lowering, op, 0);
  const Tensor& out = OutputOf(lowering, op);
  NEAP_TRY(const Quant in_quant, QuantOf(in));
  NEAP_TRY(const Quant out_quant, QuantOf(out));
  const plan::StreamImage image = plan::ImageOf(in);
  const std::int64_t places = image.height * image.width;
  const bool pools = ops::Is(op, ops::OpKind::kAveragePool2d);
  Range range = IsUint8(out) ? Range{0, 255} : Range{-128, 127};
  if (pools) {
    NEAP_TRY(range, OutputRange(op, out));
  }
  const execute::FixedFactor factor =
      pools ? execute::FixedFactor{} : MeanFactor(in_quant, out_quant, places);
  NEAP_CHECK_OK(Require(pools || factor.fraction > 0, "has scales whose ratio is out of range"));
  Call call;
  call.driver = "neap_drive_mean";
  call.kernel = "neap_finish_mean";
  Mean mean;
  mean.places = places;
  mean.fraction = factor.fraction;
  mean.shift = factor.shift;
  mean.in_zero = in_quant.zero - (IsUint8(in) ? 128 : 0);
  mean.out_zero = out_quant.zero;
  mean.low = range.low;
  mean.high = range.high;
  mean.end_row = image.height;
  mean.end_column = image.width;
  mean.flips = IsUint8(in);
  call.mean = mean;
  NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
  const std::int64_t channels = from.pixel_bytes;
  NEAP_TRY(const View to, lowering.FormOf(op.outputs[0], {1, 1, channels}));
  call.views = {to, from};
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
};

}  // namespace

std::span<const LowerRow> PoolRows() { return kPoolRows; }

}  // namespace neap::emit
