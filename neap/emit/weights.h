// SPDX-License-Identifier: Apache-2.0
//
// Weights, biases and factors of convolutions, depthwise convolutions and fully connected layers.
// Private to neap/emit.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/emit/lowering.h"
#include "neap/emit/pack.h"
#include "neap/emit/quantization.h"
#include "neap/execute/fixed_point.h"
#include "neap/graph/graph.h"

namespace neap::emit {

struct Weights {
  std::vector<std::int64_t> values;
  std::int64_t zero = 0;  // uint8 alone
};

// The zero point of int8 weights is subtracted here, where every difference fits a byte.
Result<Weights> WeightsOf(const graph::Tensor& tensor, bool unsigned_kernel);

// The bias of the model, zeros where there is none.
Result<std::vector<std::int64_t>> GivenBias(const Lowering& lowering, const graph::Op& op,
                                            std::int64_t outputs);
// The same with the input's zero point as a part of it, modulo 2^32 as the kernels' sums.
Result<std::vector<std::int64_t>> BiasOf(const Lowering& lowering, const graph::Op& op,
                                         const Product& product, const Weights& weights,
                                         std::int32_t in_zero);

// The stock kernels multiply the scales of uint8 in single precision.
std::vector<execute::FixedFactor> FactorsOf(const std::vector<float>& scales, const Quant& in,
                                            const Quant& out, bool unsigned_kernel);

}  // namespace neap::emit
