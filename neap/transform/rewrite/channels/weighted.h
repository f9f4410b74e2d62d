// SPDX-License-Identifier: Apache-2.0
//
// Operators of TensorFlow Lite that multiply 8-bit integers with constant weights, and the values
// that their output channels can have. Private to neap/transform/rewrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::rewrite {

// Values of one channel, both ends included.
struct Range {
  std::int32_t low = -128;
  std::int32_t high = 127;

  bool IsConstant() const { return low == high; }
  friend bool operator==(const Range&, const Range&) = default;
};
using Ranges = std::vector<Range>;  // by channel

// What a position of the kernel reads, over all positions of the output.
enum class Tap : std::uint8_t { kInput, kPadding, kBoth };

// The limits of a fused activation. `least_high` differs from `high` where 6 / scale is so close to
// a half that runtimes may round it either way.
struct Clamp {
  std::int32_t low = -128;
  std::int32_t least_high = 127;
  std::int32_t high = 127;

  Range Of(Range range) const;
};
// nullopt: an activation that is not modelled. `output` has one scale and one zero point.
std::optional<Clamp> ClampOf(const graph::Op& op, const graph::Tensor& output);

// int8 of a known shape, with one positive scale and a zero point of int8.
bool IsPlainInt8(const graph::Tensor& tensor);

// CONV_2D, DEPTHWISE_CONV_2D or FULLY_CONNECTED from int8 to int8.
struct WeightedOp {
  bool per_channel = false;  // depthwise: output channel c reads input channel c / multiplier
  std::int64_t multiplier = 1;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::vector<Tap> taps;  // row-major; one for FULLY_CONNECTED
  std::span<const std::byte> weights;
  std::vector<std::int32_t> bias;  // empty: none
  std::int32_t in_zero = 0;
  std::int32_t out_zero = 0;
  std::vector<double> factors;  // input scale * weight scale / output scale, by output channel
  Clamp clamp;

  // `in` is 0 for a depthwise convolution.
  std::int32_t Weight(std::int64_t out, std::size_t tap, std::int64_t in) const;
  std::int64_t BiasOf(std::int64_t out) const {
    return bias.empty() ? 0 : bias[static_cast<std::size_t>(out)];
  }
};

// nullopt: another operator; weights or bias that are not constants with known data; weights with a
// zero point; or sums that may exceed 32 bits in some order of their terms. O(weights).
std::optional<WeightedOp> ReadWeighted(const graph::Subgraph& subgraph, const graph::Op& op);

// The values of the output channels where those of the input channels are `input`: a superset for
// every kernel that computes sums exactly and rounds their products with `factors` to nearest, once
// or twice (TensorFlow Lite's reference kernels, CMSIS-NN, XNNPACK). O(weights).
Ranges OutputRanges(const WeightedOp& op, const Ranges& input);

}  // namespace neap::rewrite
