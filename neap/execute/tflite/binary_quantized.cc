// SPDX-License-Identifier: Apache-2.0
//
// ADD, SUB, MUL and CONCATENATION of quantised tensors.
#include <algorithm>
#include <cmath>
#include <utility>

#include "neap/execute/loops/elementwise.h"
#include "neap/execute/loops/take.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

// Brings two integers of different scales to a common, finer one.
struct CommonScale {
  std::int32_t left_shift;
  std::int32_t zeros[2];
  FixedFactor factors[2];
  FixedFactor out_factor;
  std::int32_t out_zero;
  Limits<std::int32_t> limits;

  std::int32_t Scaled(std::size_t operand, std::int32_t value) const {
    return Scale(ShiftLeft(value - zeros[operand], left_shift), factors[operand]);
  }
  std::int32_t Finish(std::int32_t raw) const {
    return limits(WrapAdd(Scale(raw, out_factor), out_zero));
  }
};

Result<CommonScale> MakeCommonScale(const Node& node) {
  NEAP_TRY(const Quant a, QuantOf(node.In(0)));
  NEAP_TRY(const Quant b, QuantOf(node.In(1)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  CommonScale common{};
  common.left_shift = node.In(0).type == kInt16 ? 15 : 20;
  NEAP_TRY(common.limits, QuantizedLimits(*node.op, node.Out()));
  const double twice = 2 * static_cast<double>(std::max(a.scale, b.scale));
  common.zeros[0] = a.zero;
  common.zeros[1] = b.zero;
  common.factors[0] = MakeFixedFactor(static_cast<double>(a.scale) / twice);
  common.factors[1] = MakeFixedFactor(static_cast<double>(b.scale) / twice);
  const double unit = static_cast<double>(1 << common.left_shift);
  common.out_factor = MakeFixedFactor(twice / (unit * static_cast<double>(out.scale)));
  common.out_zero = out.zero;
  return common;
}

// Factor of the product of two integers; the stock runtimes differ in its precision.
FixedFactor ProductFactor(const Node& node, const Quant& a, const Quant& b, const Quant& out) {
  if (node.kernels == Kernels::kTflm) {
    return MakeFixedFactor(static_cast<double>(a.scale) * static_cast<double>(b.scale) /
                           static_cast<double>(out.scale));
  }
  return MakeFixedFactor(static_cast<double>(a.scale * b.scale / out.scale));
}

}  // namespace

Result<RunKernel> QuantizedSum(const Node& node, Sum sign) {
  NEAP_TRY(const CommonScale common, MakeCommonScale(node));
  const bool add = sign == Sum::kAdd;
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return BinaryKernel<T, T, T>(node, [common, add](T a, T b) {
      const std::int32_t left = common.Scaled(0, a);
      const std::int32_t right = common.Scaled(1, b);
      return static_cast<T>(common.Finish(add ? WrapAdd(left, right) : WrapSubtract(left, right)));
    });
  });
}

Result<RunKernel> QuantizedMul(const Node& node) {
  NEAP_TRY(const Quant a, QuantOf(node.In(0)));
  NEAP_TRY(const Quant b, QuantOf(node.In(1)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  NEAP_TRY(const auto limits, QuantizedLimits(*node.op, node.Out()));
  const FixedFactor factor = ProductFactor(node, a, b, out);
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return BinaryKernel<T, T, T>(
        node, [=, a_zero = a.zero, b_zero = b.zero, out_zero = out.zero](T left, T right) {
          const std::int32_t product = WrapMultiply(left - a_zero, right - b_zero);
          return static_cast<T>(limits(WrapAdd(Scale(product, factor), out_zero)));
        });
  });
}

// uint8 operands of other scales than the output's are converted in single precision; for the
// other types the stock kernels copy bytes.
Result<RunKernel> QuantizedConcat(const Node& node, std::int64_t axis) {
  // Checks shapes and types.
  NEAP_TRY(RunKernel copy, ConcatKernel(node, axis));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  struct Part {
    std::int64_t chunk = 0;
    std::vector<std::uint8_t> table;  // empty: as it is
  };
  const graph::Shape& shape = node.Out().shape;
  NEAP_TRY(const std::size_t d, NormalAxis(axis, shape.size()));
  std::int64_t inner = 1;
  for (std::size_t i = d + 1; i < shape.size(); ++i) inner *= shape[i];
  std::vector<Part> parts;
  bool same = true;
  for (const Operand& input : node.inputs) {
    NEAP_TRY(const Quant in, QuantOf(input));
    Part part;
    part.chunk = input.shape[d] * inner;
    if (in.scale != out.scale || in.zero != out.zero) {
      same = false;
      const float scale = in.scale * (1.0F / out.scale);
      const float bias = -static_cast<float>(in.zero) * scale;
      for (std::int32_t i = 0; i < 256; ++i) {
        const std::int32_t value =
            WrapAdd(RoundToInt(static_cast<float>(i) * scale + bias), out.zero);
        part.table.push_back(static_cast<std::uint8_t>(std::clamp(value, 0, 255)));
      }
    }
    parts.push_back(std::move(part));
  }
  if (same) return copy;
  const std::int64_t row = shape[d] * inner;
  const std::int64_t rows = row == 0 ? 0 : node.Out().elements / row;
  return RunKernel([parts, rows](const Arguments& arguments) -> Status {
    auto* to = Output<std::uint8_t>(arguments);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::size_t n = 0; n < parts.size(); ++n) {
        const Part& part = parts[n];
        const auto* const from = Input<std::uint8_t>(arguments, n) + r * part.chunk;
        for (std::int64_t i = 0; i < part.chunk; ++i) {
          const std::uint8_t value = from[i].value;
          to[i].value = part.table.empty() ? value : part.table[value];
        }
        to += part.chunk;
      }
    }
    return {};
  });
}

}  // namespace neap::execute::tflite
