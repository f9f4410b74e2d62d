// SPDX-License-Identifier: Apache-2.0
//
// Operators whose outputs have more places than their inputs: TRANSPOSE_CONV, DEPTH_TO_SPACE.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neap/emit/lowering.h"
#include "neap/emit/pack.h"
#include "neap/emit/quantization.h"
#include "neap/emit/slow_weights.h"
#include "neap/execute/fixed_point.h"
#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::emit {
namespace {

using graph::Op;
using graph::Shape;
using graph::Tensor;

constexpr std::size_t kImageRank = 4;

// TRANSPOSE_CONV(shape of the output, weights, data, bias).
constexpr std::size_t kWeights = 1;
constexpr std::size_t kData = 2;
constexpr std::size_t kBias = 3;

Result<std::vector<std::int64_t>> SpreadWeights(const Tensor& tensor) {
  NEAP_CHECK_OK(Require(tensor.constant && tensor.data && !tensor.compressed &&
                            tensor.type == graph::ElementType::kInt8 && tensor.quantization,
                        "has weights that are not constants of int8"));
  for (const std::int64_t zero : tensor.quantization->zero_points) {
    NEAP_CHECK_OK(Require(zero == 0, "has weights with a zero point"));
  }
  std::vector<std::int64_t> values;
  for (const std::byte byte : tensor.data->bytes) values.push_back(SignedByte(byte));
  return values;
}

Result<Window> SpreadWindow(Lowering& lowering, const Op& op, std::int64_t zero) {
  const Shape& filter = *InputOf(lowering, op, kWeights).shape;
  const Shape& in = *InputOf(lowering, op, kData).shape;
  const Shape& out = *OutputOf(lowering, op).shape;
  const bool same = ops::IntegerAttribute(op, "padding", 0) == 0;
  Window window;
  window.padding = lowering.Filled(static_cast<std::int8_t>(zero), in[3]);
  window.height = filter[1];
  window.width = filter[2];
  window.stride_y = ops::IntegerAttribute(op, "stride_h", 1);
  window.stride_x = ops::IntegerAttribute(op, "stride_w", 1);
  NEAP_CHECK_OK(Require(window.stride_y >= 1 && window.stride_x >= 1, "has no strides"));
  const auto before = [&](std::int64_t size, std::int64_t stride, std::int64_t kernel) {
    const std::int64_t places =
        same ? (size + stride - 1) / stride : (size + stride - kernel) / stride;
    return std::max<std::int64_t>((places - 1) * stride + kernel - size, 0) / 2;
  };
  window.pad_y = before(out[1], window.stride_y, filter[1]);
  window.pad_x = before(out[2], window.stride_x, filter[2]);
  return window;
}

Result<std::vector<Call>> LowerTransposeConv(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(Require(HasInput(op, kData) && op.inputs.size() <= kBias + 1, "lacks inputs"));
  const Tensor& in = InputOf(lowering, op, kData);
  const Tensor& out = OutputOf(lowering, op);
  const Shape& filter = *InputOf(lowering, op, kWeights).shape;
  NEAP_CHECK_OK(
      Require(in.type == graph::ElementType::kInt8 && out.type == in.type, "is not of int8"));
  NEAP_CHECK_OK(Require(in.shape->size() == kImageRank && out.shape->size() == kImageRank &&
                            filter.size() == kImageRank && (*in.shape)[0] == 1 &&
                            (*out.shape)[0] == 1 && filter[0] == (*out.shape)[3] &&
                            filter[3] == (*in.shape)[3],
                        "has several images, or shapes that do not fit together"));
  NEAP_TRY(const Quant in_quant, QuantOf(in));
  NEAP_TRY(const Quant out_quant, QuantOf(out));
  NEAP_TRY(const auto scales, ChannelScales(InputOf(lowering, op, kWeights), filter[0]));
  NEAP_TRY(const Range range, OutputRange(op, out));
  NEAP_TRY(auto weights, SpreadWeights(InputOf(lowering, op, kWeights)));
  std::vector<std::int64_t> bias(static_cast<std::size_t>(filter[0]), 0);
  if (HasInput(op, kBias)) {
    auto given = Int32sOf(InputOf(lowering, op, kBias));
    NEAP_CHECK_OK(Require(given && given->size() == bias.size(),
                          "has a bias that is not one int32 constant for each output channel"));
    bias = *std::move(given);
  }
  std::vector<std::int64_t> fractions;
  std::vector<std::int64_t> shifts;
  for (const float scale : scales) {
    const execute::FixedFactor factor =
        execute::MakeFixedFactor(static_cast<double>(in_quant.scale) * static_cast<double>(scale) /
                                 static_cast<double>(out_quant.scale));
    fractions.push_back(factor.fraction);
    shifts.push_back(factor.shift);
  }
  Call call;
  call.driver = "neap_drive_spread";
  call.kernel = "neap_spread_s8";
  NEAP_TRY(call.window, SpreadWindow(lowering, op, in_quant.zero));
  NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
  NEAP_TRY(const View from, lowering.ImageOf(op.inputs[kData]));
  call.views = {to, from};
  call.taps = filter[1] * filter[2];
  const std::string name = "op" + std::to_string(subject.id.value());
  Product product;
  product.outputs = filter[0];
  product.taps = call.taps;
  product.inputs = filter[3];
  NEAP_TRY(const ConvTables tables,
           TablesOf(lowering, subject, product, {weights, bias, kWeights, kBias}, &call));
  call.params =
      Params{"neap_conv",
             InitialiserOf({tables.weights, tables.bias,
                            lowering.Add(name + "_fractions", "int32_t", std::move(fractions)),
                            lowering.Add(name + "_shifts", "int8_t", std::move(shifts)),
                            Number(call.taps), Number(filter[3]), Number(filter[0]), "0",
                            Number(out_quant.zero), Number(range.low), Number(range.high)})};
  return std::vector<Call>{std::move(call)};
}

Result<std::vector<Call>> LowerDepthToSpace(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  const Tensor& in = InputOf(lowering, op, 0);
  const Tensor& out = OutputOf(lowering, op);
  const std::int64_t block = ops::IntegerAttribute(op, "block_size", 0);
  NEAP_CHECK_OK(Require(IsByte(in) && in.type == out.type, "is not of 8 bits"));
  NEAP_CHECK_OK(Require(block >= 1 && in.shape->size() == kImageRank && (*in.shape)[0] == 1 &&
                            out.shape->size() == kImageRank &&
                            (*in.shape)[1] * block == (*out.shape)[1] &&
                            (*in.shape)[2] * block == (*out.shape)[2] &&
                            (*out.shape)[3] * block * block == (*in.shape)[3],
                        "has several images, or shapes that do not fit together"));
  Call call;
  call.driver = "neap_drive_blocks";
  call.kernel = "neap_copy_pixels";
  NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
  NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
  call.views = {to, from};
  call.taps = 1;
  call.window = Window{lowering.Filled(0, 1), 1, 1, block, block};
  call.params =
      Params{"neap_copy", InitialiserOf({"0", "0", "0", Number(to.pixel_bytes), "0", "0"})};
  return std::vector<Call>{std::move(call)};
}

constexpr LowerRow kSpreadRows[] = {
    {ops::OpKind::kTransposeConv, LowerTransposeConv},
    {ops::OpKind::kDepthToSpace, LowerDepthToSpace},
};

}  // namespace

std::span<const LowerRow> SpreadRows() { return kSpreadRows; }

}  // namespace neap::emit
