// SPDX-License-Identifier: Apache-2.0
//
// The geometry of a two-dimensional window operator of TensorFlow Lite, from its attributes and
// shapes (batch, height, width, channels).
#pragma once

#include <cstdint>
#include <optional>

#include "neap/graph/graph.h"

namespace neap::ops {

struct Window {
  std::int64_t batches = 0;
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  std::int64_t in_channels = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t out_channels = 0;
  std::int64_t kernel_height = 0;
  std::int64_t kernel_width = 0;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t dilation_height = 1;
  std::int64_t dilation_width = 1;
  std::int64_t pad_top = 0;  // rows above the input; those below follow from the output
  std::int64_t pad_left = 0;
  bool per_channel = false;  // an output channel reads one input channel: depthwise, pooling
};

// Of CONV_2D, DEPTHWISE_CONV_2D, AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D; nullopt for any other
// operator, and where shapes and attributes do not fit together.
std::optional<Window> WindowOf(const graph::Subgraph& subgraph, const graph::Op& op);

// Integer attribute `name`, `otherwise` where the operator has none.
std::int64_t IntegerAttribute(const graph::Op& op, const char* name, std::int64_t otherwise);

}  // namespace neap::ops
