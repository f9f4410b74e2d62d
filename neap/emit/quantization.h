// SPDX-License-Identifier: Apache-2.0
//
// Parameters of 8-bit kernels from the scales and zero points of a model. Factors are computed as
// TensorFlow Lite's kernels compute them when they are prepared. Private to neap/emit.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/fixed_point.h"
#include "neap/graph/graph.h"

namespace neap::emit {

// real = scale * (integer - zero).
struct Quant {
  float scale = 0;
  std::int32_t zero = 0;
};

struct Range {
  std::int32_t low = 0;
  std::int32_t high = 0;
};

bool IsByte(const graph::Tensor& tensor);  // int8 or uint8
inline bool IsUint8(const graph::Tensor& tensor) {
  return tensor.type == graph::ElementType::kUint8;
}

// Of a tensor of 8 bits with one scale. Fails otherwise.
Result<Quant> QuantOf(const graph::Tensor& tensor);
// One scale for each of `channels` output channels.
Result<std::vector<float>> ChannelScales(const graph::Tensor& tensor, std::int64_t channels);
// The values of the output's type that the fused activation of `op` leaves.
Result<Range> OutputRange(const graph::Op& op, const graph::Tensor& output);

}  // namespace neap::emit
