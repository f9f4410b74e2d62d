// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/weights.h"

#include <cstddef>
#include <utility>

namespace neap::emit {

using graph::Op;
using graph::Tensor;

Result<Weights> WeightsOf(const Tensor& tensor, bool unsigned_kernel) {
  NEAP_CHECK_OK(Require(tensor.constant && tensor.data && !tensor.compressed && IsByte(tensor) &&
                            IsUint8(tensor) == unsigned_kernel,
                        "has weights that are not constants of 8 bits of the type of its input"));
  Weights weights;
  const auto& zeros = tensor.quantization->zero_points;
  for (const std::int64_t zero : zeros) {
    NEAP_CHECK_OK(Require(zero == zeros[0], "has weights of several zero points"));
  }
  const std::int64_t zero = zeros.empty() ? 0 : zeros[0];
  for (const std::byte byte : tensor.data->bytes) {
    const std::int64_t raw = SignedByte(byte);
    if (unsigned_kernel) {
      weights.values.push_back(raw);
      continue;
    }
    NEAP_CHECK_OK(Require(raw - zero >= -128 && raw - zero <= 127,
                          "has int8 weights with a zero point and more than 8 bits of range"));
    weights.values.push_back(raw - zero);
  }
  if (unsigned_kernel) weights.zero = zero;
  return weights;
}

namespace {

std::int64_t SumOfWeights(const Weights& weights, const Product& product, std::int64_t output,
                          bool unsigned_kernel) {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < product.length(); ++k) {
    const std::int64_t raw = weights.values[product.At(output, k)];
    sum += (unsigned_kernel && raw < 0 ? raw + 256 : raw) - weights.zero;
  }
  return sum;
}

}  // namespace

Result<std::vector<std::int64_t>> GivenBias(const Lowering& lowering, const Op& op,
                                            std::int64_t outputs) {
  if (!HasInput(op, 2)) return std::vector<std::int64_t>(static_cast<std::size_t>(outputs), 0);
  auto given = Int32sOf(InputOf(lowering, op, 2));
  NEAP_CHECK_OK(Require(given && std::ssize(*given) == outputs,
                        "has a bias that is not one int32 constant for each output channel"));
  return *std::move(given);
}

Result<std::vector<std::int64_t>> BiasOf(const Lowering& lowering, const Op& op,
                                         const Product& product, const Weights& weights,
                                         std::int32_t in_zero) {
  NEAP_TRY(std::vector<std::int64_t> bias, GivenBias(lowering, op, product.outputs));
  const bool unsigned_kernel = IsUint8(InputOf(lowering, op, 0));
  for (std::int64_t output = 0; output < product.outputs; ++output) {
    std::int64_t& value = bias[static_cast<std::size_t>(output)];
    value -= in_zero * SumOfWeights(weights, product, output, unsigned_kernel);
    value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  }
  return bias;
}

std::vector<execute::FixedFactor> FactorsOf(const std::vector<float>& scales, const Quant& in,
                                            const Quant& out, bool unsigned_kernel) {
  std::vector<execute::FixedFactor> factors;
  for (const float scale : scales) {
    const double both = unsigned_kernel
                            ? static_cast<double>(in.scale * scale)
                            : static_cast<double>(in.scale) * static_cast<double>(scale);
    factors.push_back(execute::MakeFixedFactor(both / static_cast<double>(out.scale)));
  }
  return factors;
}

}  // namespace neap::emit
