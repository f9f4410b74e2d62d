// SPDX-License-Identifier: Apache-2.0
//
// SOFTMAX of quantised tensors.
#include <algorithm>
#include <bit>
#include <cmath>

#include "neap/execute/fixed_functions.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

constexpr std::int32_t kIntegerBits = 5;  // of differences to the largest input
constexpr std::int32_t kSumBits = 12;     // integer bits of the sum

struct SoftmaxPlan {
  std::int64_t rows;
  std::int64_t length;
  FixedFactor factor;
  std::int32_t least;  // smaller differences count as nothing
};

template <typename In, typename Out>
void SoftmaxRow(const SoftmaxPlan& plan, const Cell<In>* in, Cell<Out>* out) {
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8 is a number
  constexpr std::int32_t kLow = std::numeric_limits<Out>::min();
  constexpr std::int32_t kHigh = std::numeric_limits<Out>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  for (std::int64_t i = 0; i < plan.length; ++i) {
    most = std::max<std::int32_t>(most, in[i].value);
  }
  const auto exp = [&](std::int32_t difference) {
    return FixedExp(HighProduct(ShiftLeft(difference, plan.factor.shift), plan.factor.fraction),
                    kIntegerBits);
  };
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < plan.length; ++i) {
    const std::int32_t difference = in[i].value - most;
    if (difference >= plan.least) sum = WrapAdd(sum, RoundingShift(exp(difference), kSumBits));
  }
  const auto bits = static_cast<std::uint32_t>(sum);
  const int zeros = std::countl_zero(bits);
  const std::int32_t scale = FixedReciprocal(
      static_cast<std::int32_t>((zeros > 31 ? 0 : bits << zeros) - (std::uint32_t{1} << 31)));
  const std::int32_t shift =
      std::clamp(kSumBits - zeros + 31 - static_cast<std::int32_t>(8 * sizeof(Out)), 0, 31);
  for (std::int64_t i = 0; i < plan.length; ++i) {
    const std::int32_t difference = in[i].value - most;
    std::int32_t value = kLow;
    if (difference >= plan.least) {
      value = std::clamp(WrapAdd(RoundingShift(HighProduct(scale, exp(difference)), shift), kLow),
                         kLow, kHigh);
    }
    out[i].value = static_cast<Out>(value);
  }
}

template <typename In, typename Out>
Result<RunKernel> MakeSoftmax(const SoftmaxPlan& plan) {
  return RunKernel([plan](const Arguments& arguments) -> Status {
    for (std::int64_t r = 0; r < plan.rows; ++r) {
      SoftmaxRow<In, Out>(plan, Input<In>(arguments, 0) + r * plan.length,
                          Output<Out>(arguments) + r * plan.length);
    }
    return {};
  });
}

}  // namespace

// A row is read whole before it is written, except that each element is read once more just
// before its own place is written.
Result<RunKernel> QuantizedSoftmax(const Node& node, std::int64_t rows, std::int64_t length) {
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  const double beta = RealOr(*node.op, "beta", 1);
  const double factor = std::min(beta * static_cast<double>(in.scale) * (1 << (31 - kIntegerBits)),
                                 static_cast<double>((std::int64_t{1} << 31) - 1));
  SoftmaxPlan plan{rows, length, MakeFixedFactor(factor), 0};
  NEAP_CHECK_OK(Require(plan.factor.shift >= 0, "its input has too fine a scale"));
  plan.least = -static_cast<std::int32_t>(std::floor(static_cast<double>((1 << kIntegerBits) - 1) *
                                                     static_cast<double>(1 << (31 - kIntegerBits)) /
                                                     std::ldexp(1.0, plan.factor.shift)));
  const graph::ElementType from = node.In(0).type;
  const graph::ElementType to = node.Out().type;
  if (from == kInt8 && to == kInt8) return MakeSoftmax<std::int8_t, std::int8_t>(plan);
  if (from == kUint8 && to == kUint8) return MakeSoftmax<std::uint8_t, std::uint8_t>(plan);
  if (from == kInt8 && to == kInt16) return MakeSoftmax<std::int8_t, std::int16_t>(plan);
  return UnsupportedType(node);
}

}  // namespace neap::execute::tflite
